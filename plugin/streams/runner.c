/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/common/clock.h"
#include "plugin/common/pollset.h"
#include "plugin/counters/netstat.h"
#include "plugin/streams/receiver.h"
#include "plugin/streams/runner.h"
#include "plugin/streams/sender.h"

#define MARGIN_NS (2 * TAUT_MS_NS) /* around a test, for its gauge */
#define TAIL_NS (20 * TAUT_MS_NS)  /* for a sender that ends late */
#define TAIL_MEMORY_NS (50 * TAUT_MS_NS)
#define ASKS_NS (6 * TAUT_MS_NS)    /* about ways, before the first phase … */
#define TRACES_NS (20 * TAUT_MS_NS) /* … and after the last */
#define PORTS_NS (2 * TAUT_MS_NS)   /* for an answer about ports, … */
#define SAME_NS (TAUT_MS_NS)        /* … which does for others until then */
#define SLACK_BYTES 8192 /* handshakes, ARP, tautd's frames */

static const char out_of_time[] = "the budget ended before the test did";

struct slot {
    struct taut_test test; /* its ports, and how many streams, by its aim */
    struct taut_measure *measure;
    struct taut_endpoint *endpoint;
    struct taut_sender *sender; /* one of the two */
    struct taut_inflow *inflow;
    int64_t begin_ns; /* when to note the first mark */
    struct taut_gauge_mark from;
    struct taut_gauge_mark warm, done; /* of the window */
    struct taut_port_count port_from;  /* of RDMA */
    bool is_begun, is_finished;
};

struct run {
    const struct taut_runner *runner;
    struct taut_pollset set;
    struct taut_receiver receiver;
    struct taut_inflow *inflows;
    struct taut_sender *senders;
    struct slot *slots;
    size_t sender_count, slot_count;
    int64_t pruned; /* by this node before the plan; -1 = unknown */
    int64_t ports_ns; /* when ports were asked; 0 = never */
    struct taut_port_count ports[TAUT_PLAN_RAILS]; /* their answer */
};

static void fini(struct run *run)
{
    int saved = errno;

    taut_pollset_fini(&run->set);
    free(run->inflows);
    free(run->senders);
    free(run->slots);
    errno = saved;
}

/* Room for one descriptor of each stream, stranger, and endpoint. */
static int init(struct run *run, const struct taut_runner *runner,
                const struct taut_plan *plan)
{
    memset(run, 0, sizeof(*run));
    run->runner = runner;
    run->pruned = -1;
    run->inflows = calloc(plan->count + 1, sizeof(*run->inflows));
    run->senders = calloc(plan->count + 1, sizeof(*run->senders));
    run->slots = calloc(plan->count + 1, sizeof(*run->slots));
    if (run->inflows != NULL && run->senders != NULL && run->slots != NULL &&
        taut_pollset_init(&run->set, plan->count * TAUT_PLAN_STREAMS +
                                         TAUT_PENDING_MAX +
                                         runner->endpoint_count + 1) == 0)
        return 0;
    fini(run);
    return -1;
}

static void clear(struct taut_measure *m)
{
    memset(m, 0, sizeof(*m));
    m->bytes = m->window_ns = m->total_bytes = -1;
    m->lat_median_ns = m->lat_p99_ns = m->lat_n = m->looks = -1;
    m->busy_ns = m->rtt_ns = m->mean_rtt_ns = m->delay_ns = -1;
    m->strangers = m->full = m->pruned = -1;
    taut_account_clear(&m->account);
    m->foreign_bytes = m->aimed = m->trace_ns = -1;
    m->port = (struct taut_gauge_port){-1, -1, -1, -1};
    m->port_losses = (struct taut_port_losses){-1, -1, -1};
}

static struct taut_endpoint *find(const struct taut_runner *runner,
                                  const struct taut_test *test)
{
    for (size_t i = 0; i < runner->endpoint_count; i++) {
        struct taut_endpoint *ep = &runner->endpoints[i];

        if (ep->transport != NULL && ep->rail == test->rail &&
            ep->transport->kind == test->transport)
            return ep;
    }
    return NULL;
}

/* Addresses of a sender's two ends; false: they are not to be traced. */
static bool ends_of(const struct slot *slot, struct taut_address *from,
                    struct taut_address *to)
{
    *from = slot->endpoint->local;
    if (slot->test.trace == 0 || *slot->measure->error ||
        taut_address_parse(to, slot->test.peer, NULL) < 0)
        return false;
    taut_address_set_port(from, (uint16_t)slot->test.ports[0]);
    return true;
}

/* Where a certain way is wanted: ports that take it, and as many streams. */
static void aim(struct slot *slot, int64_t deadline_ns)
{
    struct taut_test *t = &slot->test;
    struct taut_address from, to;
    int64_t began_ns = taut_now_ns();
    int ports[TAUT_PLAN_STREAMS];

    if (t->aim.hop == 0 || !ends_of(slot, &from, &to))
        return;
    int n = taut_way_aim(ports, t->streams, &t->aim, &from, &to,
                         slot->endpoint->interface, deadline_ns);
    if (n > 0) {
        memcpy(t->ports, ports, (size_t)n * sizeof(*ports));
        t->streams = n;
    }
    slot->measure->aimed = n;
    slot->measure->trace_ns = taut_now_ns() - began_ns;
}

/* Which way will it go?  Asked while nothing of it is in the queues. */
static void trace(struct slot *slot, int64_t deadline_ns)
{
    int64_t began_ns = taut_now_ns(), before_ns = slot->measure->trace_ns;
    struct taut_address from, to;

    if (!ends_of(slot, &from, &to))
        return;
    /* what was learned before a request could not be sent stays */
    (void)taut_way_ask(&slot->measure->way, &from, &to,
                       slot->endpoint->interface, slot->test.trace,
                       deadline_ns);
    slot->measure->trace_ns =
        taut_now_ns() - began_ns + (before_ns > 0 ? before_ns : 0);
}

/* Nothing goes to this host itself, but where the rail is its loopback. */
static bool is_elsewhere(const struct taut_endpoint *ep,
                         const struct taut_test *test)
{
    struct taut_address to;

    return taut_address_is_loopback(&ep->local) ||
           (taut_address_parse(&to, test->peer, NULL) == 0 &&
            !taut_address_is_own(&to));
}

static void begin_test(struct run *run, const struct taut_test *test,
                       struct taut_measure *measure, int64_t plan_ns)
{
    struct taut_endpoint *ep = find(run->runner, test);
    struct slot *slot;

    if (ep == NULL) {
        snprintf(measure->error, sizeof(measure->error),
                 "this node has no rail %d for transport %s", test->rail,
                 taut_transport_name(test->transport));
        return;
    }
    if (test->role == TAUT_ROLE_SEND && !is_elsewhere(ep, test)) {
        snprintf(measure->error, sizeof(measure->error),
                 "%s is an address of this node itself", test->peer);
        return;
    }
    slot = &run->slots[run->slot_count++];
    slot->test = *test;
    slot->measure = measure;
    slot->endpoint = ep;
    slot->begin_ns = plan_ns + test->start_ms * TAUT_MS_NS - MARGIN_NS;
    if (test->role == TAUT_ROLE_SEND) {
        slot->sender = &run->senders[run->sender_count++];
        aim(slot, plan_ns + ASKS_NS);
        trace(slot, plan_ns + ASKS_NS);
        taut_sender_begin(slot->sender, ep, &slot->test, measure, plan_ns);
    } else {
        if (run->pruned < 0 && test->transport == TAUT_TRANSPORT_TCP)
            run->pruned = taut_netstat_pruned(ep->gauge->netstat_fd);
        slot->inflow =
            taut_receiver_add(&run->receiver, ep, &slot->test, measure, plan_ns);
    }
}

static void begin(struct run *run, const struct taut_plan *plan,
                  int64_t plan_ns, struct taut_measure *measures)
{
    for (size_t i = 0; i < plan->count; i++)
        clear(&measures[i]);
    taut_receiver_begin(&run->receiver, run->inflows, run->runner->endpoints,
                        run->runner->endpoint_count);
    /* A large plan has hundreds of streams, and a peer waits only so long
     * for a token: give it as soon as a stream is open. */
    for (size_t i = 0; i < plan->count; i++) {
        begin_test(run, &plan->tests[i], &measures[i], plan_ns);
        for (size_t k = run->sender_count > 1 ? run->sender_count - 2 : 0;
             k < run->sender_count; k++)
            taut_sender_run(&run->senders[k], plan_ns);
    }
}

/* This moment on the port of one rail. */
static void mark(struct run *run, const struct taut_endpoint *ep,
                 struct taut_gauge_mark *m)
{
    int64_t sent = 0, came = 0;

    for (size_t i = 0; i < run->sender_count; i++) {
        if (run->senders[i].endpoint->rail == ep->rail)
            sent += taut_sender_sent(&run->senders[i]);
    }
    for (size_t i = 0; i < run->receiver.count; i++) {
        if (run->inflows[i].endpoint->rail == ep->rail)
            came += run->inflows[i].total_bytes;
    }
    taut_gauge_mark(ep->gauge, m, came, sent);
}

/* What senders that ended shortly before had on the way still leaves the
 * port, and is not a stranger's. */
static int64_t slack(const struct run *run, const struct slot *slot)
{
    int64_t bytes = SLACK_BYTES;

    for (size_t i = 0; i < run->sender_count; i++) {
        const struct taut_sender *s = &run->senders[i];

        if (s->endpoint->rail == slot->endpoint->rail && s->is_done &&
            s->done_ns < slot->begin_ns + MARGIN_NS &&
            s->done_ns > slot->begin_ns - TAIL_MEMORY_NS)
            bytes += s->flight_bytes;
    }
    return bytes;
}

/* The window as it was planned, whether or not anything comes. */
static int64_t warm_ns(const struct slot *slot)
{
    return slot->begin_ns + MARGIN_NS + slot->test.dur_ms * TAUT_MS_NS / 5;
}

static int64_t done_ns(const struct slot *slot)
{
    return slot->begin_ns + MARGIN_NS + slot->test.dur_ms * TAUT_MS_NS;
}

/* When a slot's last mark is due, or -1 while its test runs.  A sender that
 * does not listen goes on though its receiver has seen enough. */
static int64_t finish_ns(const struct slot *slot)
{
    int64_t over_ns;

    if (slot->sender != NULL)
        return slot->sender->is_done ? slot->sender->done_ns + MARGIN_NS : -1;
    if (!slot->inflow->is_done)
        return -1;
    over_ns = slot->inflow->done_ns;
    if (slot->inflow->open == 0)
        return over_ns + MARGIN_NS;
    return (over_ns > done_ns(slot) ? over_ns : done_ns(slot)) + TAIL_NS;
}

/* What a slot's port has lost until now.  Tests of one phase ask in the same
 * moment, so one answer does for all. */
static struct taut_port_count count_port(struct run *run,
                                         const struct slot *slot)
{
    int64_t now_ns = taut_now_ns();

    if (run->runner->counters == NULL ||
        slot->test.transport != TAUT_TRANSPORT_OFI)
        return taut_port_nothing;
    if (run->ports_ns == 0 || now_ns - run->ports_ns > SAME_NS) {
        (void)taut_counters_ask_ports(run->runner->counters, run->ports,
                                      now_ns + PORTS_NS);
        run->ports_ns = taut_now_ns();
    }
    return run->ports[slot->endpoint->rail];
}

static void note_port(struct run *run, struct slot *slot)
{
    struct taut_port_count to = count_port(run, slot);

    slot->measure->port_losses =
        taut_port_growth(&slot->port_from, &to, slot->sender != NULL);
}

/* Did this node throw away what came?  Asked where something came behind a
 * gap, since it costs. */
static void note_pruned(const struct run *run, struct slot *slot)
{
    int64_t now;

    if (run->pruned < 0 || slot->measure->account.disordered <= 0)
        return;
    now = taut_netstat_pruned(slot->endpoint->gauge->netstat_fd);
    if (now >= run->pruned)
        slot->measure->pruned = now - run->pruned;
}

static void finish_slot(struct run *run, struct slot *slot)
{
    struct taut_gauge_mark to;

    slot->is_finished = true;
    if (slot->inflow != NULL) {
        taut_receiver_settle(slot->inflow);
        note_pruned(run, slot);
    }
    if (!slot->is_begun || *slot->measure->error)
        return;
    /* what came after a receiver had seen enough is the test's, too */
    if (slot->inflow != NULL && slot->measure->parts < TAUT_RESULT_PARTS)
        slot->measure->total_bytes = slot->inflow->total_bytes;
    mark(run, slot->endpoint, &to);
    note_port(run, slot);
    if (slot->done.at_ns == 0) /* it ended early */
        slot->done = to;
    slot->measure->delay_ns = taut_gauge_delay(&slot->from, &to);
    slot->measure->foreign_bytes = taut_gauge_foreign(
        &slot->from, &to, slack(run, slot), slot->test.dur_ms * TAUT_MS_NS);
    /* the device counts no RDMA, and so not all that the port carried */
    if (slot->test.transport == TAUT_TRANSPORT_TCP && slot->warm.at_ns > 0)
        slot->measure->port =
            taut_gauge_port(&slot->warm, &slot->done, slot->sender != NULL);
}

static void mark_window(struct run *run, struct slot *slot, int64_t now_ns)
{
    if (slot->warm.at_ns == 0 && now_ns >= warm_ns(slot))
        mark(run, slot->endpoint, &slot->warm);
    if (slot->done.at_ns == 0 && now_ns >= done_ns(slot))
        mark(run, slot->endpoint, &slot->done);
}

static void run_slot(struct run *run, struct slot *slot, int64_t now_ns)
{
    int64_t due_ns;

    if (!slot->is_begun && now_ns >= slot->begin_ns) {
        mark(run, slot->endpoint, &slot->from);
        slot->port_from = count_port(run, slot);
        slot->is_begun = true;
    }
    mark_window(run, slot, now_ns);
    due_ns = finish_ns(slot);
    if (!slot->is_finished && due_ns >= 0 && now_ns >= due_ns)
        finish_slot(run, slot);
}

static void watch_slot(const struct slot *slot, struct taut_pollset *set)
{
    int64_t due_ns = finish_ns(slot);

    if (!slot->is_begun)
        taut_pollset_wake(set, slot->begin_ns);
    else if (slot->warm.at_ns == 0)
        taut_pollset_wake(set, warm_ns(slot));
    else if (slot->done.at_ns == 0)
        taut_pollset_wake(set, done_ns(slot));
    if (!slot->is_finished && due_ns >= 0)
        taut_pollset_wake(set, due_ns);
}

static bool is_finished(const struct run *run)
{
    for (size_t i = 0; i < run->slot_count; i++) {
        if (!run->slots[i].is_finished)
            return false;
    }
    return true;
}

/* Has anybody come to the endpoints' sockets? */
static void note_quiet(struct run *run)
{
    for (size_t i = 0; i < run->runner->endpoint_count; i++) {
        struct taut_endpoint *ep = &run->runner->endpoints[i];

        ep->is_quiet =
            ep->transport != NULL && taut_pollset_is_quiet(&run->set, ep->fd);
    }
}

static void one_round(struct run *run, int64_t deadline_ns)
{
    int64_t now_ns;

    taut_pollset_begin(&run->set, deadline_ns);
    taut_receiver_watch(&run->receiver, &run->set);
    for (size_t i = 0; i < run->sender_count; i++)
        taut_sender_watch(&run->senders[i], &run->set);
    for (size_t i = 0; i < run->slot_count; i++)
        watch_slot(&run->slots[i], &run->set);
    taut_pollset_wait(&run->set);
    note_quiet(run);
    now_ns = taut_now_ns();
    for (size_t i = 0; i < run->slot_count; i++)
        run_slot(run, &run->slots[i], now_ns);
    taut_receiver_run(&run->receiver, now_ns);
    for (size_t i = 0; i < run->sender_count; i++)
        taut_sender_run(&run->senders[i], taut_now_ns());
}

/* Those for which there was no time before. */
static void trace_all(struct run *run, int64_t deadline_ns)
{
    int64_t until_ns = taut_now_ns() + TRACES_NS;

    for (size_t i = 0; i < run->slot_count; i++)
        if (run->slots[i].measure->way.hops < run->slots[i].test.trace)
            trace(&run->slots[i],
                  until_ns < deadline_ns ? until_ns : deadline_ns);
}

int taut_runner_run(const struct taut_runner *runner,
                    const struct taut_plan *plan, int64_t plan_ns,
                    int64_t deadline_ns, struct taut_measure *measures,
                    unsigned *refused)
{
    struct run run;

    if (init(&run, runner, plan) < 0)
        return -1;
    begin(&run, plan, plan_ns, measures);
    while (!is_finished(&run) && taut_now_ns() < deadline_ns)
        one_round(&run, deadline_ns);
    taut_receiver_end(&run.receiver, out_of_time);
    for (size_t i = 0; i < run.sender_count; i++)
        taut_sender_abort(&run.senders[i], out_of_time);
    trace_all(&run, deadline_ns);
    *refused = run.receiver.refused;
    fini(&run);
    return 0;
}
