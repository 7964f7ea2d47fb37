/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire/seal.h"

#define NOW TAUT_PROTOCOL_VERSION

static const unsigned char key[TAUT_SEAL_KEY] = {1, 2, 3, 4};
static const unsigned char other_key[TAUT_SEAL_KEY] = {1, 2, 3, 5};

static void setup(void)
{
    ck_assert_int_eq(taut_seal_init(), 0);
}

START_TEST(short_input_does_not_open)
{
    unsigned char sealed[TAUT_SEAL_OVERHEAD] = {0};
    char out[1];

    for (size_t n = 0; n <= sizeof(sealed); n++) {
        errno = 0;
        ck_assert_int_eq(
            taut_seal_open(out, key, NOW, TAUT_FRAME_PLAN, 0, sealed, n), -1);
        ck_assert_int_eq(errno, EBADMSG);
    }
}
END_TEST

START_TEST(any_changed_bit_does_not_open)
{
    unsigned char sealed[5 + TAUT_SEAL_OVERHEAD];
    char out[5];
    size_t n = taut_seal(sealed, key, NOW, TAUT_FRAME_PLAN, 0, "hello", 5);

    ck_assert_uint_eq(n, sizeof(sealed));
    for (size_t bit = 0; bit < 8 * n; bit++) {
        sealed[bit / 8] ^= (unsigned char)(1u << bit % 8);
        ck_assert_int_eq(
            taut_seal_open(out, key, NOW, TAUT_FRAME_PLAN, 0, sealed, n), -1);
        sealed[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    ck_assert_int_eq(
        taut_seal_open(out, key, NOW, TAUT_FRAME_PLAN, 0, sealed, n), 5);
}
END_TEST

START_TEST(cut_or_longer_does_not_open)
{
    unsigned char sealed[6 + TAUT_SEAL_OVERHEAD] = {0};
    char out[6];
    size_t n = taut_seal(sealed, key, NOW, TAUT_FRAME_PLAN, 0, "hello", 5);

    ck_assert_int_eq(
        taut_seal_open(out, key, NOW, TAUT_FRAME_PLAN, 0, sealed, n - 1), -1);
    ck_assert_int_eq(
        taut_seal_open(out, key, NOW, TAUT_FRAME_PLAN, 0, sealed, n + 1), -1);
}
END_TEST

START_TEST(other_key_or_type_does_not_open)
{
    unsigned char sealed[5 + TAUT_SEAL_OVERHEAD];
    char out[5];
    size_t n = taut_seal(sealed, key, NOW, TAUT_FRAME_PLAN, 0, "hello", 5);

    errno = 0;
    ck_assert_int_eq(
        taut_seal_open(out, other_key, NOW, TAUT_FRAME_PLAN, 0, sealed, n), -1);
    ck_assert_int_eq(errno, EBADMSG);
    ck_assert_int_eq(
        taut_seal_open(out, key, NOW, TAUT_FRAME_RESULT, 0, sealed, n), -1);
    ck_assert_int_eq(
        taut_seal_open(out, key, NOW, TAUT_FRAME_HELLO, 0, sealed, n), -1);
}
END_TEST

static const size_t sizes[] = {0, 1, 63, 64, 65, 4096, 1 << 20};

START_TEST(both_ways)
{
    size_t n = sizes[_i];
    unsigned char *text = malloc(n + 1), *out = malloc(n + 1);
    unsigned char *sealed = malloc(n + TAUT_SEAL_OVERHEAD);

    ck_assert(text && out && sealed);
    taut_seal_random(text, n);
    ck_assert_uint_eq(
        taut_seal(sealed, key, NOW, TAUT_FRAME_RESULT, 0, text, n),
        n + TAUT_SEAL_OVERHEAD);
    ck_assert_int_eq(taut_seal_open(out, key, NOW, TAUT_FRAME_RESULT, 0, sealed,
                                    n + TAUT_SEAL_OVERHEAD),
                     (long)n);
    ck_assert_int_eq(memcmp(text, out, n), 0);
    free(sealed);
    free(out);
    free(text);
}
END_TEST

/* What is sealed as one frame of a connection opens as no other. */
START_TEST(a_frame_of_one_round_is_none_of_another)
{
    unsigned char sealed[5 + TAUT_SEAL_OVERHEAD];
    char out[8];
    size_t n = taut_seal(sealed, key, NOW, TAUT_FRAME_PLAN, 7, "hello", 5);

    for (uint64_t seq = 0; seq < 16; seq++)
        ck_assert_int_eq(
            taut_seal_open(out, key, NOW, TAUT_FRAME_PLAN, seq, sealed, n),
            seq == 7 ? 5 : -1);
    ck_assert_int_eq(taut_seal_open(out, key, NOW, TAUT_FRAME_PLAN,
                                    7 + (UINT64_C(1) << 32), sealed, n),
                     -1);
}
END_TEST

START_TEST(same_text_seals_differently)
{
    unsigned char a[5 + TAUT_SEAL_OVERHEAD], b[5 + TAUT_SEAL_OVERHEAD];

    taut_seal(a, key, NOW, TAUT_FRAME_PLAN, 0, "hello", 5);
    taut_seal(b, key, NOW, TAUT_FRAME_PLAN, 0, "hello", 5);
    ck_assert_mem_ne(a, b, sizeof(a));
}
END_TEST

/* Sealed with another implementation of XChaCha20-Poly1305 (written out in
 * Python), as doc/protocol.md says:
 * nonce 0..23, key 0..31, "taut1", the type and the number 258 as additional
 * data. */
static const char known[] = "000102030405060708090a0b0c0d0e0f1011121314151617"
                            "e5e0795daae3a18c5d2b52abe9689995"
                            "940076bb7f1366ee612c70a8ded66dda";

START_TEST(known_answer)
{
    unsigned char sealed[sizeof(known) / 2], k[TAUT_SEAL_KEY];
    char out[32] = "";

    for (size_t i = 0; i < sizeof(k); i++)
        k[i] = (unsigned char)i;
    ck_assert_int_eq(taut_unhex(sealed, sizeof(sealed), known), 0);
    ck_assert_int_eq(taut_seal_open(out, k, NOW, TAUT_FRAME_PLAN, 258, sealed,
                                    sizeof(sealed)),
                     16);
    ck_assert_str_eq(out, "{\"v\":1,\"note\":1}");
}
END_TEST

static const char *const bad_hex[] = {
    "", "0", "000", "00000", "00 0", "0g00", "-100", "0x00", "00\xc3\xa9",
};

START_TEST(unhex_refuses)
{
    unsigned char out[2] = {7, 7};

    errno = 0;
    ck_assert_int_eq(taut_unhex(out, 2, bad_hex[_i]), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_int_eq(out[0], 7);
    ck_assert_int_eq(out[1], 7);
}
END_TEST

START_TEST(hex_both_ways)
{
    static const unsigned char bytes[] = {0x00, 0x7f, 0x80, 0xab, 0xff};
    unsigned char back[5];
    char text[11];

    taut_hex(text, bytes, 5);
    ck_assert_str_eq(text, "007f80abff");
    ck_assert_int_eq(taut_unhex(back, 5, "007F80aBfF"), 0);
    ck_assert_mem_eq(back, bytes, 5);
    taut_hex(text, bytes, 0);
    ck_assert_str_eq(text, "");
    ck_assert_int_eq(taut_unhex(back, 0, ""), 0);
}
END_TEST

START_TEST(random_differs)
{
    unsigned char a[16], b[16];

    taut_seal_random(a, sizeof(a));
    taut_seal_random(b, sizeof(b));
    ck_assert_mem_ne(a, b, sizeof(a));
}
END_TEST

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

int main(void)
{
    Suite *suite = suite_create("seal");
    TCase *tc = tcase_create("seal");
    SRunner *runner = srunner_create(suite);

    tcase_add_unchecked_fixture(tc, setup, NULL);
    tcase_add_test(tc, short_input_does_not_open);
    tcase_add_test(tc, any_changed_bit_does_not_open);
    tcase_add_test(tc, cut_or_longer_does_not_open);
    tcase_add_test(tc, other_key_or_type_does_not_open);
    tcase_add_loop_test(tc, both_ways, 0, COUNT(sizes));
    tcase_add_test(tc, a_frame_of_one_round_is_none_of_another);
    tcase_add_test(tc, same_text_seals_differently);
    tcase_add_test(tc, known_answer);
    tcase_add_loop_test(tc, unhex_refuses, 0, COUNT(bad_hex));
    tcase_add_test(tc, hex_both_ways);
    tcase_add_test(tc, random_differs);
    suite_add_tcase(suite, tc);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
