/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin/common/clock.h"
#include "plugin/common/text.h"
#include "plugin/spank/child.h"

/* PATH is for a site that puts a script in the probe's place. */
static char *const child_env[] = {
    (char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin",
    NULL,
};

struct reader {
    int fd;
    taut_child_line_f *line;
    void *arg;
    char text[TAUT_CHILD_LINE_MAX + 1];
    size_t length; /* of the line so far */
    size_t total;  /* bytes read */
    unsigned lines;
    unsigned dropped;
};

/* Close everything from 3 on in the child. */
#ifdef HAVE_POSIX_SPAWN_FILE_ACTIONS_ADDCLOSEFROM_NP
static int close_others(posix_spawn_file_actions_t *actions)
{
    return posix_spawn_file_actions_addclosefrom_np(actions, 3);
}
#else
/* glibc before 2.34: name each one that is open now.  Closing one that is
 * not open (the directory's own) is not an error there. */
static int close_others(posix_spawn_file_actions_t *actions)
{
    DIR *dir = opendir("/proc/self/fd");
    int rc = 0;

    if (!dir)
        return 0;
    for (struct dirent *d = readdir(dir); d && !rc; d = readdir(dir)) {
        int fd = atoi(d->d_name);

        if (fd >= 3)
            rc = posix_spawn_file_actions_addclose(actions, fd);
    }
    closedir(dir);
    return rc;
}
#endif

static int make_actions(posix_spawn_file_actions_t *actions, int out)
{
    int rc = posix_spawn_file_actions_adddup2(actions, out, 1);

    if (!rc)
        rc = posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY,
                                              0);
    if (!rc)
        rc = posix_spawn_file_actions_addopen(actions, 2, "/dev/null", O_WRONLY,
                                              0);
    return rc ? rc : close_others(actions);
}

/* A new session, every signal at its default and none blocked: slurmstepd
 * ignores SIGPIPE and blocks others. */
static int make_attributes(posix_spawnattr_t *attr)
{
    sigset_t all, none;
    int rc;

    sigfillset(&all);
    sigemptyset(&none);
    rc = posix_spawnattr_setflags(attr, POSIX_SPAWN_SETSID |
                                            POSIX_SPAWN_SETSIGDEF |
                                            POSIX_SPAWN_SETSIGMASK);
    if (!rc)
        rc = posix_spawnattr_setsigdefault(attr, &all);
    return rc ? rc : posix_spawnattr_setsigmask(attr, &none);
}

/* Returns 0 or an error number, as posix_spawn does. */
static int spawn(pid_t *pid, const char *const argv[], int out)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    int rc = posix_spawn_file_actions_init(&actions);

    if (rc)
        return rc;
    rc = posix_spawnattr_init(&attr);
    if (!rc) {
        rc = make_actions(&actions, out);
        if (!rc)
            rc = make_attributes(&attr);
        if (!rc)
            rc = posix_spawn(pid, argv[0], &actions, &attr,
                             (char *const *)(void *)argv, child_env);
        posix_spawnattr_destroy(&attr);
    }
    posix_spawn_file_actions_destroy(&actions);
    return rc;
}

/* A pipe whose ends are above 2, so that in the child neither is hit when
 * 0, 1 and 2 are set up; the host may run with those closed. */
static int open_pipe(int ends[2])
{
    int raw[2], saved;

    if (pipe2(raw, O_CLOEXEC) < 0)
        return -1;
    ends[0] = fcntl(raw[0], F_DUPFD_CLOEXEC, 3);
    ends[1] = fcntl(raw[1], F_DUPFD_CLOEXEC, 3);
    saved = errno;
    close(raw[0]);
    close(raw[1]);
    if (ends[0] >= 0 && ends[1] >= 0) {
        fcntl(ends[0], F_SETFL, O_NONBLOCK);
        return 0;
    }
    if (ends[0] >= 0)
        close(ends[0]);
    if (ends[1] >= 0)
        close(ends[1]);
    errno = saved;
    return -1;
}

static void end_line(struct reader *r)
{
    if (r->length == 0)
        return;
    r->text[r->length] = '\0';
    r->length = 0;
    if (++r->lines > TAUT_CHILD_LINES) {
        r->dropped++;
        return;
    }
    taut_text_clean(r->text);
    r->line(r->arg, r->text);
}

static void take_bytes(struct reader *r, const char *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] == '\n')
            end_line(r);
        else if (r->length < TAUT_CHILD_LINE_MAX)
            r->text[r->length++] = bytes[i] ? bytes[i] : '?';
    }
    r->total += n;
}

/* Returns true at the end of the output. */
static bool read_some(struct reader *r)
{
    char bytes[4096];
    ssize_t n = read(r->fd, bytes, sizeof(bytes));

    if (n > 0) {
        take_bytes(r, bytes, (size_t)n);
        return false;
    }
    return n == 0 || (errno != EAGAIN && errno != EINTR);
}

/* Returns NONE at the end of the output, else why reading stopped. */
static enum taut_child_end read_all(struct reader *r, int64_t stop_ns)
{
    struct pollfd pfd = {.fd = r->fd, .events = POLLIN};

    for (;;) {
        if (taut_now_ns() >= stop_ns)
            return TAUT_CHILD_STOPPED;
        if (r->total > TAUT_CHILD_OUTPUT_MAX)
            return TAUT_CHILD_SPEWED;
        if (poll(&pfd, 1, taut_left_ms(stop_ns)) > 0 && read_some(r))
            return TAUT_CHILD_NONE;
    }
}

static void set_status(struct taut_child_report *report, int status)
{
    if (WIFSIGNALED(status)) {
        report->end = TAUT_CHILD_SIGNALED;
        report->value = WTERMSIG(status);
    } else {
        report->end = TAUT_CHILD_EXITED;
        report->value = WEXITSTATUS(status);
    }
}

/* Wait for a child whose output has ended, by looking at growing intervals:
 * pidfd is not in every kernel that Slurm 22.05 runs on. */
static void reap(pid_t pid, int64_t stop_ns, struct taut_child_report *report)
{
    int64_t nap_ns = TAUT_MS_NS / 20;
    int status;

    for (;;) {
        pid_t rc = waitpid(pid, &status, WNOHANG);
        struct timespec nap = taut_timespec(nap_ns);

        if (rc == pid) {
            set_status(report, status);
            return;
        }
        if (rc < 0 && errno != EINTR) {
            report->end = TAUT_CHILD_GONE;
            return;
        }
        if (taut_now_ns() >= stop_ns) {
            report->end = TAUT_CHILD_STOPPED;
            return;
        }
        nanosleep(&nap, NULL);
        nap_ns = nap_ns < 5 * TAUT_MS_NS ? nap_ns * 2 : nap_ns;
    }
}

/* The group may hold grandchildren; its id is taken as long as the leader
 * was not waited for. */
static void kill_group(pid_t pid)
{
    if (kill(-pid, SIGKILL) < 0)
        kill(pid, SIGKILL);
}

static void follow(pid_t pid, struct reader *r, int64_t stop_ns,
                   struct taut_child_report *report)
{
    memset(report, 0, sizeof(*report));
    report->end = read_all(r, stop_ns);
    end_line(r);
    if (report->end == TAUT_CHILD_NONE)
        reap(pid, stop_ns, report);
    if (report->end == TAUT_CHILD_STOPPED || report->end == TAUT_CHILD_SPEWED)
        kill_group(pid);
    report->dropped = r->dropped;
}

int taut_child_run(const char *const argv[], int64_t stop_ns,
                   taut_child_line_f *line, void *arg,
                   struct taut_child_report *report, struct taut_error *err)
{
    struct reader r = {.line = line, .arg = arg};
    int ends[2], rc;
    pid_t pid = -1;

    if (open_pipe(ends) < 0)
        return taut_error_set(err, "pipe: %s", strerror(errno));
    rc = spawn(&pid, argv, ends[1]);
    close(ends[1]);
    if (rc) {
        close(ends[0]);
        errno = rc;
        return taut_error_set(err, "%s: %s", argv[0], strerror(rc));
    }
    r.fd = ends[0];
    follow(pid, &r, stop_ns, report);
    close(ends[0]);
    return 0;
}
