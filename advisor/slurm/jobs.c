/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The requests for all jobs, those that are over in few words, and for one job
 * in whatever state. */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

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

/* How a job that is over, or about to be, came to its end; NULL for others. */
static const char *result_name(uint32_t state)
{
    switch (state & JOB_STATE_BASE) {
    case JOB_COMPLETE:
        return "completed";
    case JOB_CANCELLED:
        return "cancelled";
    case JOB_FAILED:
        return "failed";
    case JOB_TIMEOUT:
        return "timeout";
    case JOB_NODE_FAIL:
        return "node failed";
    case JOB_PREEMPTED:
        return "preempted";
    default:
        return (state & JOB_STATE_BASE) > JOB_SUSPENDED ? "failed" : NULL;
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

/* What steering looks at. */
static void add_wishes(json_t *out, const slurm_job_info_t *job)
{
    if (job->admin_comment != NULL &&
        strncmp(job->admin_comment, "taut:", 5) == 0)
        taut_reply_text(out, "comment", job->admin_comment);
    taut_reply_some(out, "excluded", job->exc_nodes);
    taut_reply_some(out, "required", job->req_nodes);
    taut_reply_some(out, "features", job->features);
    taut_reply_some(out, "reservation", job->resv_name);
    taut_reply_some(out, "dependency", job->dependency);
    taut_reply_some(out, "array_tasks", job->array_task_str);
    taut_reply_number(out, "max_nodes", job->max_nodes);
    taut_reply_number(out, "submitted", job->submit_time);
    taut_reply_number(out, "eligible", job->eligible_time);
    taut_reply_number(out, "end", job->end_time);
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
    if (job->array_job_id != 0 && job->array_task_id != NO_VAL)
        taut_reply_number(out, "array_task", job->array_task_id);
    taut_reply_number(out, "het_job", taut_het_job(job));
    if (taut_het_job(job) != 0)
        taut_reply_number(out, "het_offset", taut_het_offset(job));
    taut_reply_number(out, "priority", job->priority);
    taut_reply_number(out, "restart", job->restart_cnt);
    taut_reply_text(out, "reason",
                    reason_name(job->state_reason, buf, sizeof(buf)));
    if (result_name(job->job_state) != NULL)
        taut_reply_text(out, "result", result_name(job->job_state));
    add_wishes(out, job);
    return out;
}

/* One that is over, and that slurmctld has not forgotten yet: where it was. */
static json_t *describe_past(const slurm_job_info_t *job)
{
    json_t *out = json_object();

    taut_reply_number(out, "id", taut_job_id(job));
    taut_reply_text(out, "state", "over");
    taut_reply_text(out, "nodes", job->nodes);
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
        else if (job->nodes != NULL)
            json_array_append_new(jobs, describe_past(job));
    }
    json_object_set_new(reply, "jobs", jobs);
    slurm_free_job_info_msg(msg);
    return 0;
}

static void add_job(json_t *reply, const slurm_job_info_t *info)
{
    const char *state = state_name(info->job_state);

    json_object_set_new(reply, "job",
                        describe_job(info, state != NULL ? state : "over"));
}

int taut_slurm_job(const json_t *request, json_t *reply)
{
    json_int_t id = json_integer_value(json_object_get(request, "job"));
    job_info_msg_t *msg = NULL;

    if (id < 1 || id > UINT32_MAX) {
        taut_reply_text(reply, "error", "job: expected a job id");
        errno = EINVAL;
        return -1;
    }
    errno = 0;
    if (taut_load_job(&msg, (uint32_t)id) != 0)
        return -1;
    /* of an array all tasks come with its number */
    for (uint32_t i = 0; i < msg->record_count; i++)
        if (taut_job_id(&msg->job_array[i]) == id)
            add_job(reply, &msg->job_array[i]);
    slurm_free_job_info_msg(msg);
    return 0;
}
