/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "plugin/transport/unusable.h"

#define FILE_NAME "unusable"
#define FLAGS (O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)

static void set_head(struct taut_unusable *u, const char *boot)
{
    int n = snprintf(u->text, sizeof(u->text), "taut-unusable 1 %s\n", boot);

    u->length = (size_t)n;
}

static int open_in(const char *rundir, int flags)
{
    int dir = open(rundir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = dir < 0 ? -1 : openat(dir, FILE_NAME, FLAGS | flags, 0644);

    if (dir >= 0)
        close(dir);
    return fd;
}

void taut_unusable_open(struct taut_unusable *u, const char *rundir,
                        const char *boot)
{
    char line[128];
    size_t head;
    ssize_t n;

    u->rundir = rundir;
    u->is_changed = false;
    u->remembers = *boot != '\0';
    set_head(u, boot);
    head = u->length < sizeof(line) ? u->length : sizeof(line);
    memcpy(line, u->text, head);
    u->fd = u->remembers ? open_in(rundir, 0) : -1;
    if (u->fd < 0)
        return;
    n = pread(u->fd, u->text, TAUT_UNUSABLE_MAX, 0);
    u->length = n > 0 ? (size_t)n : 0;
    u->text[u->length] = '\0';
    if (u->length < head || strlen(u->text) != u->length ||
        u->text[u->length - 1] != '\n' || memcmp(u->text, line, head) != 0)
        set_head(u, boot);
}

/* The line of an interface, without the one before; NULL: it has none. */
static char *find(struct taut_unusable *u, const char *interface)
{
    size_t n = strlen(interface);

    for (char *p = strchr(u->text, '\n'); p != NULL && p[1] != '\0';
         p = strchr(p + 1, '\n')) {
        if (strncmp(p + 1, interface, n) == 0 && p[1 + n] == ' ')
            return p + 1;
    }
    return NULL;
}

bool taut_unusable_remove(struct taut_unusable *u, const char *interface)
{
    char *line = find(u, interface);
    size_t n;

    if (line == NULL)
        return false;
    n = strcspn(line, "\n") + 1;
    memmove(line, line + n, u->length - (size_t)(line - u->text) - n + 1);
    u->length -= n;
    u->is_changed = true;
    return true;
}

bool taut_unusable_add(struct taut_unusable *u, const char *interface,
                       const char *why)
{
    size_t at = strlen(interface) + 1, n = strlen(why);
    const char *line = find(u, interface);

    if (line != NULL && strncmp(line + at, why, n) == 0 && line[at + n] == '\n')
        return false;
    taut_unusable_remove(u, interface);
    if (strchr(why, '\n') != NULL || strpbrk(interface, " \n") != NULL ||
        u->length + at + n + 1 > TAUT_UNUSABLE_MAX)
        return true;
    u->length += (size_t)snprintf(u->text + u->length,
                                  sizeof(u->text) - u->length, "%s %s\n",
                                  interface, why);
    u->is_changed = true;
    return true;
}

static bool is_empty(const struct taut_unusable *u)
{
    return strchr(u->text, '\n') == u->text + u->length - 1;
}

/* A shorter text is written whole, then cut: who reads in between may say
 * something again.  Returns 0, or -1 with errno. */
static int write_all(struct taut_unusable *u)
{
    size_t n = is_empty(u) ? 0 : u->length;

    if (u->fd < 0 && n > 0)
        u->fd = open_in(u->rundir, O_CREAT);
    if (u->fd < 0 || pwrite(u->fd, u->text, n, 0) != (ssize_t)n)
        return -1;
    return ftruncate(u->fd, (off_t)n);
}

void taut_unusable_close(struct taut_unusable *u)
{
    int saved = errno;

    if (u->is_changed && u->remembers)
        u->is_changed = write_all(u) < 0;
    if (u->fd >= 0)
        close(u->fd);
    u->fd = -1;
    errno = saved;
}
