/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Connections that were accepted and wait to be taken in.
 *
 * When all nodes of a machine call at once, each has to be accepted soon, or
 * it takes the server for dead; but only as many can be taken in as are
 * answered.  So a thread accepts them, whatever the owner is busy with, and
 * closes those that have waited too long: a node whose connection is closed
 * knows that somebody is there, and goes on without an answer.
 *
 * One thread, the owner, calls these functions; it learns through a
 * descriptor that somebody waits, or was refused. */
#ifndef TAUT_ADVISOR_LIB_OS_CALLERS_H
#define TAUT_ADVISOR_LIB_OS_CALLERS_H

#include <stdint.h>
#include <sys/socket.h>

#define TAUT_CALLERS_MAX 65536 /* that wait at once; more are refused */

struct taut_callers;

struct taut_caller {
    int fd;           /* non-blocking, close-on-exec */
    int64_t since_ms; /* taut_blocking_now_ms() when it was accepted */
    struct sockaddr_storage sa;
    socklen_t length;
};

#define TAUT_CALLERS_HOST 80 /* room for an address without a port, with NUL */
#define TAUT_CALLERS_HOSTS 16

/* Connections refused since the last call, and why: most waited too long, or
 * were too many. */
struct taut_callers_refused {
    struct {
        char address[TAUT_CALLERS_HOST];
        long count;
    } host[TAUT_CALLERS_HOSTS];
    int hosts;   /* of these */
    long others; /* of addresses for which there was no room */
    int error;   /* errno of accept, or 0 */
};

/* Accept what comes.
 *   fd    a socket that listens; it is owned from here on
 *   wait  milliseconds after which a caller is refused
 * Returns it, or NULL with errno, 'fd' still the caller's. */
struct taut_callers *taut_callers_create(int fd, int wait_ms);

/* Close it, and all that wait.  NULL is accepted. */
void taut_callers_destroy(struct taut_callers *callers);

/* Readable when there is something to take or to tell; it stays so until
 * taut_callers_take() has found nothing. */
int taut_callers_fd(const struct taut_callers *callers);

/* The socket that listens. */
int taut_callers_socket(const struct taut_callers *callers);

/* Take the one that has waited longest, of those first whose addresses do not
 * call too often; its descriptor is the owner's then.
 * Returns 1, or 0 if none waits. */
int taut_callers_take(struct taut_callers *callers, struct taut_caller *caller);

struct taut_callers_refused taut_callers_refused(struct taut_callers *callers);

#endif
