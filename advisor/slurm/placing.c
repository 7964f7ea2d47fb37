/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests about where jobs could go: reservations, Slurm's own tree of
 * switches, and where it would put a job. */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "advisor/slurm/compat.h"
#include "advisor/slurm/reply.h"

static json_t *describe_reservation(const reserve_info_t *r)
{
    json_t *out = json_object();

    taut_reply_text(out, "name", r->name);
    taut_reply_text(out, "nodes", r->node_list);
    taut_reply_number(out, "start", r->start_time);
    taut_reply_number(out, "end", r->end_time);
    taut_reply_flag(out, "maint", (r->flags & RESERVE_FLAG_MAINT) != 0);
    return out;
}

/* {} → reservations */
int taut_slurm_reservations(const json_t *request, json_t *reply)
{
    reserve_info_msg_t *msg = NULL;

    (void)request;
    errno = 0;
    if (slurm_load_reservations(0, &msg) != 0)
        return -1;
    json_t *list = json_array();
    for (uint32_t i = 0; i < msg->record_count; i++)
        json_array_append_new(list,
                              describe_reservation(&msg->reservation_array[i]));
    json_object_set_new(reply, "reservations", list);
    slurm_free_reservation_info_msg(msg);
    return 0;
}

/* {} → switches; none where the API no longer tells (from 25.05 on) */
int taut_slurm_topology(const json_t *request, json_t *reply)
{
    json_t *list = json_array();

    (void)request;
    json_object_set_new(reply, "switches", list);
#if SLURM_VERSION_NUMBER < SLURM_VERSION_NUM(25, 5, 0)
    topo_info_response_msg_t *msg = NULL;

    errno = 0;
    if (slurm_load_topo(&msg) != 0)
        return -1;
    for (uint32_t i = 0; i < msg->record_count; i++) {
        const topo_info_t *s = &msg->topo_array[i];
        json_t *out = json_object();
        if (s->name == NULL || s->name[0] == '\0') {
            json_decref(out);
            continue;
        }
        taut_reply_text(out, "name", s->name);
        taut_reply_number(out, "level", s->level);
        taut_reply_text(out, "nodes", s->nodes);
        json_array_append_new(list, out);
    }
    slurm_free_topo_info_msg(msg);
#endif
    return 0;
}

/* A member that says something. */
static char *given(const json_t *request, const char *key)
{
    const char *text = taut_request_text(request, key);

    return taut_slurm_lent(text != NULL && text[0] != '\0' ? text : NULL);
}

/* { count, user, partition, features, excluded, reservation, minutes }
 * → nodes, start: where and when Slurm would start such a job, whole nodes.
 * It is what sbatch --test-only asks; nothing is submitted. */
int taut_slurm_will_run(const json_t *request, json_t *reply)
{
    json_int_t count = json_integer_value(json_object_get(request, "count"));
    json_int_t user = json_integer_value(json_object_get(request, "user"));
    json_int_t minutes =
        json_integer_value(json_object_get(request, "minutes"));
    will_run_response_msg_t *answer = NULL;
    static char *no_environment[] = {NULL};
    job_desc_msg_t job;

    if (count < 1 || count > 1 << 20)
        return taut_reply_refuse(reply, "count: expected 1 to 1048576 nodes");
    if (user < 0 || user >= NO_VAL)
        return taut_reply_refuse(reply, "user: expected a uid");
    slurm_init_job_desc_msg(&job);
    job.min_nodes = (uint32_t)count;
    job.max_nodes = (uint32_t)count;
    job.user_id = (uint32_t)user;
    job.group_id = job.user_id;
    job.name = taut_slurm_lent("taut-advise");
    job.work_dir = taut_slurm_lent("/");
    job.script = taut_slurm_lent("#!/bin/sh\n");
    job.environment = no_environment;
    job.partition = given(request, "partition");
    job.features = given(request, "features");
    job.exc_nodes = given(request, "excluded");
    job.reservation = given(request, "reservation");
    job.shared = JOB_SHARED_NONE;
    if (minutes > 0)
        job.time_limit = (uint32_t)minutes;
    errno = 0;
    if (slurm_job_will_run2(&job, &answer) != 0)
        return -1;
    taut_reply_text(reply, "nodes", answer->node_list);
    taut_reply_number(reply, "start", answer->start_time);
    slurm_free_will_run_response_msg(answer);
    return 0;
}
