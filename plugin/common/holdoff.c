/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "plugin/common/holdoff.h"

#define FILE_NAME "holdoff"
#define FLAGS (O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
#define LINE_LENGTH 96 /* with its newline */
#define BOOT_ID_PATH "/proc/sys/kernel/random/boot_id"

static long long boottime_s(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_BOOTTIME, &ts);
    return ts.tv_sec;
}

void taut_boot_id(char *boot)
{
    int fd = open(BOOT_ID_PATH, O_RDONLY | O_CLOEXEC);
    ssize_t n = -1;

    boot[0] = '\0';
    if (fd < 0)
        return;
    n = read(fd, boot, TAUT_BOOT_ID_LEN);
    boot[n == TAUT_BOOT_ID_LEN ? n : 0] = '\0';
    close(fd);
}

/* Read the line of an open file; step_s stays 0 unless it is of this boot
 * and its numbers make sense. */
static void read_line(struct taut_holdoff *h)
{
    char line[LINE_LENGTH + 1], boot[TAUT_BOOT_ID_LEN + 1];
    ssize_t n = pread(h->fd, line, LINE_LENGTH, 0);
    long long expiry;
    int step;

    h->step_s = 0;
    if (n <= 0)
        return;
    line[n] = '\0';
    if (sscanf(line, "taut-holdoff 1 %lld %d %36s", &expiry, &step, boot) != 3)
        return;
    if (strcmp(boot, h->boot) != 0 || step < 1 || step > TAUT_HOLDOFF_MAX_S)
        return;
    h->now_s = boottime_s();
    if (expiry > h->now_s + step)
        return;
    h->expiry_s = expiry;
    h->step_s = step;
}

bool taut_holdoff_is_on(const char *rundir)
{
    struct taut_holdoff h = {.fd = -1};
    char path[1100];

    if (snprintf(path, sizeof(path), "%s/" FILE_NAME, rundir) >=
        (int)sizeof(path))
        return false;
    h.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (h.fd < 0)
        return false;
    taut_boot_id(h.boot);
    read_line(&h);
    taut_holdoff_close(&h);
    return h.step_s > 0 && h.now_s < h.expiry_s;
}

static int open_in(const char *rundir, bool *is_new)
{
    int dir = open(rundir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd, saved;

    if (dir < 0)
        return -1;
    fd = openat(dir, FILE_NAME, FLAGS);
    *is_new = fd < 0 && errno == ENOENT;
    if (*is_new)
        fd = openat(dir, FILE_NAME, FLAGS | O_CREAT, 0644);
    saved = errno;
    close(dir);
    errno = saved;
    return fd;
}

int taut_holdoff_open(struct taut_holdoff *h, const char *rundir,
                      struct taut_error *err)
{
    memset(h, 0, sizeof(*h));
    taut_boot_id(h->boot);
    h->fd = open_in(rundir, &h->is_new);
    if (h->fd < 0 && errno == ENOENT && mkdir(rundir, 0755) == 0)
        h->fd = open_in(rundir, &h->is_new);
    if (h->fd < 0)
        return taut_error_set(err, "%s/" FILE_NAME ": %s", rundir,
                              strerror(errno));
    read_line(h);
    return 0;
}

void taut_holdoff_close(struct taut_holdoff *h)
{
    int saved = errno;

    if (h->fd >= 0)
        close(h->fd);
    h->fd = -1;
    errno = saved;
}

static int write_line(struct taut_holdoff *h)
{
    char line[LINE_LENGTH + 1];
    int n = snprintf(line, sizeof(line), "taut-holdoff 1 %lld %d %s",
                     h->expiry_s, h->step_s, h->boot);

    memset(line + n, ' ', (size_t)(LINE_LENGTH - n));
    line[LINE_LENGTH - 1] = '\n';
    return pwrite(h->fd, line, LINE_LENGTH, 0) == LINE_LENGTH ? 0 : -1;
}

int taut_holdoff_enter(struct taut_holdoff *h, bool grows, bool *entered)
{
    int step = h->step_s && grows ? h->step_s * 2 : TAUT_HOLDOFF_FIRST_S;

    if (entered != NULL)
        *entered = h->step_s == 0;
    if (h->fd < 0) {
        errno = EBADF;
        return -1;
    }
    h->step_s = step > TAUT_HOLDOFF_MAX_S ? TAUT_HOLDOFF_MAX_S : step;
    h->expiry_s = boottime_s() + h->step_s;
    return write_line(h) < 0 ? -1 : h->step_s;
}

void taut_holdoff_leave(struct taut_holdoff *h)
{
    if (h->fd >= 0 && h->step_s > 0 && ftruncate(h->fd, 0) == 0)
        h->step_s = 0;
}
