/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starting a program with pipes to its stdin and stdout. */
#ifndef TAUT_ADVISOR_CHILD_START_H
#define TAUT_ADVISOR_CHILD_START_H

#include <sys/types.h>

/* Fork and exec; returns when the program runs or could not be started.
 *   argv  ends with NULL; looked for in PATH
 *   in    set to the writing end of its stdin, non-blocking, close-on-exec
 *   out   set to the reading end of its stdout, likewise
 * It inherits stderr, no other descriptor, and no blocked or ignored signal.
 * Returns its pid, to be waited for, or -1 with errno, exec's own if that is
 * what failed; 'in' and 'out' are then -1. */
pid_t taut_child_start(char *const *argv, int *in, int *out);

#endif
