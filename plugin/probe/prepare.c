/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What taut-probe does as root: interfaces, counters, transports, and HELLO in
 * its credential. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/common/privileges.h"
#include "plugin/probe/hello.h"
#include "plugin/probe/probe.h"
#include "plugin/probe/ticket.h"

/* ---- interfaces ---- */

static int open_transport(struct taut_probe *p, enum taut_transport_kind kind,
                          struct taut_error *why)
{
    const struct taut_options *o = &p->args.opts;

    return taut_rails_open(&p->rails, kind, o->provider, o->domain, o->modules,
                           why);
}

/* libfabric, and TCP where that fails and the site wants it so: only then
 * is libfabric waited for. */
static int open_ofi(struct taut_probe *p, struct taut_error *why)
{
    size_t count = p->rails.endpoint_count;
    int rc = open_transport(p, TAUT_TRANSPORT_OFI, why);

    if (strchr(p->args.opts.transport, ',') == NULL)
        return rc;
    for (size_t i = count; i < p->rails.endpoint_count && rc == 0; i++)
        rc = taut_transport_ofi_wait(&p->rails.endpoints[i],
                                     taut_probe_share_ns(p, 60), why);
    if (rc == 0)
        return 0;
    taut_log_error(&p->log, "%s; TCP instead", why->text);
    taut_rails_close(&p->rails);
    return open_transport(p, TAUT_TRANSPORT_TCP, why);
}

static void say_unusable(struct taut_probe *p)
{
    for (size_t i = 0; i < p->rails.count; i++) {
        if (*p->rails.list[i].why.text)
            taut_log_error(&p->log, "%s; not tested",
                           p->rails.list[i].why.text);
    }
}

static int find_rails(struct taut_probe *p, const struct taut_lookup *l)
{
    struct taut_error why;
    int rc = taut_rails_find(&p->rails, p->args.opts.interface, &l->servers[0],
                             p->root_fd, &why);

    if (rc < 0)
        taut_log_error(&p->log, "%s; skipped", why.text);
    return rc;
}

/* An idle check and a prolog accept streams, an epilog does not. */
static int open_rails(struct taut_probe *p)
{
    struct taut_error why;
    int rc = 0;

    if (p->args.job.purpose != TAUT_PURPOSE_EPILOG)
        rc = strcmp(p->args.opts.transport, "tcp") != 0
                 ? open_ofi(p, &why)
                 : open_transport(p, TAUT_TRANSPORT_TCP, &why);
    if (rc < 0)
        taut_log_error(&p->log, "%s; skipped", why.text);
    else
        say_unusable(p);
    return rc;
}

/* ---- counters, processors ---- */

void taut_probe_read_counters(struct taut_probe *p, int64_t deadline_ns)
{
    struct taut_error why;

    if (taut_counters_ask(&p->counters, deadline_ns, &why) == 0 ||
        p->has_said_unreadable)
        return;
    p->has_said_unreadable = true;
    taut_log_error(&p->log, "%s", why.text);
}

static void open_counters(struct taut_probe *p, const struct taut_lookup *l)
{
    const char *names[TAUT_PLAN_RAILS];
    struct taut_error why;

    for (size_t i = 0; i < p->rails.count; i++)
        names[i] = p->rails.list[i].interface;
    if (taut_counters_open(&p->counters, names, p->rails.count, p->root_fd,
                           l->is_root ? &l->run_as : NULL, &why) < 0)
        taut_log_error(&p->log, "%s", why.text);
}

static void find_near(struct taut_probe *p)
{
    const char *names[TAUT_PLAN_RAILS];

    for (size_t i = 0; i < p->rails.count; i++)
        names[i] = p->rails.list[i].interface;
    if (p->args.job.purpose != TAUT_PURPOSE_EPILOG)
        taut_locality_begin(&p->locality, names, p->rails.count, p->root_fd,
                            p->args.sysroot, p->args.opts.modules);
}

/* ---- HELLO ---- */

/* HELLO in its credential, or NULL: said why. */
static char *make_hello(struct taut_probe *p, uid_t tautd)
{
    struct taut_hello hello = {
        .job = &p->args.job,
        .rails = &p->rails,
        .readings = &p->counters.readings,
        .boot = p->boot,
        .owner = p->args.owner,
        .budget_ms = taut_left_ms(p->deadline_ns),
    };
    struct taut_error why;
    char *text, *cred;

    memcpy(hello.key, p->session.key, sizeof(hello.key));
    text = taut_hello_encode(&hello);
    if (text == NULL) {
        taut_log_error(&p->log, "HELLO: %s",
                       errno == EINVAL ? "--owner is no JSON object"
                                       : strerror(errno));
        return NULL;
    }
    cred = p->args.has_ticket
               ? taut_ticket_wrap(p->ticket, p->session.key, text, &why)
               : taut_hello_wrap(text, tautd, p->args.opts.munge_socket,
                                 taut_probe_share_ns(p, 40), &why);
    if (cred == NULL)
        taut_probe_hold_off(p, why.text);
    free(text);
    return cred;
}

char *taut_probe_prepare(struct taut_probe *p, const struct taut_lookup *l)
{
    struct taut_error why;
    char *cred;

    if (l->is_root && taut_privileges_check(&l->run_as, &why) < 0) {
        taut_log_error(&p->log, "%s; skipped", why.text);
        return NULL;
    }
    if (find_rails(p, l) < 0)
        return NULL;
    open_counters(p, l); /* it forks: before libfabric is loaded */
    taut_probe_read_counters(p, taut_probe_share_ns(p, 15));
    if (open_rails(p) < 0)
        return NULL;
    find_near(p);
    taut_rails_open_gauges(&p->rails, p->root_fd);
    cred = make_hello(p, l->tautd.uid);
    if (cred != NULL && l->is_root &&
        taut_privileges_drop(&l->run_as, &why) < 0) {
        taut_log_error(&p->log, "%s; skipped", why.text);
        free(cred);
        return NULL;
    }
    return cred;
}
