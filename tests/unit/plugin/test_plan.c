/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "plugin/common/plan.h"
#include "tests/unit/unit.h"

#define TOKEN "00112233445566778899aabbccddeeff"
#define SEND(extra)                                                            \
    "{\"id\":1,\"role\":\"send\",\"peer\":\"10.0.0.1:4000\","                  \
    "\"token\":\"" TOKEN "\",\"start_ms\":20,\"dur_ms\":25" extra "}"
#define OFI(peer)                                                              \
    "{\"id\":2,\"role\":\"send\",\"transport\":\"ofi\",\"peer\":\"" peer       \
    "\",\"token\":\"01112233445566778899aabbccddeeff\","                       \
    "\"start_ms\":20,\"dur_ms\":25}"
#define SEND3                                                                  \
    "{\"id\":3,\"role\":\"send\",\"peer\":\"10.0.0.1:4000\","                  \
    "\"token\":\"02112233445566778899aabbccddeeff\","                          \
    "\"start_ms\":20,\"dur_ms\":25"
#define ASKS ",\"port\":5000,\"trace\":3"
#define AIM(hop, ports, address)                                               \
    ",\"aim\":{\"hop\":" hop ",\"ports\":" ports ",\"address\":\"" address "\"}"
#define LONG_ADDRESS "1234567890123456789012345678901234567890123456"
#define PLAN(tests) "{\"v\":1,\"note\":\"\",\"tests\":[" tests "]}"

static const struct {
    const char *text;
    int error;
} bad[] = {
    {"", EINVAL},
    {"{", EINVAL},
    {"[]", EPROTO},
    {"{\"tests\":[]}", EPROTO},
    {"{\"v\":0,\"tests\":[]}", EPROTO},
    {"{\"v\":2,\"tests\":[]}", EPROTO},
    {"{\"v\":\"1\",\"tests\":[]}", EPROTO},
    {"{\"v\":1}", EINVAL},
    {"{\"v\":1,\"tests\":{}}", EINVAL},
    {"{\"v\":1,\"tests\":[],\"tests\":[]}", EINVAL},
    {PLAN("7"), EINVAL},
    {PLAN("{}"), EINVAL},
    {PLAN(SEND("") "," SEND("")), EINVAL},
    {PLAN(SEND(",\"streams\":0")), EINVAL},
    {PLAN(SEND(",\"streams\":17")), EINVAL},
    {PLAN("{\"id\":1,\"role\":\"spy\",\"token\":\"" TOKEN
          "\",\"start_ms\":0,\"dur_ms\":25}"),
     EINVAL},
    {PLAN("{\"id\":1,\"role\":\"recv\",\"token\":\"0011"
          "\",\"start_ms\":0,\"dur_ms\":25}"),
     EINVAL},
    {PLAN("{\"id\":1,\"role\":\"recv\",\"token\":\"" TOKEN
          "\",\"start_ms\":10001,\"dur_ms\":25}"),
     EINVAL},
    {PLAN("{\"id\":1,\"role\":\"recv\",\"token\":\"" TOKEN
          "\",\"start_ms\":-1,\"dur_ms\":25}"),
     EINVAL},
    {PLAN("{\"id\":1,\"role\":\"recv\",\"token\":\"" TOKEN
          "\",\"start_ms\":0,\"dur_ms\":4}"),
     EINVAL},
    {PLAN("{\"id\":1,\"role\":\"recv\",\"token\":\"" TOKEN
          "\",\"start_ms\":0,\"dur_ms\":2001}"),
     EINVAL},
    {PLAN("{\"id\":1,\"role\":\"recv\",\"token\":\"" TOKEN
          "\",\"start_ms\":0,\"dur_ms\":25.0}"),
     EINVAL},
    {PLAN("{\"id\":1,\"role\":\"send\",\"token\":\"" TOKEN
          "\",\"start_ms\":0,\"dur_ms\":25}"),
     EINVAL},
    {PLAN("{\"id\":1,\"role\":\"send\",\"peer\":\"head:22\","
          "\"token\":\"" TOKEN "\",\"start_ms\":0,\"dur_ms\":25}"),
     EINVAL},
    {PLAN(SEND(",\"mode\":\"burst\"")), EINVAL},
    {PLAN(SEND(",\"mode\":1")), EINVAL},
    {PLAN(SEND(",\"mode\":\"latency\",\"streams\":2")), EINVAL},
    {PLAN(SEND(",\"rail\":64")), EINVAL},
    {PLAN(SEND(",\"rail\":-1")), EINVAL},
    {PLAN(SEND(",\"transport\":\"udp\"")), EINVAL},
    {PLAN(SEND(",\"transport\":null")), EINVAL},
    {PLAN(SEND(",\"port\":1023")), EINVAL},
    {PLAN(SEND(",\"port\":65521")), EINVAL},
    {PLAN(SEND(",\"port\":\"5000\"")), EINVAL},
    {PLAN(SEND(",\"trace\":3")), EINVAL},
    {PLAN(SEND(",\"port\":5000,\"trace\":0")), EINVAL},
    {PLAN(SEND(",\"port\":5000,\"trace\":17")), EINVAL},
    {PLAN(SEND(",\"port\":5000,\"transport\":\"ofi\"")), EINVAL},
    {PLAN(SEND(",\"port\":5000" AIM("2", "8", "10.0.0.1"))), EINVAL},
    {PLAN(SEND(ASKS AIM("0", "8", "10.0.0.1"))), EINVAL},
    {PLAN(SEND(ASKS AIM("4", "8", "10.0.0.1"))), EINVAL},
    {PLAN(SEND(ASKS AIM("2", "0", "10.0.0.1"))), EINVAL},
    {PLAN(SEND(ASKS AIM("2", "257", "10.0.0.1"))), EINVAL},
    {PLAN(SEND(",\"port\":65500,\"trace\":3" AIM("2", "37", "10.0.0.1"))),
     EINVAL},
    {PLAN(SEND(ASKS AIM("2", "8", LONG_ADDRESS))), EINVAL},
    {PLAN(SEND(ASKS ",\"aim\":5")), EINVAL},
    {PLAN("{\"id\":1,\"role\":\"recv\",\"token\":\"" TOKEN
          "\",\"start_ms\":0,\"dur_ms\":25,\"port\":5000}"),
     EINVAL},
    {PLAN(SEND(",\"enough_Bps\":0")), EINVAL},
    {PLAN(SEND(",\"enough_Bps\":\"1\"")), EINVAL},
    {PLAN(SEND(",\"enough_Bps\":1,\"streams\":2")), EINVAL},
    {PLAN(SEND(",\"enough_Bps\":1,\"mode\":\"latency\"")), EINVAL},
    {PLAN(SEND(",\"enough_Bps\":1,\"transport\":\"ofi\"")), EINVAL},
    {PLAN(OFI("10.0.0.2:1023")), EINVAL},
    {PLAN(OFI("[fd00::9]:22")), EINVAL},
    {PLAN(OFI("0.0.0.0:5000")), EINVAL},
    {PLAN(OFI("239.1.2.3:5000")), EINVAL},
    {PLAN(OFI("255.255.255.255:5000")), EINVAL},
    {PLAN(OFI("[::]:5000")), EINVAL},
    {PLAN(OFI("[ff02::1]:5000")), EINVAL},
    {PLAN(OFI("[::ffff:0.0.0.0]:5000")), EINVAL},
    {PLAN(OFI("")), EINVAL},
    {PLAN(OFI("abcd")), EINVAL},
};

START_TEST(rail_transport_and_mode_are_read)
{
    static const char text[] =
        PLAN(OFI("10.0.0.2:1024") "," SEND3 ",\"rail\":15,\"mode\":\"latency\"}"
                               "," SEND(",\"enough_Bps\":9000000000"));
    static struct taut_plan plan;
    struct taut_error err = {""};

    ck_assert_msg(taut_plan_parse(&plan, text, strlen(text), &err) == 0, "%s",
                  err.text);
    ck_assert_int_eq(plan.tests[0].transport, TAUT_TRANSPORT_OFI);
    ck_assert_int_eq(plan.tests[0].mode, TAUT_MODE_STREAM);
    ck_assert_str_eq(plan.tests[0].peer, "10.0.0.2:1024");
    ck_assert_int_eq(plan.tests[1].transport, TAUT_TRANSPORT_TCP);
    ck_assert_int_eq(plan.tests[1].mode, TAUT_MODE_LATENCY);
    ck_assert_int_eq(plan.tests[1].rail, 15);
    ck_assert_int_eq(plan.tests[1].enough_Bps, 0);
    ck_assert_int_eq(plan.tests[2].enough_Bps, 9000000000);
}
END_TEST

START_TEST(a_bad_plan_is_refused_and_explained)
{
    static struct taut_plan plan = {.count = 9};
    struct taut_error err = {""};

    ck_assert_int_eq(
        taut_plan_parse(&plan, bad[_i].text, strlen(bad[_i].text), &err), -1);
    ck_assert_int_eq(errno, bad[_i].error);
    ck_assert_uint_eq(plan.count, 9);
    ck_assert_msg(!strncmp(err.text, "PLAN", 4), "%s", err.text);
}
END_TEST

START_TEST(an_empty_plan_carries_its_note)
{
    static const char text[] = "{\"v\":1,\"tests\":[],"
                               "\"note\":\"set PrologFlags\\u001b\"}";
    static struct taut_plan plan;

    ck_assert_int_eq(taut_plan_parse(&plan, text, strlen(text), NULL), 0);
    ck_assert_uint_eq(plan.count, 0);
    ck_assert_str_eq(plan.note, "set PrologFlags?");
}
END_TEST

START_TEST(a_senders_port_and_trace_are_read)
{
    static const char text[] =
        PLAN(SEND(",\"port\":65500,\"trace\":16" AIM("16", "36", "fd00::9"))
             "," SEND3 "}");
    static struct taut_plan plan;

    ck_assert_int_eq(taut_plan_parse(&plan, text, strlen(text), NULL), 0);
    ck_assert_int_eq(plan.tests[0].ports[0], 65500);
    ck_assert_int_eq(plan.tests[0].ports[15], 65515);
    ck_assert_int_eq(plan.tests[0].trace, 16);
    ck_assert_int_eq(plan.tests[0].aim.hop, 16);
    ck_assert_int_eq(plan.tests[0].aim.first, 65500);
    ck_assert_int_eq(plan.tests[0].aim.count, 36);
    ck_assert_str_eq(plan.tests[0].aim.address, "fd00::9");
    ck_assert_int_eq(plan.tests[1].aim.hop, 0);
    ck_assert_int_eq(plan.tests[1].ports[0], 0);
    ck_assert_int_eq(plan.tests[1].trace, 0);
}
END_TEST

START_TEST(a_plan_is_read)
{
    static const char text[] = PLAN(SEND(
        ",\"streams\":4") ","
                          "{\"id\":2,\"role\":\"recv\",\"peer\":\"whoever\","
                          "\"token\":\"ff112233445566778899aabbccddeeff\","
                          "\"start_ms\":0,\"dur_ms\":2000}");
    static struct taut_plan plan;

    ck_assert_int_eq(taut_plan_parse(&plan, text, strlen(text), NULL), 0);
    ck_assert_uint_eq(plan.count, 2);
    ck_assert_int_eq(plan.tests[0].role, TAUT_ROLE_SEND);
    ck_assert_int_eq(plan.tests[0].streams, 4);
    ck_assert_int_eq(plan.tests[0].start_ms, 20);
    ck_assert_int_eq(plan.tests[0].token[1], 0x11);
    ck_assert_str_eq(plan.tests[0].peer, "10.0.0.1:4000");
    ck_assert_int_eq(plan.tests[0].mode, TAUT_MODE_STREAM);
    ck_assert_int_eq(plan.tests[0].transport, TAUT_TRANSPORT_TCP);
    ck_assert_int_eq(plan.tests[1].role, TAUT_ROLE_RECV);
    ck_assert_int_eq(plan.tests[1].streams, 1);
    ck_assert_int_eq(plan.tests[1].dur_ms, 2000);
}
END_TEST

START_TEST(sixty_five_tests_are_too_many)
{
    static struct taut_plan plan;
    char *text = calloc(1, 65 * 200 + 100);

    strcpy(text, "{\"v\":1,\"tests\":[");
    for (int i = 0; i < 65; i++)
        sprintf(text + strlen(text),
                "%s{\"id\":%d,\"role\":\"recv\",\"token\":\"%032x\","
                "\"start_ms\":0,\"dur_ms\":25}",
                i ? "," : "", i, i);
    strcat(text, "]}");
    ck_assert_int_eq(taut_plan_parse(&plan, text, strlen(text), NULL), -1);
    free(text);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("plan");

    tcase_add_loop_test(tc, a_bad_plan_is_refused_and_explained, 0,
                        sizeof(bad) / sizeof(bad[0]));
    tcase_add_test(tc, an_empty_plan_carries_its_note);
    tcase_add_test(tc, a_plan_is_read);
    tcase_add_test(tc, a_senders_port_and_trace_are_read);
    tcase_add_test(tc, rail_transport_and_mode_are_read);
    tcase_add_test(tc, sixty_five_tests_are_too_many);
    return unit_run("plan", tc);
}
