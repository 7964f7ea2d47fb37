/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The request for all jobs that hold nodes or wait for some. */
#include <config.h>

#include <errno.h>
#include <stdio.h>

#include "advisor/slurm/compat.h"
#include "advisor/slurm/reply.h"

/* The state's name, or NULL for a job that is over. */
static const char *state_name(uint32_t state)
{
    if (state & JOB_COMPLETING)
        return "completing";
    switch (state & JOB_STATE_BASE) {
    case JOB_PENDING:
        return "pending";
    case JOB_RUNNING:
        return "running";
    case JOB_SUSPENDED:
        return "suspended";
    default:
        return NULL;
    }
}

/* Why a job waits, as squeue names it; libslurm's own function for this is
 * not in its headers, and was renamed.  Others come as their number. */
static const char *reason_name(unsigned reason, char *buf, size_t size)
{
    static const struct {
        unsigned reason;
        const char *name;
    } names[] = {
        {WAIT_NO_REASON, "None"},
        {WAIT_PRIORITY, "Priority"},
        {WAIT_DEPENDENCY, "Dependency"},
        {WAIT_RESOURCES, "Resources"},
        {WAIT_PART_NODE_LIMIT, "PartitionNodeLimit"},
        {WAIT_PART_TIME_LIMIT, "PartitionTimeLimit"},
        {WAIT_PART_DOWN, "PartitionDown"},
        {WAIT_PART_INACTIVE, "PartitionInactive"},
        {WAIT_HELD, "JobHeldAdmin"},
        {WAIT_HELD_USER, "JobHeldUser"},
        {WAIT_TIME, "BeginTime"},
        {WAIT_LICENSES, "Licenses"},
        {WAIT_RESERVATION, "Reservation"},
        {WAIT_NODE_NOT_AVAIL, "ReqNodeNotAvail"},
        {WAIT_PROLOG, "Prolog"},
        {WAIT_CLEANING, "Cleaning"},
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (names[i].reason == reason)
            return names[i].name;
    snprintf(buf, size, "%u", reason);
    return buf;
}

static json_t *describe_job(const slurm_job_info_t *job, const char *state)
{
    json_t *out = json_object();
    char buf[16];

    taut_reply_number(out, "id", taut_job_id(job));
    taut_reply_number(out, "user_id", job->user_id);
    taut_reply_text(out, "state", state);
    taut_reply_text(out, "nodes", job->nodes);
    taut_reply_number(out, "num_nodes", job->num_nodes);
    taut_reply_text(out, "partition", job->partition);
    taut_reply_number(out, "start", job->start_time);
    taut_reply_text(out, "name", job->name);
    taut_reply_number(out, "array_job", job->array_job_id);
    taut_reply_number(out, "het_job", job->het_job_id);
    taut_reply_number(out, "priority", job->priority);
    taut_reply_text(out, "reason",
                    reason_name(job->state_reason, buf, sizeof(buf)));
    return out;
}

int taut_slurm_jobs(const json_t *request, json_t *reply)
{
    job_info_msg_t *msg = NULL;

    (void)request;
    errno = 0;
    if (slurm_load_jobs(0, &msg, SHOW_ALL) != 0)
        return -1;
    json_t *jobs = json_array();
    for (uint32_t i = 0; i < msg->record_count; i++) {
        const slurm_job_info_t *job = &msg->job_array[i];
        const char *state = state_name(job->job_state);
        if (state != NULL)
            json_array_append_new(jobs, describe_job(job, state));
    }
    json_object_set_new(reply, "jobs", jobs);
    slurm_free_job_info_msg(msg);
    return 0;
}
