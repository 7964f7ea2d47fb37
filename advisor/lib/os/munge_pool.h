/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A few threads that decode MUNGE credentials: with munged hung, one call
 * blocks for about 10 s (libmunge retries), and the event loop must not.
 *
 * One thread, the owner, calls these functions; it learns through a
 * descriptor that something is finished, and takes it. */
#ifndef TAUT_ADVISOR_LIB_OS_MUNGE_POOL_H
#define TAUT_ADVISOR_LIB_OS_MUNGE_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What waits for a thread: as many credentials as a machine has nodes, but no
 * more of their text than this, and none longer than its node does. */
#define TAUT_MUNGE_QUEUE_MAX 65536
#define TAUT_MUNGE_QUEUE_BYTES (64u << 20)
#define TAUT_MUNGE_WAIT_MS 500
#define TAUT_MUNGE_WORKERS_MAX 64

struct taut_munge_pool;

struct taut_munge_result {
    int id;        /* the caller's, from submit */
    char *payload; /* NULL when refused */
    size_t length;
    uid_t uid;
    gid_t gid;
    long age_s;      /* by this host's clock, when it was decoded: where it is
                        fresh, how far the other host's clock is behind */
    bool is_late;    /* good but for one of the two clocks: refused, and
                        'age_s' is known */
    bool is_away;    /* munged itself cannot be reached */
    char error[128]; /* "" when good */
};

/* Make a pool; threads start with the first credentials.
 * Returns it, or NULL with errno. */
struct taut_munge_pool *taut_munge_pool_create(int workers);

/* Stop it.  Threads that hang in libmunge are left to end by themselves and
 * free the rest.  NULL is accepted. */
void taut_munge_pool_destroy(struct taut_munge_pool *pool);

/* Readable when taut_munge_pool_take() has something. */
int taut_munge_pool_fd(const struct taut_munge_pool *pool);

/* munged's socket for the credentials submitted from now on; NULL is
 * libmunge's own.  Returns 0, or -1 with errno ENOMEM. */
int taut_munge_pool_socket(struct taut_munge_pool *pool, const char *path);

/* Hand in a credential.
 *   id  comes back in the result
 * Returns 0, and a result will come, one that says so if the queue is full;
 * or -1 with errno ENOMEM. */
int taut_munge_pool_submit(struct taut_munge_pool *pool, int id,
                           const char *cred);

/* Take a finished result; the caller frees its payload.
 * Returns 1, or 0 when there is none. */
int taut_munge_pool_take(struct taut_munge_pool *pool,
                         struct taut_munge_result *result);

/* Credentials handed in whose result was not yet taken. */
size_t taut_munge_pool_pending(struct taut_munge_pool *pool);

#endif
