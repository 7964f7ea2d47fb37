/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The request for what slurm.conf says, as slurmctld understood it. */
#include <config.h>

#include <errno.h>

#include "advisor/slurm/compat.h"
#include "advisor/slurm/reply.h"

struct flag {
    unsigned bit;
    const char *name; /* as slurm.conf spells it */
};

static const struct flag prolog_flags[] = {
    {PROLOG_FLAG_ALLOC, "Alloc"},
    {PROLOG_FLAG_CONTAIN, "Contain"},
#ifdef PROLOG_FLAG_DEFER_BATCH
    {PROLOG_FLAG_DEFER_BATCH, "DeferBatch"},
#endif
#ifdef PROLOG_FLAG_FORCE_REQUEUE_ON_FAIL
    {PROLOG_FLAG_FORCE_REQUEUE_ON_FAIL, "ForceRequeueOnFail"},
#endif
    {PROLOG_FLAG_NOHOLD, "NoHold"},
#ifdef PROLOG_FLAG_RUN_IN_JOB
    {PROLOG_FLAG_RUN_IN_JOB, "RunInJob"},
#endif
    {PROLOG_FLAG_SERIAL, "Serial"},
#ifdef PROLOG_FLAG_X11
    {PROLOG_FLAG_X11, "X11"},
#endif
    {0, NULL},
};

static const struct flag private_data[] = {
    {PRIVATE_DATA_ACCOUNTS, "accounts"},
#ifdef PRIVATE_DATA_EVENTS
    {PRIVATE_DATA_EVENTS, "events"},
#endif
    {PRIVATE_DATA_JOBS, "jobs"},
    {PRIVATE_DATA_NODES, "nodes"},
    {PRIVATE_DATA_PARTITIONS, "partitions"},
    {PRIVATE_DATA_RESERVATIONS, "reservations"},
    {PRIVATE_DATA_USAGE, "usage"},
    {PRIVATE_DATA_USERS, "users"},
    {0, NULL},
};

static const struct flag health_check_states[] = {
    {HEALTH_CHECK_NODE_ALLOC, "ALLOC"},
    {HEALTH_CHECK_CYCLE, "CYCLE"},
    {HEALTH_CHECK_NODE_IDLE, "IDLE"},
    {HEALTH_CHECK_NODE_MIXED, "MIXED"},
#ifdef HEALTH_CHECK_NODE_NONDRAINED_IDLE
    {HEALTH_CHECK_NODE_NONDRAINED_IDLE, "NONDRAINED_IDLE"},
#endif
    {0, NULL},
};

static void add_flags(json_t *reply, const char *key, unsigned value,
                      const struct flag *flags)
{
    json_t *names = json_array();

    for (; flags->name != NULL; flags++)
        if (value & flags->bit)
            json_array_append_new(names, json_string(flags->name));
    json_object_set_new(reply, key, names);
}

int taut_slurm_config(const json_t *request, json_t *reply)
{
    slurm_conf_t *conf = NULL;

    (void)request;
    errno = 0;
    if (slurm_load_ctl_conf(0, &conf) != 0)
        return -1;
    taut_reply_text(reply, "cluster", conf->cluster_name);
    taut_reply_text(reply, "slurm_user", conf->slurm_user_name);
    add_flags(reply, "prolog_flags", conf->prolog_flags, prolog_flags);
    add_flags(reply, "private_data", conf->private_data, private_data);
    taut_reply_number(reply, "health_check_interval_s",
                      conf->health_check_interval);
    add_flags(reply, "health_check_states", conf->health_check_node_state,
              health_check_states);
    taut_reply_text(reply, "health_check_program", conf->health_check_program);
    taut_reply_text(reply, "slurm_version", conf->version);
    taut_reply_text(reply, "select_type", conf->select_type);
    taut_reply_text(reply, "topology_plugin", conf->topology_plugin);
    taut_reply_text(reply, "scheduler_parameters", conf->sched_params);
    taut_free_conf(conf);
    return 0;
}
