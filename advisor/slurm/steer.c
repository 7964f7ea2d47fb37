/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Change which nodes a pending job excludes or requires.
 *
 * Only of a job whose AdminComment says that job_submit.lua steered it, and
 * only while comment and lists are what tautd saw: whoever changed them since
 * has the last word.  Slurm offers no way to compare and change in one step;
 * the job is loaded right before. */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "advisor/slurm/compat.h"
#include "advisor/slurm/reply.h"

#define MARK "taut: comm="

static bool is_same(const char *have, const char *was)
{
    return strcmp(have != NULL ? have : "", was != NULL ? was : "") == 0;
}

/* Why a job is not to be touched, or NULL. */
static const char *refusal(const slurm_job_info_t *job, const json_t *request)
{
    const char *comment = job->admin_comment;

    if ((job->job_state & JOB_STATE_BASE) != JOB_PENDING ||
        job->job_state & JOB_COMPLETING)
        return "it is not pending";
    if (comment == NULL || strncmp(comment, MARK, strlen(MARK)) != 0)
        return "its AdminComment does not say that it may be steered";
    if (!is_same(comment, taut_request_text(request, "was_comment")) ||
        !is_same(job->exc_nodes, taut_request_text(request, "was_excluded")) ||
        !is_same(job->req_nodes, taut_request_text(request, "was_required")))
        return "somebody changed it meanwhile";
    return NULL;
}

static int update(uint32_t id, const json_t *request)
{
    job_desc_msg_t job;

    taut_init_update(&job, id);
    job.exc_nodes = taut_slurm_lent(taut_request_text(request, "excluded"));
    job.req_nodes = taut_slurm_lent(taut_request_text(request, "required"));
    job.admin_comment = taut_slurm_lent(taut_request_text(request, "comment"));
    errno = 0;
    return slurm_update_job(&job) == SLURM_SUCCESS ? 0 : -1;
}

/* Of an array all tasks come with its number. */
static const slurm_job_info_t *find(const job_info_msg_t *msg, uint32_t id)
{
    for (uint32_t i = 0; i < msg->record_count; i++)
        if (taut_job_id(&msg->job_array[i]) == id)
            return &msg->job_array[i];
    return NULL;
}

static int steer(uint32_t id, const json_t *request, json_t *reply)
{
    job_info_msg_t *msg = NULL;

    errno = 0;
    if (taut_load_job(&msg, id) != 0)
        return -1;
    const slurm_job_info_t *job = find(msg, id);
    const char *why =
        job == NULL ? "Slurm knows it no more" : refusal(job, request);
    slurm_free_job_info_msg(msg);
    taut_reply_flag(reply, "done", why == NULL);
    if (why == NULL)
        return update(id, request);
    taut_reply_text(reply, "why", why);
    return 0;
}

int taut_slurm_steer(const json_t *request, json_t *reply)
{
    json_int_t id = json_integer_value(json_object_get(request, "job"));
    const char *comment = taut_request_text(request, "comment");

    if (id < 1 || id > UINT32_MAX)
        return taut_reply_refuse(reply, "job: expected a job id");
    if (comment == NULL || strncmp(comment, MARK, strlen(MARK)) != 0)
        return taut_reply_refuse(reply,
                      "comment: expected a text that begins with '" MARK "'");
    if (taut_request_text(request, "excluded") == NULL &&
        taut_request_text(request, "required") == NULL)
        return taut_reply_refuse(reply, "expected excluded or required, host lists");
    return steer((uint32_t)id, request, reply);
}
