/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The log: its level, its forms, and journald's fields, against a socket that
 * takes what journald would. */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <syslog.h>
#include <unistd.h>

#include <check.h>

#include "advisor/lib/os/logger.h"
#include "advisor/lib/os/sys_socket.h"

static char folder[] = "/tmp/taut-test-XXXXXX";
static char path[64];
static int journal = -1;
static const struct taut_logger_field fields[] = {
    {"TAUT_NODE", "n5"},
    {"MESSAGE_ID", "dd4100046fa74f0392bca604aad26570"},
    {"TAUT_REASON", "a \"quoted\" \\ reason"},
};

static void setup(void)
{
    struct sockaddr_un address;

    strcpy(strrchr(folder, '-') + 1, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/s", folder);
    ck_assert_int_eq(taut_socket_address(&address, path, NULL), 0);
    journal = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    ck_assert_int_eq(
        bind(journal, (struct sockaddr *)&address, sizeof(address)), 0);
}

static void teardown(void)
{
    close(journal);
    unlink(path);
    rmdir(folder);
}

static struct taut_logger log_of(enum taut_logger_form form)
{
    return (struct taut_logger){
        .name = "tautd", .journal = path, .form = form, .level = LOG_NOTICE};
}

/* What came to the journal; "" where nothing did. */
static const char *came(void)
{
    static char text[4096];
    ssize_t n = recv(journal, text, sizeof(text) - 1, 0);

    text[n > 0 ? n : 0] = '\0';
    return text;
}

START_TEST(test_fields_reach_journald)
{
    struct taut_logger log = log_of(TAUT_LOGGER_TEXT);

    taut_logger_write(&log, LOG_WARNING, "drained n5", fields, 3);
    const char *text = came();
    ck_assert_ptr_nonnull(strstr(text, "PRIORITY=4\n"));
    ck_assert_ptr_nonnull(strstr(text, "SYSLOG_IDENTIFIER=tautd\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nMESSAGE=drained n5\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nTAUT_NODE=n5\n"));
    ck_assert_ptr_nonnull(
        strstr(text, "\nMESSAGE_ID=dd4100046fa74f0392bca604aad26570\n"));
    ck_assert_ptr_nonnull(strstr(text, "TAUT_REASON=a \"quoted\" \\ reason\n"));
}
END_TEST

START_TEST(test_json_is_the_message_there)
{
    struct taut_logger log = log_of(TAUT_LOGGER_JSON);

    taut_logger_write(&log, LOG_ERR, "a \"b\" \\", fields, 3);
    const char *text = came();
    ck_assert_ptr_nonnull(strstr(text, "\nMESSAGE={\"time\":"));
    ck_assert_ptr_nonnull(
        strstr(text, "\"level\":\"error\",\"program\":\"tautd\","
                     "\"message\":\"a \\\"b\\\" \\\\\",\"node\":\"n5\","));
    ck_assert_ptr_nonnull(strstr(
        text, "\"message_id\":\"dd4100046fa74f0392bca604aad26570\","
              "\"reason\":\"a \\\"quoted\\\" \\\\ reason\"}\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nTAUT_NODE=n5\n"));
}
END_TEST

START_TEST(test_what_is_below_the_level_is_left_out)
{
    struct taut_logger log = log_of(TAUT_LOGGER_TEXT);

    taut_logger_write(&log, LOG_INFO, "job 7 on 2 nodes: not checked", NULL, 0);
    ck_assert_str_eq(came(), "");
    log.level = LOG_INFO;
    taut_logger_write(&log, LOG_INFO, "job 7 on 2 nodes: not checked", NULL, 0);
    ck_assert_str_ne(came(), "");
}
END_TEST

/* journald is away, or what it is to take too long: no line waits for it. */
START_TEST(test_without_journald_nothing_waits)
{
    struct taut_logger log = log_of(TAUT_LOGGER_TEXT);
    char *text = malloc(8 << 20);

    memset(text, 'x', 8 << 20);
    text[(8 << 20) - 1] = '\0';
    taut_logger_write(&log, LOG_ERR, text, NULL, 0);
    free(text);
    log.journal = "/nonexistent/socket";
    taut_logger_write(&log, LOG_ERR, "short", NULL, 0);
    log.journal = NULL;
    taut_logger_write(&log, LOG_ERR, "short", NULL, 0);
    ck_assert_str_eq(came(), "");
}
END_TEST

START_TEST(test_levels_by_name)
{
    ck_assert_int_eq(taut_logger_level("err"), LOG_ERR);
    ck_assert_int_eq(taut_logger_level("warning"), LOG_WARNING);
    ck_assert_int_eq(taut_logger_level("debug"), LOG_DEBUG);
    ck_assert_int_eq(taut_logger_level("loud"), -1);
    ck_assert_int_eq(taut_logger_level("emerg"), -1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("log");
    TCase *tc = tcase_create("log");
    SRunner *sr = srunner_create(suite);

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, test_fields_reach_journald);
    tcase_add_test(tc, test_json_is_the_message_there);
    tcase_add_test(tc, test_what_is_below_the_level_is_left_out);
    tcase_add_test(tc, test_without_journald_nothing_waits);
    tcase_add_test(tc, test_levels_by_name);
    suite_add_tcase(suite, tc);
    srunner_run_all(sr, CK_ENV);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
