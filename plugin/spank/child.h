/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs the helper under a deadline, for a process that must not suffer from it.
 * The helper has its own session, an almost empty environment, and no
 * descriptor of ours except one pipe. After the hard stop the whole process
 * group gets SIGKILL without waiting, because a child stuck in the kernel must
 * not hold a job. */
#ifndef TAUT_PLUGIN_SPANK_CHILD_H
#define TAUT_PLUGIN_SPANK_CHILD_H

#include <stdint.h>

#include "wire/error.h"

#define TAUT_CHILD_LINES 20              /* lines passed on per run */
#define TAUT_CHILD_LINE_MAX 400          /* bytes of one line passed on */
#define TAUT_CHILD_OUTPUT_MAX (1u << 20) /* bytes after which it is killed */

/* Called for each line; 'line' is printable ASCII, valid during the call. */
typedef void taut_child_line_f(void *arg, const char *line);

enum taut_child_end {
    TAUT_CHILD_NONE = 0,
    TAUT_CHILD_EXITED,   /* value: exit status */
    TAUT_CHILD_SIGNALED, /* value: signal */
    TAUT_CHILD_GONE,     /* ended; the host took its status */
    TAUT_CHILD_STOPPED,  /* hard stop: killed, not waited for */
    TAUT_CHILD_SPEWED,   /* too much output: killed likewise */
};

struct taut_child_report {
    enum taut_child_end end;
    int value;
    unsigned dropped; /* lines not passed on */
};

/* Run argv[0] and pass on what it prints until it ends or 'stop_ns'.
 *   argv     NULL-terminated; argv[0] is an absolute path
 *   stop_ns  CLOCK_MONOTONIC; the call returns at most a few ms later
 *   line     called for each line of output
 *   report   written on success only
 * Returns 0 when it was started (see report->end), or -1 with errno of
 * posix_spawn (ENOENT, EACCES, ENOEXEC, EAGAIN ...) or of pipe2, and 'err'.
 * Signal dispositions and mask of the caller are not touched. */
int taut_child_run(const char *const argv[], int64_t stop_ns,
                   taut_child_line_f *line, void *arg,
                   struct taut_child_report *report, struct taut_error *err);

#endif
