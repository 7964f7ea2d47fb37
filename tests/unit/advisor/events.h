/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events on a small machine, for the tests of evidence. */
#ifndef TAUT_TESTS_UNIT_ADVISOR_EVENTS_H
#define TAUT_TESTS_UNIT_ADVISOR_EVENTS_H

#include "advisor/lib/evidence/inside.h"
#include "tests/unit/advisor/machines.h"

#define NONE TAUT_GRAPH_NONE
#define HOUR 3600.0

/* A torus of 4x4 routers with 2 nodes each, all capacities 1. */
static struct taut_graph *graph;
static struct taut_evidence *ev;

/* The defaults of the section `diagnosis`. */
static inline struct taut_evidence_rules event_rules(void)
{
    return (struct taut_evidence_rules){
        .good = 0.75,
        .clear_most = 0.95,
        .ceiling = 0.05,
        .spell_s = HOUR,
        .busy_share = 0.2,
        .busy_h = 3.5,
        .contended = 0.15,
        .steady = 0.25,
        .grows = 1.3,
        .at_level = 0.03,
        .at_fair = 0.3,
        .floor = 0.28,
        .event_most = 8,
        .spell_most = 8,
        .miss = 0.5,
        .ack = 0.05,
        .loss_floor = 1e-4,
        .loss_queue = 10,
        .loss_contended = 0.25,
        .loss_rtt_least = 20e-6,
        .loss_rtt_most = 150e-6,
    };
}

static inline void begin_machine(void)
{
    struct taut_torus_conf c = {
        .dims = 2, .length = {4, 4}, .wraps = {true, true}, .order = {0, 1}};
    struct taut_evidence_rules rules = event_rules();

    graph = machine_torus(&c, 2);
    ev = taut_evidence_create(graph, &rules);
    ck_assert_ptr_nonnull(ev);
}

static inline void end_machine(void)
{
    taut_evidence_destroy(ev);
    taut_graph_destroy(graph);
}

/* A test of one stream that got all. */
static inline struct taut_measured make_test(uint32_t src, uint32_t dst)
{
    return (struct taut_measured){.src = src,
                                  .dst = dst,
                                  .confirms = NONE,
                                  .flows = 1,
                                  .streams = 1,
                                  .bw_Bps = 1,
                                  .expected_Bps = 1};
}

static inline void add_test(const struct taut_measured *t)
{
    ck_assert_int_eq(taut_evidence_add(ev, t), 0);
}

static inline void end_event(double time)
{
    static int64_t event;

    ck_assert_int_eq(taut_evidence_commit(ev, time, ++event, NULL), 0);
}

static inline void take_alone(const struct taut_measured *t, double time)
{
    taut_evidence_begin(ev);
    add_test(t);
    end_event(time);
}

/* The link from router r to router s. */
static inline uint32_t find_link(uint32_t r, uint32_t s)
{
    for (uint32_t l = 0; l < graph->links; l++)
        if (graph->from[l] == r && graph->to[l] == s)
            return taut_graph_link(graph, l);
    ck_abort_msg("no link from %u to %u", r, s);
    return 0;
}

static inline uint32_t count_low(uint32_t c)
{
    uint32_t n;

    taut_evidence_run(ev, c, &n);
    return n;
}

/* By the last event. */
static inline bool was_touched(uint32_t c)
{
    uint32_t n;
    const uint32_t *list = taut_evidence_touched(ev, &n);

    while (n > 0 && list[n - 1] != c)
        n--;
    return n > 0;
}

#endif
