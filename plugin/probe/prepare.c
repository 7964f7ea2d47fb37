/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What taut-probe does as root: interfaces, counters, transports, and HELLO in
 * its credential. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/common/confine.h"
#include "plugin/common/privileges.h"
#include "plugin/probe/hello.h"
#include "plugin/probe/notary.h"
#include "plugin/probe/probe.h"
#include "plugin/probe/ticket.h"
#include "plugin/transport/memlock.h"
#include "plugin/transport/unusable.h"

/* ---- interfaces ---- */

static int open_transport(struct taut_probe *p, enum taut_transport_kind kind,
                          struct taut_error *why)
{
    const struct taut_options *o = &p->args.opts;

    return taut_rails_open(&p->rails, kind,
                           &(struct taut_transport_options){
                               .provider = o->provider,
                               .domain = o->domain,
                               .env = o->ofi_env,
                               .folder = o->modules,
                           },
                           why);
}

static bool uses_ofi(const struct taut_probe *p)
{
    return strcmp(p->args.opts.transport, "tcp") != 0 &&
           p->args.job.purpose != TAUT_PURPOSE_EPILOG;
}

/* TCP where libfabric fails, if the site wants it so: only then is libfabric
 * waited for, and HELLO written late. */
static bool waits_for_ofi(const struct taut_probe *p)
{
    return uses_ofi(p) && strchr(p->args.opts.transport, ',') != NULL;
}

static int wait_for_ofi(struct taut_probe *p)
{
    struct taut_error why;
    int rc = 0;

    for (size_t i = 0; i < p->rails.endpoint_count && rc == 0; i++)
        rc = taut_transport_ofi_wait(&p->rails.endpoints[i],
                                     taut_probe_share_ns(p, 60), &why);
    if (rc == 0)
        return 0;
    taut_log_error(&p->log, "%s; TCP instead", why.text);
    taut_rails_close(&p->rails);
    rc = open_transport(p, TAUT_TRANSPORT_TCP, &why);
    if (rc < 0)
        taut_log_error(&p->log, "%s; skipped", why.text);
    return rc;
}

/* A survey's user, and a node's log where the file for it says that it was not
 * said before: true. */
static bool is_news(struct taut_probe *p, struct taut_unusable *told,
                    const char *interface, const char *why)
{
    return p->args.is_survey || taut_unusable_add(told, interface, why);
}

static void say_usable(struct taut_probe *p, struct taut_unusable *told,
                       const char *interface)
{
    if (!p->args.is_survey && taut_unusable_remove(told, interface))
        taut_log_info(&p->log, "interface %s can be used again", interface);
}

/* Which rails are not tested, where it was not said before, and which are
 * again.
 *   is_skipped  none can be used, so nothing is tested */
static void say_unusable(struct taut_probe *p, bool is_skipped)
{
    struct taut_unusable told;

    if (p->args.job.purpose == TAUT_PURPOSE_EPILOG && !is_skipped)
        return; /* it opens no transport: the next check says */
    taut_unusable_open(&told, p->args.opts.rundir, p->boot);
    for (size_t i = 0; i < p->rails.count; i++) {
        const struct taut_rail *r = &p->rails.list[i];

        if (!*r->why.text)
            say_usable(p, &told, r->interface);
        else if (is_news(p, &told, r->interface, r->why.text))
            taut_log_error(&p->log, "%s; %s", r->why.text,
                           is_skipped ? "skipped" : "not tested");
        else
            taut_log_debug(&p->log, "%s; not tested, as before", r->why.text);
    }
    taut_unusable_close(&told);
}

static int find_rails(struct taut_probe *p, const struct taut_lookup *l)
{
    struct taut_error why;
    int rc = taut_rails_find(&p->rails, p->args.opts.interface, &l->servers[0],
                             p->root_fd, &why);

    if (rc < 0 && p->rails.count > 0)
        say_unusable(p, true);
    else if (rc < 0)
        taut_log_error(&p->log, "%s; skipped", why.text);
    return rc;
}

/* An idle check and a prolog accept streams, an epilog does not. */
static int open_rails(struct taut_probe *p)
{
    struct taut_error why;
    int rc = 0;

    if (p->args.job.purpose != TAUT_PURPOSE_EPILOG)
        rc = open_transport(p,
                            strcmp(p->args.opts.transport, "tcp") != 0
                                ? TAUT_TRANSPORT_OFI
                                : TAUT_TRANSPORT_TCP,
                            &why);
    if (rc < 0)
        taut_log_error(&p->log, "%s; skipped", why.text);
    else
        say_unusable(p, false);
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
        taut_locality_ask(&p->locality, names, p->rails.count, p->root_fd,
                          p->args.sysroot, p->args.opts.modules);
}

/* ---- HELLO ---- */

static char *hello_text(struct taut_probe *p)
{
    struct taut_hello hello = {
        .job = &p->args.job,
        .rails = &p->rails,
        .readings = &p->counters.readings,
        .boot = p->boot,
        .user_port = p->user_port,
        .owner = p->args.owner,
        .budget_ms = taut_left_ms(p->deadline_ns),
        .ofi_ms = uses_ofi(p) ? p->opening.ms : -1,
    };
    char *text;

    memcpy(hello.key, p->session.key, sizeof(hello.key));
    text = taut_hello_encode(&hello);
    if (text == NULL)
        taut_log_error(&p->log, "HELLO: %s",
                       errno == EINVAL ? "--owner is not a JSON object"
                                       : strerror(errno));
    return text;
}

/* HELLO in its credential, or NULL: said why. */
static char *make_hello(struct taut_probe *p, uid_t tautd,
                        struct taut_notary *notary)
{
    char *text = hello_text(p), *cred;
    int64_t deadline_ns = taut_probe_share_ns(p, 40);
    struct taut_error why;

    if (text == NULL)
        return NULL;
    if (p->args.has_ticket)
        cred = taut_ticket_wrap(p->ticket, p->session.key, text, &why);
    else if (notary->fd >= 0)
        cred = taut_notary_wrap(notary, text, deadline_ns, &why);
    else
        cred = taut_hello_wrap(text, tautd, p->args.opts.munge_socket,
                               deadline_ns, &why);
    if (cred == NULL)
        taut_probe_hold_off(p, why.text, true);
    free(text);
    return cred;
}

/* ---- the end of root ---- */

static int start_notary(struct taut_probe *p, const struct taut_lookup *l,
                        struct taut_notary *notary)
{
    struct taut_error why;
    int rc;

    if (!l->is_root || p->args.has_ticket || !waits_for_ofi(p))
        return 0;
    rc = taut_notary_start(notary, l->tautd.uid, p->args.opts.munge_socket,
                           p->deadline_ns, &why);
    if (rc < 0)
        taut_log_error(&p->log, "%s; skipped", why.text);
    return rc;
}

/* Returns 0, or -1: said why. */
static int give_up_root(struct taut_probe *p, const struct taut_lookup *l)
{
    bool loads = uses_ofi(p) || p->locality.search != NULL;
    char by[TAUT_CONFINE_TEXT];
    struct taut_error why;

    if (uses_ofi(p))
        taut_memlock_raise(p->rails.count);
    if (l->is_root && taut_privileges_drop(&l->run_as, &why) < 0) {
        taut_log_error(&p->log, "%s; skipped", why.text);
        return -1;
    }
    taut_confine(loads ? TAUT_CONFINE_MODULES : TAUT_CONFINE_STREAMS,
                 p->root_fd, by);
    taut_log_debug(&p->log, "runs as uid %u; confined by %s",
                   (unsigned)(l->is_root ? l->run_as.uid : geteuid()),
                   *by ? by : "nothing");
    return 0;
}

/* Once since the node was booted. */
static void say_user(struct taut_probe *p, const struct taut_lookup *l)
{
    if (l->is_root && l->run_as.is_else && p->holdoff.is_new)
        taut_log_info(&p->log,
                      "no user " TAUT_USER " on this node, and no run_as: runs "
                      "as " TAUT_USER_ELSE);
}

/* tautd takes root's word only from a port that is root's.  Where there is
 * none, it says whether it takes this one. */
static void take_root_ports(struct taut_probe *p, const struct taut_lookup *l)
{
    if (l->is_root && !p->args.has_ticket)
        taut_session_bind(&p->session, l->servers, l->server_count,
                          &p->port_why);
}

static int open_all(struct taut_probe *p, const struct taut_lookup *l,
                    struct taut_notary *notary)
{
    struct taut_error why;

    if (l->is_root && taut_privileges_check(&l->run_as, &why) < 0) {
        taut_log_error(&p->log, "%s; skipped", why.text);
        return -1;
    }
    say_user(p, l);
    if (l->is_root)
        taut_privileges_bound(); /* once, for children as well */
    if (find_rails(p, l) < 0)
        return -1;
    open_counters(p, l); /* it forks: before libfabric is loaded */
    taut_probe_read_counters(p, taut_probe_share_ns(p, 15));
    if (start_notary(p, l, notary) < 0 || open_rails(p) < 0)
        return -1;
    find_near(p);
    if (p->args.job.purpose != TAUT_PURPOSE_EPILOG)
        taut_rails_open_gauges(&p->rails, p->root_fd);
    take_root_ports(p, l); /* no child has them */
    return 0;
}

char *taut_probe_prepare(struct taut_probe *p, const struct taut_lookup *l)
{
    struct taut_notary notary = {.fd = -1, .pid = -1};
    bool is_late = waits_for_ofi(p), is_ready = open_all(p, l, &notary) == 0;
    char *cred = NULL;

    if (is_ready && !is_late) {
        cred = make_hello(p, l->tautd.uid, &notary);
        is_ready = cred != NULL;
    }
    if (is_ready && give_up_root(p, l) == 0) {
        taut_rails_load(&p->rails);
        taut_locality_begin(&p->locality);
        if (is_late && wait_for_ofi(p) == 0)
            cred = make_hello(p, l->tautd.uid, &notary);
    } else {
        free(cred);
        cred = NULL;
    }
    taut_notary_close(&notary);
    return cred;
}
