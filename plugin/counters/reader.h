/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads all sources of all interfaces, each source under its own deadline.
 *
 * A separate process does it, with a thread for each source. A file of a driver
 * can hang in the kernel, where nothing ends it. A thread that hangs there
 * could not drop root privileges, because all threads of a process must take
 * part in that.  So a source that hangs, or breaks, costs what it would have
 * told of the interfaces it had not come to, and no more. */
#ifndef TAUT_PLUGIN_COUNTERS_READER_H
#define TAUT_PLUGIN_COUNTERS_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "plugin/common/plan.h"
#include "plugin/common/privileges.h"
#include "plugin/counters/counters.h"
#include "plugin/counters/port.h"
#include "wire/error.h"

struct taut_counters_reader {
    size_t count; /* of interfaces */
    pid_t pid;    /* -1: there is none */
    struct taut_counter_shared *shared;
    bool is_there[TAUT_COUNTER_SOURCES]; /* on some interface */
    int fds[TAUT_COUNTER_SOURCES];
    uint8_t asked[TAUT_COUNTER_SOURCES]; /* the last question, 0: none, .. */
    uint8_t heard[TAUT_COUNTER_SOURCES]; /* .. and the last answer */
    uint8_t turn;
    bool owes_ports; /* the last question about ports is not answered */
    int patience; /* times the sources' deadlines; 1, more for tests */
    struct taut_readings readings; /* what the last taut_counters_ask() read */
};

/* No process; close may follow. */
void taut_counters_init(struct taut_counters_reader *r);

/* Start the process, where there is something to read.  To be called before anything is loaded that does not
 * bear fork(), such as libfabric's providers.
 *   names, count  interfaces, at most TAUT_PLAN_RAILS
 *   root_fd       the directory that sys is in
 *   run_as        what the process becomes before it reads; NULL: what we are
 * Returns 0, or -1 with errno and 'err': there will be no readings. */
int taut_counters_open(struct taut_counters_reader *r, const char *const *names,
                       size_t count, int root_fd,
                       const struct taut_user *run_as, struct taut_error *err);

/* Read everything, into r->readings; they are valid until the next call.  A
 * source that is still busy with an earlier question is not asked.
 *   deadline_ns  CLOCK_MONOTONIC; each source has its own besides
 *   err          what went wrong, in one line: sources that did not answer,
 *                the first file that told nothing
 * Returns 0, or -1 when there is something to say. */
int taut_counters_ask(struct taut_counters_reader *r, int64_t deadline_ns,
                      struct taut_error *err);

/* Read what the RDMA ports lost and carried until now, of all interfaces: files
 * that are opened at the first question.  The kernel keeps most of them for
 * 10 ms, so moments that lie nearer to each other may be the same one.
 *   counts       TAUT_PLAN_RAILS, the caller's; in the order of 'names'
 *   deadline_ns  CLOCK_MONOTONIC; later answers are passed over
 * Returns 0, or -1 with errno: ENODEV no such port, EBUSY an earlier question is
 *   not answered yet, ETIMEDOUT; all counts are then taut_port_nothing. */
int taut_counters_ask_ports(struct taut_counters_reader *r,
                            struct taut_port_count *counts,
                            int64_t deadline_ns);

/* End the process; it is not waited for when it hangs. */
void taut_counters_close(struct taut_counters_reader *r);

#endif
