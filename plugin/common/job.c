/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/common/job.h"
#include "plugin/common/text.h"
#include "wire/hostlist.h"

/* Linux takes no argument longer than 128 KiB, and the list reached us in
 * an environment string of the same limit. */
#define NODES_MAX (128u * 1024)

int taut_job_init(struct taut_job *job, enum taut_purpose purpose)
{
    memset(job, 0, sizeof(*job));
    job->purpose = purpose;
    if (taut_text_replace(&job->node, "") == 0 &&
        taut_text_replace(&job->nodes, "") == 0 &&
        taut_text_replace(&job->partition, "") == 0 &&
        taut_text_replace(&job->slurm, "") == 0)
        return 0;
    taut_job_fini(job);
    return -1;
}

void taut_job_fini(struct taut_job *job)
{
    int saved = errno;

    free(job->node);
    free(job->nodes);
    free(job->partition);
    free(job->slurm);
    memset(job, 0, sizeof(*job));
    errno = saved;
}

static int bad_field(struct taut_error *err, const char *field,
                     const char *value, const char *expected)
{
    struct taut_error shown;

    taut_error_set(&shown, "%.40s", value);
    taut_text_clean(shown.text);
    taut_error_set(err, "%s '%s': expected %s", field, shown.text, expected);
    errno = EINVAL;
    return -1;
}

static int set_number(uint32_t *slot, const char *field, const char *value,
                      struct taut_error *err)
{
    uint64_t v;

    if (taut_text_number(value, 0, UINT32_MAX, &v) < 0)
        return bad_field(err, field, value, "0..4294967295");
    *slot = (uint32_t)v;
    return 0;
}

static int set_text(char **slot, const char *field, const char *value,
                    const char *extra, size_t max, struct taut_error *err)
{
    if (!taut_text_is_made_of(value, extra, max))
        return bad_field(err, field, value, "letters, digits and punctuation");
    return taut_text_replace(slot, value);
}

int taut_job_set(struct taut_job *job, const char *field, const char *value,
                 struct taut_error *err)
{
    if (strcmp(field, "job") == 0)
        return set_number(&job->id, field, value, err);
    if (strcmp(field, "restart") == 0)
        return set_number(&job->restart, field, value, err);
    if (strcmp(field, "uid") == 0)
        return set_number(&job->uid, field, value, err);
    if (strcmp(field, "step") == 0)
        return set_number(&job->step, field, value, err);
    if (strcmp(field, "procid") == 0)
        return set_number(&job->procid, field, value, err);
    if (strcmp(field, "node") == 0)
        return set_text(&job->node, field, value, "._-", TAUT_HOSTNAME_MAX,
                        err);
    if (strcmp(field, "nodes") == 0)
        return set_text(&job->nodes, field, value, "._-[],", NODES_MAX, err);
    if (strcmp(field, "partition") == 0)
        return set_text(&job->partition, field, value, "._-+@:,", 255, err);
    if (strcmp(field, "slurm") == 0)
        return set_text(&job->slurm, field, value, "._-+~", 63, err);
    taut_error_set(err, "unknown option '%.60s'", field);
    errno = ENOENT;
    return -1;
}

/* The first of two variables that is set and not empty, or NULL. */
static const char *either(const char *name, const char *other)
{
    const char *value = getenv(name);

    return value != NULL && *value ? value : getenv(other);
}

static int need(struct taut_job *job, const char *field, const char *value,
                const char *name, struct taut_error *err)
{
    struct taut_error why;

    if (value == NULL || !*value) {
        taut_error_set(err, "%s is not set", name);
        errno = EINVAL;
        return -1;
    }
    if (taut_job_set(job, field, value, &why) < 0) {
        taut_error_set(err, "%s: %s", name, why.text);
        return -1;
    }
    return 0;
}

static void take(struct taut_job *job, const char *field, const char *value)
{
    if (value != NULL && *value)
        taut_job_set(job, field, value, NULL);
}

int taut_job_from_environ(struct taut_job *job, struct taut_error *err)
{
    if (need(job, "node", getenv("SLURMD_NODENAME"), "SLURMD_NODENAME", err) <
            0 ||
        need(job, "nodes", either("SLURM_JOB_NODELIST", "SLURM_NODELIST"),
             "SLURM_JOB_NODELIST", err) < 0 ||
        need(job, "job", either("SLURM_JOB_ID", "SLURM_JOBID"), "SLURM_JOB_ID",
             err) < 0)
        return -1;
    take(job, "uid", either("SLURM_JOB_UID", "SLURM_UID"));
    take(job, "restart", getenv("SLURM_JOB_RESTART_COUNT"));
    take(job, "partition", getenv("SLURM_JOB_PARTITION"));
    return 0;
}

int taut_job_from_step(struct taut_job *job, struct taut_error *err)
{
    if (need(job, "node", getenv("SLURMD_NODENAME"), "SLURMD_NODENAME", err) <
            0 ||
        need(job, "nodes", either("SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"),
             "SLURM_STEP_NODELIST", err) < 0 ||
        need(job, "job", either("SLURM_JOB_ID", "SLURM_JOBID"), "SLURM_JOB_ID",
             err) < 0 ||
        need(job, "step", either("SLURM_STEP_ID", "SLURM_STEPID"),
             "SLURM_STEP_ID", err) < 0 ||
        need(job, "procid", getenv("SLURM_PROCID"), "SLURM_PROCID", err) < 0)
        return -1;
    take(job, "partition", getenv("SLURM_JOB_PARTITION"));
    return 0;
}
