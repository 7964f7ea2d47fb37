/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "plugin/transport/opening_time.h"
#include "plugin/transport/memlock.h"
#include "plugin/transport/ofi_env.h"
#include "tests/unit/unit.h"

static char dir[32], path[64];

static void setup(void)
{
    unit_dir(dir);
    snprintf(path, sizeof(path), "%s/opening", dir);
}

static void teardown(void)
{
    unit_remove(dir);
}

/* What a check reads after one that took so long; -1: none before. */
static int after(int ms)
{
    struct taut_opening_time t;

    taut_opening_open(&t, dir);
    if (ms >= 0)
        taut_opening_note(&t, ms);
    taut_opening_close(&t);
    taut_opening_open(&t, dir);
    taut_opening_close(&t);
    return t.ms;
}

START_TEST(a_longer_time_is_taken_at_once_a_shorter_one_slowly)
{
    ck_assert_int_eq(after(-1), -1);
    ck_assert_int_eq(after(280), 280);
    ck_assert_int_eq(after(1500), 1500);
    ck_assert_int_eq(after(300), 1350);
    ck_assert_int_eq(after(1349), 1349);
    ck_assert_int_eq(after(1349), 1349);
    for (int i = 0; i < 100; i++)
        after(300);
    ck_assert_int_eq(after(-1), 300);
}
END_TEST

static const char *const garbage[] = {
    "", "\n", "taut-opening", "taut-opening 2 5", "taut-opening 1 -3",
    "taut-opening 1 60001", "taut-opening 1 99999999999999999999", "\377\376",
};

START_TEST(garbage_is_no_time)
{
    unit_write(path, garbage[_i]);
    ck_assert_int_eq(after(-1), -1);
    ck_assert_int_eq(after(7), 7);
}
END_TEST

START_TEST(no_folder_costs_nothing)
{
    struct taut_opening_time t;

    taut_opening_open(&t, "/nonexistent");
    ck_assert_int_eq(t.ms, -1);
    taut_opening_note(&t, 5);
    ck_assert_int_eq(t.ms, -1);
    taut_opening_close(&t);
}
END_TEST

START_TEST(a_sites_settings_go_before_ours)
{
    unsetenv("FI_UNIVERSE_SIZE");
    ck_assert_int_eq(taut_ofi_env_apply(""), 0);
    ck_assert_str_eq(getenv("FI_UNIVERSE_SIZE"), "64");
    ck_assert_int_eq(
        taut_ofi_env_apply("FI_UNIVERSE_SIZE=16,MLX5_SINGLE_THREADED=1"), 0);
    ck_assert_str_eq(getenv("FI_UNIVERSE_SIZE"), "16");
    ck_assert_str_eq(getenv("MLX5_SINGLE_THREADED"), "1");
}
END_TEST

START_TEST(locked_memory_is_raised_and_never_lowered)
{
    struct rlimit limit;

    ck_assert_int_eq(getrlimit(RLIMIT_MEMLOCK, &limit), 0);
    limit.rlim_cur = 64 * 1024;
    ck_assert_int_eq(setrlimit(RLIMIT_MEMLOCK, &limit), 0);
    taut_memlock_raise(2);
    long raised = taut_memlock_kb(), wanted = 2 * TAUT_MEMLOCK_RAIL_KB;
    ck_assert(raised == wanted || /* or as far as root may here */
              (rlim_t)raised == limit.rlim_max / 1024);
    taut_memlock_raise(1);
    ck_assert_int_eq(taut_memlock_kb(), raised);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("opening");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_longer_time_is_taken_at_once_a_shorter_one_slowly);
    tcase_add_loop_test(tc, garbage_is_no_time, 0,
                        sizeof(garbage) / sizeof(garbage[0]));
    tcase_add_test(tc, no_folder_costs_nothing);
    tcase_add_test(tc, a_sites_settings_go_before_ours);
    tcase_add_test(tc, locked_memory_is_raised_and_never_lowered);
    return unit_run("opening", tc);
}
