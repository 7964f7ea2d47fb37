/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The two requests that change something: drain and resume one node.
 *
 * slurm_update_node() overwrites whatever reason there is, so the node is
 * loaded first; Slurm offers no way to do both in one step. */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/slurm/compat.h"
#include "advisor/slurm/reply.h"
#include "advisor/slurm/state.h"

struct node {
    uint32_t state;
    char *reason; /* NULL if there is none */
};

static int load_node(struct node *node, const char *name)
{
    node_info_msg_t *msg = NULL;

    errno = 0;
    if (slurm_load_node_single(&msg, taut_slurm_lent(name), SHOW_ALL) != 0)
        return -1;
    int rc = -1;
    if (msg->record_count < 1 || msg->node_array[0].name == NULL) {
        errno = ESLURM_INVALID_NODE_NAME;
    } else {
        const char *reason = msg->node_array[0].reason;
        node->state = msg->node_array[0].node_state;
        node->reason = reason != NULL ? strdup(reason) : NULL;
        rc = reason != NULL && node->reason == NULL ? -1 : 0;
    }
    int saved = errno;
    slurm_free_node_info_msg(msg);
    errno = saved;
    return rc;
}

/* 'why' is NULL when it was done. */
static void add_outcome(json_t *reply, const char *why, const struct node *node)
{
    char text[512];

    taut_reply_flag(reply, "done", why == NULL);
    if (why == NULL)
        return;
    if (node->reason != NULL && node->reason[0] != '\0' &&
        node->state & (NODE_STATE_DRAIN | NODE_STATE_FAIL))
        snprintf(text, sizeof(text), "%s: %s", why, node->reason);
    else
        snprintf(text, sizeof(text), "%s", why);
    taut_reply_text(reply, "why", text);
}

static int update(const char *name, uint32_t state, const char *reason)
{
    update_node_msg_t msg;

    slurm_init_update_node_msg(&msg);
    msg.node_names = taut_slurm_lent(name);
    msg.node_state = state;
    msg.reason = taut_slurm_lent(reason);
    errno = 0;
    return slurm_update_node(&msg) == SLURM_SUCCESS ? 0 : -1;
}

/* A drain that the caller knows as its own, and whose reason Slurm lost. */
static bool is_lost(const json_t *request, const struct node *node)
{
    return json_is_true(json_object_get(request, "again")) &&
           node->state & NODE_STATE_DRAIN && !(node->state & NODE_STATE_MAINT) &&
           (node->reason == NULL || node->reason[0] == '\0');
}

/* Set the state of a node, unless 'refusal' has a reason against it. */
static int change(const json_t *request, json_t *reply, uint32_t state,
                  const char *reason,
                  const char *refusal(uint32_t state, const char *reason))
{
    const char *name = taut_request_text(request, "node");
    struct node node = {.reason = NULL};
    struct taut_error err = {""};
    char was[64];

    if (taut_node_name_check(name, &err) != 0 ||
        (reason != NULL && taut_reason_check(reason, &err) != 0))
        return taut_reply_refuse(reply, err.text);
    if (load_node(&node, name) != 0)
        return -1;
    taut_node_format(was, sizeof(was), node.state);
    taut_reply_text(reply, "was", was);
    taut_reply_flag(reply, "drained", (node.state & NODE_STATE_DRAIN) != 0);
    const char *why = is_lost(request, &node)
                          ? NULL
                          : refusal(node.state, node.reason);
    int rc = why == NULL ? update(name, state, reason) : 0;
    int saved = errno;
    if (rc == 0)
        add_outcome(reply, why, &node);
    free(node.reason);
    errno = saved;
    return rc;
}

int taut_slurm_drain(const json_t *request, json_t *reply)
{
    const char *reason = taut_request_text(request, "reason");

    return change(request, reply, NODE_STATE_DRAIN,
                  reason != NULL ? reason : "", taut_drain_refusal);
}

int taut_slurm_resume(const json_t *request, json_t *reply)
{
    return change(request, reply, NODE_RESUME, NULL, taut_resume_refusal);
}
