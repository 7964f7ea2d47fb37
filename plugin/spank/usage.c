/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "plugin/common/options.h"
#include "plugin/spank/usage.h"

#define TEXT 32
#define TRIES 20 /* of 1 ms */

static int open_file(const char *rundir)
{
    int dir, fd, saved;

    mkdir(rundir, 0755);
    dir = open(rundir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return -1;
    fd = openat(dir, TAUT_USAGE_FILE,
                O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
    saved = errno;
    close(dir);
    errno = saved;
    return fd;
}

static int lock(int fd)
{
    const struct timespec ms = {.tv_nsec = 1000000};

    for (int i = 0; i < TRIES; i++) {
        if (flock(fd, LOCK_EX | LOCK_NB) == 0)
            return 0;
        if (errno != EWOULDBLOCK && errno != EINTR)
            return -1;
        nanosleep(&ms, NULL);
    }
    return -1;
}

static int64_t number_in(int fd)
{
    char text[TEXT];
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
    long long us;

    text[n > 0 ? n : 0] = '\0';
    us = strtoll(text, NULL, 10);
    return us > 0 ? us : 0;
}

/* Always as long: a reader gets the old number or the new one. */
int taut_usage_add(const char *rundir, int64_t us)
{
    char text[TEXT];
    int fd, rc, length, saved;

    if (us <= 0)
        return 0;
    fd = open_file(rundir);
    if (fd < 0)
        return -1;
    rc = lock(fd);
    if (rc == 0) {
        length = snprintf(text, sizeof(text), "%019" PRId64 "\n",
                          number_in(fd) + us);
        rc = pwrite(fd, text, (size_t)length, 0) == length ? 0 : -1;
    }
    saved = errno;
    close(fd);
    errno = saved;
    return rc;
}

static int64_t us_of(struct timeval t)
{
    return (int64_t)t.tv_sec * 1000000 + t.tv_usec;
}

int64_t taut_usage_of_children(void)
{
    struct rusage u;

    if (getrusage(RUSAGE_CHILDREN, &u) < 0)
        return 0;
    return us_of(u.ru_utime) + us_of(u.ru_stime);
}
