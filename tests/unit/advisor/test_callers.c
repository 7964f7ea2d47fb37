/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Callers are accepted while their owner is busy, and refused in time. */
#include <config.h>

#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <unistd.h>

#include "advisor/lib/os/callers.h"
#include "tests/unit/unit.h"

#define LONG_MS 60000
#define SHORT_MS 50

static struct taut_callers *callers;
static struct sockaddr_in address;

static void start(int wait_ms)
{
    socklen_t n = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

    address = (struct sockaddr_in){.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(bind(fd, (void *)&address, sizeof(address)), 0);
    ck_assert_int_eq(listen(fd, 128), 0);
    ck_assert_int_eq(getsockname(fd, (void *)&address, &n), 0);
    callers = taut_callers_create(fd, wait_ms);
    ck_assert_ptr_nonnull(callers);
}

static int call_from(uint32_t host)
{
    struct sockaddr_in own = {.sin_family = AF_INET,
                              .sin_addr.s_addr = htonl(host)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    ck_assert_int_eq(bind(fd, (void *)&own, sizeof(own)), 0);
    ck_assert_int_eq(connect(fd, (void *)&address, sizeof(address)), 0);
    return fd;
}

static int call(void)
{
    return call_from(INADDR_LOOPBACK);
}

static void await(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    ck_assert_int_eq(poll(&p, 1, LONG_MS), 1);
}

START_TEST(test_in_order)
{
    struct taut_caller got;
    struct sockaddr_in own;
    socklen_t n = sizeof(own);
    int fds[30], taken = 0;

    start(LONG_MS);
    for (int i = 0; i < 30; i++)
        fds[i] = call();
    while (taken < 30) {
        await(taut_callers_fd(callers));
        while (taut_callers_take(callers, &got)) {
            struct sockaddr_in *from = (void *)&got.sa;

            getsockname(fds[taken], (void *)&own, &n);
            ck_assert_int_eq(from->sin_port, own.sin_port);
            ck_assert_int_gt(got.since_ms, 0);
            close(got.fd);
            close(fds[taken++]);
        }
    }
    ck_assert_int_eq(taut_callers_refused(callers).hosts, 0);
    taut_callers_destroy(callers);
}
END_TEST

/* Past bug: most nodes found no time while one called 400 times a second. */
START_TEST(test_who_calls_too_often_waits_for_the_others)
{
    struct taut_caller got;
    int fds[400], before = 0, all = 0;
    bool other = false;

    start(LONG_MS);
    for (int i = 0; i < 399; i++)
        fds[i] = call();
    fds[399] = call_from(INADDR_LOOPBACK + 1);
    usleep(200000); /* the thread has them all */
    while (taut_callers_take(callers, &got)) {
        struct sockaddr_in *from = (void *)&got.sa;

        other |= from->sin_addr.s_addr == htonl(INADDR_LOOPBACK + 1);
        before += !other;
        all++;
        close(got.fd);
    }
    ck_assert(other);
    ck_assert_int_eq(all, 400);
    ck_assert_int_lt(before, 200);
    for (int i = 0; i < 400; i++)
        close(fds[i]);
    taut_callers_destroy(callers);
}
END_TEST

START_TEST(test_late_ones_are_closed)
{
    struct taut_callers_refused refused = {0};
    struct taut_caller got;
    char byte;
    int fd;

    start(SHORT_MS);
    fd = call();
    await(fd);
    ck_assert_int_eq(read(fd, &byte, 1), 0);
    for (int i = 0; i < 1000 && refused.hosts == 0; i++) {
        refused = taut_callers_refused(callers);
        usleep(1000);
    }
    ck_assert_int_eq(refused.hosts, 1);
    ck_assert_str_eq(refused.host[0].address, "127.0.0.1");
    ck_assert_int_eq(refused.host[0].count, 1);
    ck_assert_int_eq(refused.others, 0);
    ck_assert_int_eq(refused.error, 0);
    ck_assert_int_eq(taut_callers_take(callers, &got), 0);
    close(fd);
    taut_callers_destroy(callers);
}
END_TEST

START_TEST(test_those_that_wait_are_closed_at_the_end)
{
    char byte;
    int fd;

    start(LONG_MS);
    fd = call();
    await(taut_callers_fd(callers));
    taut_callers_destroy(callers);
    ck_assert_int_le(read(fd, &byte, 1), 0);
    close(fd);
    taut_callers_destroy(NULL);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("callers");

    tcase_add_test(tc, test_in_order);
    tcase_add_test(tc, test_who_calls_too_often_waits_for_the_others);
    tcase_add_test(tc, test_late_ones_are_closed);
    tcase_add_test(tc, test_those_that_wait_are_closed_at_the_end);
    return unit_run("callers", tc);
}
