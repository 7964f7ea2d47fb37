/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire/frame.h"

static const struct {
    int type;
    size_t length;
    int error;
} bad_encode[] = {
    {TAUT_FRAME_NONE, 0, EINVAL},
    {10, 0, EINVAL},
    {-1, 0, EINVAL},
    {257, 0, EINVAL}, /* would be 1 in one byte */
    {TAUT_FRAME_HELLO, TAUT_FRAME_MAX, EMSGSIZE},
    {TAUT_FRAME_PLAN, (size_t)-1, EMSGSIZE},
};

START_TEST(encode_refuses)
{
    unsigned char head[TAUT_FRAME_HEAD] = {9, 9, 9, 9, 9};
    unsigned char before[TAUT_FRAME_HEAD] = {9, 9, 9, 9, 9};

    errno = 0;
    ck_assert_int_eq(
        taut_frame_encode(head, (enum taut_frame_type)bad_encode[_i].type,
                          bad_encode[_i].length),
        -1);
    ck_assert_int_eq(errno, bad_encode[_i].error);
    ck_assert_mem_eq(head, before, sizeof(head));
}
END_TEST

static const struct {
    unsigned char head[TAUT_FRAME_HEAD];
    size_t max;
    int error;
    const char *text;
} bad_decode[] = {
    {{0, 0, 0, 1, 1}, 0, EINVAL, "frame limit 0 is not within 1..4194304"},
    {{0, 0, 0, 1, 1},
     TAUT_FRAME_MAX + 1,
     EINVAL,
     "frame limit 4194305 is not within 1..4194304"},
    {{0, 0, 0, 0, 1}, 100, EPROTO, "frame length 0 is not within 1..100"},
    {{0, 0, 0, 101, 1}, 100, EPROTO, "frame length 101 is not within 1..100"},
    {{0xff, 0xff, 0xff, 0xff, 1},
     TAUT_FRAME_MAX,
     EPROTO,
     "frame length 4294967295 is not within 1..4194304"},
    {{'G', 'E', 'T', ' ', '/'},
     TAUT_FRAME_MAX,
     EPROTO,
     "frame length 1195725856 is not within 1..4194304"},
    {{0, 0, 0, 1, 0}, 100, EPROTO, "frame type 0 is not within 1..9"},
    {{0, 0, 0, 1, 10}, 100, EPROTO, "frame type 10 is not within 1..9"},
    {{0, 0, 0, 1, 255}, 100, EPROTO, "frame type 255 is not within 1..9"},
};

START_TEST(decode_refuses)
{
    struct taut_frame frame = {TAUT_FRAME_PLAN, 77};
    struct taut_error err;

    errno = 0;
    ck_assert_int_eq(taut_frame_decode(&frame, bad_decode[_i].head,
                                       bad_decode[_i].max, &err),
                     -1);
    ck_assert_int_eq(errno, bad_decode[_i].error);
    ck_assert_str_eq(err.text, bad_decode[_i].text);
    ck_assert_int_eq(frame.type, TAUT_FRAME_PLAN);
    ck_assert_uint_eq(frame.length, 77);
    ck_assert_int_eq(taut_frame_decode(&frame, bad_decode[_i].head,
                                       bad_decode[_i].max, NULL),
                     -1);
}
END_TEST

static const struct {
    enum taut_frame_type type;
    size_t length;
    unsigned char head[TAUT_FRAME_HEAD];
} good[] = {
    {TAUT_FRAME_HELLO, 0, {0, 0, 0, 1, 1}},
    {TAUT_FRAME_PLAN, 254, {0, 0, 0, 255, 2}},
    {TAUT_FRAME_PLAN, 255, {0, 0, 1, 0, 2}},
    {TAUT_FRAME_RESULT, 0x012344, {0, 1, 0x23, 0x45, 3}},
    {TAUT_FRAME_REPORT, 1, {0, 0, 0, 2, 4}},
    {TAUT_FRAME_STOP, 2, {0, 0, 0, 3, 5}},
    {TAUT_FRAME_ANSWER, 0, {0, 0, 0, 1, 7}},
    {TAUT_FRAME_ELSEWHERE, 0, {0, 0, 0, 1, 9}},
    {TAUT_FRAME_RESULT, TAUT_FRAME_MAX - 1, {0, 0x40, 0, 0, 3}},
};

START_TEST(both_ways)
{
    unsigned char head[TAUT_FRAME_HEAD];
    struct taut_frame frame;

    ck_assert_int_eq(taut_frame_encode(head, good[_i].type, good[_i].length),
                     0);
    ck_assert_mem_eq(head, good[_i].head, sizeof(head));
    ck_assert_int_eq(taut_frame_decode(&frame, head, TAUT_FRAME_MAX, NULL), 0);
    ck_assert_int_eq(frame.type, good[_i].type);
    ck_assert_uint_eq(frame.length, good[_i].length);
}
END_TEST

START_TEST(purposes_have_names)
{
    ck_assert_int_eq(taut_purpose_parse(""), TAUT_PURPOSE_NONE);
    ck_assert_int_eq(taut_purpose_parse("none"), TAUT_PURPOSE_NONE);
    for (int i = TAUT_PURPOSE_PROLOG; i <= TAUT_PURPOSE_LAST; i++)
        ck_assert_int_eq(taut_purpose_parse(taut_purpose_name(i)), i);
}
END_TEST

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

int main(void)
{
    Suite *suite = suite_create("frame");
    TCase *tc = tcase_create("frame");
    SRunner *runner = srunner_create(suite);

    tcase_add_loop_test(tc, encode_refuses, 0, COUNT(bad_encode));
    tcase_add_loop_test(tc, decode_refuses, 0, COUNT(bad_decode));
    tcase_add_loop_test(tc, both_ways, 0, COUNT(good));
    tcase_add_test(tc, purposes_have_names);
    suite_add_tcase(suite, tc);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
