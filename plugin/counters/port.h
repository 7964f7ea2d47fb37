/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What an RDMA port counts of packets that got lost or damaged: few files, each
 * opened once, to be read before and after a test over libfabric.  There no
 * stream counts what it repeats: the adapter does.
 *
 * A read can be a command to firmware.  The reader's process makes it
 * (reader.h), never the one that has streams. */
#ifndef TAUT_PLUGIN_COUNTERS_PORT_H
#define TAUT_PLUGIN_COUNTERS_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/counters/ib_find.h"

#define TAUT_PORT_FILES 29

struct taut_port_files {
    size_t planes; /* of the port, whose counters are added up */
    int fds[TAUT_IB_PLANES][TAUT_PORT_FILES]; /* -1 = there is none */
};

/* A moment, or the growth between two; -1: not known. */
struct taut_port_count {
    int64_t lost_in;   /* came damaged, or behind others that did not come */
    int64_t lost_out;  /* the other end missed them, or did not answer */
    int64_t discards;  /* never left: dropped by the port itself */
    int64_t packets_in, packets_out;
};

/* What one end of a test tells; -1: not known. */
struct taut_port_losses {
    int64_t lost;
    int64_t discards; /* of a sender */
    int64_t packets;
};

/* Nothing is known. */
extern const struct taut_port_count taut_port_nothing;

/* Open what there is of an interface's RDMA port; missing files are not an
 * error.
 *   root_fd  the directory that sys is in
 * Returns 0, or -1: there are no descriptors left for all of them, and none is
 * open. */
int taut_port_files_open(struct taut_port_files *files, int root_fd,
                         const char *interface);

void taut_port_files_close(struct taut_port_files *files);

/* Add up what the files say now.  A sum of which no file is there, or one
 * cannot be read now, is -1. */
struct taut_port_count taut_port_files_read(const struct taut_port_files *files);

/* What the sender or the receiver of a test tells of its port between two
 * moments; where a counter went back (the driver began anew): -1. */
struct taut_port_losses taut_port_growth(const struct taut_port_count *from,
                                         const struct taut_port_count *to,
                                         bool is_sender);

#endif
