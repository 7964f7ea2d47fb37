/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/probe/blocking.h"
#include "plugin/probe/lookup.h"

#define FILE_NAME "server"

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

void taut_recall_open(struct taut_recall *r, const char *rundir)
{
    char path[1100];
    ssize_t n;

    r->fd = -1;
    r->text[0] = '\0';
    if (snprintf(path, sizeof(path), "%s/" FILE_NAME, rundir) >=
        (int)sizeof(path))
        return;
    r->fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK,
                 0644);
    if (r->fd < 0)
        return;
    n = pread(r->fd, r->text, sizeof(r->text) - 1, 0);
    r->text[n > 0 ? n : 0] = '\0';
    r->text[strcspn(r->text, " \n")] = '\0';
}

void taut_recall_close(struct taut_recall *r)
{
    if (r->fd >= 0)
        close(r->fd);
    r->fd = -1;
}

void taut_recall_order(const struct taut_recall *r,
                       struct taut_address *servers, int n)
{
    char text[TAUT_ADDRESS_TEXT];
    struct taut_address first;

    for (int i = 1; r->text[0] != '\0' && i < n; i++) {
        taut_address_format(&servers[i], text);
        if (strcmp(text, r->text) != 0)
            continue;
        first = servers[i];
        memmove(&servers[1], &servers[0], (size_t)i * sizeof(first));
        servers[0] = first;
        return;
    }
}

void taut_recall_note(struct taut_recall *r, const struct taut_address *server)
{
    char text[TAUT_ADDRESS_TEXT], line[TAUT_ADDRESS_TEXT + 1];

    if (r->fd < 0)
        return;
    taut_address_format(server, text);
    if (strcmp(text, r->text) == 0)
        return;
    snprintf(line, sizeof(line), "%-*s\n", TAUT_ADDRESS_TEXT - 1, text);
    if (pwrite(r->fd, line, TAUT_ADDRESS_TEXT, 0) == TAUT_ADDRESS_TEXT)
        memcpy(r->text, text, sizeof(text));
}
