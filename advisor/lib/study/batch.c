/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many cells of a study on all processors. */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "advisor/lib/study/study.h"

struct batch {
    const struct taut_study *s;
    struct taut_study_cell *cell;
    size_t n;
    atomic_size_t next;
    atomic_int error;
};

static void *work(void *arg)
{
    struct batch *b = arg;

    for (;;) {
        size_t i = atomic_fetch_add(&b->next, 1);
        if (i >= b->n || atomic_load(&b->error) != 0)
            return NULL;
        struct taut_study_cell *c = &b->cell[i];
        if (taut_study_solve(b->s, c->overlay, c->demand, &c->rules, NULL,
                             &c->result) < 0)
            atomic_store(&b->error, errno);
    }
}

static unsigned threads_for(const struct taut_study *s, size_t n,
                            unsigned threads)
{
    long there = sysconf(_SC_NPROCESSORS_ONLN);

    if (s->kind == TAUT_STUDY_ROUTES)
        return 1; /* engines keep scratch, routes follow the graph */
    if (threads == 0)
        threads = there > 0 ? (unsigned)there : 1;
    if (threads > TAUT_STUDY_MAX_THREADS)
        threads = TAUT_STUDY_MAX_THREADS;
    return threads > n ? (unsigned)n : threads;
}

int taut_study_batch(const struct taut_study *s, struct taut_study_cell *cell,
                     size_t n, unsigned threads)
{
    struct batch b = {.s = s, .cell = cell, .n = n};
    pthread_t other[TAUT_STUDY_MAX_THREADS];
    unsigned started = 0;

    threads = threads_for(s, n, threads);
    while (started + 1 < threads &&
           pthread_create(&other[started], NULL, work, &b) == 0)
        started++;
    work(&b); /* what could not be started is done here */
    for (unsigned i = 0; i < started; i++)
        pthread_join(other[i], NULL);
    errno = atomic_load(&b.error);
    return errno == 0 ? 0 : -1;
}
