/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "advisor/lib/graph/walk.h"

struct worker {
    const struct taut_walk *walk;
    atomic_uint *next; /* source, or destination, not taken yet */
    struct taut_walk_sums sums;
    struct taut_route route;
    bool failed; /* out of memory */
    pthread_t thread;
};

static void walk_pair(struct worker *me, const struct taut_walk_end *src,
                      const struct taut_walk_end *dst)
{
    const struct taut_walk *w = me->walk;

    if (dst->router == src->router)
        return;
    int rc = taut_graph_route(w->graph, src->router, dst->router, dst->endpoint,
                              &me->route);
    if (rc == 0)
        w->visit(w->arg, &me->sums, src, dst, &me->route);
    else if (rc == TAUT_ROUTE_NO_MEMORY)
        me->failed = true;
    else
        taut_lost_add(&me->sums.lost, src->router, dst->router,
                      src->weight * dst->weight);
}

static void *work(void *arg)
{
    struct worker *me = arg;
    const struct taut_walk *w = me->walk;
    bool to = w->graph->engine->destination_first;
    uint32_t n = to ? w->n_dst : w->n_src, m = to ? w->n_src : w->n_dst, i;

    while (!me->failed && (i = atomic_fetch_add(me->next, 1)) < n)
        for (uint32_t k = 0; !me->failed && k < m; k++)
            walk_pair(me, &w->src[to ? k : i], &w->dst[to ? i : k]);
    return NULL;
}

static void worker_fini(struct worker *me)
{
    taut_route_fini(&me->route);
    free(me->sums.load);
    free(me->sums.count);
    free(me->sums.lost.pair);
    free(me->sums.lost.from);
    free(me->sums.lost.to);
}

static int lost_init(struct taut_lost *lost, uint32_t routers,
                     const struct taut_lost *like)
{
    lost->max = like->max;
    lost->pair = calloc(2 * (size_t)like->max + 1, sizeof(uint32_t));
    if (like->from != NULL) {
        lost->from = calloc(routers, sizeof(uint64_t));
        lost->to = calloc(routers, sizeof(uint64_t));
        if (lost->from == NULL || lost->to == NULL)
            return -1;
    }
    return lost->pair != NULL ? 0 : -1;
}

static int worker_init(struct worker *me, const struct taut_walk *w,
                       atomic_uint *next, const struct taut_lost *lost)
{
    *me = (struct worker){.walk = w, .next = next};
    int rc = lost_init(&me->sums.lost, w->graph->routers, lost);
    me->sums.load = calloc(w->n_load + 1, sizeof(double));
    me->sums.count = calloc(w->n_count + 1, sizeof(uint64_t));
    if (rc == 0 && taut_route_init(&me->route, w->graph) == 0 &&
        me->sums.load != NULL && me->sums.count != NULL)
        return 0;
    worker_fini(me);
    errno = ENOMEM;
    return -1;
}

static void add_up(const struct taut_walk *w, struct taut_walk_sums *sums,
                   const struct taut_walk_sums *part)
{
    for (size_t i = 0; i < w->n_load; i++)
        sums->load[i] += part->load[i];
    for (size_t i = 0; i < w->n_count; i++)
        sums->count[i] += part->count[i];
}

static void add_lost(const struct taut_graph *g, struct taut_lost *lost,
                     const struct taut_lost *part)
{
    for (uint32_t i = 0; i < part->count && lost->count < lost->max; i++) {
        lost->pair[2 * lost->count] = part->pair[2 * i];
        lost->pair[2 * lost->count++ + 1] = part->pair[2 * i + 1];
    }
    for (uint32_t r = 0; lost->from != NULL && r < g->routers; r++) {
        lost->from[r] += part->from[r];
        lost->to[r] += part->to[r];
    }
    lost->pairs += part->pairs;
}

static unsigned count_threads(const struct taut_walk *w)
{
    long n = w->threads > 0 ? (long)w->threads : sysconf(_SC_NPROCESSORS_ONLN);

    if (n > TAUT_WALK_MAX_THREADS)
        n = TAUT_WALK_MAX_THREADS;
    return n < 1 ? 1 : (unsigned)n;
}

/* The calling thread is the first worker; what cannot be started is done by
 * those that were. */
static void run_all(struct worker *workers, unsigned n)
{
    unsigned started = 1;

    while (started < n && pthread_create(&workers[started].thread, NULL, work,
                                         &workers[started]) == 0)
        started++;
    work(&workers[0]);
    while (started > 1)
        pthread_join(workers[--started].thread, NULL);
}

int taut_walk_run(const struct taut_walk *w, struct taut_walk_sums *sums)
{
    struct worker workers[TAUT_WALK_MAX_THREADS];
    atomic_uint next = 0;
    unsigned n = count_threads(w), ready = 0;
    int rc = -1;

    while (ready < n &&
           worker_init(&workers[ready], w, &next, &sums->lost) == 0)
        ready++;
    if (ready == n) {
        run_all(workers, n);
        rc = 0;
        for (unsigned i = 0; i < n; i++) {
            rc = workers[i].failed ? -1 : rc;
            add_up(w, sums, &workers[i].sums);
            add_lost(w->graph, &sums->lost, &workers[i].sums.lost);
        }
    }
    while (ready > 0)
        worker_fini(&workers[--ready]);
    if (rc < 0)
        errno = ENOMEM;
    return rc;
}
