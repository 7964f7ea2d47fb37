/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the interfaces under test count, and how their links are.
 *
 * A source is one place that tells of an interface (NAME.c): the network
 * device, the RDMA port, the Slingshot adapter, the Cray router, the PCI
 * Express link.  Names are those of lua/taut/events/counters/, which says what
 * each means.  A file here can be a command to firmware, or wait for a lock:
 * reader.h reads them so that no one waits for one for long. */
#ifndef TAUT_PLUGIN_COUNTERS_COUNTERS_H
#define TAUT_PLUGIN_COUNTERS_COUNTERS_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/protocol.h"

#define TAUT_COUNTER_OPENS 64 /* files of one source, interface and plane */

struct taut_counter {
    char name[TAUT_COUNTER_NAME];
    int64_t value; /* 0 or more */
};

struct taut_counter_text {
    char name[TAUT_COUNTER_TEXT];
    char value[TAUT_COUNTER_TEXT];
};

/* What one source tells of one interface. */
struct taut_counters {
    char interface[IFNAMSIZ];
    const char *source; /* its name; static */
    char place[64];     /* what was read, "mlx5_0/1"; "": there is nothing */
    int64_t t_ns;       /* when, by the source's own clock; -1: it has none */
    size_t count;
    size_t text_count;
    unsigned opens, reads; /* of files, until here */
    unsigned bad;          /* files that are there and tell nothing */
    char why[120];         /* the first of them */
    struct taut_counter_text texts[TAUT_COUNTER_TEXTS];
    struct taut_counter list[TAUT_COUNTER_MAX];
};

struct taut_counter_source {
    const char *name;
    int deadline_ms; /* for all interfaces together */
    bool is_nodes;   /* of the node as a whole: told with the first interface */
    /* Find what 'c->interface' is to this source: 'c->place'.
     *   root_fd  the directory that sys is in ("/" or a recorded tree)
     * Returns 0, or -1 when there is nothing. */
    int (*find)(struct taut_counters *c, int root_fd);
    /* Read 'c->place'.  Never fails: count may be 0. */
    void (*read)(struct taut_counters *c, int root_fd);
};

extern const struct taut_counter_source taut_counters_cxi;
extern const struct taut_counter_source taut_counters_gpcdr;
extern const struct taut_counter_source taut_counters_ib;
extern const struct taut_counter_source taut_counters_netdev;
extern const struct taut_counter_source taut_counters_pcie;

/* All of them. */
#define TAUT_COUNTER_SOURCES 5
extern const struct taut_counter_source *const taut_counter_sources[];

/* Read 'interface', number 'i', into sets[i]; what an earlier one already
 * told of the same place is taken from there: no file is opened twice. */
void taut_counters_read(const struct taut_counter_source *source,
                        struct taut_counters *sets, size_t i, int root_fd,
                        const char *interface);

/* Those that say anything, of all sources and interfaces. */
struct taut_readings {
    size_t count;
    const struct taut_counters *list[TAUT_READINGS_MAX]; /* borrowed */
};

/* As in HELLO and RESULT (wire/readings.h): at most TAUT_READINGS_NUMBERS
 * numbers, whole readings only.  Returns a string to free(), or NULL. */
char *taut_readings_text(const struct taut_readings *readings);

/* Open the bytes received and sent by a network device for reading often,
 * with taut_counter_poll().  fds are -1 where there is nothing. */
void taut_counters_open_bytes(int fds[2], int root_fd, const char *interface);

/* Read a number from the start of an open file.
 * Returns 0, or -1 with errno (ENOMSG: the driver says that it has none); 'value'
 * is then untouched. */
int taut_counter_poll(int fd, int64_t *value);

#endif
