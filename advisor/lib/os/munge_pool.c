/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <munge.h>

#include "advisor/lib/os/blocking.h"
#include "advisor/lib/os/munge_pool.h"

#define JOIN_MS 200 /* how long destroy waits for threads */

struct job {
    struct job *next;
    char *cred;
    size_t bytes; /* of 'cred' */
    int64_t since_ms;
    char *socket; /* of munged; NULL is the default */
    struct taut_munge_result result;
};

struct list {
    struct job *first, **last;
    size_t count;
};

struct taut_munge_pool {
    pthread_mutex_t lock;
    pthread_cond_t work;
    int refs; /* the owner and each thread */
    bool stop;
    int fd; /* eventfd */
    char *socket;
    int workers, started, idle;
    bool waking; /* one has been called, and has not looked yet */
    size_t pending;
    size_t waiting_bytes;
    struct list waiting, done;
    pthread_t threads[TAUT_MUNGE_WORKERS_MAX];
};

static void list_init(struct list *list)
{
    list->first = NULL;
    list->last = &list->first;
    list->count = 0;
}

static void list_append(struct list *list, struct job *job)
{
    job->next = NULL;
    *list->last = job;
    list->last = &job->next;
    list->count++;
}

static struct job *list_shift(struct list *list)
{
    struct job *job = list->first;

    if (job == NULL)
        return NULL;
    list->first = job->next;
    if (list->first == NULL)
        list->last = &list->first;
    list->count--;
    return job;
}

static void job_destroy(struct job *job)
{
    if (job == NULL)
        return;
    free(job->cred);
    free(job->socket);
    free(job->result.payload);
    free(job);
}

static struct job *job_create(int id, const char *cred, const char *path)
{
    struct job *job = calloc(1, sizeof(*job));

    if (job == NULL)
        return NULL;
    job->result.id = id;
    job->bytes = strlen(cred);
    job->cred = strdup(cred);
    job->since_ms = taut_blocking_now_ms();
    job->socket = path != NULL ? strdup(path) : NULL;
    if (job->cred == NULL || (path != NULL && job->socket == NULL)) {
        job_destroy(job);
        errno = ENOMEM;
        return NULL;
    }
    return job;
}

static void list_clear(struct list *list)
{
    struct job *job;

    while ((job = list_shift(list)) != NULL)
        job_destroy(job);
}

/* Called with the lock held, which it gives back. */
static void drop_reference(struct taut_munge_pool *pool)
{
    bool last = --pool->refs == 0;

    pthread_mutex_unlock(&pool->lock);
    if (!last)
        return;
    list_clear(&pool->waiting);
    list_clear(&pool->done);
    close(pool->fd);
    free(pool->socket);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

/* Seconds from encoding to decoding, each by its own host's clock. */
static long age_of(munge_ctx_t ctx)
{
    time_t encoded = 0, decoded = 0;

    munge_ctx_get(ctx, MUNGE_OPT_ENCODE_TIME, &encoded);
    munge_ctx_get(ctx, MUNGE_OPT_DECODE_TIME, &decoded);
    return (long)(decoded - encoded);
}

/* Ask munged; no lock is held. */
static void decode(struct job *job)
{
    struct taut_munge_result *r = &job->result;
    munge_ctx_t ctx = munge_ctx_create(); /* belongs to this thread only */
    void *payload = NULL;
    int length = 0;

    if (ctx == NULL) {
        snprintf(r->error, sizeof(r->error), "out of memory");
        return;
    }
    if (job->socket != NULL)
        munge_ctx_set(ctx, MUNGE_OPT_SOCKET, job->socket);
    munge_err_t e =
        munge_decode(job->cred, ctx, &payload, &length, &r->uid, &r->gid);
    if (e == EMUNGE_SUCCESS) {
        r->payload = payload != NULL ? payload : calloc(1, 1);
        r->length = (size_t)length;
        r->age_s = age_of(ctx);
    } else {
        /* A replayed or expired credential comes with its payload; it must
         * not get any further. */
        const char *text = munge_ctx_strerror(ctx);
        snprintf(r->error, sizeof(r->error), "%s",
                 text != NULL ? text : munge_strerror(e));
        r->is_away = e == EMUNGE_SOCKET || e == EMUNGE_TIMEOUT;
        r->is_late =
            e == EMUNGE_CRED_EXPIRED || e == EMUNGE_CRED_REWOUND;
        r->age_s = r->is_late ? age_of(ctx) : 0;
        free(payload);
    }
    munge_ctx_destroy(ctx);
}

/* A node that has waited so long has given up. */
static bool is_late(const struct job *job)
{
    return taut_blocking_now_ms() - job->since_ms > TAUT_MUNGE_WAIT_MS;
}

static void wake_owner(struct taut_munge_pool *pool)
{
    uint64_t one = 1;
    ssize_t n;

    do
        n = write(pool->fd, &one, sizeof(one));
    while (n < 0 && errno == EINTR);
}

/* One idle thread at a time is called, and calls the next where more waits: a
 * job's nodes come together, and a thread that is up may do several.  With the
 * lock held; a caller that gets true signals after it has released the lock. */
static bool want_call(struct taut_munge_pool *pool)
{
    if (pool->waiting.count == 0 || pool->idle == 0 || pool->waking)
        return false;
    pool->waking = true;
    return true;
}

/* With the lock held, as it is again when this returns. */
static void wait_for_work(struct taut_munge_pool *pool)
{
    pool->idle++;
    pthread_cond_wait(&pool->work, &pool->lock);
    pool->idle--;
    pool->waking = false;
}

/* Without the lock. */
static void work_on(struct taut_munge_pool *pool, struct job *job, bool call)
{
    if (call)
        pthread_cond_signal(&pool->work);
    if (is_late(job))
        snprintf(job->result.error, sizeof(job->result.error),
                 "MUNGE did not get to it in %d ms", TAUT_MUNGE_WAIT_MS);
    else
        decode(job);
}

static void *worker(void *arg)
{
    struct taut_munge_pool *pool = arg;

    pthread_mutex_lock(&pool->lock);
    while (!pool->stop) {
        struct job *job = list_shift(&pool->waiting);
        if (job == NULL) {
            wait_for_work(pool);
            continue;
        }
        pool->waiting_bytes -= job->bytes;
        bool call = want_call(pool);
        pthread_mutex_unlock(&pool->lock);
        work_on(pool, job, call);
        pthread_mutex_lock(&pool->lock);
        list_append(&pool->done, job);
        if (pool->done.count > 1)
            continue; /* he has been woken, and takes all */
        pthread_mutex_unlock(&pool->lock);
        wake_owner(pool);
        pthread_mutex_lock(&pool->lock);
    }
    drop_reference(pool);
    return NULL;
}

/* Start one more thread; called with the lock held.  Signals are the
 * owner's business. */
static int start_worker(struct taut_munge_pool *pool)
{
    sigset_t all, old;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = pthread_create(&pool->threads[pool->started], NULL, worker, pool);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (rc != 0)
        return -1;
    pool->started++;
    pool->refs++;
    return 0;
}

struct taut_munge_pool *taut_munge_pool_create(int workers)
{
    struct taut_munge_pool *pool = calloc(1, sizeof(*pool));

    if (pool == NULL)
        return NULL;
    pool->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (pool->fd < 0) {
        int saved = errno;
        free(pool);
        errno = saved;
        return NULL;
    }
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    list_init(&pool->waiting);
    list_init(&pool->done);
    pool->refs = 1;
    pool->workers = workers;
    return pool;
}

static void join_or_detach(pthread_t *threads, int n)
{
    struct timespec until;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += JOIN_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    for (int i = 0; i < n; i++)
        if (pthread_clockjoin_np(threads[i], NULL, CLOCK_MONOTONIC,
                                 &until) != 0)
            pthread_detach(threads[i]);
}

void taut_munge_pool_destroy(struct taut_munge_pool *pool)
{
    pthread_t threads[TAUT_MUNGE_WORKERS_MAX];

    if (pool == NULL)
        return;
    pthread_mutex_lock(&pool->lock);
    int n = pool->started;
    memcpy(threads, pool->threads, sizeof(threads));
    pool->stop = true;
    pthread_cond_broadcast(&pool->work);
    drop_reference(pool); /* unlocks */
    join_or_detach(threads, n);
}

int taut_munge_pool_fd(const struct taut_munge_pool *pool)
{
    return pool->fd;
}

int taut_munge_pool_socket(struct taut_munge_pool *pool, const char *path)
{
    char *copy = path != NULL ? strdup(path) : NULL;

    if (path != NULL && copy == NULL)
        return -1;
    pthread_mutex_lock(&pool->lock);
    free(pool->socket);
    pool->socket = copy;
    pthread_mutex_unlock(&pool->lock);
    return 0;
}

/* A result without munged, so that a refusal too comes from the loop. */
static void finish_at_once(struct taut_munge_pool *pool, struct job *job,
                           const char *why)
{
    snprintf(job->result.error, sizeof(job->result.error), "%s", why);
    list_append(&pool->done, job);
    wake_owner(pool);
}

/* With the lock held.  Returns true where an idle thread is to be called. */
static bool enqueue(struct taut_munge_pool *pool, struct job *job)
{
    bool want_thread =
        pool->idle <= (int)pool->waiting.count && pool->started < pool->workers;

    pool->pending++;
    if (pool->waiting.count >= TAUT_MUNGE_QUEUE_MAX ||
        pool->waiting_bytes + job->bytes > TAUT_MUNGE_QUEUE_BYTES) {
        finish_at_once(pool, job, "the MUNGE queue is full");
        return false;
    }
    if (want_thread && start_worker(pool) != 0 && pool->started == 0) {
        finish_at_once(pool, job, "cannot start a thread for MUNGE");
        return false;
    }
    list_append(&pool->waiting, job);
    pool->waiting_bytes += job->bytes;
    return want_call(pool);
}

int taut_munge_pool_submit(struct taut_munge_pool *pool, int id,
                           const char *cred)
{
    struct job *job = job_create(id, cred, pool->socket); /* the owner's */

    if (job == NULL)
        return -1;
    pthread_mutex_lock(&pool->lock);
    bool call = enqueue(pool, job);
    pthread_mutex_unlock(&pool->lock);
    if (call)
        pthread_cond_signal(&pool->work);
    return 0;
}

int taut_munge_pool_take(struct taut_munge_pool *pool,
                         struct taut_munge_result *result)
{
    pthread_mutex_lock(&pool->lock);
    struct job *job = list_shift(&pool->done);
    if (job != NULL)
        pool->pending--;
    pthread_mutex_unlock(&pool->lock);
    if (job == NULL)
        return 0;
    *result = job->result;
    job->result.payload = NULL;
    job_destroy(job);
    return 1;
}

size_t taut_munge_pool_pending(struct taut_munge_pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    size_t n = pool->pending;
    pthread_mutex_unlock(&pool->lock);
    return n;
}
