/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters of the interface under test.
 *
 * One source per kind of interface (counters_netdev.c: any Linux network
 * device); a source fills in what it can read, the rest is left out. */
#ifndef TAUT_PLUGIN_COUNTERS_H
#define TAUT_PLUGIN_COUNTERS_H

#include <net/if.h>
#include <stddef.h>
#include <stdint.h>

#define TAUT_COUNTER_MAX 32

struct taut_counter {
    const char *name; /* as in HELLO; static */
    int64_t value;
};

struct taut_counters {
    char interface[IFNAMSIZ];
    size_t count;
    struct taut_counter list[TAUT_COUNTER_MAX];
};

struct taut_counter_source {
    const char *name;
    /* Read all counters of 'interface' below the directory 'root_fd' ("/"
     * of the machine or a recorded tree).  Never fails: count may be 0. */
    void (*read)(struct taut_counters *counters, int root_fd,
                 const char *interface);
    /* Open the bytes received and sent for reading often, with
     * taut_counter_poll().  fds are -1 where there is nothing. */
    void (*open_bytes)(int fds[2], int root_fd, const char *interface);
};

extern const struct taut_counter_source taut_counters_netdev;

/* Read a number from the start of an open file.
 * Returns 0, or -1 with errno; 'value' is then untouched. */
int taut_counter_poll(int fd, int64_t *value);

#endif
