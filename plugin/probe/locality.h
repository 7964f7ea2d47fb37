/* SPDX-License-Identifier: GPL-2.0-or-later */
/* On which processors the streams run: those next to the interfaces under
 * test, of those that we may use.
 *
 * hwloc takes some 10 ms to read the topology of a large node. So it is loaded
 * only if an interface is nearer to some processors than to others, and works
 * in its own thread until the plan arrives. */
#ifndef TAUT_PLUGIN_PROBE_LOCALITY_H
#define TAUT_PLUGIN_PROBE_LOCALITY_H

#include <sched.h>
#include <stddef.h>

#define TAUT_LOCALITY_TEXT 256

struct taut_locality {
    struct taut_locality_search *search; /* NULL: nothing to do */
};

/* Is there a reason to look?  l->search then is one to begin.
 *   names, count  of interfaces
 *   root_fd, root the directory that sys is in, twice
 *   modules       where taut-hwloc.so is */
void taut_locality_ask(struct taut_locality *l, const char *const *names,
                       size_t count, int root_fd, const char *root,
                       const char *modules);

/* Begin to look, in a thread; no longer as root. */
void taut_locality_begin(struct taut_locality *l);

/* Bind the calling thread, if there is a reason to and hwloc is ready; not
 * waited for.
 *   text  TAUT_LOCALITY_TEXT bytes: the processors, "0-15,32", or ""
 * Returns 0, or -1 with errno. */
int taut_locality_bind(struct taut_locality *l, char *text);

/* As /sys writes it, "0-3,8".  Returns 0, or -1 with errno EINVAL. */
int taut_locality_parse(cpu_set_t *set, const char *text);
void taut_locality_format(const cpu_set_t *set, char *text, size_t room);

/* taut-hwloc.so has a function of this type, named taut_locality_find: the
 * processors next to any of the named network or RDMA devices.
 *   root  "/", or a recorded tree
 * Returns 0, or -1 with errno ENOENT (no such device) or another. */
typedef int taut_locality_find_f(cpu_set_t *near, const char *const *names,
                                 size_t count, const char *root);

#endif
