/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "plugin/common/text.h"
#include "tests/unit/unit.h"

static const struct {
    const char *text;
    int error;
} bad_numbers[] = {
    {NULL, EINVAL},
    {"", EINVAL},
    {" 7", EINVAL},
    {"-7", EINVAL},
    {"7 ", EINVAL},
    {"0x7", EINVAL},
    {"4", ERANGE},
    {"101", ERANGE},
    {"18446744073709551616", ERANGE},
    {"99999999999999999999999", ERANGE},
};

START_TEST(a_bad_number_is_refused)
{
    uint64_t v = 42;

    errno = 0;
    ck_assert_int_eq(taut_text_number(bad_numbers[_i].text, 5, 100, &v), -1);
    ck_assert_int_eq(errno, bad_numbers[_i].error);
    ck_assert_uint_eq(v, 42);
}
END_TEST

START_TEST(limits_belong_to_the_range)
{
    uint64_t v;

    ck_assert_int_eq(taut_text_number("5", 5, 100, &v), 0);
    ck_assert_uint_eq(v, 5);
    ck_assert_int_eq(taut_text_number("00100", 5, 100, &v), 0);
    ck_assert_uint_eq(v, 100);
    ck_assert_int_eq(
        taut_text_number("18446744073709551615", 0, UINT64_MAX, &v), 0);
    ck_assert(v == UINT64_MAX);
}
END_TEST

START_TEST(characters_and_length_are_checked)
{
    ck_assert(!taut_text_is_made_of(NULL, "", 9));
    ck_assert(!taut_text_is_made_of("", "", 9));
    ck_assert(!taut_text_is_made_of("a b", "", 9));
    ck_assert(!taut_text_is_made_of("a\x80", "", 9));
    ck_assert(!taut_text_is_made_of("abc", "", 2));
    ck_assert(taut_text_is_made_of("abc", "", 3));
    ck_assert(taut_text_is_made_of("n[0-3]", "[]-", 9));
}
END_TEST

START_TEST(control_characters_are_replaced)
{
    char text[] = "a\033[31mb\tc\177d\xc3\xa4";

    taut_text_clean(text);
    ck_assert_str_eq(text, "a?[31mb?c?d??");
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("text");

    tcase_add_loop_test(tc, a_bad_number_is_refused, 0,
                        sizeof(bad_numbers) / sizeof(bad_numbers[0]));
    tcase_add_test(tc, limits_belong_to_the_range);
    tcase_add_test(tc, characters_and_length_are_checked);
    tcase_add_test(tc, control_characters_are_replaced);
    return unit_run("text", tc);
}
