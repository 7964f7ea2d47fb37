/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counters of the whole node, reported with its first network device. These are
 * segments that TCP sent and retransmitted (/proc/net/snmp, of the process'
 * network namespace), and the processor time of jobs' tasks, which the plugin
 * adds up (plugin/spank/usage.h).
 *
 * The files are opened before the reader is confined to those below sys. */
#ifndef TAUT_PLUGIN_COUNTERS_HOST_H
#define TAUT_PLUGIN_COUNTERS_HOST_H

#include <stdint.h>

#include "plugin/counters/counters.h"

struct taut_host {
    int snmp_fd, usage_fd; /* -1: not there */
};

/* Open what there is below the directory that proc and the runtime directory
 * are in. */
void taut_host_open(struct taut_host *h, int root_fd);
void taut_host_close(struct taut_host *h);

/* Read both and add tcp_out, tcp_retransmitted and task_cpu_us: what cannot be
 * read is left out.  No task has ended here before the file of usage is there:
 * that is 0. */
void taut_host_put(const struct taut_host *h, struct taut_counters *c);

/* The numbers of OutSegs and RetransSegs in the text of /proc/net/snmp.
 * Returns 0, or -1: the text has no such line. */
int taut_host_parse_tcp(const char *text, int64_t *out, int64_t *again);

#endif
