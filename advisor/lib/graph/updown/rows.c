/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#include "advisor/lib/graph/updown/rows.h"

/* Distances of all routers from which downward links alone lead to s. */
static void fill_down(const struct taut_updown *u, const struct taut_graph *g,
                      uint32_t s, bool healthy, uint16_t *row, uint32_t *queue)
{
    uint32_t head = 0, tail = 0;

    row[s] = TAUT_UPDOWN_DOWN;
    queue[tail++] = s;
    while (head < tail) {
        uint32_t r = queue[head++];
        if ((row[r] & TAUT_UPDOWN_FAR) == TAUT_UPDOWN_HOPS_MAX)
            continue;
        for (uint32_t i = g->in_first[r]; i < g->in_first[r + 1]; i++) {
            uint32_t l = g->in[i], n = g->from[l];
            if (row[n] != TAUT_UPDOWN_FAR || taut_updown_is_upward(u, g, l) ||
                !(healthy || taut_graph_is_up(g, l)))
                continue;
            row[n] = row[r] + 1;
            queue[tail++] = n;
        }
    }
}

/* Distances of the others, from the roots downwards: their upward links lead
 * to routers whose distance is known by then. */
static void fill_up(const struct taut_updown *u, const struct taut_graph *g,
                    bool healthy, uint16_t *row)
{
    for (uint32_t k = 0; k < u->routers; k++) {
        uint32_t r = u->order[k];
        for (uint32_t i = g->out_first[r];
             !(row[r] & TAUT_UPDOWN_DOWN) && i < g->out_first[r + 1]; i++) {
            uint32_t l = g->out[i];
            uint32_t d = (row[g->to[l]] & TAUT_UPDOWN_FAR) + 1;
            if (d <= TAUT_UPDOWN_HOPS_MAX && d < row[r] &&
                taut_updown_is_upward(u, g, l) &&
                (healthy || taut_graph_is_up(g, l)))
                row[r] = (uint16_t)d;
        }
    }
}

static int fill(const struct taut_updown *u, const struct taut_graph *g,
                uint32_t s, bool healthy, uint16_t *row)
{
    uint32_t *queue = malloc(u->routers * sizeof(*queue));

    if (queue == NULL)
        return -1;
    for (uint32_t r = 0; r < u->routers; r++)
        row[r] = TAUT_UPDOWN_FAR;
    fill_down(u, g, s, healthy, row, queue);
    if (u->rank != NULL)
        fill_up(u, g, healthy, row);
    free(queue);
    return 0;
}

uint16_t *taut_updown_new_row(const struct taut_updown *u,
                              const struct taut_graph *g, uint32_t s,
                              bool healthy)
{
    uint16_t *row = malloc(u->routers * sizeof(*row));

    if (row != NULL && fill(u, g, s, healthy, row) == 0)
        return row;
    free(row);
    return NULL;
}

/* ---- all rows ---- */

/* Of two threads that make a row at once the first to finish wins. */
static const uint16_t *any_row(const struct taut_updown *u,
                               const struct taut_graph *g, uint32_t s)
{
    uint16_t *row = atomic_load(&u->row[s]);
    uint16_t *none = NULL;

    if (row != NULL)
        return row;
    row = taut_updown_new_row(u, g, s, false);
    if (row != NULL &&
        !atomic_compare_exchange_strong(&u->row[s], &none, row)) {
        free(row);
        row = none;
    }
    return row;
}

/* ---- the latest rows ---- */

struct line {
    uint32_t users; /* who took it, and the cache while it is kept */
    uint32_t router;
    uint16_t row[];
};

struct taut_updown_cache {
    pthread_mutex_t lock;
    uint32_t max, next; /* in 'kept'; the oldest is at 'next' */
    struct line **kept; /* [max] */
    struct line **at;   /* [routers] */
};

static void release(struct line *l)
{
    if (l != NULL && --l->users == 0)
        free(l);
}

/* In place of the oldest, unless another thread was quicker. */
static void keep(struct taut_updown_cache *c, struct line *l)
{
    struct line **old = &c->kept[c->next];

    if (c->at[l->router] != NULL) {
        free(l);
        return;
    }
    if (*old != NULL)
        c->at[(*old)->router] = NULL;
    release(*old);
    *old = c->at[l->router] = l;
    c->next = (c->next + 1) % c->max;
    l->users = 1;
}

static struct line *new_line(const struct taut_updown *u,
                             const struct taut_graph *g, uint32_t s)
{
    struct line *l = malloc(sizeof(*l) + u->routers * sizeof(l->row[0]));

    if (l != NULL && fill(u, g, s, false, l->row) == 0) {
        l->router = s;
        return l;
    }
    free(l);
    return NULL;
}

static const uint16_t *cached_row(const struct taut_updown *u,
                                  const struct taut_graph *g, uint32_t s)
{
    struct taut_updown_cache *c = u->cache;

    pthread_mutex_lock(&c->lock);
    if (c->at[s] == NULL) {
        pthread_mutex_unlock(&c->lock);
        struct line *made = new_line(u, g, s);
        if (made == NULL)
            return NULL;
        pthread_mutex_lock(&c->lock);
        keep(c, made);
    }
    struct line *l = c->at[s];
    l->users++;
    pthread_mutex_unlock(&c->lock);
    return l->row;
}

const uint16_t *taut_updown_row_take(const struct taut_updown *u,
                                     const struct taut_graph *g, uint32_t s)
{
    return u->cache != NULL ? cached_row(u, g, s) : any_row(u, g, s);
}

void taut_updown_row_give(const struct taut_updown *u, const uint16_t *row)
{
    if (u->cache == NULL || row == NULL)
        return;
    pthread_mutex_lock(&u->cache->lock);
    release((struct line *)((uintptr_t)row - offsetof(struct line, row)));
    pthread_mutex_unlock(&u->cache->lock);
}

/* ---- both ---- */

static struct taut_updown_cache *new_cache(uint32_t routers, size_t max)
{
    struct taut_updown_cache *c = calloc(1, sizeof(*c));

    if (c == NULL)
        return NULL;
    c->max = max > 1 ? (uint32_t)max : 1;
    c->kept = calloc(c->max, sizeof(struct line *));
    c->at = calloc(routers, sizeof(struct line *));
    if (c->kept != NULL && c->at != NULL &&
        pthread_mutex_init(&c->lock, NULL) == 0)
        return c;
    free(c->kept);
    free(c->at);
    free(c);
    return NULL;
}

int taut_updown_rows_init(struct taut_updown *u, size_t max_bytes)
{
    size_t fit = max_bytes / (u->routers * sizeof(uint16_t));

    if (fit >= u->routers)
        u->row = calloc(u->routers, sizeof(*u->row));
    else
        u->cache = new_cache(u->routers, fit);
    if (u->row != NULL || u->cache != NULL)
        return 0;
    errno = ENOMEM;
    return -1;
}

void taut_updown_rows_drop(struct taut_updown *u)
{
    for (uint32_t s = 0; u->row != NULL && s < u->routers; s++)
        free(atomic_exchange(&u->row[s], NULL));
    for (uint32_t i = 0; u->cache != NULL && i < u->cache->max; i++) {
        struct line **l = &u->cache->kept[i];
        if (*l != NULL)
            u->cache->at[(*l)->router] = NULL;
        release(*l);
        *l = NULL;
    }
}

void taut_updown_rows_fini(struct taut_updown *u)
{
    taut_updown_rows_drop(u);
    free(u->row);
    if (u->cache == NULL)
        return;
    pthread_mutex_destroy(&u->cache->lock);
    free(u->cache->kept);
    free(u->cache->at);
    free(u->cache);
}
