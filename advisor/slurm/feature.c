/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Give nodes one of our features, and take our others from them.
 *
 * A node's features are one text, which Slurm replaces as a whole: what is
 * not ours is read first and written back as it was. */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/slurm/compat.h"
#include "advisor/slurm/reply.h"
#include "advisor/slurm/state.h"

#define OURS "taut_cell_"

/* 'old' without our features, and with 'add' (which may be ""); the caller
 * frees it.  NULL with errno. */
static char *replace_ours(const char *old, const char *add)
{
    size_t size = strlen(old) + strlen(add) + 2;
    char *copy = strdup(old), *out = calloc(1, size), *state = NULL;

    if (copy == NULL || out == NULL) {
        free(copy);
        free(out);
        return NULL;
    }
    for (char *f = strtok_r(copy, ",", &state); f != NULL;
         f = strtok_r(NULL, ",", &state)) {
        if (strncmp(f, OURS, strlen(OURS)) == 0)
            continue;
        size_t n = strlen(out);
        snprintf(out + n, size - n, "%s%s", n > 0 ? "," : "", f);
    }
    size_t n = strlen(out);
    if (add[0] != '\0')
        snprintf(out + n, size - n, "%s%s", n > 0 ? "," : "", add);
    free(copy);
    return out;
}

/* Returns 1 when the node was changed, 0 when it needed no change, -1 with
 * errno. */
static int set_one(const char *name, const char *add)
{
    node_info_msg_t *msg = NULL;
    update_node_msg_t update;
    char *was = NULL, *now = NULL;
    int rc = -1;

    errno = 0;
    if (slurm_load_node_single(&msg, (char *)(uintptr_t)name, SHOW_ALL) != 0)
        return -1;
    if (msg->record_count < 1) {
        errno = ESLURM_INVALID_NODE_NAME;
        goto out;
    }
    const char *have = msg->node_array[0].features;
    was = strdup(have != NULL ? have : "");
    now = was != NULL ? replace_ours(was, add) : NULL;
    if (now == NULL)
        goto out;
    rc = 0;
    if (strcmp(was, now) != 0) {
        slurm_init_update_node_msg(&update);
        update.node_names = (char *)(uintptr_t)name;
        update.features = now;
        update.features_act = now; /* or they would not be a part of them */
        rc = slurm_update_node(&update) == SLURM_SUCCESS ? 1 : -1;
    }
out:;
    int saved = errno;
    slurm_free_node_info_msg(msg);
    free(was);
    free(now);
    errno = saved;
    return rc;
}

static bool is_ours(const char *feature)
{
    return feature[0] == '\0' ||
           (strncmp(feature, OURS, strlen(OURS)) == 0 &&
            feature[strlen(OURS)] != '\0' &&
            strspn(feature + strlen(OURS), "0123456789") ==
                strlen(feature + strlen(OURS)));
}

int taut_slurm_feature(const json_t *request, json_t *reply)
{
    json_t *nodes = json_object_get(request, "nodes"), *name;
    const char *add = json_string_value(json_object_get(request, "feature"));
    json_int_t changed = 0;
    struct taut_error err;
    size_t i;

    if (add == NULL || !is_ours(add))
        return taut_reply_refuse(reply, "feature: expected '' or '" OURS "' and a number");
    if (!json_is_array(nodes))
        return taut_reply_refuse(reply, "nodes: expected an array of names");
    json_array_foreach(nodes, i, name)
    {
        if (taut_node_name_check(json_string_value(name), &err) != 0)
            return taut_reply_refuse(reply, err.text);
        int rc = set_one(json_string_value(name), add);
        if (rc < 0)
            return -1;
        changed += rc;
    }
    taut_reply_number(reply, "changed", changed);
    return 0;
}
