/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <string.h>

#include "plugin/streams/latency.h"
#include "tests/unit/unit.h"

static struct taut_latency l;

static void setup(void)
{
    memset(&l, 0, sizeof(l));
}

START_TEST(of_nothing_there_is_no_median)
{
    ck_assert_int_eq(taut_latency_quantile(&l, 50), -1);
}
END_TEST

static const int64_t times[] = {0,     1,       127,      128,       255,
                                256,   257,     511,      512,       1000,
                                12345, 1000000, 99999999, 1999999999};

START_TEST(one_time_is_every_quantile_within_half_a_percent)
{
    int64_t t = times[_i], got;

    taut_latency_add(&l, t);
    got = taut_latency_quantile(&l, 50);
    ck_assert_int_eq(taut_latency_quantile(&l, 0), got);
    ck_assert_int_eq(taut_latency_quantile(&l, 100), got);
    ck_assert_msg(llabs(got - t) <= t / 200, "%lld for %lld", (long long)got,
                  (long long)t);
}
END_TEST

START_TEST(quantiles_of_many)
{
    for (int i = 1; i <= 100; i++)
        taut_latency_add(&l, i);
    ck_assert_int_eq(taut_latency_quantile(&l, 50), 50);
    ck_assert_int_eq(taut_latency_quantile(&l, 99), 99);
    ck_assert_int_eq(taut_latency_quantile(&l, 100), 100);
    ck_assert_int_eq(l.n, 100);
}
END_TEST

START_TEST(what_is_out_of_range_counts_at_its_end)
{
    taut_latency_add(&l, -5);
    ck_assert_int_eq(taut_latency_quantile(&l, 50), 0);
    taut_latency_add(&l, INT64_MAX);
    ck_assert_int_gt(taut_latency_quantile(&l, 100), INT64_C(4000000000));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("latency");

    tcase_add_checked_fixture(tc, setup, NULL);
    tcase_add_test(tc, of_nothing_there_is_no_median);
    tcase_add_loop_test(tc, one_time_is_every_quantile_within_half_a_percent, 0,
                        sizeof(times) / sizeof(*times));
    tcase_add_test(tc, quantiles_of_many);
    tcase_add_test(tc, what_is_out_of_range_counts_at_its_end);
    return unit_run("latency", tc);
}
