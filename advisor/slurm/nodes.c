/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests that read: nodes and partitions. */
#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include "advisor/slurm/compat.h"
#include "advisor/slurm/reply.h"
#include "advisor/slurm/state.h"

/* A large machine has many nodes, and of most there is nothing to say: what
 * is false or empty is left out. */
static void add_flag(json_t *out, const char *key, bool yes)
{
    if (yes)
        taut_reply_flag(out, key, yes);
}

/* What a job may ask of a node. */
static void add_make(json_t *out, const node_info_t *node)
{
    taut_reply_number(out, "cpus", node->cpus);
    taut_reply_number(out, "memory_MB", (json_int_t)node->real_memory);
    taut_reply_number(out, "disk_MB", node->tmp_disk);
    taut_reply_some(out, "features", node->features);
    taut_reply_some(out, "gres", node->gres);
}

static void add_reason(json_t *out, const node_info_t *node)
{
    if (node->reason == NULL || node->reason[0] == '\0')
        return;
    taut_reply_text(out, "reason", node->reason);
    taut_reply_user(out, "reason_user", node->reason_uid);
    taut_reply_number(out, "reason_time", node->reason_time);
}

/* Where slurmctld finds the node, where that is not its name.  Slurm over
 * ALPS has the coordinates in place of an address, and the cname in place of
 * the host's name. */
static void add_place(json_t *out, const node_info_t *node)
{
    if (node->arch == NULL || (strcmp(node->arch, "XT") != 0 &&
                               strcmp(node->arch, "XE") != 0)) {
        if (node->node_addr != NULL && strcmp(node->node_addr, node->name) != 0)
            taut_reply_some(out, "addr", node->node_addr);
        return;
    }
    taut_reply_text(out, "coord", node->node_addr);
    taut_reply_text(out, "cname", node->node_hostname);
}

static json_t *describe_node(const node_info_t *node)
{
    json_t *out = json_object();
    uint32_t state = node->node_state;

    taut_reply_text(out, "name", node->name);
    taut_reply_text(out, "state", taut_node_base(state));
    add_flag(out, "drain", state & NODE_STATE_DRAIN);
    add_flag(out, "down", (state & NODE_STATE_BASE) == NODE_STATE_DOWN);
    add_flag(out, "maint", state & NODE_STATE_MAINT);
    add_flag(out, "fail", state & NODE_STATE_FAIL);
    add_flag(out, "completing", state & NODE_STATE_COMPLETING);
    add_flag(out, "reserved", state & NODE_STATE_RES);
    add_flag(out, "silent", state & NODE_STATE_NO_RESPOND);
    add_flag(out, "rebooting", taut_node_is_rebooting(state));
    add_flag(out, "off", taut_node_is_off(state));
    taut_reply_some(out, "barred", taut_node_bar(state));
    add_reason(out, node);
    taut_reply_names(out, "partitions", node->partitions);
    add_make(out, node);
    add_place(out, node);
    return out;
}

static json_t *describe_nodes(const node_info_msg_t *msg)
{
    json_t *nodes = json_array();

    for (uint32_t i = 0; i < msg->record_count; i++) {
        const node_info_t *node = &msg->node_array[i];
        /* Slots of dynamic nodes that are gone have no name. */
        if (node->name != NULL)
            json_array_append_new(nodes, describe_node(node));
    }
    return nodes;
}

static bool is_maintenance(const reserve_info_t *r, time_t now)
{
    return (r->flags & RESERVE_FLAG_MAINT) && r->start_time <= now &&
           now < r->end_time && r->node_list != NULL;
}

/* Host lists of the maintenance reservations that have begun. */
static json_t *list_maintenance(const reserve_info_msg_t *msg)
{
    json_t *lists = json_array();
    time_t now = time(NULL);

    for (uint32_t i = 0; i < msg->record_count; i++)
        if (is_maintenance(&msg->reservation_array[i], now))
            json_array_append_new(
                lists, json_string(msg->reservation_array[i].node_list));
    return lists;
}

static int add_maintenance(json_t *reply)
{
    reserve_info_msg_t *msg = NULL;

    if (slurm_load_reservations(0, &msg) != 0)
        return -1;
    json_object_set_new(reply, "maintenance", list_maintenance(msg));
    slurm_free_reservation_info_msg(msg);
    return 0;
}

static json_t *describe_partition(const partition_info_t *p)
{
    json_t *out = json_object();

    taut_reply_text(out, "name", p->name);
    taut_reply_flag(out, "up", p->state_up == PARTITION_UP);
    taut_reply_flag(out, "default", (p->flags & PART_FLAG_DEFAULT) != 0);
    if (p->max_time != INFINITE)
        taut_reply_number(out, "max_minutes", p->max_time);
    return out;
}

/* What a partition is, without its nodes. */
static json_t *describe_partitions(const partition_info_msg_t *msg)
{
    json_t *list = json_array();

    for (uint32_t i = 0; i < msg->record_count; i++)
        json_array_append_new(list,
                              describe_partition(&msg->partition_array[i]));
    return list;
}

int taut_slurm_nodes(const json_t *request, json_t *reply)
{
    node_info_msg_t *nodes = NULL;
    partition_info_msg_t *partitions = NULL;

    (void)request;
    errno = 0;
    if (slurm_load_node(0, &nodes, SHOW_ALL | SHOW_MIXED) != 0)
        return -1;
    if (slurm_load_partitions(0, &partitions, SHOW_ALL) != 0) {
        int saved = errno;
        slurm_free_node_info_msg(nodes);
        errno = saved;
        return -1;
    }
    slurm_populate_node_partitions(nodes, partitions);
    json_object_set_new(reply, "nodes", describe_nodes(nodes));
    json_object_set_new(reply, "partitions", describe_partitions(partitions));
    slurm_free_partition_info_msg(partitions);
    slurm_free_node_info_msg(nodes);
    return add_maintenance(reply);
}

int taut_slurm_partitions(const json_t *request, json_t *reply)
{
    partition_info_msg_t *msg = NULL;

    (void)request;
    errno = 0;
    if (slurm_load_partitions(0, &msg, SHOW_ALL) != 0)
        return -1;
    json_t *partitions = json_array();
    for (uint32_t i = 0; i < msg->record_count; i++) {
        const partition_info_t *p = &msg->partition_array[i];
        json_t *out = describe_partition(p);
        taut_reply_text(out, "nodes", p->nodes);
        json_array_append_new(partitions, out);
    }
    json_object_set_new(reply, "partitions", partitions);
    slurm_free_partition_info_msg(msg);
    return 0;
}
