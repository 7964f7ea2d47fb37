/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What tests say about components: clearing, accusing, weighing. */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <string.h>

#include "tests/unit/advisor/events.h"
#include "tests/unit/unit.h"

static struct taut_tally count; /* of the last event */

/* As a judge that expects so much finds it. */
static void add_judged(uint32_t src, uint32_t dst, double bw, double expected,
                       uint16_t streams)
{
    struct taut_measured t = {.src = src,
                              .dst = dst,
                              .confirms = NONE,
                              .flows = 1,
                              .streams = streams,
                              .bw_Bps = bw,
                              .expected_Bps = expected,
                              .is_low = bw < event_rules().good * expected};

    ck_assert_int_eq(taut_evidence_add(ev, &t), 0);
}

static void add(uint32_t src, uint32_t dst, double bw)
{
    add_judged(src, dst, bw, graph->capacity[taut_graph_rx(dst)], 1);
}

/* One of two senders over the link between their routers. */
static void add_half(uint32_t src, uint32_t dst, double bw, double expected)
{
    add_judged(src, dst, bw, expected, 1);
    taut_evidence_share_stage(ev, 1, 2);
}

static void commit(double time)
{
    static int64_t event;

    ck_assert_int_eq(taut_evidence_commit(ev, time, ++event, &count), 0);
}

static void one(uint32_t src, uint32_t dst, double bw, double time)
{
    taut_evidence_begin(ev);
    add(src, dst, bw);
    commit(time);
}

static uint32_t low_of(uint32_t c)
{
    uint32_t n;

    taut_evidence_run(ev, c, &n);
    return n;
}

/* Number i of the low tests in the run of c. */
static const struct taut_low *low_at(uint32_t c, uint32_t i)
{
    uint32_t n;
    const struct taut_entry *entry = taut_evidence_run(ev, c, &n);

    ck_assert_uint_lt(i, n);
    return entry[i].low;
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

START_TEST(senders_over_one_link_share_it)
{
    uint32_t x = link_of(0, 4);

    one(0, 1, 1, 0.5);
    taut_evidence_begin(ev);
    add_half(0, 8, 0.5, 0.5);
    add_half(1, 9, 0.49, 0.5);
    commit(1);
    ck_assert_uint_eq(count.good, 2);
    ck_assert_double_eq(taut_evidence_cleared(ev, x), 1);
    ck_assert_double_eq(taut_evidence_cleared(ev, taut_graph_tx(0)), 0.5);
    /* one after the other they do not */
    taut_evidence_begin(ev);
    add(0, 8, 0.5);
    add(1, 9, 0.49);
    commit(2);
    ck_assert_uint_eq(count.low, 2);
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
    add(2, 10, 0.5);
    add(2, 3, 1);
    commit(3);
    ck_assert_uint_eq(low_of(taut_graph_tx(2)), 0);
    ck_assert_uint_eq(low_of(taut_graph_rx(10)), 1);
}
END_TEST

START_TEST(what_nobody_knows_is_neither_cleared_nor_lets_accuse)
{
    uint32_t x = link_of(0, 1), tx = taut_graph_tx(0), rx = taut_graph_rx(2);

    taut_evidence_unknown(ev, x, true);
    one(0, 2, 0.2, 100);
    ck_assert_uint_eq(count.is_void, 1);
    ck_assert_uint_eq(low_of(tx) + low_of(x) + low_of(rx), 0);
    one(0, 2, 1, 200);
    ck_assert_uint_eq(count.good, 1);
    ck_assert(taut_evidence_cleared(ev, tx) == 200 &&
              taut_evidence_cleared(ev, rx) == 200);
    ck_assert(isinf(taut_evidence_cleared(ev, x)));
    ck_assert_uint_eq(taut_evidence_seen(ev, x).tests, 0);
    /* nothing on the way is known */
    taut_evidence_unknown(ev, tx, true);
    taut_evidence_unknown(ev, rx, true);
    one(0, 2, -1, 300);
    ck_assert_uint_eq(count.is_void, 1);
    taut_evidence_unknown(ev, tx, false);
    taut_evidence_unknown(ev, rx, false);
    taut_evidence_unknown(ev, x, false);
    one(0, 2, 0.2, 400);
    ck_assert_uint_eq(low_of(x), 1);
}
END_TEST

START_TEST(void_and_odd_figures_say_nothing)
{
    one(0, 8, -1, 1);
    ck_assert_uint_eq(count.is_void, 1);
    ck_assert_uint_eq(low_of(taut_graph_tx(0)), 0);
    ck_assert_uint_eq(taut_evidence_seen(ev, taut_graph_tx(0)).tests, 0);
}
END_TEST

START_TEST(an_older_event_clears_only_what_is_older)
{
    one(0, 8, 0.5, 10);
    one(0, 8, 0.5, 30);
    one(0, 8, 1, 20);
    ck_assert_uint_eq(low_of(taut_graph_tx(0)), 1);
    ck_assert_double_eq(low_at(taut_graph_tx(0), 0)->time, 30);
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

/* A pair as production confirms a suspect: one stream, then several. */
static void pair(uint32_t src, uint32_t dst, double bw, double many,
                 double time)
{
    taut_evidence_begin(ev);
    add(src, dst, bw);
    add_judged(src, dst, many, 1, 16);
    commit(time);
}

START_TEST(what_yields_to_several_streams_is_busy)
{
    struct taut_case k;
    uint32_t x = link_of(0, 4);

    for (int i = 0; i < 4; i++)
        one(0, 8, 0.41, i * HOUR);
    double narrow = score(x, NONE, &k);
    taut_evidence_void(ev);
    for (int i = 0; i < 4; i++)
        pair(0, 8, 0.41, 0.42, i * HOUR);
    ck_assert_double_gt(score(x, NONE, &k), narrow + 4);
    /* it is broken, and busy besides: nothing more, and nothing less */
    double broken = k.score;
    pair(0, 8, 0.2, 0.4, 5 * HOUR);
    ck_assert_double_ge(score(x, NONE, &k), broken);
    ck_assert_uint_eq(k.spells, 4);
    /* others yield all of it */
    pair(0, 8, 0.41, 0.9, 6 * HOUR);
    ck_assert_uint_eq(low_of(x), 0);
    /* or a part: there are many of them */
    pair(0, 8, 0.04, 0.4, 7 * HOUR);
    score(x, NONE, &k);
    ck_assert_double_lt(k.best, 0.05);
}
END_TEST

/* The other links of its routers do not matter. */
START_TEST(a_neighbour_that_is_well_says_nothing)
{
    struct taut_case k;
    uint32_t x = link_of(0, 4);

    one(0, 8, 0.41, 10);
    double alone = score(x, NONE, &k);
    taut_evidence_void(ev);
    taut_evidence_begin(ev);
    add(0, 8, 0.41);
    add(1, 2, 1); /* leaves the same router by another link */
    commit(10);
    ck_assert_double_eq_tol(score(x, NONE, &k), alone, 1e-9);
}
END_TEST

/* Once the event in which a component broke hid all that came after: it had
 * higher figures and lower ones, all of one time. */
START_TEST(a_case_begins_with_an_event)
{
    struct taut_case k;
    uint32_t x = link_of(0, 4);

    taut_evidence_begin(ev);
    add(0, 8, 0.7);
    add(1, 9, 0.41);
    add(0, 9, 0.6);
    commit(0);
    for (int i = 1; i < 6; i++)
        one(0, 8, 0.41, i * HOUR);
    ck_assert_double_gt(score(x, NONE, &k), 10);
    ck_assert_double_eq_tol(k.best, 0.41, 1e-6);
    ck_assert_uint_eq(k.spells, 5);
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

/* Tests scatter, and some fall just below the edge: of these the same was
 * expected, so they tell bytes and parts no more apart than the others. */
START_TEST(what_falls_just_below_the_ceiling_is_not_the_same_part)
{
    struct taut_case k;
    uint32_t x = link_of(0, 4);
    double below = 0.41 * (1 - 1.05 * event_rules().ceiling);

    for (int i = 0; i < 5; i++) {
        one(0, 8, 0.41, i * HOUR);
        one(1, 9, 0.41 * (1 - 0.95 * event_rules().ceiling), i * HOUR + 60);
        one(1, 8, below, i * HOUR + 120);
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
    ck_assert(taut_evidence_explains(ev, &o, low_at(x, 8)));
    o = (struct taut_other){.c = x, .ceiling = {0.35, 0.35, 0.35}};
    ck_assert(!taut_evidence_explains(ev, &o, low_at(x, 8)));
    o.all = true;
    ck_assert(taut_evidence_explains(ev, &o, low_at(x, 8)));
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
    ck_assert_uint_eq(count.low, 0);
    taut_evidence_forget(ev, x);
    ck_assert_double_eq(score(rx, NONE, &k), 0);
    one(0, 8, 0.41, 7 * HOUR);
    ck_assert_uint_eq(count.low, 1);
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
    add_half(0, 8, 0.6, 1);
    add_half(1, 9, 0.6, 1);
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
    ck_assert_uint_le(taut_evidence_lows(ev), 4 * TAUT_EVIDENCE_RUN_MAX);
    double last = low_at(tx, low_of(tx) - 1)->time;
    taut_evidence_expire(ev, tx, last);
    ck_assert_uint_eq(low_of(tx), 1);
    taut_evidence_void(ev);
    ck_assert_uint_eq(low_of(x), 0);
    ck_assert_uint_eq(taut_evidence_lows(ev), 0);
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

    for (uint32_t i = 0; i < 3; i++) {
        struct taut_low low = {.time = i * HOUR,
                               .serial = i + 1,
                               .bw_Bps = 0.41F,
                               .expected_Bps = 1,
                               .confirms = NONE,
                               .explained_by = NONE,
                               .port = NONE};
        struct taut_shown on[] = {{tx, 0.41F, false}, {x, 0.41F, false}};
        ck_assert_int_eq(taut_evidence_restore(ev, &low, on, 2, NULL), 0);
    }
    ck_assert_uint_eq(taut_evidence_serial(ev), 3);
    ck_assert_uint_eq(taut_evidence_runs(ev), 2);
    struct taut_case k;
    ck_assert_double_gt(score(x, NONE, &k), 4);
    ck_assert_double_eq(score(x, tx, &k), 0);
    one(0, 1, 1, 4 * HOUR);
    ck_assert_uint_eq(low_of(tx), 0);
    ck_assert_uint_eq(taut_evidence_lows(ev), 3);
}
END_TEST

START_TEST(what_was_seen_is_stored_and_comes_back)
{
    uint32_t x = link_of(0, 4);
    struct taut_seen seen = taut_evidence_seen(ev, x);

    ck_assert(isinf(seen.cleared_at) && isinf(seen.last) && isinf(seen.most));
    seen = (struct taut_seen){
        .cleared_at = 100, .last = 200, .tests = 7, .good = 2};
    taut_evidence_restore_seen(ev, x, &seen);
    seen = (struct taut_seen){.cleared_at = 50, .last = 300, .tests = 1};
    taut_evidence_restore_seen(ev, x, &seen);
    seen = taut_evidence_seen(ev, x);
    ck_assert(seen.cleared_at == 100 && seen.last == 300);
    ck_assert_uint_eq(seen.tests, 8);
    ck_assert_uint_eq(seen.good, 2);
    ck_assert_double_eq(taut_evidence_clearings(ev)[x], 100);
    /* a test from before it was cleared speaks against no component */
    struct taut_low low = {.time = 60,
                           .serial = 1,
                           .confirms = NONE,
                           .explained_by = NONE,
                           .port = NONE};
    struct taut_shown on = {x, 0.4F, false};
    ck_assert_int_eq(taut_evidence_restore(ev, &low, &on, 1, NULL), 0);
    ck_assert_uint_eq(low_of(x), 0);
    ck_assert_uint_eq(taut_evidence_lows(ev), 0);
    /* nor does one that tells of another component's port, nor one that does
     * not stand in its run */
    low.time = 400;
    low.port = taut_graph_tx(0);
    ck_assert_int_eq(taut_evidence_restore(ev, &low, &on, 1, NULL), 0);
    low.port = NONE;
    ck_assert_int_eq(
        taut_evidence_restore(ev, &low, &on, 1, (const bool[]){false}), 0);
    ck_assert_uint_eq(low_of(x), 0);
}
END_TEST

/* ---- rivals ---- */

static const struct taut_rival *rival_of(const struct taut_rival *list,
                                         uint32_t n, uint32_t c)
{
    for (uint32_t i = 0; i < n; i++)
        if (list[i].c == c)
            return &list[i];
    return NULL;
}

START_TEST(who_is_not_accused_has_no_rivals)
{
    uint32_t n = 7;

    taut_evidence_rivals(ev, link_of(0, 4), 5, &n);
    ck_assert_uint_eq(n, 0);
    taut_evidence_alternatives(ev, link_of(0, 4), 9, &n);
    ck_assert_uint_eq(n, 0);
}
END_TEST

START_TEST(all_on_one_way_are_rivals)
{
    uint32_t x = link_of(0, 4), n;

    for (int i = 0; i < 4; i++)
        one(0, 8, 0.41, i * HOUR);
    const struct taut_rival *list = taut_evidence_rivals(ev, x, 5, &n);
    ck_assert_uint_eq(n, 2);
    const struct taut_rival *tx = rival_of(list, n, taut_graph_tx(0));
    ck_assert(tx != NULL && rival_of(list, n, taut_graph_rx(8)) != NULL);
    ck_assert_double_eq(tx->same, 1);
    ck_assert_double_eq(tx->rest, 0);
    ck_assert_double_gt(tx->score, 8);
    /* one of them is seen well, and other nodes meet the same */
    one(0, 1, 1, 5 * HOUR);
    for (int i = 6; i < 9; i++)
        one(1, 9, 0.41, i * HOUR);
    taut_evidence_rivals(ev, x, 5, &n);
    ck_assert_uint_eq(n, 0);
    list = taut_evidence_alternatives(ev, x, 9, &n);
    ck_assert_uint_eq(n, 4);
    ck_assert_uint_eq(list[0].tests, 4); /* what is on most comes first */
    ck_assert_double_eq_tol(list[0].same, 4.0 / 7, 1e-9);
    tx = rival_of(list, n, taut_graph_tx(0));
    ck_assert_double_eq(tx->cleared_at, 5 * HOUR);
    ck_assert(isinf(rival_of(list, n, taut_graph_rx(8))->cleared_at));
    taut_evidence_alternatives(ev, x, 2, &n);
    ck_assert_uint_eq(n, 2);
}
END_TEST

START_TEST(a_rival_on_few_of_the_tests_is_none)
{
    uint32_t x = link_of(0, 4), n;

    for (int i = 0; i < 4; i++) {
        one(0, 8, 0.41, 4 * i * HOUR);
        one(0, 9, 0.41, (4 * i + 1) * HOUR);
        one(1, 8, 0.41, (4 * i + 2) * HOUR);
        one(1, 9, 0.41, (4 * i + 3) * HOUR);
    }
    /* whatever is left without it, each end was on half of them */
    taut_evidence_rivals(ev, x, 1e9, &n);
    ck_assert_uint_eq(n, 4);
    for (int i = 0; i < 32; i++)
        one(1, 9, 0.41, (20 + i) * HOUR);
    const struct taut_rival *list = taut_evidence_rivals(ev, x, 1e9, &n);
    ck_assert_uint_eq(n, 2);
    ck_assert_ptr_null(rival_of(list, n, taut_graph_tx(0)));
}
END_TEST

/* Two links in line, the second of which is broken: the first may have been
 * busy once at the same level.  One spell of its own tells them apart only
 * where the other has none. */
START_TEST(one_spell_alone_may_be_chance)
{
    uint32_t x = link_of(0, 4), y = link_of(4, 8), n;
    struct taut_case k;

    for (int i = 0; i < 4; i++) { /* over both */
        one(0, 16, 0.41, i * HOUR);
        one(1, 17, 0.41, i * HOUR);
    }
    one(0, 8, 0.41, 4 * HOUR);
    one(1, 9, 0.41, 4 * HOUR);
    double rest = score(x, y, &k);
    ck_assert(k.spells == 1 && rest > 2);
    taut_evidence_rivals(ev, x, 2, &n);
    ck_assert_uint_eq(n, 0); /* nothing says that the other is broken */
    one(8, 16, 0.41, 5 * HOUR);
    const struct taut_rival *list = taut_evidence_rivals(ev, x, 2, &n);
    ck_assert(n == 1 && list[0].c == y && list[0].is_chance);
    ck_assert_double_eq(list[0].rest, rest);
    list = taut_evidence_alternatives(ev, x, 9, &n);
    ck_assert(list[0].c == y && list[0].is_chance && !list[1].is_chance);
    one(0, 8, 0.41, 6 * HOUR);
    taut_evidence_rivals(ev, x, 2, &n);
    ck_assert_uint_eq(n, 0);
    list = taut_evidence_rivals(ev, y, 1, &n);
    ck_assert(rival_of(list, n, x) != NULL);
}
END_TEST

START_TEST(suspects_explain_together_what_none_does_alone)
{
    uint32_t x = link_of(0, 4), tx = taut_graph_tx(0), n;
    uint32_t other = taut_graph_tx(1);

    for (int i = 0; i < 6; i++) { /* each has a case of its own … */
        one(0, 1, 0.41, i * HOUR);
        one(1, 0, 0.41, i * HOUR);
    }
    for (int i = 6; i < 12; i++) { /* … and all that x has crossed them */
        one(0, 8, 0.41, i * HOUR);
        one(1, 10, 0.41, i * HOUR);
    }
    ck_assert(!taut_evidence_is_news(ev, x, 1e9));
    taut_evidence_rivals(ev, x, 3, &n);
    ck_assert_uint_eq(n, 0); /* nobody suspects them */
    taut_evidence_watch(ev, tx, true);
    taut_evidence_watch(ev, other, true);
    ck_assert(taut_evidence_is_news(ev, tx, 1e9));
    const struct taut_rival *list = taut_evidence_rivals(ev, x, 3, &n);
    ck_assert_uint_eq(n, 2);
    ck_assert(rival_of(list, n, tx) && rival_of(list, n, other));
    ck_assert_double_lt(list[0].rest, 3);
    ck_assert_double_eq(list[0].same, 1);
}
END_TEST

/* ---- counting ---- */

START_TEST(reporters_are_different_nodes_at_the_ceiling)
{
    struct taut_case k;
    uint32_t x = link_of(0, 4), tx = taut_graph_tx(0);

    for (int i = 0; i < 3; i++) {
        one(0, 8, 0.41, i * HOUR);
        one(0, 9, 0.41, i * HOUR + 60);
        one(1, 9, 0.2, i * HOUR + 90); /* not at the ceiling */
    }
    taut_evidence_judge(ev, x, &k);
    struct taut_reporters r = taut_evidence_reporters(ev, x, &k);
    ck_assert_uint_eq(r.senders, 1);
    ck_assert_uint_eq(r.receivers, 2);
    ck_assert_uint_eq(r.far, 2);
    taut_evidence_judge(ev, tx, &k);
    ck_assert_uint_eq(taut_evidence_reporters(ev, tx, &k).far, 2);
    taut_evidence_judge(ev, taut_graph_rx(8), &k);
    ck_assert_uint_eq(taut_evidence_reporters(ev, taut_graph_rx(8), &k).far, 1);
}
END_TEST

START_TEST(nodes_of_a_run_are_counted_each_once)
{
    struct taut_part_of list[2 * TAUT_EVIDENCE_RUN_MAX];
    uint32_t x = link_of(0, 4);

    ck_assert_uint_eq(taut_evidence_nodes(ev, x, list), 0);
    one(0, 8, 0.41, 0);
    one(0, 9, 0.3, HOUR);
    ck_assert_uint_eq(taut_evidence_nodes(ev, x, list), 3);
    ck_assert(list[0].node == 0 && list[0].tests == 2);
    ck_assert(list[1].node == 8 && list[1].tests == 1);
    ck_assert(list[2].node == 9 && list[2].tests == 1);
    ck_assert_uint_eq(taut_evidence_runs(ev), 4);
    ck_assert_uint_eq(taut_evidence_lows(ev), 2);
}
END_TEST

START_TEST(an_id_counts_once)
{
    struct taut_evidence_rules rules = event_rules();
    struct taut_evidence *e = taut_evidence_create(graph, &rules);
    const int64_t odd[] = {-1, INT64_MIN, INT64_MAX, INT64_C(1) << 40};

    for (int64_t id = 0; id < 50000; id++)
        ck_assert(taut_evidence_note_id(e, id));
    for (int64_t id = 30000; id < 50000; id++)
        ck_assert(!taut_evidence_note_id(e, id));
    for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
        ck_assert(taut_evidence_note_id(e, odd[i]));
        ck_assert(!taut_evidence_note_id(e, odd[i]));
    }
    for (int64_t id = 1; id < 30000; id++) /* far from each other */
        ck_assert(taut_evidence_note_id(e, id * 1000003));
    struct taut_evidence *later = taut_evidence_create(graph, &rules);
    taut_evidence_copy_ids(later, e);
    ck_assert(!taut_evidence_note_id(later, INT64_C(29999) * 1000003));
    taut_evidence_destroy(later);
    taut_evidence_destroy(e);
}
END_TEST

/* Who holds a test that c explains is told, once each, in order. */
static void name_and_look(uint32_t c, double left)
{
    uint32_t n, at = 0;

    taut_evidence_name(ev, c, left);
    const uint32_t *list = taut_evidence_explained(ev, &n);
    for (uint32_t o = 0; left < 1 && o < graph->components; o++) {
        bool holds = false;
        for (uint32_t i = 0; i < low_of(o); i++)
            holds = holds || ev->of[o].run->entry[i].low->explained_by == c;
        if (holds)
            ck_assert_uint_eq(list[at++], o);
    }
    ck_assert_uint_eq(at, n);
}

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
                add(a, b, bw > 1 ? 1e300 : bw);
        }
        commit(pick(&seed, 50) == 0 ? 5 : 500.0 * i);
        if (pick(&seed, 20) == 0)
            name_and_look(pick(&seed, graph->components),
                          pick(&seed, 11) / 10.0);
        if (pick(&seed, 20) == 0)
            taut_evidence_forget(ev, pick(&seed, graph->components));
    }
    size_t entries = 0;
    uint32_t acks = 0;
    struct taut_case k;
    for (uint32_t c = 0; c < graph->components; c++) {
        for (uint32_t i = 0; i < low_of(c); i++) {
            const struct taut_run *run = ev->of[c].run;
            acks += run->entry[i].by_ack;
            ck_assert(i == 0 ||
                      run->entry[i - 1].low->time <= run->entry[i].low->time);
            ck_assert_double_ge(run->entry[i].low->time,
                                taut_evidence_cleared(ev, c));
        }
        entries += low_of(c);
        ck_assert(isfinite(score(c, NONE, &k)));
        ck_assert(isfinite(score(c, pick(&seed, graph->components), &k)));
    }
    ck_assert_uint_eq(acks, ev->acks);
    ck_assert_uint_le(taut_evidence_lows(ev), entries);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("evidence");

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, begin_machine, end_machine);
    tcase_add_test(tc, an_id_counts_once);
    tcase_add_test(tc, senders_over_one_link_share_it);
    tcase_add_test(tc, a_low_test_accuses_all_that_is_not_cleared);
    tcase_add_test(tc, void_and_odd_figures_say_nothing);
    tcase_add_test(tc, what_nobody_knows_is_neither_cleared_nor_lets_accuse);
    tcase_add_test(tc, an_older_event_clears_only_what_is_older);
    tcase_add_test(tc, silence_accuses_the_way_back);
    tcase_add_test(tc, spells_make_the_weight);
    tcase_add_test(tc, fair_shares_weigh_less);
    tcase_add_test(tc, what_yields_to_several_streams_is_busy);
    tcase_add_test(tc, a_neighbour_that_is_well_says_nothing);
    tcase_add_test(tc, a_case_begins_with_an_event);
    tcase_add_test(tc, it_may_have_been_busy_before_it_broke);
    tcase_add_test(tc, the_same_part_of_everything_is_a_busy_network);
    tcase_add_test(tc, what_falls_just_below_the_ceiling_is_not_the_same_part);
    tcase_add_test(tc, a_rival_takes_what_it_explains);
    tcase_add_test(tc, what_is_named_explains_its_tests_for_good);
    tcase_add_test(tc, what_no_test_can_show_clears_at_its_most);
    tcase_add_test(tc, runs_are_bounded_and_dropped);
    tcase_add_test(tc, a_new_route_voids_what_depended_on_the_old);
    tcase_add_test(tc, what_was_stored_comes_back);
    tcase_add_test(tc, what_was_seen_is_stored_and_comes_back);
    tcase_add_test(tc, who_is_not_accused_has_no_rivals);
    tcase_add_test(tc, all_on_one_way_are_rivals);
    tcase_add_test(tc, a_rival_on_few_of_the_tests_is_none);
    tcase_add_test(tc, one_spell_alone_may_be_chance);
    tcase_add_test(tc, suspects_explain_together_what_none_does_alone);
    tcase_add_test(tc, reporters_are_different_nodes_at_the_ceiling);
    tcase_add_test(tc, nodes_of_a_run_are_counted_each_once);
    tcase_add_loop_test(tc, random_events_keep_the_books, 0, 20);
    return unit_run("evidence", tc);
}
