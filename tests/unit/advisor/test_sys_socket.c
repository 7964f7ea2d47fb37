/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The blocking client of a UNIX socket, against small servers that answer
 * well, badly or not at all. */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <check.h>

#include "advisor/lib/os/sys_socket.h"

static char folder[] = "/tmp/taut-test-XXXXXX";
static char path[64];

static void setup(void)
{
    strcpy(strrchr(folder, '-') + 1, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/s", folder);
}

static void teardown(void)
{
    unlink(path);
    rmdir(folder);
}

/* A server in a child: takes one client, reads its line, writes 'reply' and
 * waits 'hold_s' before it closes. */
static pid_t serve(const char *reply, unsigned hold_s)
{
    struct sockaddr_un address;
    char buf[100];
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    ck_assert_int_eq(taut_socket_address(&address, path, NULL), 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(listen(fd, 1), 0);
    pid_t pid = fork();
    if (pid == 0) {
        int client = accept(fd, NULL, NULL);
        ssize_t n = read(client, buf, sizeof(buf));
        if (n > 0)
            n = write(client, reply, strlen(reply));
        sleep(hold_s);
        _exit(n >= 0 ? 0 : 1);
    }
    close(fd);
    return pid;
}

static char *request_in(int timeout_ms, struct taut_error *err, size_t max)
{
    size_t got = 0;
    char *reply =
        taut_socket_request(path, "hello", 5, timeout_ms, max, &got, err);

    if (reply != NULL)
        reply[got] = '\0';
    return reply;
}

/* What is answered is answered, however late on a busy machine. */
static char *request(struct taut_error *err, size_t max)
{
    return request_in(30000, err, max);
}

START_TEST(answered)
{
    struct taut_error err = {""};

    serve("good day\nand more", 0);
    char *reply = request(&err, 1000);
    ck_assert_ptr_nonnull(reply);
    ck_assert_str_eq(reply, "good day");
    free(reply);
}
END_TEST

START_TEST(not_answered)
{
    static const struct {
        const char *reply;
        unsigned hold_s;
        size_t most;
        const char *text;
    } cases[] = {
        {"", 0, 1000, "closed without a reply"},
        {"half a line", 0, 1000, "closed without a reply"},
        {"more than the ten bytes allowed", 1, 10, "too long"},
    };
    struct taut_error err = {""};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        serve(cases[i].reply, cases[i].hold_s);
        ck_assert_ptr_null(request(&err, cases[i].most));
        ck_assert_ptr_nonnull(strstr(err.text, cases[i].text));
        unlink(path);
    }
}
END_TEST

START_TEST(late)
{
    struct taut_error err = {""};

    serve("half a line", 5);
    ck_assert_ptr_null(request_in(300, &err, 1000));
    ck_assert_ptr_nonnull(strstr(err.text, "timed out"));
}
END_TEST

START_TEST(nobody_there)
{
    struct taut_error err = {""};

    ck_assert_ptr_null(request(&err, 1000));
    ck_assert_ptr_nonnull(strstr(err.text, "No such file"));
    ck_assert_ptr_nonnull(strstr(err.text, path));
}
END_TEST

START_TEST(notify)
{
    struct sockaddr_un address;
    char buf[64] = "";
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

    ck_assert_int_eq(taut_socket_notify(NULL, "READY=1"), 0);
    ck_assert_int_eq(taut_socket_notify("", "READY=1"), 0);
    ck_assert_int_eq(taut_socket_notify(path, "READY=1"), -1);
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_int_eq(taut_socket_address(&address, path, NULL), 0);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(taut_socket_notify(path, "READY=1"), 0);
    ck_assert_int_eq(recv(fd, buf, sizeof(buf) - 1, 0), 7);
    ck_assert_str_eq(buf, "READY=1");
    close(fd);
}
END_TEST

START_TEST(notify_abstract)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char name[64], buf[64];
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    int n = snprintf(name, sizeof(name), "@taut-test-%d", (int)getpid());

    memcpy(address.sun_path + 1, name + 1, (size_t)n - 1);
    socklen_t length =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)n);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, length), 0);
    ck_assert_int_eq(taut_socket_notify(name, "READY=1"), 0);
    ck_assert_int_eq(recv(fd, buf, sizeof(buf), 0), 7);
    close(fd);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("sys_socket");
    TCase *tc = tcase_create("socket");
    SRunner *runner = srunner_create(suite);

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, answered);
    tcase_add_test(tc, not_answered);
    tcase_add_test(tc, late);
    tcase_add_test(tc, nobody_there);
    tcase_add_test(tc, notify);
    tcase_add_test(tc, notify_abstract);
    suite_add_tcase(suite, tc);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
