/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What tests let through a component while its run goes on: parts of uneven ones, and what
 * got all that it could. */
#include <config.h>

#include <string.h>

#include "tests/unit/advisor/events.h"
#include "tests/unit/unit.h"

static void add_judged(uint32_t src, uint32_t dst, double bw, double expected,
                       uint16_t streams)
{
    struct taut_measured t = make_test(src, dst);

    t.bw_Bps = bw;
    t.expected_Bps = expected;
    t.streams = streams;
    t.is_low = bw < event_rules().good * expected;
    add_test(&t);
}

static void one(uint32_t src, uint32_t dst, double bw, double time)
{
    taut_evidence_begin(ev);
    add_judged(src, dst, bw, 1, 1);
    end_event(time);
}

static double score(uint32_t c, struct taut_case *k)
{
    return taut_evidence_judge(ev, c, k);
}

/* A test that is void as uneven, of which the best quarter reached so much. */
static void uneven(uint32_t src, uint32_t dst, double part, double time)
{
    struct taut_measured t = {.src = src,
                              .dst = dst,
                              .confirms = NONE,
                              .flows = 1,
                              .streams = 1,
                              .bw_Bps = -1,
                              .part_Bps = part,
                              .expected_Bps = 1};

    take_alone(&t, time);
}

START_TEST(parts_of_uneven_tests_above_the_ceiling_speak_for_busy)
{
    struct taut_case k;
    uint32_t x = find_link(0, 4), n;

    for (int i = 0; i < 4; i++)
        one(0, 8, 0.41, i * HOUR);
    double last = score(x, &k);
    uneven(0, 8, 0.42, 2 * HOUR); /* no more than a ceiling's noise */
    ck_assert_double_eq(score(x, &k), last);
    uneven(0, 8, 0.8, 2 * HOUR);
    ck_assert_double_eq_tol(score(x, &k), last - 1, 1e-9);
    for (int i = 0; i < 5; i++) /* those of one spell are not independent */
        uneven(0, 8, 0.8, 2 * HOUR + i);
    ck_assert_double_eq_tol(score(x, &k), last - 2, 1e-9);
    uneven(1, 9, 0.8, 3 * HOUR);
    ck_assert_double_eq_tol(score(x, &k), last - 3, 1e-9);
    taut_evidence_glimpses(ev, x, TAUT_GLIMPSE_PART, &n);
    ck_assert_uint_eq(n, 4); /* three of a spell are kept */
    ck_assert_uint_eq(k.low, 4);
    /* nor do they speak of what nothing speaks against */
    uneven(2, 3, 0.8, 4 * HOUR);
    ck_assert_ptr_null(taut_evidence_glimpses(ev, taut_graph_tx(2),
                                              TAUT_GLIMPSE_PART, &n));
}
END_TEST

/* Of two tests through a link with a ceiling one may have nearly all that it lets
 * through for a while: that was twice its own part, and spoke for the link. */
START_TEST(parts_of_tests_that_share_are_of_the_whole)
{
    struct taut_measured t = {.src = 0,
                              .dst = 8,
                              .confirms = NONE,
                              .flows = 1,
                              .streams = 1,
                              .bw_Bps = -1,
                              .part_Bps = 0.4,
                              .expected_Bps = 0.5};
    struct taut_case k;
    uint32_t x = find_link(0, 4), n;

    for (int i = 0; i < 4; i++)
        one(0, 8, 0.41, i * HOUR);
    double last = score(x, &k);
    taut_evidence_begin(ev);
    add_test(&t);
    for (uint32_t i = 0; i < taut_evidence_stages(ev); i++)
        taut_evidence_share_stage(ev, i, 2);
    end_event(2 * HOUR);
    ck_assert_double_eq_tol(taut_evidence_glimpses(ev, x, TAUT_GLIMPSE_PART, &n)->share, 0.4, 1e-6);
    ck_assert_double_eq(score(x, &k), last);
}
END_TEST

START_TEST(parts_before_a_case_began_say_nothing)
{
    struct taut_case k;
    uint32_t x = find_link(0, 4);

    one(0, 8, 0.7, 0);
    uneven(0, 8, 0.9, 1);
    for (int i = 2; i < 6; i++)
        one(0, 8, 0.3, i * HOUR);
    double now = score(x, &k);
    ck_assert_double_eq_tol(k.best, 0.3, 1e-6);
    uneven(0, 8, 0.9, 5 * HOUR + 1);
    ck_assert_double_eq_tol(score(x, &k), now - 1, 1e-9);
}
END_TEST

/* One stream, then several, over a way of which half of what a link carries is the most. */
static void over_half(uint32_t dst, double bw, uint16_t streams, double time)
{
    taut_evidence_begin(ev);
    add_judged(0, dst, bw, 0.5, streams);
    end_event(time);
}

/* One stream and several are low in each of six hours, at six levels. */
static void be_low(const double *levels)
{
    for (int i = 0; i < 6; i++) {
        taut_evidence_begin(ev);
        add_judged(0, 8, levels[i], 1, 1);
        add_judged(0, 8, levels[i], 1, 16);
        end_event(i * HOUR + 1);
    }
}

/* A link that was seen by two senders at once, so that no test of one clears it, was low
 * in 49 tests at all levels within 98 hours, and did well in 375: it was called slow. */
START_TEST(whole_tests_speak_against_slow_at_any_level)
{
    static const double levels[] = {0.2, 0.31, 0.26, 0.35, 0.22, 0.29};
    struct taut_case k;
    uint32_t x = find_link(0, 4), n;

    graph->capacity[taut_graph_rx(9)] = 0.5;
    one(0, 8, 0.21, 0); /* the link's reach is 1 */
    be_low(levels);
    double last = score(x, &k);
    ck_assert_double_lt(k.best, 0);
    over_half(9, 0.49, 16, 6 * HOUR); /* several win back what is lost */
    over_half(9, 0.42, 1, 6 * HOUR);  /* good, and not whole */
    ck_assert_double_eq(score(x, &k), last);
    for (int i = 0; i < 2; i++) {
        over_half(9, 0.49, 1, 6 * HOUR + i); /* one of a spell counts */
        ck_assert_double_eq_tol(score(x, &k), last - 1.8, 1e-9);
    }
    taut_evidence_glimpses(ev, x, TAUT_GLIMPSE_WHOLE, &n);
    ck_assert_uint_eq(n, 1);
    for (int i = 0; i < 12; i++)
        over_half(9, 0.49, 1, (8 + i) * HOUR);
    ck_assert_double_le(score(x, &k), 0);
    ck_assert(!was_touched(x));
    taut_evidence_watch(ev, x, true);
    over_half(9, 0.42, 1, 20 * HOUR);
    ck_assert(!was_touched(x));
    over_half(9, 0.49, 1, 20 * HOUR); /* a suspect is judged by it */
    ck_assert(was_touched(x));
    graph->capacity[taut_graph_rx(9)] = 1;
}
END_TEST

/* Half of what a link carries says nothing of one whose low tests got more. */
START_TEST(whole_tests_below_the_low_ones_say_nothing)
{
    static const double levels[] = {0.52, 0.71, 0.6, 0.66, 0.55, 0.64};
    struct taut_case k;
    uint32_t x = find_link(0, 4);

    graph->capacity[taut_graph_rx(9)] = 0.5;
    be_low(levels);
    double last = score(x, &k);
    ck_assert_double_lt(k.best, 0);
    over_half(9, 0.49, 1, 6 * HOUR);
    ck_assert_double_eq(score(x, &k), last);
    graph->capacity[taut_graph_rx(9)] = 1;
}
END_TEST

START_TEST(parts_are_bounded_and_come_back)
{
    uint32_t x = find_link(0, 4), n;
    struct taut_glimpse kept[TAUT_EVIDENCE_GLIMPSES];

    one(0, 8, 0.41, 0);
    for (int i = 0; i < 3 * TAUT_EVIDENCE_GLIMPSES; i++)
        uneven(0, 8, 0.8, i * HOUR / 2);
    const struct taut_glimpse *list = taut_evidence_glimpses(ev, x, TAUT_GLIMPSE_PART, &n);
    ck_assert_uint_eq(n, TAUT_EVIDENCE_GLIMPSES);
    memcpy(kept, list, sizeof(kept));
    for (uint32_t i = 1; i < n; i++)
        ck_assert_double_gt(kept[i].time, kept[i - 1].time);
    taut_evidence_void(ev);
    one(0, 8, 0.41, 0);
    taut_evidence_restore_glimpses(ev, x, TAUT_GLIMPSE_PART, kept, n);
    list = taut_evidence_glimpses(ev, x, TAUT_GLIMPSE_PART, &n);
    ck_assert_uint_eq(n, TAUT_EVIDENCE_GLIMPSES);
    for (uint32_t i = 0; i < n; i++) {
        ck_assert_float_eq(list[i].share, kept[i].share);
        ck_assert_double_eq(list[i].time, kept[i].time);
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("glimpses");

    tcase_add_checked_fixture(tc, begin_machine, end_machine);
    tcase_add_test(tc, parts_of_uneven_tests_above_the_ceiling_speak_for_busy);
    tcase_add_test(tc, parts_of_tests_that_share_are_of_the_whole);
    tcase_add_test(tc, parts_before_a_case_began_say_nothing);
    tcase_add_test(tc, parts_are_bounded_and_come_back);
    tcase_add_test(tc, whole_tests_speak_against_slow_at_any_level);
    tcase_add_test(tc, whole_tests_below_the_low_ones_say_nothing);
    return unit_run("glimpses", tc);
}
