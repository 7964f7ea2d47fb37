/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What lost segments say about components. */
#include <config.h>

#include <math.h>

#include "advisor/lib/evidence/inside.h"
#include "tests/unit/advisor/events.h"
#include "tests/unit/unit.h"

static struct taut_measured make_loss(uint32_t src, uint32_t dst,
                                      double segments, double lost)
{
    struct taut_measured t = make_test(src, dst);

    t.segments = segments;
    t.lost = lost;
    return t;
}

static void lose(uint32_t src, uint32_t dst, double segments, double lost,
                 double time)
{
    struct taut_measured t = make_loss(src, dst, segments, lost);

    take_alone(&t, time);
}

static uint32_t count_run(uint32_t c)
{
    uint32_t n;

    taut_loss_run(ev, c, &n);
    return n;
}

static struct taut_loss_case judge_case(uint32_t c)
{
    struct taut_loss_case k;

    taut_loss_judge(ev, c, &k);
    return k;
}

/* ---- runs ---- */

START_TEST(a_test_without_losses_clears_what_it_crossed)
{
    uint32_t x = find_link(0, 4);

    lose(0, 8, 20000, 200, 1);
    ck_assert_uint_eq(count_run(x), 1);
    ck_assert_uint_eq(count_run(taut_graph_tx(0)), 1);
    ck_assert_uint_eq(count_run(taut_graph_rx(8)), 1);
    ck_assert_uint_eq(count_run(find_link(4, 0)), 0);
    ck_assert_uint_eq(count_low(x), 0); /* its rate was good */
    lose(0, 1, 20000, 0, 2);
    ck_assert_uint_eq(count_run(taut_graph_tx(0)), 0);
    ck_assert_uint_eq(count_run(x), 1);
    lose(1, 8, 20000, 0, 3);
    ck_assert_uint_eq(count_run(x), 0);
    ck_assert_uint_eq(count_run(taut_graph_rx(8)), 0);
}
END_TEST

START_TEST(a_few_segments_clear_nothing)
{
    uint32_t x = find_link(0, 4);

    lose(0, 8, 20000, 200, 1);
    lose(0, 8, 100, 0, 2);
    ck_assert_uint_eq(count_run(x), 2); /* nor are they forgotten */
    lose(0, 8, 20000, 20, 3);           /* another share, and a new run */
    ck_assert_uint_eq(count_run(x), 1);
    lose(0, 8, 2000, 0, 4); /* may lose as little */
    ck_assert_uint_eq(count_run(x), 2);
    lose(0, 8, 100000, 0, 5);
    ck_assert_uint_eq(count_run(x), 0);
}
END_TEST

/* From 70,000 segments without a loss on it is surely less than the floor. */
START_TEST(quiet_tests_clear_together)
{
    uint32_t x = find_link(0, 4);

    lose(0, 8, 20000, 2, 1); /* a share of 0, in the luckiest case */
    for (uint32_t i = 2; i < 5; i++) {
        lose(0, 8, 20000, 0, i);
        ck_assert_uint_eq(count_run(x), i);
    }
    lose(0, 8, 20000, 0, 5);
    ck_assert_uint_eq(count_run(x), 0);
}
END_TEST

START_TEST(losses_between_begin_quiet_tests_anew)
{
    uint32_t x = find_link(0, 4);

    for (uint32_t i = 1; i < 25; i++) /* every fourth loses */
        lose(0, 8, 20000, i % 4 == 1 ? 2 : 0, i * 3600.0);
    ck_assert_uint_eq(count_run(x), 24);
    /* what is below the floor is not news, but it is summed */
    for (uint32_t i = 25; i < 35; i++)
        lose(0, 8, 20000, 1, i * 3600.0);
    ck_assert_uint_eq(count_run(x), 34);
}
END_TEST

START_TEST(late_quiet_tests_clear_nothing)
{
    uint32_t x = find_link(0, 4);

    lose(0, 8, 20000, 2, 30);
    for (uint32_t i = 1; i < 9; i++)
        lose(0, 8, 20000, 0, i);
    ck_assert_uint_eq(count_run(x), 9);
}
END_TEST

START_TEST(about_the_same_share_clears_nothing)
{
    uint32_t x = find_link(0, 4);

    lose(0, 8, 20000, 200, 1);
    lose(0, 8, 20000, 150, 2);
    lose(0, 8, 20000, 260, 3);
    ck_assert_uint_eq(count_run(x), 3);
}
END_TEST

START_TEST(losses_below_the_floor_are_no_news)
{
    lose(0, 8, 100000, 9, 1);
    lose(0, 8, 100, 0, 2);
    ck_assert_uint_eq(count_run(find_link(0, 4)), 0);
}
END_TEST

START_TEST(a_late_event_clears_nothing)
{
    uint32_t x = find_link(0, 4), n;

    lose(0, 8, 20000, 200, 10);
    lose(0, 8, 20000, 200, 30);
    lose(0, 8, 20000, 0, 20);
    struct taut_loss_test *const *run = taut_loss_run(ev, x, &n);
    ck_assert_uint_eq(n, 3);
    ck_assert_double_eq(run[1]->time, 20); /* it stands where it belongs */
}
END_TEST

START_TEST(a_clean_test_of_the_same_event_excuses)
{
    struct taut_measured bad = make_loss(0, 8, 20000, 200);
    struct taut_measured clean = make_loss(0, 1, 20000, 0);

    taut_evidence_begin(ev);
    add_test(&bad);
    add_test(&clean);
    end_event(1);
    ck_assert_uint_eq(count_run(taut_graph_tx(0)), 0);
    ck_assert_uint_eq(count_run(find_link(0, 4)), 1);
    /* one of few segments does not, and the order does not matter */
    clean = make_loss(2, 3, 100, 0);
    bad = make_loss(2, 10, 20000, 200);
    taut_evidence_begin(ev);
    add_test(&clean);
    add_test(&bad);
    end_event(2);
    ck_assert_uint_eq(count_run(taut_graph_tx(2)), 1);
}
END_TEST

START_TEST(several_streams_speak_on_lossless_fabrics_only)
{
    struct taut_evidence_rules rules = event_rules();
    uint32_t x = find_link(0, 4);
    struct taut_measured t = make_loss(0, 8, 20000, 600);

    t.streams = 16;
    take_alone(&t, 1);
    ck_assert_uint_eq(count_run(x), 0);
    lose(0, 8, 20000, 200, 2);
    t.lost = 0;
    take_alone(&t, 3); /* they clear nothing either */
    ck_assert_uint_eq(count_run(x), 1);
    rules.lossless = true;
    taut_evidence_set_rules(ev, &rules);
    take_alone(&t, 4);
    ck_assert_uint_eq(count_run(x), 0);
    t.lost = 600;
    take_alone(&t, 5);
    ck_assert_uint_eq(count_run(x), 1);
}
END_TEST

START_TEST(low_tests_speak_where_their_losses_explain_them)
{
    uint32_t x = find_link(0, 4);
    struct taut_measured t = make_loss(0, 8, 20000, 200);

    t.bw_Bps = 0.4;
    t.is_low = true;
    take_alone(&t, 1);
    ck_assert_uint_eq(count_run(x), 0);
    ck_assert_uint_eq(count_low(x), 1);
    t.by_loss = true;
    take_alone(&t, 2);
    ck_assert_uint_eq(count_run(x), 1);
    ck_assert_uint_eq(count_low(x), 1); /* it shows no ceiling */
    /* a ceiling without losses speaks against losses */
    t.by_loss = false;
    t.lost = 0;
    take_alone(&t, 3);
    ck_assert_uint_eq(count_run(x), 0);
    ck_assert_uint_eq(count_low(x), 2);
}
END_TEST

START_TEST(a_test_behind_a_queue_does_not_accuse)
{
    uint32_t x = find_link(0, 4);
    struct taut_measured t = make_loss(0, 8, 20000, 200);

    for (int i = 0; i < 50; i++) {
        t = make_loss(2, 10, 20000, 0);
        t.min_rtt_ns = 50e3;
        take_alone(&t, i);
    }
    t = make_loss(0, 8, 20000, 200);
    t.min_rtt_ns = 800e3;
    take_alone(&t, 60);
    ck_assert_uint_eq(count_run(x), 0);
    t.min_rtt_ns = 300e3;
    take_alone(&t, 61);
    ck_assert_uint_eq(count_run(x), 1);
    t.min_rtt_ns = 0; /* nobody measured it */
    take_alone(&t, 62);
    ck_assert_uint_eq(count_run(x), 2);
    t.min_rtt_ns = 5000e3;
    t.lost = 0; /* it may well clear */
    take_alone(&t, 63);
    ck_assert_uint_eq(count_run(x), 0);
}
END_TEST

/* ---- one at a time, or in bursts ---- */

/* A stream of TCP over a way of 1 GB/s whose segments of 1448 bytes came with a
 * round trip of 50 us: what it gets where it loses one in a thousand, b at a
 * time (Mathis). */
static struct taut_measured make_stream(double b)
{
    struct taut_measured t = make_loss(0, 8, 20000, 20);

    t.segment_bytes = 1448;
    t.expected_Bps = 12.5e9;
    t.bw_Bps = sqrt(1.5) * 1448 / (50e-6 * sqrt(0.001 / b));
    t.is_low = t.by_loss = true;
    return t;
}

START_TEST(a_stream_that_is_faster_than_its_losses_lost_bursts)
{
    struct taut_measured t = make_stream(0.3);

    ck_assert_double_gt(taut_loss_single(ev, &t), 0);
    t = make_stream(8); /* 18 us: no way is so short */
    ck_assert_double_lt(taut_loss_single(ev, &t), -3);
    t = make_stream(4); /* 25 us: a queue, or a short way */
    ck_assert_double_lt(taut_loss_single(ev, &t), 0);
    ck_assert_double_gt(taut_loss_single(ev, &t), -2);
    t = make_stream(0.01); /* what made it as slow? */
    ck_assert_double_eq(taut_loss_single(ev, &t), 0);
}
END_TEST

START_TEST(a_measured_round_trip_tells_more)
{
    struct taut_measured t = make_stream(1);

    t.min_rtt_ns = 40e3;
    ck_assert_double_gt(taut_loss_single(ev, &t), 0.5);
    t = make_stream(3);
    t.min_rtt_ns = 40e3;
    ck_assert_double_lt(taut_loss_single(ev, &t), -3);
}
END_TEST

START_TEST(a_full_stream_tells_less)
{
    struct taut_measured t = make_stream(1);

    t.expected_Bps = t.bw_Bps;
    ck_assert_double_lt(fabs(taut_loss_single(ev, &t)), 1.5);
    t = make_stream(12); /* it could not be as fast */
    t.expected_Bps = t.bw_Bps;
    t.min_rtt_ns = 30e3;
    ck_assert_double_lt(taut_loss_single(ev, &t), -2);
}
END_TEST

START_TEST(a_rate_says_nothing_of_what_is_not_one_stream_of_tcp)
{
    struct taut_measured t = make_stream(8);

    t.segment_bytes = 0; /* ports counted */
    ck_assert_double_eq(taut_loss_single(ev, &t), 0);
    t = make_stream(8);
    t.streams = 16;
    ck_assert_double_eq(taut_loss_single(ev, &t), 0);
    t = make_stream(8);
    t.lost = 0;
    ck_assert_double_eq(taut_loss_single(ev, &t), 0);
}
END_TEST

START_TEST(bursts_make_no_case)
{
    uint32_t x = find_link(0, 4);

    for (int i = 0; i < 12; i++) {
        struct taut_measured t = make_stream(i % 2 ? 9 : 12);
        t.src = i % 2;
        take_alone(&t, 3600.0 * i);
    }
    ck_assert_uint_ge(count_run(x), 6);
    ck_assert_double_lt(judge_case(x).score, 4);
    ck_assert_uint_eq(judge_case(x).at, 0);
}
END_TEST

/* ---- what is counted ---- */

START_TEST(what_was_not_counted_says_nothing)
{
    uint32_t x = find_link(0, 4);
    struct taut_measured odd[] = {
        make_loss(0, 8, 20000, 20001), make_loss(0, 8, 20000, -1),
        make_loss(0, 8, 0, 0), make_loss(0, 8, 20000, 200)};

    odd[3].by_port = true;
    odd[3].port = taut_graph_tx(0);
    for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
        take_alone(&odd[i], (double)i);
        ck_assert_uint_eq(count_run(x), 0);
    }
    lose(0, 8, 20000, 200, 10);
    for (size_t i = 0; i < sizeof(odd) / sizeof(*odd); i++) {
        take_alone(&odd[i], 20 + (double)i);
        ck_assert_uint_eq(count_run(x), 1);
    }
}
END_TEST

/* Its ends were late, so that its rate says nothing. */
START_TEST(a_void_test_has_losses_and_no_rate)
{
    uint32_t x = find_link(0, 4);
    struct taut_measured t = make_loss(0, 8, 20000, 200);

    t.bw_Bps = -1;
    for (int i = 0; i < 3; i++)
        take_alone(&t, i * 3600.0);
    ck_assert_uint_eq(count_run(x), 3);
    ck_assert_uint_eq(count_low(x), 0);
    ck_assert_double_eq(judge_case(x).rate, 1);
    t.bw_Bps = 0.8;
    take_alone(&t, 3 * 3600.0);
    ck_assert_double_eq_tol(judge_case(x).rate, 0.8, 1e-6);
}
END_TEST

START_TEST(runs_are_bounded)
{
    uint32_t x = find_link(0, 4), n;

    for (int i = 0; i < 40; i++)
        lose(0, 8, 20000 + i, 200, 60 * i);
    ck_assert_uint_eq(count_run(x), TAUT_LOSS_SPELL_MAX);
    struct taut_loss_test *const *run = taut_loss_run(ev, x, &n);
    for (uint32_t i = 0; i < n; i++) /* those that say most are kept */
        ck_assert_double_ge((double)run[i]->segments, 20000 + 40 - n);
    for (int i = 0; i < 300; i++)
        lose(0, 8, 20000, 200, (i + 1) * HOUR);
    ck_assert_uint_eq(count_run(x), TAUT_LOSS_RUN_MAX);
}
END_TEST

START_TEST(a_new_route_drops_what_it_no_longer_crosses)
{
    uint32_t x = find_link(0, 4);

    lose(0, 16, 20000, 200, 1);
    ck_assert_uint_eq(count_run(x), 1);
    graph->left[x] = 0;
    ck_assert_int_eq(taut_graph_update(graph, NULL), 0);
    taut_evidence_reroute(ev);
    ck_assert_uint_eq(count_run(x), 0);
    ck_assert_uint_eq(count_run(taut_graph_tx(0)), 1);
}
END_TEST

START_TEST(what_is_forgotten_begins_anew)
{
    uint32_t x = find_link(0, 4), tx = taut_graph_tx(0);

    lose(0, 8, 20000, 200, 1);
    taut_loss_name(ev, x, 0.01);
    taut_evidence_forget(ev, x);
    ck_assert_uint_eq(count_run(x), 0);
    ck_assert_uint_eq(count_run(tx), 1);
    lose(0, 8, 20000, 0, 2);
    ck_assert_uint_eq(taut_loss_good(ev, x), 0); /* it is named no more */
    lose(0, 8, 20000, 200, 3);
    taut_evidence_void(ev);
    ck_assert_uint_eq(count_run(tx), 0);
}
END_TEST

START_TEST(what_was_stored_comes_back)
{
    uint32_t tx = taut_graph_tx(0), x = find_link(0, 4), on[] = {tx, x}, n;

    for (uint32_t i = 3; i-- > 0;) {
        struct taut_loss_test head = {.time = i * HOUR,
                                      .serial = i + 1,
                                      .src = 0,
                                      .dst = 8,
                                      .segments = 20000,
                                      .lost = 200,
                                      .rate = 0.5F,
                                      .links = 1};
        const bool in_run[] = {i > 0, true};
        ck_assert_int_eq(taut_loss_restore(ev, &head, on, 2, in_run), 0);
    }
    ck_assert_uint_eq(taut_evidence_serial(ev), 3);
    ck_assert_uint_eq(count_run(tx), 2);
    struct taut_loss_test *const *run = taut_loss_run(ev, x, &n);
    ck_assert_uint_eq(n, 3);
    ck_assert(run[0]->time == 0 && run[2]->time == 2 * HOUR);
    ck_assert(run[0]->n == 2 && run[0]->on[1] == x);
    struct taut_loss_case k = judge_case(x);
    ck_assert_double_eq_tol(k.share, 0.01, 1e-6);
    ck_assert_uint_eq(k.spells, 3);
    ck_assert_double_eq_tol(k.rate, 0.5, 1e-6);
    lose(0, 8, 20000, 0, 4 * HOUR);
    ck_assert_uint_eq(count_run(x) + count_run(tx), 0);
}
END_TEST

/* ---- weighing ---- */

static const uint32_t from[] = {0, 1}, to[] = {8, 9};

/* Tests over the link from router 0 to router 4 in one hour, at one share. */
static void lose_for_an_hour(double share, double hour)
{
    for (uint32_t i = 0; i < 4; i++)
        lose(from[i % 2], to[i / 2], 20000, 20000 * share,
             hour * HOUR + 60 * i);
}

START_TEST(a_share_that_stays_becomes_strong)
{
    uint32_t x = find_link(0, 4);
    double last = 0;

    for (int i = 0; i < 8; i++) {
        lose_for_an_hour(0.01, i);
        struct taut_loss_case k = judge_case(x);
        ck_assert_double_gt(k.score, last);
        ck_assert_uint_eq(k.spells, i + 1);
        last = k.score;
    }
    struct taut_loss_case k = judge_case(x);
    ck_assert_double_gt(k.score, 18);
    ck_assert_double_eq_tol(k.share, 0.01, 1e-6);
    ck_assert(k.tests == 32 && k.at == 32 && k.events == 32);
    ck_assert(k.first == 0 && k.last == 7 * HOUR + 180 && k.start == 0);
    ck_assert(k.recent == 4 && k.lost == 32 * 200 && k.rate == 1);
    struct taut_reporters who = taut_loss_reporters(ev, x, &k);
    ck_assert(who.senders == 2 && who.receivers == 2 && who.far == 2);
    who = taut_loss_reporters(ev, taut_graph_rx(8), &k);
    ck_assert(who.receivers == 1 && who.far == 2);
}
END_TEST

START_TEST(a_share_that_scatters_as_counts_do_is_one_share)
{
    static const double off[] = {0, 12, -15, 7, -4, 18, -9, 3};
    uint32_t x = find_link(0, 4);

    for (int i = 0; i < 8; i++)
        for (uint32_t j = 0; j < 4; j++)
            lose(from[j % 2], to[j / 2], 20000, 200 + off[(i + j) % 8],
                 i * HOUR + 60 * j);
    struct taut_loss_case k = judge_case(x);
    ck_assert_double_gt(k.score, 18);
    ck_assert_double_eq_tol(k.share, 0.01, 5e-4);
    ck_assert_uint_eq(k.at, 32);
}
END_TEST

START_TEST(a_share_that_changes_by_the_hour_is_a_busy_network)
{
    static const double share[] = {0.002, 0.03, 0.0006, 0.011,
                                   0.1,   0.004, 0.02,  0.0011};
    uint32_t x = find_link(0, 4);

    for (int i = 0; i < 8; i++) {
        lose_for_an_hour(share[i], i);
        ck_assert_double_lt(judge_case(x).score, 8);
    }
}
END_TEST

/* Tests of 200 segments that lost none before it began to lose: that is nearly as
 * likely with a half of the share. */
START_TEST(what_was_before_does_not_dilute_the_share)
{
    uint32_t x = find_link(0, 4);
    struct taut_loss_case k;

    lose(0, 8, 200, 8, 0); /* a queue, long ago */
    for (int i = 0; i < 30; i++)
        lose((uint32_t)i % 2, 8 + (uint32_t)i / 2 % 2, 200, 0, 60.0 * i);
    for (int hour = 2; hour < 12; hour++)
        for (int i = 0; i < 4; i++)
            lose((uint32_t)i % 2, 8 + (uint32_t)i / 2 % 2, 200, 1 + i % 4,
                 3600.0 * hour + 60 * i);
    k = judge_case(x);
    ck_assert_double_eq_tol(k.share, 0.0125, 0.002);
    ck_assert_uint_eq(k.spells, 10);
    ck_assert_double_gt(k.score, 6);
}
END_TEST

/* 900 segments of which 1 % would be lost: with none, such a test passes for one
 * of that share. */
START_TEST(short_clean_tests_before_do_not_dilute_it)
{
    for (uint32_t i = 0; i < 120; i++) /* fewer than would clear it */
        lose(0, 8, i == 0 ? 900 : 500, i == 0 ? 1 : 0, i * 300.0);
    for (uint32_t i = 0; i < 8; i++)
        lose(0, 8, 900, 9, 40000.0 + i * 3600.0);
    struct taut_loss_case k = judge_case(find_link(0, 4));
    ck_assert_uint_eq(k.at, 8);
    ck_assert_double_eq_tol(k.share, 0.01, 1e-4);
    ck_assert_double_eq(k.first, 40000);
}
END_TEST

/* However many tests one hour has. */
START_TEST(an_hour_alone_says_little)
{
    uint32_t x = find_link(0, 4);

    for (uint32_t i = 0; i < 50; i++)
        lose(from[i % 2], to[i % 2], 20000, 200, 10 * i);
    ck_assert_double_lt(judge_case(x).score,
                        event_rules().spell_most + 1e-9);
    ck_assert_uint_eq(judge_case(x).spells, 1);
}
END_TEST

START_TEST(a_class_that_loses_everywhere_accuses_nobody)
{
    uint32_t x = find_link(0, 4), *class;

    class = calloc(graph->components, sizeof(*class)); /* all are alike */
    ck_assert_int_eq(taut_evidence_classes(ev, class, 1), 0);
    free(class);
    for (int i = 0; i < 1200; i++) {
        uint32_t src = 2 * (uint32_t)(i % 16), dst = (src + 11) % 32;
        lose(src, dst, 20000, 200, i);
    }
    taut_evidence_void(ev);
    for (int i = 1; i < 9; i++)
        lose_for_an_hour(0.01, i);
    ck_assert_double_lt(judge_case(x).score, 8);
    ck_assert_uint_eq(count_run(x), 32);
}
END_TEST

START_TEST(a_test_over_no_link_meets_no_network)
{
    uint32_t tx = taut_graph_tx(0), other = taut_graph_tx(2);

    lose(0, 1, 20000, 200, 1);
    lose(2, 10, 20000, 200, 2);
    ck_assert_double_gt(judge_case(tx).score, judge_case(other).score + 1);
}
END_TEST

START_TEST(on_a_lossless_fabric_any_loss_is_news)
{
    struct taut_evidence_rules rules = event_rules();
    uint32_t x = find_link(0, 4);

    for (int i = 0; i < 3; i++)
        lose_for_an_hour(0.001, i);
    double usual = judge_case(x).score;
    rules.lossless = true;
    taut_evidence_set_rules(ev, &rules);
    ck_assert_double_gt(judge_case(x).score, usual + 3);
}
END_TEST

/* Clean tests of few segments do not end the run, but they count. */
START_TEST(tests_without_losses_speak_against_a_share)
{
    uint32_t x = find_link(0, 4);

    for (int i = 0; i < 8; i++) /* nobody can say that this is no small share */
        lose(from[i % 2], to[i / 2 % 2], 700, 7, i * HOUR);
    double before = judge_case(x).score;
    ck_assert_double_gt(before, 10);
    for (int i = 0; i < 3; i++)
        lose(0, 8, 700, 0, 8 * HOUR + i);
    ck_assert_uint_eq(count_run(x), 11);
    ck_assert_double_lt(judge_case(x).score, before - 5);
}
END_TEST

/* ---- rivals ---- */

static bool has_rival(const struct taut_rival *list, uint32_t n, uint32_t c)
{
    for (uint32_t i = 0; i < n; i++)
        if (list[i].c == c)
            return true;
    return false;
}

START_TEST(two_on_the_same_ways_tie)
{
    uint32_t x = find_link(0, 4), n;

    for (int i = 0; i < 6; i++)
        lose(0, 8, 20000, 200, i * HOUR);
    const struct taut_rival *list = taut_loss_rivals(ev, x, 18, 4, &n);
    ck_assert_uint_eq(n, 2);
    ck_assert(has_rival(list, n, taut_graph_tx(0)));
    ck_assert(has_rival(list, n, taut_graph_rx(8)));
    ck_assert(list[0].same == 1 && list[0].rest == 0);
    list = taut_loss_rivals(ev, taut_graph_tx(0), 18, 4, &n);
    ck_assert(has_rival(list, n, x));
}
END_TEST

START_TEST(who_loses_nothing_elsewhere_is_out)
{
    uint32_t x = find_link(0, 4), n;

    for (int i = 0; i < 6; i++)
        lose(0, 8, 20000, 200, i * HOUR);
    lose(0, 1, 20000, 0, 6 * HOUR);
    const struct taut_rival *list = taut_loss_rivals(ev, x, 18, 4, &n);
    ck_assert(n == 1 && list[0].c == taut_graph_rx(8));
    lose(9, 8, 20000, 0, 7 * HOUR);
    taut_loss_rivals(ev, x, 18, 4, &n);
    ck_assert_uint_eq(n, 0);
}
END_TEST

START_TEST(who_is_on_some_of_the_ways_is_out)
{
    uint32_t x = find_link(0, 4), n;

    for (int i = 0; i < 12; i++)
        lose_for_an_hour(0.01, i);
    taut_loss_rivals(ev, x, 18, 4, &n);
    ck_assert_uint_eq(n, 0);
    const struct taut_rival *list =
        taut_loss_rivals(ev, taut_graph_tx(0), 18, 4, &n);
    ck_assert(has_rival(list, n, x));
}
END_TEST

START_TEST(two_lossy_links_on_one_way_are_told_apart)
{
    uint32_t x = find_link(0, 4), y = find_link(4, 8);

    for (int i = 0; i < 8; i++) {
        lose(0, 8, 20000, 200, i * HOUR);
        lose(1, 9, 20000, 200, i * HOUR + 60);
        lose(0, 16, 20000, 600, i * HOUR + 120);
        lose(8, 16, 20000, 400, i * HOUR + 180);
        lose(9, 17, 20000, 400, i * HOUR + 240);
    }
    struct taut_loss_case k = judge_case(x);
    ck_assert_double_eq_tol(k.share, 0.01, 1e-5);
    ck_assert_uint_eq(k.at, 16);
    taut_loss_name(ev, x, 0.01);
    k = judge_case(y);
    ck_assert_double_eq_tol(k.share, 0.02, 1e-5);
    ck_assert_uint_eq(k.at, 23); /* those over both among them, but for the
                                    first: one that lost less came after it */
    ck_assert_double_gt(k.score, 18);
    taut_loss_name(ev, y, 0.02);
    ck_assert_uint_eq(judge_case(x).at, 24); /* 0 -> 16 as well */
    /* what others are known to lose speaks against no other component */
    ck_assert_double_lt(judge_case(taut_graph_tx(0)).score, 4);
}
END_TEST

/* ---- verdicts ---- */

START_TEST(tests_without_the_share_are_counted)
{
    uint32_t x = find_link(0, 4);

    for (int i = 0; i < 4; i++)
        lose(0, 8, 20000, 200, i);
    taut_loss_name(ev, x, 0.01);
    for (int i = 0; i < 4; i++)
        lose(1, 9, 20000, 0, 10 + i);
    ck_assert_uint_eq(taut_loss_good(ev, x), 4);
    lose(1, 9, 100, 0, 20); /* too few to tell */
    ck_assert_uint_eq(taut_loss_good(ev, x), 4);
    lose(1, 9, 20000, 200, 21);
    ck_assert_uint_eq(taut_loss_good(ev, x), 0);
    lose(1, 9, 20000, 40, 22); /* a fifth of it */
    ck_assert_uint_eq(taut_loss_good(ev, x), 1);
    ck_assert_uint_eq(taut_loss_good(ev, taut_graph_tx(1)), 0);
    taut_loss_name(ev, x, 0);
    ck_assert_uint_eq(taut_loss_good(ev, x), 0);
    lose(1, 9, 20000, 0, 23);
    ck_assert_uint_eq(taut_loss_good(ev, x), 0);
}
END_TEST

/* As in the lab, at 100 Mbit/s: 200 segments are too few for a share of 1 %. */
START_TEST(short_tests_count_together)
{
    uint32_t x = find_link(0, 4);

    for (int i = 0; i < 30; i++)
        lose(0, 8, 200, 2, i);
    taut_loss_name(ev, x, 0.01);
    for (int i = 0; i < 40; i++)
        lose(0, 8, 200, 1 + i % 3, 100 + i);
    ck_assert_uint_eq(taut_loss_good(ev, x), 0); /* they go on losing it */
    for (int i = 0; i < 50; i++)
        lose(0, 8, 200, 0, 200 + i);
    ck_assert_uint_ge(taut_loss_good(ev, x), 4);
    for (int i = 0; i < 4; i++)
        lose(0, 8, 200, 6, 300 + i);
    ck_assert_uint_eq(taut_loss_good(ev, x), 0);
}
END_TEST

/* It loses ten times its share, and nothing, by turns: that is not well. */
START_TEST(clean_tests_between_lossy_ones_take_nothing_back)
{
    uint32_t x = find_link(0, 4);

    for (int i = 0; i < 4; i++)
        lose(0, 8, 20000, 20, i);
    taut_loss_name(ev, x, 0.001);
    for (int i = 0; i < 20; i++) {
        lose(0, 8, 20000, i % 2 == 0 ? 200 : 0, 10 + i);
        ck_assert_uint_le(taut_loss_good(ev, x), 1);
    }
}
END_TEST

START_TEST(what_is_named_does_not_teach_its_class)
{
    uint32_t x = find_link(0, 4);
    struct taut_loss_class *all = taut_loss_class_of(ev, x);

    taut_loss_name(ev, x, 0.01);
    lose(0, 8, 20000, 200, 1);
    ck_assert_double_eq((double)all->tests, 0);
    lose(2, 10, 20000, 200, 2);
    ck_assert_double_eq((double)all->tests, 3);
    ck_assert_double_eq((double)all->lossy[6], 3); /* 1e-5 * 10^(6/2) */
}
END_TEST

/* ---- chance ---- */

/* Runs are in order, hold each test once, and keep their bounds. */
static void check_books(void)
{
    for (uint32_t c = 0; c < graph->components; c++) {
        uint32_t n;
        struct taut_loss_test *const *run = taut_loss_run(ev, c, &n);
        ck_assert_uint_le(n, TAUT_LOSS_RUN_MAX);
        for (uint32_t i = 0; i < n; i++) {
            ck_assert_uint_ge(run[i]->refs, 1);
            ck_assert(i == 0 || run[i - 1]->time <= run[i]->time);
        }
        struct taut_loss_case k = judge_case(c);
        ck_assert(isfinite(k.score) && k.score >= 0);
        ck_assert(k.share >= 0 && k.share <= 1 && k.at <= n);
    }
}

START_TEST(random_losses_keep_the_books)
{
    uint64_t seed = (uint64_t)_i + 7;
    double time = 0;

    for (int i = 0; i < 400; i++) {
        time += pick(&seed, 4000);
        taut_evidence_begin(ev);
        for (uint32_t j = pick(&seed, 5); j-- > 0;) {
            double segments = 1 + pick(&seed, 30000);
            struct taut_measured t = make_loss(
                pick(&seed, 32), 0, segments,
                pick(&seed, 3) > 0 ? 0 : pick(&seed, (uint32_t)segments + 1));
            t.dst = (t.src + 1 + pick(&seed, 31)) % 32;
            t.streams = pick(&seed, 5) > 0 ? 1 : 16;
            t.is_low = pick(&seed, 4) == 0;
            t.by_loss = t.is_low && pick(&seed, 2) == 0;
            t.bw_Bps = t.is_low ? 0.3 : 1;
            t.min_rtt_ns = pick(&seed, 2) * 50e3;
            add_test(&t);
        }
        end_event(pick(&seed, 10) > 0 ? time : time - 5000);
        uint32_t c = pick(&seed, graph->components);
        if (pick(&seed, 20) == 0)
            taut_loss_name(ev, c, 0.001 * pick(&seed, 50));
        if (pick(&seed, 30) == 0)
            taut_evidence_forget(ev, c);
    }
    check_books();
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("losses");

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, begin_machine, end_machine);
    tcase_add_test(tc, a_test_without_losses_clears_what_it_crossed);
    tcase_add_test(tc, a_few_segments_clear_nothing);
    tcase_add_test(tc, quiet_tests_clear_together);
    tcase_add_test(tc, losses_between_begin_quiet_tests_anew);
    tcase_add_test(tc, late_quiet_tests_clear_nothing);
    tcase_add_test(tc, about_the_same_share_clears_nothing);
    tcase_add_test(tc, losses_below_the_floor_are_no_news);
    tcase_add_test(tc, a_late_event_clears_nothing);
    tcase_add_test(tc, a_clean_test_of_the_same_event_excuses);
    tcase_add_test(tc, several_streams_speak_on_lossless_fabrics_only);
    tcase_add_test(tc, low_tests_speak_where_their_losses_explain_them);
    tcase_add_test(tc, a_test_behind_a_queue_does_not_accuse);
    tcase_add_test(tc, what_was_not_counted_says_nothing);
    tcase_add_test(tc, a_void_test_has_losses_and_no_rate);
    tcase_add_test(tc, runs_are_bounded);
    tcase_add_test(tc, a_new_route_drops_what_it_no_longer_crosses);
    tcase_add_test(tc, what_is_forgotten_begins_anew);
    tcase_add_test(tc, what_was_stored_comes_back);
    tcase_add_test(tc, a_share_that_stays_becomes_strong);
    tcase_add_test(tc, a_share_that_scatters_as_counts_do_is_one_share);
    tcase_add_test(tc, a_share_that_changes_by_the_hour_is_a_busy_network);
    tcase_add_test(tc, what_was_before_does_not_dilute_the_share);
    tcase_add_test(tc, short_clean_tests_before_do_not_dilute_it);
    tcase_add_test(tc, an_hour_alone_says_little);
    tcase_add_test(tc, a_stream_that_is_faster_than_its_losses_lost_bursts);
    tcase_add_test(tc, a_measured_round_trip_tells_more);
    tcase_add_test(tc, a_full_stream_tells_less);
    tcase_add_test(tc, a_rate_says_nothing_of_what_is_not_one_stream_of_tcp);
    tcase_add_test(tc, bursts_make_no_case);
    tcase_add_test(tc, a_class_that_loses_everywhere_accuses_nobody);
    tcase_add_test(tc, a_test_over_no_link_meets_no_network);
    tcase_add_test(tc, on_a_lossless_fabric_any_loss_is_news);
    tcase_add_test(tc, tests_without_losses_speak_against_a_share);
    tcase_add_test(tc, two_on_the_same_ways_tie);
    tcase_add_test(tc, who_loses_nothing_elsewhere_is_out);
    tcase_add_test(tc, who_is_on_some_of_the_ways_is_out);
    tcase_add_test(tc, two_lossy_links_on_one_way_are_told_apart);
    tcase_add_test(tc, tests_without_the_share_are_counted);
    tcase_add_test(tc, short_tests_count_together);
    tcase_add_test(tc, clean_tests_between_lossy_ones_take_nothing_back);
    tcase_add_test(tc, what_is_named_does_not_teach_its_class);
    tcase_add_loop_test(tc, random_losses_keep_the_books, 0, 20);
    return unit_run("losses", tc);
}
