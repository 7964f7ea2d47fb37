/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What tests say about components: clearing, accusing, weighing. */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <string.h>

#include "advisor/lib/evidence/evidence.h"
#include "tests/unit/advisor/machines.h"
#include "tests/unit/unit.h"

#define NONE TAUT_GRAPH_NONE
#define HOUR 3600.0

static const struct taut_evidence_rules rules = {
    .good = 0.75,
    .clear_most = 0.95,
    .ceiling = 0.05,
    .spell_s = HOUR,
    .around_s = 1800,
    .quiet = 0.9,
    .busy_per_h = 0.1,
    .busy_share = 0.2,
    .busy_h = 3.5,
    .contended = 0.15,
    .at_level = 0.03,
    .at_fair = 0.3,
    .floor = 0.28,
    .event_most = 8,
    .spell_most = 8,
    .miss = 0.5,
    .ack = 0.05,
    .forget_s = 14 * 24 * HOUR,
};

/* A torus of 4x4 routers with 2 nodes each, all capacities 1. */
static struct taut_graph *graph;
static struct taut_evidence *ev;

static void setup(void)
{
    struct taut_torus_conf c = {
        .dims = 2, .length = {4, 4}, .wraps = {true, true}, .order = {0, 1}};
    uint32_t around[1024];

    graph = machine_torus(&c, 2);
    for (uint32_t i = 0; i < graph->components; i++)
        around[i] = i < 2 * graph->endpoints
                        ? NONE
                        : graph->from[i - 2 * graph->endpoints];
    ev = taut_evidence_create(graph, &rules, around, graph->routers);
    ck_assert_ptr_nonnull(ev);
}

static void teardown(void)
{
    taut_evidence_destroy(ev);
    taut_graph_destroy(graph);
}

static void add(uint32_t src, uint32_t dst, uint32_t phase, double bw)
{
    struct taut_pending t = {.src = src,
                             .dst = dst,
                             .phase = phase,
                             .confirms = NONE,
                             .flows = 1,
                             .streams = 1,
                             .bw_Bps = bw,
                             .counts_users = true};

    ck_assert_int_eq(taut_evidence_add(ev, &t), 0);
}

static void commit(double time)
{
    static int64_t event;

    ck_assert_int_eq(taut_evidence_commit(ev, time, ++event), 0);
}

static void one(uint32_t src, uint32_t dst, double bw, double time)
{
    taut_evidence_begin(ev);
    add(src, dst, 1, bw);
    commit(time);
}

static uint32_t low_of(uint32_t c)
{
    return ev->run[c] == NULL ? 0 : ev->run[c]->n;
}

/* The link from router r to router s. */
static uint32_t link_of(uint32_t r, uint32_t s)
{
    for (uint32_t l = 0; l < graph->links; l++)
        if (graph->from[l] == r && graph->to[l] == s)
            return taut_graph_link(graph, l);
    ck_abort_msg("no link from %u to %u", r, s);
    return 0;
}

static double score(uint32_t c, uint32_t without, struct taut_case *k)
{
    taut_evidence_judge(ev, c, k);
    struct taut_case whole = *k;
    if (without != NONE)
        taut_evidence_without(ev, c, &whole, without, k);
    return k->score;
}

START_TEST(streams_of_a_phase_share)
{
    uint32_t x = link_of(0, 4);

    one(0, 1, 1, 0.5);
    taut_evidence_begin(ev);
    add(0, 8, 1, 0.5);
    add(1, 9, 1, 0.49);
    commit(1);
    ck_assert_uint_eq(ev->count.good, 2);
    ck_assert_double_eq(ev->cleared[x], 1);
    ck_assert_double_eq(ev->cleared[taut_graph_tx(0)], 0.5);
    /* one after the other they do not */
    taut_evidence_begin(ev);
    add(0, 8, 1, 0.5);
    add(1, 9, 2, 0.49);
    commit(2);
    ck_assert_uint_eq(ev->count.low, 2);
    ck_assert_uint_eq(low_of(x), 2);
}
END_TEST

START_TEST(a_low_test_accuses_all_that_is_not_cleared)
{
    one(0, 8, 0.5, 1);
    ck_assert_uint_eq(low_of(taut_graph_tx(0)), 1);
    ck_assert_uint_eq(low_of(taut_graph_rx(8)), 1);
    ck_assert_uint_eq(low_of(link_of(0, 4)), 1);
    ck_assert_uint_eq(low_of(link_of(4, 0)), 0);
    one(0, 1, 1, 2);
    ck_assert_uint_eq(low_of(taut_graph_tx(0)), 0);
    ck_assert_uint_eq(low_of(link_of(0, 4)), 1);
    /* what the event itself clears is not accused by it */
    taut_evidence_begin(ev);
    add(2, 10, 1, 0.5);
    add(2, 3, 2, 1);
    commit(3);
    ck_assert_uint_eq(low_of(taut_graph_tx(2)), 0);
    ck_assert_uint_eq(low_of(taut_graph_rx(10)), 1);
}
END_TEST

START_TEST(what_nobody_knows_is_neither_cleared_nor_lets_accuse)
{
    uint32_t x = link_of(0, 1), tx = taut_graph_tx(0), rx = taut_graph_rx(2);

    ev->is_unknown[x] = true;
    one(0, 2, 0.2, 100);
    ck_assert_uint_eq(ev->count.is_void, 1);
    ck_assert_uint_eq(low_of(tx) + low_of(x) + low_of(rx), 0);
    one(0, 2, 1, 200);
    ck_assert_uint_eq(ev->count.good, 1);
    ck_assert(ev->cleared[tx] == 200 && ev->cleared[rx] == 200);
    ck_assert(isinf(ev->cleared[x]));
    ck_assert_uint_eq(ev->tests[x], 0);
    /* nothing on the way is known */
    ev->is_unknown[tx] = ev->is_unknown[rx] = true;
    one(0, 2, 1, 300);
    ck_assert_uint_eq(ev->count.is_void, 1);
    ev->is_unknown[tx] = ev->is_unknown[rx] = ev->is_unknown[x] = false;
    one(0, 2, 0.2, 400);
    ck_assert_uint_eq(low_of(x), 1);
}
END_TEST

START_TEST(void_and_odd_figures_say_nothing)
{
    one(0, 8, -1, 1);
    ck_assert_uint_eq(ev->count.is_void, 1);
    ck_assert_uint_eq(low_of(taut_graph_tx(0)), 0);
    ck_assert_uint_eq(ev->tests[taut_graph_tx(0)], 0);
}
END_TEST

START_TEST(an_older_event_clears_only_what_is_older)
{
    one(0, 8, 0.5, 10);
    one(0, 8, 0.5, 30);
    one(0, 8, 1, 20);
    ck_assert_uint_eq(low_of(taut_graph_tx(0)), 1);
    ck_assert_double_eq(ev->run[taut_graph_tx(0)]->entry[0].low->time, 30);
    one(0, 8, 0.5, 15); /* it was seen well after that */
    ck_assert_uint_eq(low_of(taut_graph_tx(0)), 1);
}
END_TEST

START_TEST(silence_accuses_the_way_back)
{
    one(0, 8, 0.01, 1);
    ck_assert_uint_eq(low_of(link_of(4, 0)), 1);
    ck_assert_uint_eq(low_of(taut_graph_rx(0)), 1);
    ck_assert_uint_gt(ev->acks, 0);
    one(1, 9, 0.4, 2); /* low, but something came: no news of the way back */
    ck_assert_uint_eq(low_of(link_of(4, 0)), 1);
    one(1, 9, 1, 3);
    ck_assert_uint_eq(low_of(link_of(4, 0)), 0);
    ck_assert_uint_eq(low_of(taut_graph_rx(0)), 1); /* not on that way back */
}
END_TEST

START_TEST(spells_make_the_weight)
{
    struct taut_case k;
    double last = 0;

    for (int i = 0; i < 6; i++) {
        one(0, 8, 0.41, i * HOUR);
        one(0, 8, 0.41, i * HOUR + 60); /* the same spell: nothing new */
        double now = score(link_of(0, 4), NONE, &k);
        ck_assert_double_gt(now, last + 2);
        ck_assert_uint_eq(k.spells, i + 1);
        ck_assert_double_eq_tol(k.best, 0.41, 1e-6);
        last = now;
    }
    one(0, 8, 0.3, 7 * HOUR);
    ck_assert_double_lt(score(link_of(0, 4), NONE, &k), last);
    ck_assert_uint_eq(k.spells, 6);
}
END_TEST

START_TEST(fair_shares_weigh_less)
{
    struct taut_case k;

    one(0, 8, 0.41, 0);
    one(0, 8, 0.41, HOUR);
    double odd = score(link_of(0, 4), NONE, &k);
    taut_evidence_void(ev);
    one(0, 8, 0.5, 0);
    one(0, 8, 0.5, HOUR);
    ck_assert_double_lt(score(link_of(0, 4), NONE, &k) + 3, odd);
}
END_TEST

START_TEST(quiet_surroundings_make_one_event_worth_more)
{
    struct taut_case k;
    uint32_t x = link_of(0, 4);

    one(0, 8, 0.41, 10);
    double alone = score(x, NONE, &k);
    ck_assert_uint_eq(k.quiet, 0);
    taut_evidence_void(ev);
    taut_evidence_begin(ev);
    add(0, 8, 1, 0.41);
    add(1, 2, 1, 1); /* leaves the same router by another link */
    commit(10);
    double quiet = score(x, NONE, &k);
    ck_assert_uint_eq(k.quiet, 1);
    ck_assert_double_gt(quiet, alone + 1);
    /* a neighbour that is only just good may be as busy */
    taut_evidence_void(ev);
    taut_evidence_begin(ev);
    add(0, 8, 1, 0.41);
    add(1, 2, 1, 0.76);
    commit(20);
    score(x, NONE, &k);
    ck_assert_uint_eq(k.quiet, 0);
}
END_TEST

START_TEST(it_may_have_been_busy_before_it_broke)
{
    struct taut_case k;
    uint32_t x = link_of(0, 4);

    one(0, 8, 0.6, 0);
    for (int i = 1; i < 6; i++)
        one(0, 8, 0.3, i * HOUR);
    ck_assert_double_gt(score(x, NONE, &k), 10);
    ck_assert_double_eq_tol(k.best, 0.3, 1e-6);
    ck_assert_uint_eq(k.start, 1);
}
END_TEST

START_TEST(the_same_part_of_everything_is_a_busy_network)
{
    struct taut_case k;
    uint32_t x = link_of(0, 4);

    graph->capacity[taut_graph_rx(9)] = 0.5; /* reaches half of x */
    for (int i = 0; i < 5; i++) {
        one(0, 8, 0.41, i * HOUR);
        one(1, 9, 0.205, i * HOUR + 60); /* 0.41 of what is expected */
    }
    ck_assert_double_lt(score(x, NONE, &k), 4);
    taut_evidence_void(ev);
    for (int i = 0; i < 5; i++) {
        one(0, 8, 0.41, i * HOUR);
        one(1, 9, 0.41, i * HOUR + 60); /* what x has left */
    }
    ck_assert_double_gt(score(x, NONE, &k), 12);
}
END_TEST

START_TEST(a_rival_takes_what_it_explains)
{
    struct taut_case k;
    uint32_t x = link_of(0, 4), tx = taut_graph_tx(0);

    for (int i = 0; i < 4; i++)
        one(0, 8, 0.41, i * HOUR);
    ck_assert_double_gt(score(x, NONE, &k), 8);
    ck_assert_double_eq(score(x, tx, &k), 0);
    for (int i = 4; i < 8; i++)
        one(1, 9, 0.41, i * HOUR);
    ck_assert_double_gt(score(x, tx, &k), 8);
    ck_assert_double_eq(score(tx, x, &k), 0);
    /* a fair share of what the rival has left is explained by it, too */
    one(0, 9, 0.205, 9 * HOUR);
    struct taut_other o = taut_evidence_other(ev, x, 0);
    ck_assert(taut_evidence_explains(ev, &o, ev->run[x]->entry[8].low));
    o = (struct taut_other){.c = x, .ceiling = {0.35, 0.35, 0.35}};
    ck_assert(!taut_evidence_explains(ev, &o, ev->run[x]->entry[8].low));
    o.all = true;
    ck_assert(taut_evidence_explains(ev, &o, ev->run[x]->entry[8].low));
}
END_TEST

START_TEST(what_is_named_explains_its_tests_for_good)
{
    struct taut_case k;
    uint32_t x = link_of(0, 4), rx = taut_graph_rx(8);

    for (int i = 0; i < 5; i++)
        one(0, 8, 0.41, i * HOUR);
    taut_evidence_name(ev, x, 0.41);
    ck_assert_double_eq(score(rx, NONE, &k), 0);
    one(0, 8, 0.41, 6 * HOUR);
    ck_assert_uint_eq(ev->count.low, 0);
    taut_evidence_forget(ev, x);
    ck_assert_double_eq(score(rx, NONE, &k), 0);
    one(0, 8, 0.41, 7 * HOUR);
    ck_assert_uint_eq(ev->count.low, 1);
}
END_TEST

START_TEST(what_no_test_can_show_clears_at_its_most)
{
    uint32_t x = link_of(0, 4);

    graph->capacity[x] = 2; /* one sender shows half of it */
    one(0, 8, 0.6, 1);
    ck_assert_uint_eq(low_of(x), 1);
    one(0, 8, 0.97, 2);
    ck_assert_uint_eq(low_of(x), 0);
    /* once two senders were used, one says nothing */
    taut_evidence_begin(ev);
    add(0, 8, 1, 0.6);
    add(1, 9, 1, 0.6);
    commit(3);
    ck_assert_uint_eq(low_of(x), 2);
    one(0, 8, 1, 4);
    ck_assert_uint_eq(low_of(x), 2);
}
END_TEST

START_TEST(runs_are_bounded_and_dropped)
{
    uint32_t x = link_of(0, 4), tx = taut_graph_tx(0);

    for (int i = 0; i < 3000; i++)
        one(0, 8, 0.2 + 0.0001 * i, 600.0 * i);
    ck_assert_uint_le(low_of(x), TAUT_EVIDENCE_RUN_MAX);
    ck_assert_uint_gt(low_of(x), TAUT_EVIDENCE_RUN_MAX / 2);
    ck_assert_uint_le(ev->lows, 4 * TAUT_EVIDENCE_RUN_MAX);
    double last = ev->run[tx]->entry[ev->run[tx]->n - 1].low->time;
    taut_evidence_expire(ev, tx, last);
    ck_assert_uint_eq(low_of(tx), 1);
    taut_evidence_void(ev);
    ck_assert_uint_eq(low_of(x), 0);
    ck_assert_uint_eq(ev->lows, 0);
}
END_TEST

START_TEST(a_new_route_voids_what_depended_on_the_old)
{
    uint32_t x = link_of(0, 4);

    one(0, 16, 0.5, 1); /* two links in X */
    ck_assert_uint_eq(low_of(x), 1);
    graph->left[x] = 0;
    ck_assert_int_eq(taut_graph_update(graph, NULL), 0);
    taut_evidence_reroute(ev);
    ck_assert_uint_eq(low_of(x), 0);
    ck_assert_uint_eq(low_of(taut_graph_tx(0)), 1);
}
END_TEST

START_TEST(what_was_stored_comes_back)
{
    uint32_t tx = taut_graph_tx(0), x = link_of(0, 4);

    for (int i = 0; i < 3; i++) {
        struct taut_low *low = taut_evidence_low_new(ev, 2);
        low->time = i * HOUR;
        low->serial = (uint32_t)i + 1;
        low->bw_Bps = 0.41F;
        low->expected_Bps = 1;
        low->on[0] = (struct taut_shown){tx, 0.41F, false};
        low->on[1] = (struct taut_shown){x, 0.41F, false};
        ck_assert_int_eq(taut_evidence_restore(ev, x, low, 0.41, false), 0);
        ck_assert_int_eq(taut_evidence_restore(ev, tx, low, 0.41, false), 0);
        taut_evidence_low_release(ev, low);
    }
    struct taut_case k;
    ck_assert_double_gt(score(x, NONE, &k), 4);
    ck_assert_double_eq(score(x, tx, &k), 0);
    one(0, 1, 1, 4 * HOUR);
    ck_assert_uint_eq(low_of(tx), 0);
    ck_assert_uint_eq(ev->lows, 3);
}
END_TEST

/* Whatever comes, the books are right. */
START_TEST(random_events_keep_the_books)
{
    uint64_t seed = (uint64_t)_i + 1;

    for (int i = 0; i < 400; i++) {
        taut_evidence_begin(ev);
        for (uint32_t n = pick(&seed, 20); n > 0; n--) {
            uint32_t a = pick(&seed, 32), b = pick(&seed, 32);
            double bw = (pick(&seed, 120) - 10.0) / 100;
            if (a != b)
                add(a, b, pick(&seed, 4), bw > 1 ? 1e300 : bw);
        }
        commit(pick(&seed, 50) == 0 ? 5 : 500.0 * i);
        if (pick(&seed, 20) == 0)
            taut_evidence_name(ev, pick(&seed, graph->components),
                               pick(&seed, 11) / 10.0);
        if (pick(&seed, 20) == 0)
            taut_evidence_forget(ev, pick(&seed, graph->components));
    }
    size_t entries = 0;
    uint32_t acks = 0;
    struct taut_case k;
    for (uint32_t c = 0; c < graph->components; c++) {
        for (uint32_t i = 0; i < low_of(c); i++) {
            const struct taut_run *run = ev->run[c];
            acks += run->entry[i].by_ack;
            ck_assert(i == 0 ||
                      run->entry[i - 1].low->time <= run->entry[i].low->time);
            ck_assert_double_ge(run->entry[i].low->time, ev->cleared[c]);
        }
        entries += low_of(c);
        ck_assert(isfinite(score(c, NONE, &k)));
        ck_assert(isfinite(score(c, pick(&seed, graph->components), &k)));
    }
    ck_assert_uint_eq(acks, ev->acks);
    ck_assert_uint_le(ev->lows, entries);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("evidence");

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, streams_of_a_phase_share);
    tcase_add_test(tc, a_low_test_accuses_all_that_is_not_cleared);
    tcase_add_test(tc, void_and_odd_figures_say_nothing);
    tcase_add_test(tc, what_nobody_knows_is_neither_cleared_nor_lets_accuse);
    tcase_add_test(tc, an_older_event_clears_only_what_is_older);
    tcase_add_test(tc, silence_accuses_the_way_back);
    tcase_add_test(tc, spells_make_the_weight);
    tcase_add_test(tc, fair_shares_weigh_less);
    tcase_add_test(tc, quiet_surroundings_make_one_event_worth_more);
    tcase_add_test(tc, it_may_have_been_busy_before_it_broke);
    tcase_add_test(tc, the_same_part_of_everything_is_a_busy_network);
    tcase_add_test(tc, a_rival_takes_what_it_explains);
    tcase_add_test(tc, what_is_named_explains_its_tests_for_good);
    tcase_add_test(tc, what_no_test_can_show_clears_at_its_most);
    tcase_add_test(tc, runs_are_bounded_and_dropped);
    tcase_add_test(tc, a_new_route_voids_what_depended_on_the_old);
    tcase_add_test(tc, what_was_stored_comes_back);
    tcase_add_loop_test(tc, random_events_keep_the_books, 0, 20);
    return unit_run("evidence", tc);
}
