/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One line into a job's AdminComment.
 *
 * A comment that somebody else wrote is left alone: the job is loaded first;
 * Slurm offers no way to do both in one step.  slurmctld changes nothing of a
 * job that has finished, as one whose last epilog ran has: its record in the
 * accounting database is changed then, where there is one (slurmdbd). */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <slurm/slurmdb.h>

#include "advisor/slurm/compat.h"
#include "advisor/slurm/reply.h"
#include "advisor/slurm/state.h"

/* A copy of the job's comment, "" if it has none; NULL with errno. */
static char *load_comment(uint32_t id)
{
    job_info_msg_t *msg = NULL;
    char *comment = NULL;

    errno = 0;
    if (taut_load_job(&msg, id) != 0)
        return NULL;
    if (msg->record_count < 1) {
        errno = ESLURM_INVALID_JOB_ID;
    } else {
        const char *text = msg->job_array[0].admin_comment;
        comment = strdup(text != NULL ? text : "");
    }
    int saved = errno;
    slurm_free_job_info_msg(msg);
    errno = saved;
    return comment;
}

static int update_running(uint32_t id, const char *comment)
{
    job_desc_msg_t job;

    taut_init_update(&job, id);
    /* Slurm wants char *, and changes nothing. */
    job.admin_comment = (char *)(uintptr_t)comment;
    errno = 0;
    return slurm_update_job(&job) == SLURM_SUCCESS ? 0 : -1;
}

#ifdef TAUT_SLURM_ALPS
static int update_finished(uint32_t id, const char *comment)
{
    (void)id, (void)comment;
    errno = ESLURM_JOB_FINISHED; /* no call changes a record in these */
    return -1;
}
#else
/* The record of one job of this cluster gets the comment.  What slurmdbd
 * changed is a list that is freed; NULL is an error. */
static int modify(void *db, slurmdb_job_cond_t *cond, const char *comment)
{
    slurmdb_job_rec_t job;

    memset(&job, 0, sizeof(job));
    job.derived_ec = NO_VAL;
    job.admin_comment = (char *)(uintptr_t)comment;
    errno = 0;
    void *changed = slurmdb_job_modify(db, cond, &job);
    if (changed == NULL) {
        errno = errno != 0 ? errno : ESLURM_INVALID_JOB_ID;
        return -1;
    }
    slurm_list_destroy(changed);
    return slurmdb_connection_commit(db, true) == SLURM_SUCCESS ? 0 : -1;
}

static int update_record(uint32_t id, const char *cluster, const char *comment)
{
    slurm_selected_step_t step = {
        .array_task_id = NO_VAL,
        .het_job_offset = NO_VAL,
        .step_id = {.job_id = id, .step_id = NO_VAL, .step_het_comp = NO_VAL},
    };
    slurmdb_job_cond_t cond;
    uint16_t flags = 0;
    void *db = slurmdb_connection_get(&flags);

    if (db == NULL)
        return -1;
    memset(&cond, 0, sizeof(cond));
    cond.flags = JOBCOND_FLAG_NO_DEFAULT_USAGE;
    cond.db_flags = SLURMDB_JOB_FLAG_NOTSET;
    cond.cluster_list = slurm_list_create(NULL);
    cond.step_list = slurm_list_create(NULL);
    slurm_list_append(cond.cluster_list, (char *)(uintptr_t)cluster);
    slurm_list_append(cond.step_list, &step);
    int rc = modify(db, &cond, comment);
    int saved = errno;
    slurm_list_destroy(cond.step_list);
    slurm_list_destroy(cond.cluster_list);
    slurmdb_connection_close(&db);
    errno = saved;
    return rc;
}

/* The name of this cluster; the caller frees it.  NULL with errno. */
static char *cluster_name(void)
{
    slurm_conf_t *conf = NULL;

    if (slurm_load_ctl_conf((time_t)0, &conf) != SLURM_SUCCESS)
        return NULL;
    char *name = strdup(conf->cluster_name != NULL ? conf->cluster_name : "");
    taut_free_conf(conf);
    return name;
}

static int update_finished(uint32_t id, const char *comment)
{
    char *cluster = cluster_name();

    if (cluster == NULL)
        return -1;
    int rc = update_record(id, cluster, comment);
    int saved = errno;
    free(cluster);
    errno = saved;
    return rc;
}
#endif

int taut_slurm_comment(const json_t *request, json_t *reply)
{
    json_int_t id = json_integer_value(json_object_get(request, "job"));
    const char *text = json_string_value(json_object_get(request, "comment"));
    struct taut_error err = {""};

    if (id < 1 || id > UINT32_MAX)
        return taut_reply_refuse(reply, "job: expected a job id");
    if (taut_reason_check(text, &err) != 0)
        return taut_reply_refuse(reply, err.text);
    char *was = load_comment((uint32_t)id);
    if (was == NULL)
        return -1;
    int theirs = was[0] != '\0' && strncmp(was, "taut:", 5) != 0;
    free(was);
    taut_reply_flag(reply, "done", !theirs);
    if (theirs) {
        taut_reply_text(reply, "why", "somebody else wrote it");
        return 0;
    }
    if (update_running((uint32_t)id, text) == 0)
        return 0;
    if (errno != ESLURM_JOB_FINISHED && errno != ESLURM_ALREADY_DONE)
        return -1;
    return update_finished((uint32_t)id, text);
}
