/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sending and receiving with a deadline: the descriptor
 * does not block, these calls do, until 'deadline_ms' of
 * taut_blocking_now_ms(). */
#ifndef TAUT_ADVISOR_LIB_OS_BLOCKING_H
#define TAUT_ADVISOR_LIB_OS_BLOCKING_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Milliseconds of a monotonic clock. */
int64_t taut_blocking_now_ms(void);

/* Wait for 'events' of poll(2).  Returns 0, or -1 with errno (ETIMEDOUT). */
int taut_blocking_wait(int fd, short events, int64_t deadline_ms);

/* Send all of it.  Returns 0, or -1 with errno. */
int taut_blocking_send(int fd, const char *text, size_t n, int64_t deadline_ms);

/* Returns bytes received, 0 at the end, or -1 with errno. */
ssize_t taut_blocking_receive(int fd, char *buf, size_t n, int64_t deadline_ms);

#endif
