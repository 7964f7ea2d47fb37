/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The request for slurmctld's hosts: which there are, and which answer.
 *
 * A standby answers a ping as the active one does; the active one is the
 * first of the list that answers, since a backup gives up control as soon as
 * one before it is there.  A host that is down costs the wait for it, so
 * nothing is asked where there is only one, and nobody after the first that
 * answers. */
#include <config.h>

#include <errno.h>

#include "advisor/slurm/compat.h"
#include "advisor/slurm/reply.h"

static json_t *describe(const char *host, const char *addr)
{
    json_t *out = json_object();

    taut_reply_text(out, "host", host);
    taut_reply_text(out, "addr", addr != NULL ? addr : host);
    return out;
}

/* The number of the active one, from 0; -1 when none answers. */
static int find_active(uint32_t count)
{
    if (count <= 1)
        return 0;
    for (uint32_t i = 0; i < count; i++)
        if (taut_ping(i))
            return (int)i;
    return -1;
}

int taut_slurm_controllers(const json_t *request, json_t *reply)
{
    slurm_conf_t *conf = NULL;
    json_t *list = json_array();

    (void)request;
    errno = 0;
    if (slurm_load_ctl_conf(0, &conf) != 0) {
        int saved = errno;
        json_decref(list);
        errno = saved;
        return -1;
    }
    const char *host, *addr;
    uint32_t count = taut_controller(conf, 0, &host, &addr);
    for (uint32_t i = 0; i < count; i++) {
        taut_controller(conf, i, &host, &addr);
        if (host != NULL)
            json_array_append_new(list, describe(host, addr));
    }
    int active = find_active(count);
    taut_free_conf(conf);
    json_object_set_new(reply, "controllers", list);
    taut_reply_number(reply, "active", active);
    return 0;
}
