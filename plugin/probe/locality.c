/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <net/if.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/common/plan.h"
#include "plugin/common/text.h"
#include "plugin/probe/locality.h"

/* What the thread works on; once 'is_done' is set it is ours. */
struct taut_locality_search {
    char *modules, *root;
    char names[TAUT_PLAN_RAILS][IFNAMSIZ];
    size_t count;
    cpu_set_t near;
    int rc;
    atomic_bool is_done;
};

/* ---- lists of processors ---- */

/* "3" or "3-7", up to a comma or the end. */
static const char *parse_range(cpu_set_t *set, const char *text)
{
    char *end;
    long from = strtol(text, &end, 10), to = from;

    if (end == text)
        return NULL;
    if (*end == '-') {
        text = end + 1;
        to = strtol(text, &end, 10);
        if (end == text)
            return NULL;
    }
    if (from < 0 || to < from || to >= CPU_SETSIZE)
        return NULL;
    for (long i = from; i <= to; i++)
        CPU_SET((size_t)i, set);
    return end;
}

int taut_locality_parse(cpu_set_t *set, const char *text)
{
    CPU_ZERO(set);
    while (text != NULL && *text && *text != '\n') {
        text = parse_range(set, text);
        if (text != NULL && *text == ',')
            text++;
        else if (text != NULL && *text && *text != '\n')
            text = NULL;
    }
    if (text != NULL)
        return 0;
    errno = EINVAL;
    return -1;
}

void taut_locality_format(const cpu_set_t *set, char *text, size_t room)
{
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < CPU_SETSIZE && used + 16 < room; i++) {
        size_t last = i;

        if (!CPU_ISSET(i, set))
            continue;
        while (last + 1 < CPU_SETSIZE && CPU_ISSET(last + 1, set))
            last++;
        used += (size_t)snprintf(text + used, room - used,
                                 last > i ? "%s%zu-%zu" : "%s%zu",
                                 used ? "," : "", i, last);
        i = last;
    }
}

/* ---- is there anything to find out? ---- */

static int read_cpus(cpu_set_t *set, int root_fd, const char *name)
{
    char path[128], text[1024];
    ssize_t n;
    int fd;

    snprintf(path, sizeof(path), "sys/class/net/%s/device/local_cpulist", name);
    fd = openat(root_fd, path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    n = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (n <= 0)
        return -1;
    text[n] = '\0';
    return taut_locality_parse(set, text);
}

/* Returns true when 'a' and 'b' share something and 'b' has more. */
static bool is_part(const cpu_set_t *a, const cpu_set_t *b)
{
    cpu_set_t both;

    CPU_AND(&both, a, b);
    return CPU_COUNT(&both) > 0 && !CPU_EQUAL(&both, b);
}

static bool is_worth_it(const struct taut_locality_search *s, int root_fd)
{
    cpu_set_t may, near;

    if (sched_getaffinity(0, sizeof(may), &may) < 0)
        return false;
    for (size_t i = 0; i < s->count; i++) {
        if (read_cpus(&near, root_fd, s->names[i]) == 0 && is_part(&near, &may))
            return true;
    }
    return false;
}

/* ---- the search ---- */

static void *run_search(void *arg)
{
    struct taut_locality_search *s = arg;
    const char *names[TAUT_PLAN_RAILS];
    taut_locality_find_f *find = NULL;
    char path[PATH_MAX];
    void *library, *symbol;

    for (size_t i = 0; i < s->count; i++)
        names[i] = s->names[i];
    snprintf(path, sizeof(path), "%s/taut-hwloc.so", s->modules);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    symbol = library != NULL ? dlsym(library, "taut_locality_find") : NULL;
    memcpy(&find, &symbol, sizeof(find));
    s->rc = find != NULL ? find(&s->near, names, s->count, s->root) : -1;
    atomic_store(&s->is_done, true);
    return NULL;
}

static void destroy(struct taut_locality_search *s)
{
    if (s == NULL)
        return;
    free(s->modules);
    free(s->root);
    free(s);
}

static struct taut_locality_search *create(const char *const *names,
                                           size_t count, const char *root,
                                           const char *modules)
{
    struct taut_locality_search *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return NULL;
    s->modules = strdup(modules);
    s->root = strdup(root);
    for (; s->count < count && s->count < TAUT_PLAN_RAILS; s->count++)
        snprintf(s->names[s->count], IFNAMSIZ, "%.*s",
                 (int)strcspn(names[s->count], ":"), names[s->count]);
    if (s->modules != NULL && s->root != NULL)
        return s;
    destroy(s);
    return NULL;
}

void taut_locality_ask(struct taut_locality *l, const char *const *names,
                       size_t count, int root_fd, const char *root,
                       const char *modules)
{
    l->search = create(names, count, root, modules);
    if (l->search == NULL || is_worth_it(l->search, root_fd))
        return;
    destroy(l->search);
    l->search = NULL;
}

void taut_locality_begin(struct taut_locality *l)
{
    pthread_t thread;

    if (l->search == NULL)
        return;
    if (pthread_create(&thread, NULL, run_search, l->search) == 0) {
        pthread_detach(thread);
        return;
    }
    destroy(l->search);
    l->search = NULL;
}

int taut_locality_bind(struct taut_locality *l, char *text)
{
    struct taut_locality_search *s = l->search;
    cpu_set_t may;
    int rc = 0;

    text[0] = '\0';
    if (s == NULL || !atomic_load(&s->is_done))
        return 0;
    l->search = NULL;
    if (s->rc == 0 && sched_getaffinity(0, sizeof(may), &may) == 0 &&
        is_part(&s->near, &may)) {
        CPU_AND(&s->near, &s->near, &may); /* never beyond our cgroup */
        rc = sched_setaffinity(0, sizeof(s->near), &s->near);
        if (rc == 0)
            taut_locality_format(&s->near, text, TAUT_LOCALITY_TEXT);
    }
    destroy(s);
    return rc;
}
