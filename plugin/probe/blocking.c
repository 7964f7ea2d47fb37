/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "plugin/common/clock.h"
#include "plugin/probe/blocking.h"

struct call {
    taut_blocking_f *fn;
    void *arg;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    bool done;
};

static void *run(void *arg)
{
    struct call *call = arg;

    call->fn(call->arg);
    pthread_mutex_lock(&call->mutex);
    call->done = true;
    pthread_cond_signal(&call->cond);
    pthread_mutex_unlock(&call->mutex);
    return NULL;
}

static struct call *create(taut_blocking_f *fn, void *arg)
{
    struct call *call = calloc(1, sizeof(*call));
    pthread_condattr_t attr;

    if (call == NULL)
        return NULL;
    call->fn = fn;
    call->arg = arg;
    pthread_mutex_init(&call->mutex, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&call->cond, &attr);
    pthread_condattr_destroy(&attr);
    return call;
}

static void destroy(struct call *call)
{
    pthread_cond_destroy(&call->cond);
    pthread_mutex_destroy(&call->mutex);
    free(call);
}

static bool wait_until(struct call *call, int64_t deadline_ns)
{
    struct timespec until = taut_timespec(deadline_ns);
    bool done;

    pthread_mutex_lock(&call->mutex);
    while (!call->done &&
           pthread_cond_timedwait(&call->cond, &call->mutex, &until) == 0)
        ;
    done = call->done;
    pthread_mutex_unlock(&call->mutex);
    return done;
}

int taut_blocking_call(taut_blocking_f *fn, void *arg, int64_t deadline_ns)
{
    struct call *call = create(fn, arg);
    pthread_t thread;
    int rc;

    if (call == NULL)
        return -1;
    rc = pthread_create(&thread, NULL, run, call);
    if (rc) {
        destroy(call);
        errno = rc;
        return -1;
    }
    if (!wait_until(call, deadline_ns)) {
        pthread_detach(thread);
        errno = ETIMEDOUT;
        return -1;
    }
    pthread_join(thread, NULL);
    destroy(call);
    return 0;
}
