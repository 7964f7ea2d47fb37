/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starting a program with pipes to its stdin and stdout. */
#ifndef TAUT_ADVISOR_LIB_OS_CHILD_START_H
#define TAUT_ADVISOR_LIB_OS_CHILD_START_H

#include <stdbool.h>
#include <sys/types.h>

/* How a program runs that is not our own. */
struct taut_child_how {
    bool session;  /* in a session of its own, to be killed as a group */
    bool has_user; /* as this user and group, with no others: */
    uid_t uid;     /* only for root */
    gid_t gid;
    bool quiet; /* its output goes nowhere; nothing of our environment */
};

/* Fork and exec; returns when the program runs or could not be started.
 *   argv  ends with NULL; looked for in PATH
 *   how   NULL: as ourselves
 *   in    set to the writing end of its stdin, non-blocking, close-on-exec
 *   out   set to the reading end of its stdout, likewise
 * It inherits stderr unless quiet, no other descriptor, and no blocked or
 * ignored signal. Returns its pid, to be waited for, or -1 with errno, exec's
 * own if that is what failed; 'in' and 'out' are then -1. */
pid_t taut_child_start(char *const *argv, const struct taut_child_how *how,
                       int *in, int *out);

/* Close an end of such a pipe that is open, and set it to -1. */
void taut_child_close(int *fd);

#endif
