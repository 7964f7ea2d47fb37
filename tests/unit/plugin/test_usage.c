/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a node counts as a whole: processor time of tasks, TCP's segments. */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "plugin/counters/host.h"
#include "plugin/spank/usage.h"
#include "tests/unit/unit.h"

static char dir[64];

static void make_dir(void)
{
    snprintf(dir, sizeof(dir), "%s", "/tmp/taut-usage-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void remove_dir(void)
{
    char path[96];

    snprintf(path, sizeof(path), "%s/usage", dir);
    unlink(path);
    rmdir(dir);
}

/* As the counters' reader reads it. */
static int64_t number_in(int fd)
{
    static struct taut_counters c;
    const struct taut_host h = {.snmp_fd = -1, .usage_fd = fd};

    c.count = 0;
    taut_host_put(&h, &c);
    ck_assert_uint_eq(c.count, 1);
    return c.list[0].value;
}

static int open_usage(void)
{
    char path[96];

    snprintf(path, sizeof(path), "%s/usage", dir);
    return open(path, O_RDWR | O_CLOEXEC);
}

START_TEST(what_is_added_adds_up)
{
    int fd;

    ck_assert_int_eq(taut_usage_add(dir, 0), 0); /* no file for nothing */
    ck_assert_int_eq(open_usage(), -1);
    ck_assert_int_eq(taut_usage_add(dir, 1500000), 0);
    ck_assert_int_eq(taut_usage_add(dir, 7), 0);
    ck_assert_int_eq(taut_usage_add(dir, -7), 0);
    fd = open_usage();
    ck_assert_int_eq(number_in(fd), 1500007);
    close(fd);
}
END_TEST

START_TEST(several_at_once_lose_nothing)
{
    int fd, status;

    for (int i = 0; i < 8; i++) {
        if (fork() == 0) {
            int rc = 0;

            for (int k = 0; k < 50; k++)
                rc |= taut_usage_add(dir, 1);
            _exit(rc == 0 ? 0 : 1);
        }
    }
    for (int i = 0; i < 8; i++) {
        ck_assert_int_gt(wait(&status), 0);
        ck_assert_int_eq(status, 0);
    }
    fd = open_usage();
    ck_assert_int_eq(number_in(fd), 400);
    close(fd);
}
END_TEST

START_TEST(nobody_is_waited_for_for_long)
{
    int fd;

    ck_assert_int_eq(taut_usage_add(dir, 1), 0);
    fd = open_usage();
    ck_assert_int_eq(flock(fd, LOCK_EX), 0);
    ck_assert_int_eq(taut_usage_add(dir, 1), -1);
    ck_assert_int_eq(errno, EWOULDBLOCK);
    close(fd);
}
END_TEST

START_TEST(what_is_no_number_begins_anew)
{
    int fd;

    ck_assert_int_eq(taut_usage_add(dir, 1), 0);
    fd = open_usage();
    ck_assert_int_eq(pwrite(fd, "-5 is not a nu", 14, 0), 14);
    ck_assert_int_eq(number_in(fd), 0);
    ck_assert_int_eq(taut_usage_add(dir, 9), 0);
    ck_assert_int_eq(number_in(fd), 9);
    close(fd);
    ck_assert_int_eq(number_in(-1), 0);
}
END_TEST

START_TEST(a_link_is_not_followed)
{
    char path[96];

    snprintf(path, sizeof(path), "%s/usage", dir);
    ck_assert_int_eq(symlink("/nowhere/usage", path), 0);
    ck_assert_int_eq(taut_usage_add(dir, 9), -1);
    ck_assert_int_eq(errno, ELOOP);
}
END_TEST

START_TEST(children_that_ended_are_counted)
{
    int64_t before = taut_usage_of_children();

    if (fork() == 0) {
        while (clock() < CLOCKS_PER_SEC / 50)
            ;
        _exit(0);
    }
    wait(NULL);
    ck_assert_int_ge(taut_usage_of_children() - before, 15000);
}
END_TEST

static const struct {
    const char *text;
    int rc;
    int64_t out, again;
} snmp[] = {
    {"Ip: Forwarding\nIp: 1\nTcp: RtoMin OutSegs RetransSegs InErrs\n"
     "Tcp: 200 4 2 0\nUdp: In\nUdp: 3\n",
     0, 4, 2},
    {"Ip: A\nIp: 1\nTcp: OutSegs RetransSegs\nTcp: 9223372036854775807 0", 0,
     INT64_MAX, 0},
    {"Ip: A\nIp: 1\nTcp: OutSegs RetransSegs\nTcp: 4\n", -1, 0, 0},
    {"Ip: A\nIp: 1\nTcp: OutSegs RetransSegs\n", -1, 0, 0},
    {"Ip: A\nIp: 1\nTcp: OutSegsX Retrans\nTcp: 1 2\n", -1, 0, 0},
    {"", -1, 0, 0},
    {"\nTcp:", -1, 0, 0},
    {"\nTcp:\nTcp:", -1, 0, 0},
};

START_TEST(segments_of_tcp)
{
    int64_t out, again;

    ck_assert_int_eq(taut_host_parse_tcp(snmp[_i].text, &out, &again),
                     snmp[_i].rc);
    if (snmp[_i].rc == 0) {
        ck_assert_int_eq(out, snmp[_i].out);
        ck_assert_int_eq(again, snmp[_i].again);
    }
}
END_TEST

START_TEST(this_host_tells)
{
    static struct taut_counters c;
    struct taut_host h;
    int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

    taut_host_open(&h, root);
    taut_host_put(&h, &c);
    ck_assert_uint_eq(c.count, 3);
    ck_assert_str_eq(c.list[0].name, "tcp_out");
    ck_assert_str_eq(c.list[1].name, "tcp_retransmitted");
    ck_assert_str_eq(c.list[2].name, "task_cpu_us");
    taut_host_close(&h);
    c.count = 0;
    taut_host_put(&h, &c); /* nothing is there: no task has ended */
    ck_assert_uint_eq(c.count, 1);
    ck_assert_int_eq(c.list[0].value, 0);
    close(root);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("usage");

    tcase_add_checked_fixture(tc, make_dir, remove_dir);
    tcase_add_test(tc, what_is_added_adds_up);
    tcase_add_test(tc, several_at_once_lose_nothing);
    tcase_add_test(tc, nobody_is_waited_for_for_long);
    tcase_add_test(tc, what_is_no_number_begins_anew);
    tcase_add_test(tc, a_link_is_not_followed);
    tcase_add_test(tc, children_that_ended_are_counted);
    tcase_add_loop_test(tc, segments_of_tcp, 0,
                        sizeof(snmp) / sizeof(snmp[0]));
    tcase_add_test(tc, this_host_tells);
    return unit_run("usage", tc);
}
