/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire/error.h"

START_TEST(null_is_accepted)
{
    ck_assert_int_eq(taut_error_set(NULL, "%s", "nobody listens"), -1);
}
END_TEST

START_TEST(text_is_written)
{
    struct taut_error err;

    ck_assert_int_eq(taut_error_set(&err, "port %d above %d", 70000, 65535),
                     -1);
    ck_assert_str_eq(err.text, "port 70000 above 65535");
}
END_TEST

START_TEST(long_text_is_cut)
{
    struct taut_error err;
    char text[2 * TAUT_ERROR_MAX];

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    taut_error_set(&err, "%s", text);
    ck_assert_uint_eq(strlen(err.text), TAUT_ERROR_MAX - 1);
}
END_TEST

START_TEST(errno_is_kept)
{
    struct taut_error err;

    errno = E2BIG;
    taut_error_set(&err, "%d", 1);
    ck_assert_int_eq(errno, E2BIG);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("error");
    TCase *tc = tcase_create("error");
    SRunner *runner = srunner_create(suite);

    tcase_add_test(tc, null_is_accepted);
    tcase_add_test(tc, text_is_written);
    tcase_add_test(tc, long_text_is_cut);
    tcase_add_test(tc, errno_is_kept);
    suite_add_tcase(suite, tc);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
