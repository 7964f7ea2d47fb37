/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "wire/hostlist.h"

#define MAX TAUT_HOSTLIST_MAX
#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

/* ---- bad arguments ---- */

START_TEST(parse_refuses_bad_arguments)
{
    struct taut_error err;

    errno = 0;
    ck_assert_ptr_null(taut_hostlist_parse(NULL, 1, &err));
    ck_assert_int_eq(errno, EINVAL);
    errno = 0;
    ck_assert_ptr_null(taut_hostlist_parse("n1", 0, &err));
    ck_assert_int_eq(errno, EINVAL);
    errno = 0;
    ck_assert_ptr_null(taut_hostlist_parse("n1", MAX + 1, NULL));
    ck_assert_int_eq(errno, EINVAL);
    taut_hostlist_destroy(NULL);
}
END_TEST

static const struct {
    const char *text;
    size_t max;
    int error;
    const char *message;
} bad_text[] = {
    {",", MAX, EINVAL, "column 1: name expected at ','"},
    {"n1,", MAX, EINVAL, "column 4: name expected at the end"},
    {"n1,,n2", MAX, EINVAL, "column 4: name expected at ','"},
    {"n[1", MAX, EINVAL, "column 4: ']' expected at the end"},
    {"n[", MAX, EINVAL, "column 3: digit expected at the end"},
    {"n[]", MAX, EINVAL, "column 3: digit expected at ']'"},
    {"n[1,]", MAX, EINVAL, "column 5: digit expected at ']'"},
    {"n[1-]", MAX, EINVAL, "column 5: digit expected at ']'"},
    {"n[-1]", MAX, EINVAL, "column 3: digit expected at '-'"},
    {"n[1-2-3]", MAX, EINVAL, "column 6: ']' expected at '-'"},
    {"n[a-c]", MAX, EINVAL, "column 3: digit expected at 'a'"},
    {"n[1 ]", MAX, EINVAL, "column 4: ']' expected at byte 0x20"},
    {"n[1[2]]", MAX, EINVAL, "column 4: ']' expected at '['"},
    {"n[[1]]", MAX, EINVAL, "column 3: digit expected at '['"},
    {"n1]", MAX, EINVAL, "column 3: not a character of a name at ']'"},
    {"]", MAX, EINVAL, "column 1: name expected at ']'"},
    {"n[5-3]", MAX, EINVAL, "column 3: range from high to low at '5'"},
    {"n[1-010]", MAX, EINVAL,
     "column 5: leading zeros unlike the range's at '0'"},
    {"n[18446744073709551616]", MAX, EINVAL,
     "column 3: number beyond 64 bits at '1'"},
    {"n[0-99999999999999999999]", MAX, EINVAL,
     "column 5: number beyond 64 bits at '9'"},
    {"n[0-18446744073709551615]", MAX, E2BIG,
     "column 1: more than 1048576 names"},
    {"n[0-4294967295]", MAX, E2BIG, "column 1: more than 1048576 names"},
    {"n[0-65535][0-65535]", MAX, E2BIG, "column 1: more than 1048576 names"},
    {"n[0-1048575][0-1048575][0-1048575][0-1048575]", MAX, E2BIG,
     "column 1: more than 1048576 names"},
    {"n[0-1048574,0-18446744073709551615]", MAX, E2BIG,
     "column 1: more than 1048576 names"},
    {"n[0-3]", 3, E2BIG, "column 1: more than 3 names"},
    {"n1,n2,n3", 2, E2BIG, "column 7: more than 2 names"},
    {"n[0-1],m[0-1]", 3, E2BIG, "column 8: more than 3 names"},
    {"n1\n", MAX, EINVAL, "column 3: not a character of a name at byte 0x0a"},
    {"n\x01", MAX, EINVAL, "column 2: not a character of a name at byte 0x01"},
    {"n\x7f", MAX, EINVAL, "column 2: not a character of a name at byte 0x7f"},
    {"n\xc3\xa9", MAX, EINVAL,
     "column 2: not a character of a name at byte 0xc3"},
    {" n1", MAX, EINVAL, "column 1: name expected at byte 0x20"},
    {"n1;reboot", MAX, EINVAL, "column 3: not a character of a name at ';'"},
    {"n/../x", MAX, EINVAL, "column 2: not a character of a name at '/'"},
    {"-n1", MAX, EINVAL, "column 1: name expected at '-'"},
    {"..", MAX, EINVAL, "column 1: name expected at '.'"},
};

START_TEST(parse_refuses_bad_text)
{
    struct taut_error err = {""};
    char want[TAUT_ERROR_MAX];

    errno = 0;
    ck_assert_ptr_null(
        taut_hostlist_parse(bad_text[_i].text, bad_text[_i].max, &err));
    ck_assert_int_eq(errno, bad_text[_i].error);
    snprintf(want, sizeof(want), "host list, %s", bad_text[_i].message);
    ck_assert_str_eq(err.text, want);
    ck_assert_ptr_null(
        taut_hostlist_parse(bad_text[_i].text, bad_text[_i].max, NULL));
}
END_TEST

static void expect_error(const char *text, int error)
{
    struct taut_error err = {""};

    errno = 0;
    ck_assert_ptr_null(taut_hostlist_parse(text, MAX, &err));
    ck_assert_int_eq(errno, error);
    ck_assert_str_ne(err.text, "");
}

/* 'head', then 'unit' 'times' times. */
static char *repeat(const char *head, const char *unit, size_t times)
{
    size_t n = strlen(head), each = strlen(unit);
    char *text = malloc(n + each * times + 1);

    ck_assert_ptr_nonnull(text);
    memcpy(text, head, n);
    for (size_t i = 0; i < times; i++)
        memcpy(text + n + i * each, unit, each);
    text[n + each * times] = '\0';
    return text;
}

static const struct {
    const char *head, *unit;
    size_t times;
    int error;
} hostile[] = {
    {"n", "x", 256, EINVAL}, /* one name too long */
    {"n", "x", 1000000, EINVAL},
    {"n", "[", 1000000, EINVAL},
    {"n", "[0]", 255, EINVAL}, /* 256 bytes */
    {"n", "[0]", 1000000, EINVAL},
    {"n", "[0-9]", 254, E2BIG},          /* 10^254 names */
    {"n[0-1048575]", "[0]", 240, E2BIG}, /* 250 MB */
    {"n[1", "0", 30, EINVAL},
    {"n[", "0", 1000000, EINVAL},
    {"n[0", ",0", 1000000, EINVAL}, /* not closed */
    {"n", ",", 1000000, EINVAL},
    {"n", ",n", 1048576, E2BIG},
    {"n[0-1]", "[0-18446744073709551615]", 100, E2BIG},
};

START_TEST(parse_survives_hostile_text)
{
    char *text = repeat(hostile[_i].head, hostile[_i].unit, hostile[_i].times);

    expect_error(text, hostile[_i].error);
    free(text);
}
END_TEST

START_TEST(longest_name_is_taken)
{
    char *text = repeat("", "x", TAUT_HOSTNAME_MAX);
    struct taut_hostlist *list = taut_hostlist_parse(text, MAX, NULL);

    ck_assert_ptr_nonnull(list);
    ck_assert_uint_eq(strlen(taut_hostlist_name(list, 0)), TAUT_HOSTNAME_MAX);
    ck_assert_str_eq(taut_hostlist_name(list, 0), text);
    taut_hostlist_destroy(list);
    free(text);
}
END_TEST

/* ---- parse ---- */

static const struct {
    const char *text;
    size_t count;
    const char *names; /* with a blank between */
} good[] = {
    {"", 0, ""},
    {"n1", 1, "n1"},
    {"login", 1, "login"},
    {"n[0]", 1, "n0"},
    {"n[0-3,7]", 5, "n0 n1 n2 n3 n7"},
    {"n[0-3,7],login1,rack[0-1]n[00-02]", 12,
     "n0 n1 n2 n3 n7 login1 rack0n00 rack0n01 rack0n02 rack1n00 rack1n01 "
     "rack1n02"},
    {"n[8-11]", 4, "n8 n9 n10 n11"},
    {"n[08-11]", 4, "n08 n09 n10 n11"},
    {"n[098-101]", 4, "n098 n099 n100 n101"},
    {"n[99-101]", 3, "n99 n100 n101"},
    {"n[3,1,2]", 3, "n3 n1 n2"},
    {"n1,n1", 2, "n1 n1"},
    {"n[0-1]-ib", 2, "n0-ib n1-ib"},
    {"a[0-1]b[0-1]c[0-1]", 8,
     "a0b0c0 a0b0c1 a0b1c0 a0b1c1 a1b0c0 a1b0c1 a1b1c0 a1b1c1"},
    {"[1-2][3-4]", 4, "13 14 23 24"},
    {"nid000[12-13].cluster_a", 2, "nid00012.cluster_a nid00013.cluster_a"},
    {"n[00000000000000000000001-00000000000000000000002]", 2,
     "n00000000000000000000001 n00000000000000000000002"},
    {"n[18446744073709551614-18446744073709551615]", 2,
     "n18446744073709551614 n18446744073709551615"},
};

START_TEST(parse_expands)
{
    struct taut_error err = {""};
    struct taut_hostlist *list = taut_hostlist_parse(good[_i].text, MAX, &err);
    char names[1024] = "";

    ck_assert_msg(list != NULL, "%s: %s", good[_i].text, err.text);
    ck_assert_uint_eq(taut_hostlist_count(list), good[_i].count);
    for (size_t i = 0; i < good[_i].count; i++) {
        strcat(names, i ? " " : "");
        strcat(names, taut_hostlist_name(list, i));
    }
    ck_assert_str_eq(names, good[_i].names);
    ck_assert_ptr_null(taut_hostlist_name(list, good[_i].count));
    ck_assert_ptr_null(taut_hostlist_name(list, (size_t)-1));
    taut_hostlist_destroy(list);
}
END_TEST

START_TEST(limit_is_exact)
{
    struct taut_hostlist *list = taut_hostlist_parse("n[0-3],m", 5, NULL);

    ck_assert_ptr_nonnull(list);
    taut_hostlist_destroy(list);
    list = taut_hostlist_parse("n[0-1048575]", MAX, NULL);
    ck_assert_ptr_nonnull(list);
    ck_assert_uint_eq(taut_hostlist_count(list), MAX);
    taut_hostlist_destroy(list);
}
END_TEST

/* ---- format ---- */

START_TEST(format_refuses)
{
    static const char *const bad[] = {"", "n 1", "n[1]", "n,1", "-n", NULL};
    char *longer = repeat("", "x", TAUT_HOSTNAME_MAX + 1);

    for (int i = 0; i < COUNT(bad); i++) {
        errno = 0;
        ck_assert_ptr_null(
            taut_hostlist_format((const char *const[]){"n1", bad[i]}, 2));
        ck_assert_int_eq(errno, EINVAL);
    }
    ck_assert_ptr_null(taut_hostlist_format((const char *const[]){longer}, 1));
    ck_assert_ptr_null(taut_hostlist_format(NULL, 1));
    ck_assert_ptr_null(taut_hostlist_format(bad, (size_t)MAX + 1));
    free(longer);
}
END_TEST

static const struct {
    const char *names; /* an expression: what goes in, in this order */
    const char *text;
} formats[] = {
    {"", ""},
    {"n1", "n1"},
    {"n[0-3]", "n[0-3]"},
    {"n3,n1,n2,n0,n2", "n[0-3]"},
    {"n[7,0-3]", "n[0-3,7]"},
    {"n10,n9,n8", "n[8-10]"},
    {"n[08-11]", "n[08-11]"},
    {"n[98-101]", "n[98-101]"},
    {"n[098-101]", "n[098-101]"},
    {"n1,n01,n001", "n[1,01,001]"},
    {"n1,login,n2,a", "a,login,n[1-2]"},
    {"n,n1,n2", "n,n[1-2]"},
    {"n2,m1", "m1,n2"},
    {"rack[0-1]n[00-02]", "rack0n[00-02],rack1n[00-02]"},
    {"n[0-1]-ib", "n0-ib,n1-ib"},
    {"[5-7]", "[5-7]"},
    {"n[999999999999999998-1000000000000000001]",
     "n[999999999999999998-999999999999999999],n1[000000000000000000-"
     "000000000000000001]"},
    {"n[18446744073709551614-18446744073709551615]",
     "n18[446744073709551614-446744073709551615]"},
};

static char *format_list(const struct taut_hostlist *list)
{
    size_t n = taut_hostlist_count(list);
    const char **names = calloc(n + 1, sizeof(*names));

    ck_assert_ptr_nonnull(names);
    for (size_t i = 0; i < n; i++)
        names[i] = taut_hostlist_name(list, i);
    char *text = taut_hostlist_format(names, n);
    free(names);
    return text;
}

static bool holds(const struct taut_hostlist *list, const char *name)
{
    for (size_t i = 0; i < taut_hostlist_count(list); i++)
        if (strcmp(taut_hostlist_name(list, i), name) == 0)
            return true;
    return false;
}

START_TEST(format_compresses)
{
    struct taut_hostlist *list =
        taut_hostlist_parse(formats[_i].names, MAX, NULL);
    ck_assert_ptr_nonnull(list);
    char *text = format_list(list);

    ck_assert_str_eq(text, formats[_i].text);

    /* What came out holds the same names. */
    struct taut_hostlist *back = taut_hostlist_parse(text, MAX, NULL);
    ck_assert_ptr_nonnull(back);
    for (size_t i = 0; i < taut_hostlist_count(list); i++)
        ck_assert(holds(back, taut_hostlist_name(list, i)));
    for (size_t i = 0; i < taut_hostlist_count(back); i++)
        ck_assert(holds(list, taut_hostlist_name(back, i)));
    taut_hostlist_destroy(back);
    free(text);
    taut_hostlist_destroy(list);
}
END_TEST

START_TEST(many_names_are_compressed)
{
    struct taut_hostlist *list =
        taut_hostlist_parse("n[50000-99999,0-49999]", MAX, NULL);
    ck_assert_ptr_nonnull(list);
    char *text = format_list(list);

    ck_assert_str_eq(text, "n[0-99999]");
    free(text);
    taut_hostlist_destroy(list);
}
END_TEST

START_TEST(valid_names)
{
    ck_assert(!taut_hostname_is_valid(NULL));
    ck_assert(!taut_hostname_is_valid(""));
    ck_assert(!taut_hostname_is_valid(".."));
    ck_assert(!taut_hostname_is_valid("-a"));
    ck_assert(!taut_hostname_is_valid("a b"));
    ck_assert(!taut_hostname_is_valid("a/b"));
    ck_assert(!taut_hostname_is_valid("a\n"));
    ck_assert(!taut_hostname_is_valid("n[1]"));
    ck_assert(taut_hostname_is_valid("n1"));
    ck_assert(taut_hostname_is_valid("0"));
    ck_assert(taut_hostname_is_valid("_a-b.c"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("hostlist");
    TCase *tc = tcase_create("hostlist");
    SRunner *runner = srunner_create(suite);

    tcase_set_timeout(tc, 30); /* valgrind and the sanitizers are slow */
    tcase_add_test(tc, parse_refuses_bad_arguments);
    tcase_add_loop_test(tc, parse_refuses_bad_text, 0, COUNT(bad_text));
    tcase_add_loop_test(tc, parse_survives_hostile_text, 0, COUNT(hostile));
    tcase_add_test(tc, longest_name_is_taken);
    tcase_add_loop_test(tc, parse_expands, 0, COUNT(good));
    tcase_add_test(tc, limit_is_exact);
    tcase_add_test(tc, format_refuses);
    tcase_add_loop_test(tc, format_compresses, 0, COUNT(formats));
    tcase_add_test(tc, many_names_are_compressed);
    tcase_add_test(tc, valid_names);
    suite_add_tcase(suite, tc);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
