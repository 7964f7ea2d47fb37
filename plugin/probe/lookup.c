/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "plugin/probe/blocking.h"
#include "plugin/probe/lookup.h"

/* What the thread works on: after a timeout it is the thread's for good. */
struct work {
    const struct taut_options *opts;
    struct taut_lookup *found;
    int rc, why;
    struct taut_error err;
};

static int look_up(struct work *w)
{
    struct taut_lookup *l = w->found;

    int rc = taut_user_find(&l->tautd, w->opts->user, &w->err);

    if (rc == 0 && l->is_root)
        rc = *w->opts->run_as
                 ? taut_user_find(&l->run_as, w->opts->run_as, &w->err)
                 : taut_user_default(&l->run_as, &w->err);
    if (rc < 0) {
        errno = EINVAL;
        return -1;
    }
    l->server_count = taut_address_resolve(l->servers, TAUT_SERVERS_MAX,
                                           w->opts->servers, &w->err);
    return l->server_count < 0 ? -1 : 0;
}

static void run(void *arg)
{
    struct work *w = arg;

    w->rc = look_up(w);
    w->why = errno;
}

static void destroy(struct work *w)
{
    if (w != NULL)
        free(w->found);
    free(w);
}

static struct work *create(const struct taut_options *opts)
{
    struct work *w = calloc(1, sizeof(*w));

    if (w == NULL)
        return NULL;
    w->opts = opts;
    w->found = calloc(1, sizeof(*w->found));
    if (w->found == NULL) {
        destroy(w);
        return NULL;
    }
    w->found->is_root = geteuid() == 0;
    return w;
}

struct taut_lookup *taut_lookup_run(const struct taut_options *opts,
                                    int64_t deadline_ns, struct taut_error *err)
{
    struct work *w = create(opts);
    struct taut_lookup *found;
    int why;

    if (w == NULL) {
        taut_error_set(err, "out of memory");
        return NULL;
    }
    if (taut_blocking_call(run, w, deadline_ns) < 0) {
        taut_error_set(err, "the name service does not answer");
        return NULL;
    }
    found = w->found;
    why = w->why;
    if (w->rc == 0)
        w->found = NULL;
    else
        found = NULL;
    if (found == NULL && err != NULL)
        *err = w->err;
    destroy(w);
    errno = why;
    return found;
}
