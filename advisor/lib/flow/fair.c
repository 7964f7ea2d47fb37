/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rates that are fair to every message of a step: progressive filling.
 *
 * All messages get faster together until a component is full; those that
 * cross it stay as they are, the others go on (D. Bertsekas, R. Gallager,
 * "Data Networks", 1992, 6.5.2: max-min fair).  A message of several rails
 * or over sets of links takes its share of each.
 *
 *   r(i)     rate of flow i, bytes/s
 *   a(i, c)  share of flow i that crosses component c, 0..1
 *   R(c)     what the job gets of c, bytes/s: taut_traffic_share
 *
 * The rates are such that for every component
 *
 *   sum over i of a(i, c) r(i) <= R(c)
 *
 * and no r(i) can grow without a smaller or equal one shrinking.  While the
 * flows G still grow, at the common rate r, the others having stopped, c is
 * full at
 *
 *   r = (R(c) - sum over others of a(i, c) r(i)) / (sum over G of a(i, c))
 *     = room(c) / wanted(c)
 *
 * The component with the least r is next; its flows stop there.  All rates are
 * those of the step's begin: the rate of a flow that has ended is not reused.
 *
 * Every flow stops once, and a component is put right at most once for each of
 * its flows that stops: O(X log C) for X crossings of C components. */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/flow/traffic.h"

#define NONE TAUT_GRAPH_NONE

struct crossing {
    uint32_t component;
    float share;
};

/* A component, and the rate of its flows at which it is full. */
struct full {
    double rate;
    uint32_t component;
};

struct fair {
    struct taut_traffic *w;
    uint32_t flows, max_flows;
    double *bytes; /* [flows] */
    size_t *first; /* [flows + 1] into 'at' */
    struct crossing *at;
    size_t n, max;
    double *rate;      /* [flows]; < 0: not known yet */
    double *room;      /* [components] bytes/s not assigned yet */
    double *wanted;    /* [components] sum of shares of those that still grow */
    size_t *user;      /* [components + 1] into 'flow' */
    uint32_t *flow;    /* [n] by component */
    struct full *heap; /* components that somebody crosses */
    uint32_t n_heap;
    struct taut_arena memory; /* of those with a fixed size */
};

static void fair_fini(struct fair *f)
{
    free(f->bytes);
    free(f->first);
    free(f->at);
    taut_arena_free(&f->memory);
}

/* ---- who crosses what ---- */

static int cross(struct fair *f, uint32_t component, double share)
{
    if (f->n == f->max) {
        size_t max = f->max == 0 ? 4096 : 2 * f->max;
        if (max > TAUT_TRAFFIC_MAX_CROSSINGS) {
            errno = EOVERFLOW;
            return -1;
        }
        struct crossing *at = realloc(f->at, max * sizeof(*at));
        if (at == NULL)
            return -1;
        f->at = at;
        f->max = max;
    }
    f->at[f->n++] = (struct crossing){component, (float)share};
    return 0;
}

/* One rail's part of a message; 0, -1, or 1 without a route.  a(i, c) is the
 * rail's share times the weight of the link in its set. */
static int cross_rail(struct fair *f, uint32_t a, uint32_t b, uint32_t rail,
                      double share)
{
    const struct taut_graph *g = f->w->g;
    struct taut_route *t = &f->w->route;
    uint32_t e = rail * g->nodes + a, d = rail * g->nodes + b;
    int rc = taut_graph_route(g, g->at[e], g->at[d], d, t);

    if (rc == TAUT_ROUTE_NO_MEMORY) {
        errno = ENOMEM;
        return -1;
    }
    if (rc < 0)
        return 1;
    rc = cross(f, taut_graph_tx(e), share);
    for (uint32_t i = 0; rc == 0 && i < t->entries; i++)
        rc = cross(f, taut_graph_link(g, t->link[i]),
                   share * (t->has_sets ? t->weight[i] : 1));
    return rc == 0 ? cross(f, taut_graph_rx(d), share) : rc;
}

static int grow_flows(struct fair *f)
{
    uint32_t max = f->max_flows == 0 ? 1024 : 2 * f->max_flows;
    double *bytes = realloc(f->bytes, max * sizeof(*bytes));

    if (bytes != NULL)
        f->bytes = bytes;
    size_t *first = realloc(f->first, ((size_t)max + 1) * sizeof(*first));
    if (first != NULL)
        f->first = first;
    if (bytes == NULL || first == NULL)
        return -1;
    f->max_flows = max;
    return 0;
}

/* Rails without a route leave their part to the others. */
static int add_flow(struct fair *f, uint32_t a, uint32_t b, double bytes)
{
    const struct taut_graph *g = f->w->g;
    uint32_t rails = 0;

    if (a == b || bytes <= 0)
        return 0;
    if (f->flows == f->max_flows && grow_flows(f) < 0)
        return -1;
    f->first[f->flows] = f->n;
    for (uint32_t k = 0; k < g->rails; k++) {
        if (g->at[k * g->nodes + a] == NONE || g->at[k * g->nodes + b] == NONE)
            continue;
        int rc = cross_rail(f, a, b, k, 1);
        if (rc < 0)
            return -1;
        rails += rc == 0;
    }
    for (size_t i = f->first[f->flows]; i < f->n; i++)
        f->at[i].share /= (float)rails;
    f->bytes[f->flows++] = bytes;
    f->first[f->flows] = f->n;
    return 0;
}

static int add_step(struct fair *f, const struct taut_traffic_step *s,
                    const uint32_t *node, uint32_t ranks)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (add_flow(f, node[s->src[i]], node[s->dst[i]],
                     s->bytes != NULL ? s->bytes[i] : s->each) < 0)
            return -1;
    for (uint32_t i = 0; s->all_to_all && i < ranks; i++)
        for (uint32_t k = 0; k < ranks; k++)
            if (add_flow(f, node[i], node[k], s->each) < 0)
                return -1;
    return 0;
}

/* user[], flow[]: the flows of each component, by a counting sort.  The flows
 * of c are flow[user[c]] ... flow[user[c + 1] - 1]: counts begin two places
 * further on, and filling moves each beginning to the next one's. */
static int index_flows(struct fair *f)
{
    const struct taut_graph *g = f->w->g;

    TAUT_TAKE(&f->memory, f->rate, (size_t)f->flows + 1);
    TAUT_TAKE(&f->memory, f->room, g->components);
    TAUT_TAKE(&f->memory, f->wanted, g->components);
    TAUT_TAKE(&f->memory, f->user, (size_t)g->components + 2);
    TAUT_TAKE(&f->memory, f->flow, f->n + 1);
    TAUT_TAKE(&f->memory, f->heap, g->components);
    if (f->memory.is_short)
        return -1;
    for (size_t i = 0; i < f->n; i++) {
        f->user[f->at[i].component + 2]++;
        f->wanted[f->at[i].component] += (double)f->at[i].share;
    }
    for (uint32_t c = 0; c < g->components; c++) {
        f->user[c + 2] += f->user[c + 1];
        f->room[c] = taut_traffic_share(f->w, c);
        if (f->wanted[c] > 0)
            f->heap[f->n_heap++].component = c;
    }
    for (uint32_t i = 0; i < f->flows; i++) {
        f->rate[i] = -1;
        for (size_t k = f->first[i]; k < f->first[i + 1]; k++)
            f->flow[f->user[f->at[k].component + 1]++] = i;
    }
    return 0;
}

/* ---- filling ---- */

/* Bytes/s; 0 where rounding or a failed component leaves no room. */
static double full_at(const struct fair *f, uint32_t c)
{
    return f->room[c] > 0 ? f->room[c] / f->wanted[c] : 0;
}

/* Is entry i to be looked at before entry k? */
static bool is_before(const struct fair *f, uint32_t i, uint32_t k)
{
    const struct full *a = &f->heap[i], *b = &f->heap[k];

    return a->rate < b->rate ||
           (a->rate == b->rate && a->component < b->component);
}

static void sift_down(struct fair *f, uint32_t i)
{
    for (;;) {
        uint32_t least = i;

        for (uint32_t k = 2 * i + 1; k <= 2 * i + 2 && k < f->n_heap; k++)
            if (is_before(f, k, least))
                least = k;
        if (least == i)
            return;
        struct full x = f->heap[i];
        f->heap[i] = f->heap[least];
        f->heap[least] = x;
        i = least;
    }
}

static void make_heap(struct fair *f)
{
    for (uint32_t i = 0; i < f->n_heap; i++)
        f->heap[i].rate = full_at(f, f->heap[i].component);
    for (uint32_t i = f->n_heap / 2; i-- > 0;)
        sift_down(f, i);
}

/* The component that is full first, and at which rate; NONE: no flow is left
 * that grows.  A flow that stops leaves others more room, never less, so what
 * the heap says of a component is at most too little: it is put right when it
 * comes to the top.  Components whose flows have all stopped are dropped.
 *
 * A flow with the share a stops at r <= room / wanted, the least of all.  Then
 *
 *   (room - a r) / (wanted - a) >= room / wanted
 *
 * 1e-6 is more than rounding leaves of a sum of shares that ought to be 0. */
static uint32_t fullest(struct fair *f, double *rate)
{
    while (f->n_heap > 0) {
        struct full *top = &f->heap[0];
        uint32_t c = top->component;

        if (f->wanted[c] <= 1e-6) {
            *top = f->heap[--f->n_heap];
        } else {
            *rate = full_at(f, c);
            if (*rate <= top->rate)
                return c;
            top->rate = *rate;
        }
        sift_down(f, 0);
    }
    return NONE;
}

static void stop_flow(struct fair *f, uint32_t i, double rate)
{
    f->rate[i] = rate;
    for (size_t k = f->first[i]; k < f->first[i + 1]; k++) {
        const struct crossing *x = &f->at[k];
        f->room[x->component] -= rate * (double)x->share;
        f->wanted[x->component] -= (double)x->share;
    }
}

static void fill(struct fair *f)
{
    double rate = 0;
    uint32_t c;

    while ((c = fullest(f, &rate)) != NONE) {
        size_t first = f->user[c], end = f->user[c + 1];
        for (size_t k = first; k < end; k++)
            if (f->rate[f->flow[k]] < 0)
                stop_flow(f, f->flow[k], rate);
        f->wanted[c] = 0;
    }
}

/* A flow takes bytes / r(i) seconds; the step lasts as long as its last one. */
static void measure(const struct fair *f, double times,
                    struct taut_traffic_fair *out)
{
    double last = 0, sum = 0;

    for (uint32_t i = 0; i < f->flows; i++) {
        double t = f->rate[i] > 0 ? f->bytes[i] / f->rate[i] : INFINITY;
        last = fmax(last, t);
        sum += t;
    }
    out->time_s += times * last;
    out->mean_s += f->flows > 0 ? times * sum / f->flows : 0;
}

int taut_traffic_fair(struct taut_traffic *w,
                      const struct taut_traffic_pattern *p,
                      const uint32_t *node, struct taut_traffic_fair *out)
{
    int rc = 0;

    *out = (struct taut_traffic_fair){0};
    for (uint32_t i = 0; rc == 0 && i < p->steps; i++) {
        struct fair f = {.w = w};
        errno = ENOMEM;
        if (add_step(&f, &p->step[i], node, p->ranks) < 0 ||
            index_flows(&f) < 0)
            rc = -1;
        else {
            make_heap(&f);
            fill(&f);
            measure(&f, p->step[i].times, out);
        }
        fair_fini(&f);
    }
    return rc;
}
