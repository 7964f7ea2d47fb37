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

/* The text of a member, or NULL. */
static const char *text_of(const json_t *request, const char *key)
{
    return json_string_value(json_object_get(request, key));
}

/* A mistake of the caller's: its text instead of errno's. */
static int refuse_request(json_t *reply, const struct taut_error *err)
{
    taut_reply_text(reply, "error", err->text);
    errno = EINVAL;
    return -1;
}

static int load_node(struct node *node, const char *name)
{
    node_info_msg_t *msg = NULL;

    errno = 0;
    if (slurm_load_node_single(&msg, (char *)(uintptr_t)name, SHOW_ALL) != 0)
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
    /* Slurm wants char *, and changes nothing. */
    msg.node_names = (char *)(uintptr_t)name;
    msg.node_state = state;
    msg.reason = (char *)(uintptr_t)reason;
    errno = 0;
    return slurm_update_node(&msg) == SLURM_SUCCESS ? 0 : -1;
}

int taut_slurm_drain(const json_t *request, json_t *reply)
{
    const char *name = text_of(request, "node");
    const char *reason = text_of(request, "reason");
    struct node node = {.reason = NULL};
    struct taut_error err = {""};
    char was[64];

    if (taut_node_name_check(name, &err) != 0 ||
        taut_reason_check(reason, &err) != 0)
        return refuse_request(reply, &err);
    if (load_node(&node, name) != 0)
        return -1;
    taut_node_format(was, sizeof(was), node.state);
    taut_reply_text(reply, "was", was);
    const char *why = taut_drain_refusal(node.state, node.reason);
    int rc = why == NULL ? update(name, NODE_STATE_DRAIN, reason) : 0;
    int saved = errno;
    if (rc == 0)
        add_outcome(reply, why, &node);
    free(node.reason);
    errno = saved;
    return rc;
}

int taut_slurm_resume(const json_t *request, json_t *reply)
{
    const char *name = text_of(request, "node");
    struct node node = {.reason = NULL};
    struct taut_error err = {""};

    if (taut_node_name_check(name, &err) != 0)
        return refuse_request(reply, &err);
    if (load_node(&node, name) != 0)
        return -1;
    const char *why = taut_resume_refusal(node.state, node.reason);
    int rc = why == NULL ? update(name, NODE_RESUME, NULL) : 0;
    int saved = errno;
    if (rc == 0)
        add_outcome(reply, why, &node);
    free(node.reason);
    errno = saved;
    return rc;
}
