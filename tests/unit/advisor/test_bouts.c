/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What comes back to the same ceiling, again and again. */
#include <config.h>

#include "tests/unit/advisor/events.h"
#include "tests/unit/unit.h"

static double sent; /* segments of each test of which none was lost; 0: nobody
                       counts */

static void get(uint32_t src, uint32_t dst, double bw, double time)
{
    struct taut_measured t = make_test(src, dst);

    t.segments = sent;
    t.bw_Bps = bw;
    t.is_low = bw < event_rules().good;
    take_alone(&t, time);
}

/* As production confirms: one stream, then several. */
static void get_twice(uint32_t src, uint32_t dst, double one, double many,
                      double time)
{
    struct taut_measured t = make_test(src, dst);

    t.segments = sent;
    taut_evidence_begin(ev);
    t.bw_Bps = one;
    t.is_low = one < event_rules().good;
    add_test(&t);
    t.bw_Bps = many;
    t.is_low = many < event_rules().good;
    t.streams = 16;
    add_test(&t);
    end_event(time);
}

/* The link from router 0 to router 4 is slow for a while, then well; each pair
 * takes its turn. */
static void bout(int i, double share, double time)
{
    uint32_t src = (uint32_t)i % 2, dst = 8 + (uint32_t)i / 2 % 2;

    get_twice(src, dst, share, share, time);
    get_twice(src, dst, share, share, time + 60);
    get(src, dst, 1, time + 600);
    get(src, src == 0 ? 1 : 0, 1, time + 620); /* its ends do well */
    get(dst == 8 ? 9 : 8, dst, 1, time + 640);
}

static const struct taut_bout *list_bouts(uint32_t c, uint32_t *n)
{
    struct taut_bouts_kept kept = taut_bouts_of(ev, c);

    *n = kept.n;
    return kept.list;
}

static struct taut_recurrence judge_bouts(uint32_t c)
{
    struct taut_recurrence k;

    taut_recurrence_judge(ev, c, &k);
    return k;
}

/* ---- keeping ---- */

START_TEST(a_run_that_ends_leaves_a_bout)
{
    uint32_t x = find_link(0, 4), n;

    list_bouts(x, &n);
    ck_assert_uint_eq(n, 0);
    get(0, 8, 0.41, 10);
    get(1, 9, 0.2, 20); /* not at the ceiling */
    get_twice(1, 9, 0.41, 0.41, 30);
    get(0, 8, 1, 40);
    const struct taut_bout *b = list_bouts(x, &n);
    ck_assert_uint_eq(n, 1);
    ck_assert(b->began == 10 && b->time == 30);
    ck_assert_double_eq_tol((double)b->share, 0.41, 1e-6);
    ck_assert_double_eq_tol((double)b->ratio, 0.41, 1e-6);
    ck_assert(b->first_src == 0 && b->first_dst == 8);
    ck_assert(b->src == 1 && b->dst == 9 && b->links == 1);
    ck_assert(b->is_wide && !b->is_single && !b->has_grown);
    get(0, 8, 1, 50); /* no run, no bout */
    list_bouts(x, &n);
    ck_assert_uint_eq(n, 1);
}
END_TEST

START_TEST(one_test_alone_is_a_single_bout)
{
    uint32_t n;

    get(0, 8, 0.41, 10);
    get(0, 8, 1, 40);
    const struct taut_bout *b = list_bouts(find_link(0, 4), &n);
    ck_assert(n == 1 && b->is_single && !b->is_wide && b->time == 10);
}
END_TEST

START_TEST(what_yields_to_several_streams_has_grown)
{
    uint32_t n;

    get_twice(0, 8, 0.41, 0.7, 10);
    get(0, 8, 1, 40);
    const struct taut_bout *b = list_bouts(find_link(0, 4), &n);
    ck_assert(n == 1 && b->has_grown);
}
END_TEST

/* What flaps for long is not pushed out by what was busy once. */
START_TEST(what_came_back_stays_when_there_is_no_room)
{
    uint32_t x = find_link(0, 4), n;

    for (int i = 0; i < 4; i++)
        bout(i, 0.43, 10 * i * HOUR);
    for (int i = -6; i < 10; i++) /* levels that never come back */
        if (i != 0)
            bout(i + 6, 0.43 * pow(1.06, i), (120 + 10 * i) * HOUR);
    const struct taut_bout *b = list_bouts(x, &n);
    ck_assert_uint_eq(n, TAUT_BOUTS_MAX);
    uint32_t same = 0;
    for (uint32_t i = 0; i < n; i++) {
        same += fabs((double)b[i].share - 0.43) < 0.001;
        ck_assert(i == 0 || b[i - 1].time < b[i].time);
    }
    ck_assert_uint_eq(same, 4);
}
END_TEST

START_TEST(what_is_forgotten_has_no_bouts)
{
    uint32_t x = find_link(0, 4), n;

    bout(0, 0.41, 10);
    bout(1, 0.41, 3 * HOUR);
    taut_bouts_forget(ev, x);
    list_bouts(x, &n);
    ck_assert_uint_eq(n, 0);
    bout(2, 0.41, 6 * HOUR);
    list_bouts(x, &n);
    ck_assert_uint_eq(n, 1);
    taut_recurrence_name(ev, x, true);
    taut_evidence_forget(ev, x);
    list_bouts(x, &n);
    ck_assert_uint_eq(n, 0);
    bout(3, 0.41, 9 * HOUR);
    get(0, 8, 1, 12 * HOUR); /* it was taken for a bout at all of it */
    list_bouts(x, &n);
    ck_assert_uint_eq(n, 1);
}
END_TEST

/* A new evidence knows what is kept of component x. */
static void restart(uint32_t x)
{
    struct taut_bouts_kept kept = taut_bouts_of(ev, x);
    struct taut_evidence_rules rules = event_rules();
    struct taut_evidence *old = ev;

    ev = taut_evidence_create(graph, &rules);
    ck_assert_int_eq(taut_bouts_restore(ev, x, &kept), 0);
    taut_evidence_destroy(old);
}

START_TEST(what_was_stored_comes_back)
{
    uint32_t x = find_link(0, 4);

    for (int i = 0; i < 5; i++)
        bout(i, 0.41, 5 * i * HOUR);
    struct taut_recurrence was = judge_bouts(x);
    ck_assert(taut_bouts_of(ev, x).n == 5 && taut_bouts_of(ev, x).tested == 5);
    restart(x);
    struct taut_recurrence is = judge_bouts(x);
    ck_assert(is.bouts == was.bouts && is.spells == was.spells);
    ck_assert(is.wide == was.wide && is.first == was.first);
    ck_assert_double_eq_tol(is.share, was.share, 1e-6);
    ck_assert_double_gt(is.score, 15);
    ck_assert(taut_bouts_of(ev, x).chain == HUGE_VAL);
}
END_TEST

/* ---- weighing ---- */

START_TEST(the_same_ceiling_again_and_again_becomes_strong)
{
    uint32_t x = find_link(0, 4);
    double last = 0;

    bout(0, 0.41, 0);
    ck_assert_double_eq(judge_bouts(x).score, 0); /* it only chose the level */
    for (int i = 1; i < 7; i++) {
        bout(i, 0.41, 7 * i * HOUR);
        struct taut_recurrence k = judge_bouts(x);
        ck_assert_double_gt(k.score, last);
        ck_assert_uint_eq(k.bouts, i + 1);
        last = k.score;
    }
    struct taut_recurrence k = judge_bouts(x);
    ck_assert_double_gt(k.score, 15);
    ck_assert_double_eq_tol(k.share, 0.41, 1e-6);
    ck_assert(k.first == 60 && k.last == 42 * HOUR + 60 && !k.is_fair);
    ck_assert(k.wide == 7 && k.all == 7 && k.spells == 7 && k.since == 0);
    struct taut_reporters who = taut_recurrence_reporters(ev, x, &k);
    ck_assert(who.senders == 2 && who.receivers == 2 && who.far == 2);
}
END_TEST

START_TEST(an_open_run_is_a_bout_as_well)
{
    uint32_t x = find_link(0, 4);

    bout(0, 0.41, 0);
    get_twice(0, 8, 0.41, 0.41, 9 * HOUR);
    struct taut_recurrence k = judge_bouts(x);
    ck_assert(k.bouts == 2 && k.all == 2);
    ck_assert_double_gt(k.score, 0);
}
END_TEST

START_TEST(other_levels_each_time_are_a_busy_network)
{
    static const double share[] = {0.41, 0.6, 0.31, 0.36, 0.7, 0.52, 0.46};
    uint32_t x = find_link(0, 4);

    for (int i = 0; i < 7; i++)
        bout(i, share[i], 7 * i * HOUR);
    ck_assert_double_lt(judge_bouts(x).score, 4);
}
END_TEST

START_TEST(hours_in_which_it_does_well_count_against_it)
{
    uint32_t x = find_link(0, 4);

    for (int i = 0; i < 5; i++)
        bout(i, 0.41, 7 * i * HOUR);
    double before = judge_bouts(x).score;
    for (int i = 0; i < 40; i++)
        get(0, 8, 1, (40 + i) * HOUR);
    struct taut_recurrence k = judge_bouts(x);
    ck_assert_uint_eq(k.spells, 45);
    ck_assert_uint_eq(k.since, 40);
    ck_assert_double_lt(k.score, before - 5);
}
END_TEST

START_TEST(several_bouts_of_an_hour_are_one)
{
    uint32_t x = find_link(0, 4);

    bout(0, 0.41, 0);
    for (int i = 0; i < 3; i++)
        bout(i, 0.41, 7 * HOUR + 700 * i);
    ck_assert_uint_eq(judge_bouts(x).bouts, 2);
}
END_TEST

/* The score of five bouts at a level, of which several streams got so much. */
static struct taut_recurrence five_bouts(double one, double many)
{
    taut_evidence_void(ev);
    for (uint32_t c = 0; c < graph->components; c++)
        taut_evidence_forget(ev, c);
    for (int i = 0; i < 5; i++) {
        uint32_t src = (uint32_t)i % 2, dst = 8 + (uint32_t)i / 2 % 2;
        double time = (7 * i + (one > 0.45 ? 100 : 0)) * HOUR;
        get_twice(src, dst, one, many, time);
        get_twice(src, dst, one, many, time + 60);
        get(src, dst, 1, time + 600);
    }
    return judge_bouts(find_link(0, 4));
}

START_TEST(fair_shares_weigh_less)
{
    struct taut_recurrence odd = five_bouts(0.41, 0.41);
    struct taut_recurrence fair = five_bouts(0.5, 0.5);

    ck_assert(fair.is_fair && !odd.is_fair);
    ck_assert_double_lt(fair.score, odd.score - 4);
}
END_TEST

START_TEST(what_yields_to_several_streams_is_busy)
{
    ck_assert_double_eq(five_bouts(0.41, 0.7).score, 0);
}
END_TEST

/* One test of many that met a flow: the more tests there are, the likelier. */
START_TEST(single_tests_of_many_weigh_less)
{
    uint32_t x = find_link(0, 4);

    for (int i = 0; i < 5; i++) {
        get(0, 8, 0.41, 7 * i * HOUR);
        get(0, 8, 1, 7 * i * HOUR + 60);
    }
    double few = judge_bouts(x).score;
    taut_evidence_forget(ev, x);
    for (int i = 0; i < 5; i++) {
        double time = (100 + 7 * i) * HOUR;
        get(0, 8, 0.41, time);
        for (int j = 1; j < 30; j++)
            get(0, 8, 1, time + 60 * j);
    }
    ck_assert_double_lt(judge_bouts(x).score, few);
}
END_TEST

START_TEST(the_newest_level_is_asked_by_itself)
{
    uint32_t x = find_link(0, 4);
    struct taut_recurrence k;

    for (int i = 0; i < 4; i++)
        bout(i, 0.41, 7 * i * HOUR);
    bout(0, 0.65, 40 * HOUR);
    ck_assert_double_eq(taut_recurrence_newest(ev, x, &k), 0);
    ck_assert_uint_eq(k.all, 5);
    ck_assert_double_eq_tol(judge_bouts(x).share, 0.41, 1e-6);
    bout(1, 0.41, 47 * HOUR);
    ck_assert_double_gt(taut_recurrence_newest(ev, x, &k), 4);
}
END_TEST

START_TEST(a_case_begins_where_it_is_best)
{
    uint32_t x = find_link(0, 4);

    /* what shared fairly long ago, and at a ceiling near that of today */
    for (int i = 0; i < 3; i++)
        bout(i, 0.402, 40 * i * HOUR);
    for (int i = 0; i < 40; i++)
        get(0, 8, 1, (100 + i) * HOUR);
    double first = 200 * HOUR;
    for (int i = 0; i < 5; i++)
        bout(i, 0.41, first + 4 * i * HOUR);
    struct taut_recurrence k = judge_bouts(x);
    ck_assert_double_ge(k.first, first);
    ck_assert_uint_eq(k.bouts, 5);
}
END_TEST

/* Many bouts of fair sharing push no other ceiling out. */
START_TEST(what_is_rare_is_kept)
{
    uint32_t x = find_link(0, 4), n, rare = 0;

    for (int i = 0; i < 60; i++)
        bout(i, i % 7 == 0 ? 0.41 : i % 2 ? 0.5 : 1 / 3.0, i * HOUR);
    const struct taut_bout *list = list_bouts(x, &n);
    ck_assert_uint_eq(n, TAUT_BOUTS_MAX);
    for (uint32_t i = 0; i < n; i++)
        rare += fabs((double)list[i].share - 0.41) < 0.01;
    ck_assert_uint_ge(rare, 5);
}
END_TEST

START_TEST(what_was_named_explains_bouts_of_others)
{
    uint32_t x = find_link(0, 4), rx = taut_graph_rx(8), n;

    for (int i = 0; i < 5; i++) {
        get_twice(0, 8, 0.41, 0.41, 7 * i * HOUR);
        get(0, 8, 1, 7 * i * HOUR + 60);
    }
    get_twice(2, 8, 0.6, 0.6, 50 * HOUR); /* another rate, another way */
    get(2, 8, 1, 50 * HOUR + 60);
    list_bouts(rx, &n);
    ck_assert_uint_eq(n, 6);
    taut_recurrence_explain(ev, x);
    list_bouts(rx, &n);
    ck_assert_uint_eq(n, 1);
    list_bouts(x, &n);
    ck_assert_uint_eq(n, 5);
}
END_TEST

/* ---- others ---- */

START_TEST(another_on_every_way_is_a_rival)
{
    uint32_t x = find_link(0, 4), tx = taut_graph_tx(0);

    for (int i = 0; i < 5; i++) {
        get_twice(0, 8, 0.41, 0.41, 7 * i * HOUR);
        get(0, 8, 1, 7 * i * HOUR + 60);
    }
    struct taut_recurrence k = judge_bouts(x);
    uint32_t other = taut_recurrence_rival(ev, x, &k, 4, 15);
    ck_assert(other == tx || other == taut_graph_rx(8));
    /* with other ends the same hour after hour they are none */
    for (int i = 5; i < 10; i++) {
        get_twice(1, 9, 0.41, 0.41, 7 * i * HOUR);
        get(1, 9, 1, 7 * i * HOUR + 60);
    }
    k = judge_bouts(x);
    ck_assert_uint_eq(taut_recurrence_rival(ev, x, &k, 4, 15), NONE);
    k = judge_bouts(tx);
    ck_assert_uint_ne(taut_recurrence_rival(ev, tx, &k, 4, 15), NONE);
}
END_TEST

/* A link that leads to one node only, which comes and goes: it does well over no
 * link, and is found low there, too. */
START_TEST(who_comes_and_goes_makes_the_case_of_its_link)
{
    uint32_t x = find_link(0, 4), rx = taut_graph_rx(8);
    struct taut_case k;

    for (int i = 0; i < 4; i++) {
        get_twice(0, 8, 0.41, 0.41, 2 * i * HOUR);
        get(9, 8, 1, (2 * i + 1) * HOUR);
    }
    ck_assert_double_gt(taut_evidence_judge(ev, x, &k), 4);
    ck_assert_uint_eq(taut_recurrence_twin(ev, x, &k), NONE); /* it may be x */
    get_twice(9, 8, 0.41, 0.41, 8 * HOUR);
    get(9, 8, 1, 9 * HOUR);
    taut_evidence_judge(ev, x, &k);
    ck_assert_uint_eq(taut_recurrence_twin(ev, x, &k), rx);
    get_twice(0, 9, 0.41, 0.41, 10 * HOUR); /* x alone */
    taut_evidence_judge(ev, x, &k);
    ck_assert_uint_eq(taut_recurrence_twin(ev, x, &k), NONE);
}
END_TEST

/* What it was low at in one of these tests was lost when a better test of the
 * same run was kept. */
START_TEST(who_comes_and_goes_need_not_be_known_for_each_test)
{
    uint32_t x = find_link(0, 4), rx = taut_graph_rx(8);
    struct taut_case k;

    get_twice(0, 8, 0.41, 0.41, 0);
    get(9, 8, 0.7, 300); /* its best */
    get(9, 8, 1, 600);
    for (int i = 1; i < 4; i++) {
        get_twice(0, 8, 0.41, 0.41, 2 * i * HOUR);
        get(9, 8, 1, (2 * i + 1) * HOUR);
    }
    get_twice(9, 8, 0.41, 0.41, 8 * HOUR);
    get(9, 8, 1, 9 * HOUR);
    taut_evidence_judge(ev, x, &k);
    ck_assert_uint_eq(taut_recurrence_twin(ev, x, &k), NONE);
    get_twice(9, 8, 0.41, 0.41, 10 * HOUR);
    get(9, 8, 1, 11 * HOUR);
    taut_evidence_judge(ev, x, &k);
    ck_assert_uint_eq(taut_recurrence_twin(ev, x, &k), rx);
}
END_TEST

/* At the same rate, but at other times. */
START_TEST(a_bout_of_another_time_explains_nothing)
{
    uint32_t x = find_link(0, 4);

    for (int i = 0; i < 5; i++)
        bout(i, 0.41, 7 * i * HOUR);
    for (int i = 0; i < 5; i++) {
        get_twice(0, 1, 0.41, 0.41, (7 * i + 3) * HOUR);
        get(0, 1, 1, (7 * i + 3) * HOUR + 60);
    }
    struct taut_recurrence k = judge_bouts(x);
    /* two of the five are left, which is a case, though none for a verdict */
    ck_assert_uint_eq(taut_recurrence_rival(ev, x, &k, 1, 1), NONE);
    ck_assert_uint_eq(taut_recurrence_rival(ev, x, &k, 1, 15), taut_graph_tx(0));
}
END_TEST

/* ---- at any level ---- */

/* The link loses: it is low at this share in an hour, then good but not whole,
 * and its ends do well elsewhere. */
static void loses(int i, double low, double good, double time)
{
    uint32_t src = (uint32_t)i % 2, dst = 8 + (uint32_t)i / 2 % 2;

    get_twice(src, dst, low, low, time);
    get(src, dst, good, time + 600);
    get(src, src == 0 ? 1 : 0, 1, time + 620);
    get(dst == 8 ? 9 : 8, dst, 1, time + 640);
}

/* Nearly everything is whole. */
static void be_whole(void)
{
    for (int i = 0; i < 40; i++)
        get(2, 3, 1, i - 100);
}

static const double SCATTER[] = {0.41, 0.6, 0.52, 0.36, 0.66, 0.47, 0.56};

START_TEST(what_is_never_whole_needs_no_ceiling)
{
    uint32_t x = find_link(0, 4);

    be_whole();
    for (int i = 0; i < 7; i++)
        loses(i, SCATTER[i], 0.8, 4 * i * HOUR);
    struct taut_recurrence k = judge_bouts(x);
    ck_assert(k.is_any && k.bouts == 7 && k.spells == 7 && k.wide == 7);
    ck_assert_double_gt(k.score, 13);
    ck_assert_double_eq_tol(k.share, 0.51, 0.01);
    ck_assert_uint_eq(taut_recurrence_rival(ev, x, &k, 4, 13), NONE);
    struct taut_recurrence end = judge_bouts(taut_graph_tx(0));
    ck_assert(!end.is_any); /* it was whole in between */
    /* hours that are good, but not whole, say a little more */
    get(0, 8, 0.8, 29 * HOUR);
    ck_assert_uint_eq(judge_bouts(x).spells, 8);
    ck_assert_double_gt(judge_bouts(x).score, k.score);
}
END_TEST

/* What loses says so by its losses; what is low without any was busy. */
START_TEST(counted_losses_speak_for_themselves)
{
    uint32_t x = find_link(0, 4);

    be_whole();
    sent = 20000;
    for (int i = 0; i < 7; i++)
        loses(i, SCATTER[i], 0.8, 4 * i * HOUR);
    ck_assert(!judge_bouts(x).is_any);
    restart(x);
    be_whole();
    loses(7, 0.5, 0.8, 28 * HOUR);
    ck_assert(!judge_bouts(x).is_any);
    sent = 0; /* another transport has its turn */
    for (int i = 0; i < 7; i++)
        loses(i, SCATTER[i], 0.8, (40 + 4 * i) * HOUR);
    struct taut_recurrence k = judge_bouts(x);
    ck_assert(k.is_any && k.bouts == 7 && k.spells == 7);
}
END_TEST

START_TEST(one_whole_test_ends_it)
{
    uint32_t x = find_link(0, 4);

    be_whole();
    for (int i = 0; i < 7; i++)
        loses(i, SCATTER[i], 0.8, 4 * i * HOUR);
    get(0, 8, 0.96, 30 * HOUR);
    ck_assert(!judge_bouts(x).is_any);
    for (int i = 0; i < 3; i++)
        loses(i, SCATTER[i], 0.8, (40 + 4 * i) * HOUR);
    ck_assert_uint_eq(judge_bouts(x).bouts, 3); /* it begins anew */
}
END_TEST

START_TEST(a_restart_knows_what_was_never_whole)
{
    uint32_t x = find_link(0, 4);

    be_whole();
    for (int i = 0; i < 5; i++)
        loses(i, SCATTER[i], 0.8, 4 * i * HOUR);
    restart(x);
    loses(5, SCATTER[5], 0.8, 20 * HOUR);
    struct taut_recurrence k = judge_bouts(x);
    ck_assert(k.is_any && k.bouts == 6 && k.spells == 6);
}
END_TEST

/* Low in each of several hours, in one run. */
START_TEST(each_hour_of_a_run_counts)
{
    uint32_t x = find_link(0, 4);

    be_whole();
    for (int i = 0; i < 6; i++)
        get_twice(0, 8, SCATTER[i], SCATTER[i], 4 * i * HOUR);
    get(0, 8, 0.8, 23 * HOUR);
    get(1, 9, 0.5, 26 * HOUR);
    struct taut_recurrence k = judge_bouts(x);
    ck_assert(k.is_any && k.bouts == 7 && k.wide == 6 && k.all == 2);
}
END_TEST

START_TEST(rarely_low_is_nothing)
{
    uint32_t x = find_link(0, 4);

    be_whole();
    for (int i = 0; i < 20; i++)
        loses(i, i % 3 == 0 ? SCATTER[i % 7] : 0.8, 0.8, 4 * i * HOUR);
    ck_assert(!judge_bouts(x).is_any);
}
END_TEST

/* More is expected of all than they carry: what is not whole tells nothing. */
START_TEST(where_nothing_is_whole_nothing_is_said)
{
    uint32_t x = find_link(0, 4);

    for (int i = 0; i < 400; i++)
        get((uint32_t)i % 2, 8 + (uint32_t)i % 2, 0.85, 60 * i);
    for (int i = 0; i < 7; i++)
        loses(i, SCATTER[i], 0.85, (10 + 4 * i) * HOUR);
    ck_assert(!judge_bouts(x).is_any);
}
END_TEST

/* The best of what is low is often just below what is good. */
START_TEST(a_level_just_below_good_weighs_less)
{
    uint32_t x = find_link(0, 4);

    be_whole();
    for (int i = 0; i < 5; i++)
        bout(i, 0.65, 30 * i * HOUR);
    double flaps = judge_bouts(x).score;
    taut_evidence_forget(ev, x);
    for (int i = 0; i < 5; i++)
        bout(i, 0.72, (200 + 30 * i) * HOUR);
    struct taut_recurrence k = judge_bouts(x);
    ck_assert(!k.is_any && k.bouts == 5);
    ck_assert_double_lt(k.score, flaps - 4);
}
END_TEST

/* Tests of two senders at once show all of the link, those of one, whose way carries
 * less, only a part, so that they clear nothing: what is whole of them is so all the
 * same. */
START_TEST(a_stream_that_got_all_it_could_ends_what_is_never_whole)
{
    uint32_t x = find_link(0, 4);
    struct taut_measured t = make_test(0, 9);

    be_whole();
    graph->capacity[taut_graph_rx(9)] = 0.6;
    for (int i = 0; i < 7; i++)
        loses(0, SCATTER[6 - i], 0.8, 4 * i * HOUR);
    ck_assert(judge_bouts(x).is_any);
    t.expected_Bps = 0.6;
    for (int i = 0; i < 3; i++) {
        static const double got[] = {0.58, 0.5, 0.58};
        t.bw_Bps = got[i];
        t.streams = i == 0 ? 16 : 1; /* several win back what is lost */
        taut_evidence_begin(ev);
        add_test(&t);
        end_event((26 + i) * HOUR);
        ck_assert(judge_bouts(x).is_any == (i < 2));
        ck_assert(was_touched(x) == (i == 2)); /* so that it is kept */
    }
    graph->capacity[taut_graph_rx(9)] = 1;
}
END_TEST

/* ---- a verdict ---- */

START_TEST(what_is_named_goes_on_to_be_counted)
{
    uint32_t x = find_link(0, 4), n;

    for (int i = 0; i < 5; i++)
        bout(i, 0.41, 7 * i * HOUR);
    taut_evidence_name(ev, x, 0.41);
    taut_recurrence_name(ev, x, true);
    get(0, 8, 1, 36 * HOUR);
    get(0, 8, 0.2, 37 * HOUR); /* a bout, but not at its ceiling */
    get(0, 8, 1, 38 * HOUR);
    get(0, 8, 0.41, 42 * HOUR);
    get(1, 9, 0.41, 42 * HOUR + 60); /* the same hour */
    const struct taut_bout *b = list_bouts(x, &n);
    ck_assert_uint_eq(n, 7);
    ck_assert_double_eq_tol((double)b[5].share, 0.2, 1e-6);
    ck_assert_double_eq(b[6].time, 42 * HOUR + 60);
    struct taut_recurrence k = judge_bouts(x);
    ck_assert(k.bouts == 6 && k.since == 0);
    /* what is slow all the time has none */
    uint32_t y = find_link(4, 8);
    taut_evidence_name(ev, y, 0.3);
    get(8, 16, 0.3, 50 * HOUR);
    list_bouts(y, &n);
    ck_assert_uint_eq(n, 0);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("bouts");

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, begin_machine, end_machine);
    tcase_add_test(tc, a_run_that_ends_leaves_a_bout);
    tcase_add_test(tc, one_test_alone_is_a_single_bout);
    tcase_add_test(tc, what_yields_to_several_streams_has_grown);
    tcase_add_test(tc, what_came_back_stays_when_there_is_no_room);
    tcase_add_test(tc, what_is_forgotten_has_no_bouts);
    tcase_add_test(tc, what_was_stored_comes_back);
    tcase_add_test(tc, the_same_ceiling_again_and_again_becomes_strong);
    tcase_add_test(tc, an_open_run_is_a_bout_as_well);
    tcase_add_test(tc, other_levels_each_time_are_a_busy_network);
    tcase_add_test(tc, hours_in_which_it_does_well_count_against_it);
    tcase_add_test(tc, several_bouts_of_an_hour_are_one);
    tcase_add_test(tc, fair_shares_weigh_less);
    tcase_add_test(tc, what_yields_to_several_streams_is_busy);
    tcase_add_test(tc, single_tests_of_many_weigh_less);
    tcase_add_test(tc, the_newest_level_is_asked_by_itself);
    tcase_add_test(tc, a_case_begins_where_it_is_best);
    tcase_add_test(tc, who_comes_and_goes_makes_the_case_of_its_link);
    tcase_add_test(tc, what_is_rare_is_kept);
    tcase_add_test(tc, what_was_named_explains_bouts_of_others);
    tcase_add_test(tc, another_on_every_way_is_a_rival);
    tcase_add_test(tc, who_comes_and_goes_need_not_be_known_for_each_test);
    tcase_add_test(tc, a_bout_of_another_time_explains_nothing);
    tcase_add_test(tc, what_is_never_whole_needs_no_ceiling);
    tcase_add_test(tc, counted_losses_speak_for_themselves);
    tcase_add_test(tc, one_whole_test_ends_it);
    tcase_add_test(tc, a_restart_knows_what_was_never_whole);
    tcase_add_test(tc, each_hour_of_a_run_counts);
    tcase_add_test(tc, rarely_low_is_nothing);
    tcase_add_test(tc, where_nothing_is_whole_nothing_is_said);
    tcase_add_test(tc, a_level_just_below_good_weighs_less);
    tcase_add_test(tc, a_stream_that_got_all_it_could_ends_what_is_never_whole);
    tcase_add_test(tc, what_is_named_goes_on_to_be_counted);
    return unit_run("bouts", tc);
}
