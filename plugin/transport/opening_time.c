/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "plugin/transport/opening_time.h"

#define FILE_NAME "opening"
#define FLAGS (O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
#define LINE_LENGTH 32 /* with its newline */

static int read_ms(int fd)
{
    char line[LINE_LENGTH + 1];
    ssize_t n = pread(fd, line, LINE_LENGTH, 0);
    int ms;

    if (n <= 0)
        return -1;
    line[n] = '\0';
    if (sscanf(line, "taut-opening 1 %d", &ms) != 1 || ms < 0 ||
        ms > TAUT_OPENING_MAX_MS)
        return -1;
    return ms;
}

void taut_opening_open(struct taut_opening_time *t, const char *rundir)
{
    int dir = open(rundir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    t->fd = t->ms = -1;
    if (dir < 0)
        return;
    t->fd = openat(dir, FILE_NAME, FLAGS, 0644);
    close(dir);
    if (t->fd >= 0)
        t->ms = read_ms(t->fd);
}

void taut_opening_close(struct taut_opening_time *t)
{
    if (t->fd >= 0)
        close(t->fd);
    t->fd = -1;
}

void taut_opening_note(struct taut_opening_time *t, int ms)
{
    char line[LINE_LENGTH + 1];

    if (ms > TAUT_OPENING_MAX_MS)
        ms = TAUT_OPENING_MAX_MS;
    int next = t->ms < 0 || ms >= t->ms ? ms : t->ms - (t->ms - ms + 7) / 8;

    if (t->fd < 0 || next == t->ms || ms < 0)
        return;
    snprintf(line, sizeof(line), "taut-opening 1 %-16d\n", next);
    if (pwrite(t->fd, line, LINE_LENGTH, 0) == LINE_LENGTH)
        t->ms = next;
}
