/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What no munged would take.  With one, the lab says HELLO. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/common/clock.h"
#include "plugin/probe/hello.h"
#include "tests/unit/unit.h"

START_TEST(what_is_too_long_for_munge_is_said_with_its_size)
{
    struct taut_error err;
    char *text = malloc(TAUT_HELLO_MAX + 2);

    memset(text, 'n', TAUT_HELLO_MAX + 1);
    text[TAUT_HELLO_MAX + 1] = '\0';
    ck_assert_ptr_null(taut_hello_wrap(text, 0, "/nonexistent/munge.socket",
                                       taut_now_ns() + TAUT_S_NS, &err));
    ck_assert_int_eq(errno, EMSGSIZE);
    ck_assert_ptr_nonnull(strstr(err.text, "HELLO has 1047553 bytes, munge "
                                           "takes 1047552 at most"));
    free(text);
}
END_TEST

START_TEST(what_munge_says_is_said)
{
    struct taut_error err;

    ck_assert_ptr_null(taut_hello_wrap("{}", 0, "/nonexistent/munge.socket",
                                       taut_now_ns() + 10 * TAUT_S_NS, &err));
    ck_assert_int_eq(errno, EIO);
    ck_assert_ptr_nonnull(strstr(err.text, "munge: "));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("hello");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, what_is_too_long_for_munge_is_said_with_its_size);
    tcase_add_test(tc, what_munge_says_is_said);
    return unit_run("hello", tc);
}
