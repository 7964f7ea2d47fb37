/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "plugin/common/comm.h"
#include "tests/unit/unit.h"

static const char *const bad[] = {
    NULL,          "",
    ":bytes=1M",   "-halo",
    "Halo3d",      "halo 3d",
    "halo3d:",     "halo3d;x",
    "halo3d:a b",  "halo3d:a='b'",
    "halo3d:a\"b", "halo3d:a|b",
    "halo3d:a\nb", "halo3d:\xc3\xa4",
    "$(id)",
};

START_TEST(what_is_no_pattern_is_refused)
{
    struct taut_error err = {""};

    errno = 0;
    ck_assert_int_eq(taut_comm_check(bad[_i], &err), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "expected a pattern"));
}
END_TEST

static const char *const good[] = {
    "a",
    "all-to-all",
    "halo3d:bytes=1M,compute=0.3",
    "matrix:/home/alice/my_matrix.csv",
    "lattice4d:grid=4x4x4x4,bytes=8e3",
};

START_TEST(patterns_pass)
{
    ck_assert_int_eq(taut_comm_check(good[_i], NULL), 0);
}
END_TEST

START_TEST(the_length_has_a_limit)
{
    char text[TAUT_COMM_MAX + 2] = "ring:";

    memset(text + 5, 'x', TAUT_COMM_MAX - 5);
    ck_assert_int_eq(taut_comm_check(text, NULL), 0);
    text[TAUT_COMM_MAX] = 'x';
    ck_assert_int_eq(taut_comm_check(text, NULL), -1);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("comm");

    tcase_add_loop_test(tc, what_is_no_pattern_is_refused, 0,
                        sizeof(bad) / sizeof(bad[0]));
    tcase_add_loop_test(tc, patterns_pass, 0, sizeof(good) / sizeof(good[0]));
    tcase_add_test(tc, the_length_has_a_limit);
    return unit_run("comm", tc);
}
