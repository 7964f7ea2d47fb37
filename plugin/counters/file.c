/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/common/text.h"
#include "plugin/counters/file.h"

/* ---- notes and numbers ---- */

void taut_counters_note(struct taut_counters *c, const char *path,
                        const char *what, const char *text)
{
    if (c->bad++ > 0)
        return;
    if (text != NULL)
        snprintf(c->why, sizeof(c->why), "%.40s: %.30s: '%.24s'", path, what,
                 text);
    else
        snprintf(c->why, sizeof(c->why), "%.60s: %.50s", path, what);
    taut_text_clean(c->why);
}

static bool is_name(const char *name)
{
    size_t n = strlen(name);

    for (size_t i = 0; i < n; i++) {
        if (!isalnum((unsigned char)name[i]) && strchr("_:+-", name[i]) == NULL)
            return false;
    }
    return n > 0 && n < TAUT_COUNTER_NAME;
}

void taut_counters_put(struct taut_counters *c, const char *name, int64_t value)
{
    struct taut_counter *to = &c->list[c->count];

    if (c->count >= TAUT_COUNTER_MAX || value < 0 || !is_name(name))
        return;
    snprintf(to->name, sizeof(to->name), "%s", name);
    to->value = value;
    c->count++;
}

void taut_counters_put_text(struct taut_counters *c, const char *name,
                            const char *value)
{
    struct taut_counter_text *to = &c->texts[c->text_count];

    if (c->text_count >= TAUT_COUNTER_TEXTS || *value == '\0')
        return;
    snprintf(to->name, sizeof(to->name), "%s", name);
    snprintf(to->value, sizeof(to->value), "%.*s", TAUT_COUNTER_TEXT - 1,
             value);
    taut_text_clean(to->value);
    c->text_count++;
}

/* ---- files ---- */

static bool is_worth_a_note(int error)
{
    switch (error) {
    case ENOENT:
    case ENOTDIR:
    case EINVAL:
    case EOPNOTSUPP:
    case ENODEV:
    case ENODATA:
    case ENXIO:
        return false;
    default:
        return true;
    }
}

/* All that fits: a file of the kernel may come in pieces. */
static ssize_t read_all(struct taut_counters *c, int fd, char *text,
                        size_t room)
{
    size_t used = 0;

    for (;;) {
        ssize_t n = read(fd, text + used, room - used);

        c->reads++;
        if (n < 0)
            return -1;
        used += (size_t)n;
        /* What is shorter than a page came whole. */
        if (n == 0 || used == room || used < 2048)
            return (ssize_t)used;
    }
}

ssize_t taut_counters_slurp(struct taut_counters *c, int dir_fd,
                            const char *path, char *text, size_t room)
{
    int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    ssize_t n = -1;

    c->opens++;
    text[0] = '\0';
    if (fd >= 0) {
        n = read_all(c, fd, text, room);
        if (n < 0)
            text[0] = '\0';
    }
    if (n < 0 && is_worth_a_note(errno))
        taut_counters_note(c, path, strerror(errno), NULL);
    if (fd >= 0)
        close(fd);
    if (n == (ssize_t)room) {
        taut_counters_note(c, path, "longer than anything known", NULL);
        text[0] = '\0';
        return -1;
    }
    if (n > 0 && memchr(text, '\0', (size_t)n) != NULL) {
        taut_counters_note(c, path, "has zero bytes in it", NULL);
        text[0] = '\0';
        return -1;
    }
    if (n >= 0)
        text[n] = '\0';
    if (n > 0 && text[n - 1] == '\n')
        text[--n] = '\0';
    return n;
}

void taut_counters_put_file(struct taut_counters *c, int dir_fd,
                            const char *path, const char *name)
{
    char text[64];
    int64_t value;

    if (taut_counters_slurp(c, dir_fd, path, text, sizeof(text)) < 0)
        return;
    if (taut_counters_parse(text, &value) == 0)
        taut_counters_put(c, name, value);
    else
        taut_counters_note(
            c, path, errno == ERANGE ? "not in 0 to 2^63 - 1" : "not a number",
            text);
}

void taut_counters_put_line(struct taut_counters *c, int dir_fd,
                            const char *path, const char *name)
{
    char text[64];

    if (taut_counters_slurp(c, dir_fd, path, text, sizeof(text)) > 0)
        taut_counters_put_text(c, name, text);
}

int taut_counters_dir(struct taut_counters *c, int root_fd, const char *path)
{
    c->opens++;
    return openat(root_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int taut_counters_first(struct taut_counters *c, int root_fd, const char *path,
                        char *name, size_t room)
{
    int fd = openat(root_fd, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    struct dirent *e;

    c->opens++;
    name[0] = '\0';
    if (dir == NULL) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    while ((e = readdir(dir))) {
        if (e->d_name[0] != '.' && strlen(e->d_name) < room &&
            (name[0] == '\0' || strcmp(e->d_name, name) < 0))
            snprintf(name, room, "%s", e->d_name);
    }
    closedir(dir);
    return name[0] ? 0 : -1;
}

void taut_counters_path(char *path, size_t room, const char *interface,
                        const char *rest)
{
    snprintf(path, room, "sys/class/net/%.*s%s", (int)strcspn(interface, ":"),
             interface, rest);
}

int taut_counter_poll(int fd, int64_t *value)
{
    char text[32], *end;
    ssize_t n = pread(fd, text, sizeof(text) - 1, 0);
    long long v;

    if (n < 0)
        return -1;
    text[n] = '\0';
    if (strncmp(text, "N/A", 3) == 0) {
        errno = ENOMSG;
        return -1;
    }
    errno = 0;
    v = strtoll(text, &end, 10);
    if (end == text || errno || (*end && *end != '\n')) {
        errno = errno ? errno : EINVAL;
        return -1;
    }
    *value = v;
    return 0;
}
