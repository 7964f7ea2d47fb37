/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/common/clock.h"
#include "plugin/probe/blocking.h"
#include "plugin/spank/child.h"
#include "tests/unit/unit.h"

static char heard[40 * 1024];
static int lines;
static struct taut_child_report report;

static void hear(void *arg, const char *line)
{
    (void)arg;
    lines++;
    if (strlen(heard) + strlen(line) + 2 < sizeof(heard))
        strcat(strcat(heard, line), "\n");
}

static int run(const char *script, int ms)
{
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};

    heard[0] = '\0';
    lines = 0;
    return taut_child_run(argv, taut_now_ns() + ms * TAUT_MS_NS, hear, NULL,
                          &report, NULL);
}

START_TEST(what_cannot_be_run_is_an_error)
{
    const char *const missing[] = {"/nonexistent/probe", NULL};
    const char *const folder[] = {"/tmp", NULL};
    struct taut_error err;

    ck_assert_int_eq(taut_child_run(missing, taut_now_ns() + TAUT_S_NS, hear,
                                    NULL, &report, &err),
                     -1);
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_ptr_nonnull(strstr(err.text, "/nonexistent/probe"));
    ck_assert_int_eq(taut_child_run(folder, taut_now_ns() + TAUT_S_NS, hear,
                                    NULL, &report, &err),
                     -1);
    ck_assert_int_eq(errno, EACCES);
}
END_TEST

START_TEST(status_and_lines_come_back)
{
    ck_assert_int_eq(run("echo one; printf 'two\\033[2J\\n'; printf three;"
                         " exit 3",
                         5000),
                     0);
    ck_assert_int_eq(report.end, TAUT_CHILD_EXITED);
    ck_assert_int_eq(report.value, 3);
    ck_assert_str_eq(heard, "one\ntwo?[2J\nthree\n");
}
END_TEST

START_TEST(a_signal_is_reported)
{
    ck_assert_int_eq(run("kill -SEGV $$", 5000), 0);
    ck_assert_int_eq(report.end, TAUT_CHILD_SIGNALED);
    ck_assert_int_eq(report.value, SIGSEGV);
}
END_TEST

START_TEST(a_hanging_child_is_killed_with_its_children)
{
    ck_assert_int_eq(run("sleep 100 & echo $!; wait", 300), 0);
    ck_assert_int_eq(report.end, TAUT_CHILD_STOPPED);
    ck_assert_int_eq(lines, 1);
    for (int i = 0; i < 500 && kill(atoi(heard), 0) == 0; i++) {
        char path[64], state[256] = "";
        FILE *file;

        /* Killed, but nobody may be there to collect it. */
        snprintf(path, sizeof(path), "/proc/%d/stat", atoi(heard));
        file = fopen(path, "r");
        if (file == NULL)
            return;
        ck_assert_ptr_nonnull(fgets(state, sizeof(state), file));
        fclose(file);
        if (strstr(state, ") Z ") != NULL)
            return;
        usleep(10000);
    }
    ck_assert_int_eq(kill(atoi(heard), 0), -1);
}
END_TEST

START_TEST(a_child_that_closes_its_output_is_still_bounded)
{
    ck_assert_int_eq(run("exec >&- ; sleep 100", 300), 0);
    ck_assert_int_eq(report.end, TAUT_CHILD_STOPPED);
}
END_TEST

START_TEST(too_many_lines_are_dropped_and_counted)
{
    ck_assert_int_eq(run("i=0; while [ $i -lt 50 ]; do echo $i; "
                         "i=$((i+1)); done",
                         5000),
                     0);
    ck_assert_int_eq(lines, TAUT_CHILD_LINES);
    ck_assert_uint_eq(report.dropped, 50 - TAUT_CHILD_LINES);
    ck_assert_int_eq(report.end, TAUT_CHILD_EXITED);
}
END_TEST

START_TEST(a_long_line_is_cut)
{
    ck_assert_int_eq(run("printf '%05000d\\n' 1", 5000), 0);
    ck_assert_int_eq(lines, 1);
    ck_assert_uint_eq(strlen(heard), TAUT_CHILD_LINE_MAX + 1);
}
END_TEST

START_TEST(a_child_that_spews_is_killed)
{
    ck_assert_int_eq(run("while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy"
                         "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy;"
                         " done",
                         60000),
                     0);
    ck_assert_int_eq(report.end, TAUT_CHILD_SPEWED);
    ck_assert_int_eq(lines, TAUT_CHILD_LINES);
}
END_TEST

START_TEST(the_child_sees_nothing_of_ours)
{
    int fds[2];

    ck_assert_int_eq(pipe(fds), 0);
    setenv("SPANK_EVIL", "1", 1);
    signal(SIGTERM, SIG_IGN);
    ck_assert_int_eq(run("echo /proc/self/fd/*; env | grep -c EVIL; "
                         "kill -TERM $$; echo alive",
                         5000),
                     0);
    ck_assert_int_eq(report.end, TAUT_CHILD_SIGNALED);
    ck_assert_int_eq(report.value, SIGTERM);
    ck_assert_ptr_null(strstr(heard, "fd/4"));
    ck_assert_ptr_nonnull(strstr(heard, "\n0\n"));
    ck_assert_ptr_null(strstr(heard, "alive"));
}
END_TEST

START_TEST(it_has_a_session_of_its_own)
{
    ck_assert_int_eq(run("cut -d' ' -f1,5,6 /proc/$$/stat", 5000), 0);
    int pid, group, session;

    ck_assert_int_eq(sscanf(heard, "%d %d %d", &pid, &group, &session), 3);
    ck_assert_int_eq(pid, session);
    ck_assert_int_eq(pid, group);
}
END_TEST

START_TEST(a_host_that_ignores_its_children_is_served)
{
    signal(SIGCHLD, SIG_IGN);
    ck_assert_int_eq(run("echo one; exit 3", 5000), 0);
    ck_assert_int_eq(report.end, TAUT_CHILD_GONE);
    ck_assert_str_eq(heard, "one\n");
}
END_TEST

static void set_flag(void *arg)
{
    *(int *)arg = 1;
}

static void hang(void *arg)
{
    (void)arg;
    for (;;)
        pause();
}

START_TEST(a_blocking_call_is_given_up)
{
    int flag = 0;

    ck_assert_int_eq(
        taut_blocking_call(set_flag, &flag, taut_now_ns() + 10 * TAUT_S_NS), 0);
    ck_assert_int_eq(flag, 1);
    ck_assert_int_eq(
        taut_blocking_call(hang, NULL, taut_now_ns() + 20 * TAUT_MS_NS), -1);
    ck_assert_int_eq(errno, ETIMEDOUT);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("child");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, status_and_lines_come_back);
    tcase_add_test(tc, a_signal_is_reported);
    tcase_add_test(tc, a_hanging_child_is_killed_with_its_children);
    tcase_add_test(tc, a_child_that_closes_its_output_is_still_bounded);
    tcase_add_test(tc, too_many_lines_are_dropped_and_counted);
    tcase_add_test(tc, a_long_line_is_cut);
    tcase_add_test(tc, a_child_that_spews_is_killed);
    tcase_add_test(tc, the_child_sees_nothing_of_ours);
    tcase_add_test(tc, it_has_a_session_of_its_own);
    tcase_add_test(tc, a_host_that_ignores_its_children_is_served);
    /* Not under valgrind (CK_FORK=no): it makes vfork a fork, and an exec
     * that failed is not an error any more; and a thread is left behind. */
    if (getenv("CK_FORK") == NULL) {
        tcase_add_test(tc, what_cannot_be_run_is_an_error);
        tcase_add_test(tc, a_blocking_call_is_given_up);
    }
    return unit_run("child", tc);
}
