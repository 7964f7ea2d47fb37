/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What taut-slurm may do to a node in which state. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "advisor/slurm/compat.h"
#include "advisor/slurm/state.h"

#define IDLE NODE_STATE_IDLE
#define DOWN NODE_STATE_DOWN
#define DRAIN NODE_STATE_DRAIN
#define FAIL NODE_STATE_FAIL
#define MAINT NODE_STATE_MAINT

static void check_text(const char *got, const char *expected)
{
    if (expected == NULL)
        ck_assert_ptr_null(got);
    else
        ck_assert_str_eq(got, expected);
}

START_TEST(drain)
{
    static const struct {
        uint32_t state;
        const char *reason, *refusal;
    } cases[] = {
        {IDLE, NULL, NULL},
        {NODE_STATE_ALLOCATED, "", NULL},
        {NODE_STATE_MIXED, NULL, NULL},
        /* an old reason that Slurm kept after a resume */
        {IDLE, "admin: dimm", NULL},
        {IDLE | DRAIN, "taut: tx at 25%", NULL},
        {DOWN | DRAIN, "taut: tx at 25%", NULL},
        {IDLE | DRAIN, "admin: dimm", "drained already"},
        {IDLE | DRAIN, NULL, "drained already"},
        {IDLE | DRAIN, "Prolog error", "drained already"},
        {IDLE | DRAIN, "tautology", "drained already"},
        {IDLE | FAIL, "x", "failing already"},
        {DOWN, "Not responding", "down already"},
        {DOWN, "taut: old", "down already"},
        {IDLE | MAINT, NULL, "in a MAINT reservation"},
        {IDLE | DRAIN | MAINT, "taut: x", "in a MAINT reservation"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_text(taut_drain_refusal(cases[i].state, cases[i].reason),
                   cases[i].refusal);
}
END_TEST

START_TEST(resume)
{
    static const struct {
        uint32_t state;
        const char *reason, *refusal;
    } cases[] = {
        {IDLE | DRAIN, "taut: tx at 25%", NULL},
        {IDLE, "taut: tx at 25%", "not drained"},
        {IDLE, NULL, "not drained"},
        {IDLE | DRAIN, "admin: dimm", "drained by somebody else"},
        {IDLE | DRAIN, NULL, "drained by somebody else"},
        {IDLE | DRAIN, " taut: x", "drained by somebody else"},
        {DOWN | DRAIN, "taut: x", "down"},
        {DOWN, "taut: x", "not drained"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check_text(taut_resume_refusal(cases[i].state, cases[i].reason),
                   cases[i].refusal);
}
END_TEST

START_TEST(reasons)
{
    char text[300];
    struct taut_error err;
    static const char *const bad[] = {
        NULL,        "",           "tau",        "admin: x",
        "taut: a|b", "taut: a\nb", "taut: \x7f", "taut: \xc3\xbc",
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_int_eq(taut_reason_check(bad[i], &err), -1);
        ck_assert_int_eq(errno, EINVAL);
    }
    memset(text, 'x', sizeof(text));
    memcpy(text, "taut: ", 6);
    text[255] = '\0';
    ck_assert_int_eq(taut_reason_check(text, &err), 0);
    text[255] = 'x';
    text[256] = '\0';
    ck_assert_int_eq(taut_reason_check(text, &err), -1);
    ck_assert_str_eq(err.text, "reason of 256 bytes is longer than 255");
    ck_assert_int_eq(taut_reason_check("taut: tx at 25%; a -> b", NULL), 0);
}
END_TEST

START_TEST(names)
{
    char text[300];
    static const char *const bad[] = {NULL, "", "n[1-2]", "n1,n2", "n 1"};

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        ck_assert_int_eq(taut_node_name_check(bad[i], NULL), -1);
    memset(text, 'n', sizeof(text));
    text[256] = '\0';
    ck_assert_int_eq(taut_node_name_check(text, NULL), -1);
    ck_assert_int_eq(taut_node_name_check("rack1-n05.site", NULL), 0);
}
END_TEST

START_TEST(formats)
{
    char text[64];

    taut_node_format(text, sizeof(text), NODE_STATE_MIXED);
    ck_assert_str_eq(text, "mixed");
    taut_node_format(text, sizeof(text), IDLE | DRAIN | FAIL | MAINT);
    ck_assert_str_eq(text, "idle+drain+fail+maint");
    ck_assert_str_eq(taut_node_base(15), "unknown");
}
END_TEST

START_TEST(what_keeps_jobs_off)
{
    ck_assert_ptr_null(taut_node_bar(IDLE));
    ck_assert_str_eq(taut_node_bar(IDLE | FAIL), "failing");
    ck_assert_str_eq(taut_node_bar(IDLE | NODE_STATE_NO_RESPOND),
                     "not responding");
#ifdef NODE_STATE_INVALID_REG
    ck_assert_str_eq(taut_node_bar(IDLE | NODE_STATE_INVALID_REG),
                     "registered with other than slurm.conf has");
#endif
#ifdef NODE_STATE_PLANNED
    ck_assert_ptr_null(taut_node_bar(IDLE | NODE_STATE_PLANNED));
#endif
#ifdef NODE_STATE_DYNAMIC_NORM
    ck_assert_ptr_null(
        taut_node_bar(IDLE | NODE_STATE_DYNAMIC_NORM | NODE_STATE_CLOUD));
#endif
#ifdef NODE_STATE_BLOCKED
    ck_assert_ptr_nonnull(taut_node_bar(IDLE | NODE_STATE_BLOCKED));
#endif
#ifdef NODE_STATE_EXTERNAL
    ck_assert_ptr_nonnull(taut_node_bar(IDLE | NODE_STATE_EXTERNAL));
#endif
}
END_TEST

START_TEST(reboots_and_power)
{
    ck_assert(!taut_node_is_rebooting(IDLE | DRAIN | MAINT | FAIL));
    ck_assert(!taut_node_is_off(DOWN | DRAIN | MAINT | FAIL));
#ifdef NODE_STATE_REBOOT_ISSUED
    ck_assert(taut_node_is_rebooting(IDLE | NODE_STATE_REBOOT_REQUESTED));
    ck_assert(taut_node_is_rebooting(DOWN | DRAIN | NODE_STATE_REBOOT_ISSUED));
#endif
#ifdef NODE_STATE_POWERED_DOWN
    ck_assert(taut_node_is_off(IDLE | NODE_STATE_POWERED_DOWN));
    ck_assert(taut_node_is_off(IDLE | NODE_STATE_POWERING_UP));
#ifdef NODE_STATE_POWER_DRAIN
    ck_assert(taut_node_is_off(IDLE | NODE_STATE_POWER_DRAIN));
#endif
#endif
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("slurm_state");
    TCase *tc = tcase_create("state");
    SRunner *runner = srunner_create(suite);

    tcase_add_test(tc, reasons);
    tcase_add_test(tc, names);
    tcase_add_test(tc, drain);
    tcase_add_test(tc, resume);
    tcase_add_test(tc, formats);
    tcase_add_test(tc, reboots_and_power);
    tcase_add_test(tc, what_keeps_jobs_off);
    suite_add_tcase(suite, tc);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
