/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long a pattern's steps take: as long as their slowest component.
 *
 *   time   = sum over steps of  times * max over c of load(c) / share(c)
 *   ideal  = sum over steps of  times * max over nodes and tx, rx of
 *              (sum over rails of load) / (sum over rails of cap)
 *   hops   = sum of bytes on links / sum of bytes on tx
 *
 *   load(c)   bytes that one round of the step puts on component c (traffic.c)
 *   times     rounds of the step, one after the other
 *   cap(c)    capacity, bytes/s
 *   share(c)  bytes/s that the job gets of c
 *
 * The time is infinite where a pair has no route.
 *
 * 'ideal' divides a node's bytes among its rails as their capacities allow, so
 * it is a lower bound of what the ends alone take.  The score of a placement is
 * time / ideal (doc/placement.md). */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/flow/traffic.h"

#define NONE TAUT_GRAPH_NONE

/* A queue serves in proportion to what arrives.  The job offers all that the
 * component can carry, C = cap(c) times the share that is left; others send g:
 *
 *   share = C * C / (C + g)       bytes/s; C where g = 0, C / 2 where g = C */
double taut_traffic_share(const struct taut_traffic *w, uint32_t c)
{
    double left = fmin(w->g->left[c], w->left[c]);
    double all = w->g->capacity[c] * left, others = w->background[c];

    return others > 0 && all > 0 ? all * all / (all + others) : all;
}

/* What one round of the step in w->load takes, and adds. */
struct step_time {
    double most; /* seconds of the slowest component … */
    uint32_t which;
    double bytes, crossed; /* out of nodes, over links */
};

static void look_at(struct taut_traffic *w, uint32_t c, double times,
                    struct step_time *s)
{
    double share = taut_traffic_share(w, c);
    double t = share > 0 ? w->load[c] / share : INFINITY;

    if (t > s->most) {
        s->most = t;
        s->which = c;
    }
    w->total[c] += w->load[c] * times;
    if (c >= 2 * w->g->endpoints)
        s->crossed += w->load[c];
    else if (c % 2 == 0)
        s->bytes += w->load[c];
}

static struct step_time time_of_step(struct taut_traffic *w, double times)
{
    struct step_time s = {.which = NONE};

    for (uint32_t c = 0; c < w->g->components; c++)
        if (w->load[c] > 0)
            look_at(w, c, times, &s);
    return s;
}

/* Seconds of the slowest node where all of its rails are well and share its
 * traffic as their capacities allow. */
static double ideal_of(const struct taut_traffic *w, const uint32_t *node,
                       uint32_t ranks)
{
    const struct taut_graph *g = w->g;
    double most = 0;

    for (uint32_t i = 0; i < ranks; i++) {
        double bytes[2] = {0, 0}, can[2] = {0, 0};
        for (uint32_t k = 0; k < g->rails; k++) {
            uint32_t e = k * g->nodes + node[i];
            for (uint32_t d = 0; d < 2 && g->at[e] != NONE; d++) {
                bytes[d] += w->load[2 * e + d];
                can[d] += g->capacity[2 * e + d];
            }
        }
        for (uint32_t d = 0; d < 2; d++)
            if (bytes[d] > most * can[d])
                most = bytes[d] / can[d];
    }
    return most;
}

int taut_traffic_time(struct taut_traffic *w,
                      const struct taut_traffic_pattern *p,
                      const uint32_t *node, struct taut_traffic_time *out)
{
    double crossed = 0, longest = 0;

    *out = (struct taut_traffic_time){.slowest = NONE};
    w->lost = 0;
    memset(w->total, 0, w->g->components * sizeof(*w->total));
    for (uint32_t i = 0; i < p->steps; i++) {
        const struct taut_traffic_step *s = &p->step[i];
        if (taut_traffic_load(w, s, node, p->ranks) < 0)
            return -1;
        struct step_time t = time_of_step(w, s->times);
        out->time_s += s->times * t.most;
        out->ideal_s += s->times * ideal_of(w, node, p->ranks);
        out->bytes += s->times * t.bytes;
        crossed += s->times * t.crossed;
        if (s->times * t.most > longest) {
            longest = s->times * t.most;
            out->slowest = t.which;
        }
    }
    if (w->lost > 0)
        out->time_s = INFINITY;
    out->hops_mean = out->bytes > 0 ? crossed / out->bytes : 0;
    return 0;
}

/* ---- hops ---- */

static int compare_u32(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return x < y ? -1 : x > y;
}

/* Routers of the nodes' first rails, each once, ascending; hops between nodes
 * are hops between routers.  Returns how many. */
static uint32_t list_routers(const struct taut_graph *g, const uint32_t *node,
                             uint32_t ranks, uint32_t *router)
{
    uint32_t n = 0, m = 0;

    for (uint32_t i = 0; i < ranks; i++)
        if (g->at[node[i]] != NONE)
            router[n++] = g->at[node[i]];
    qsort(router, n, sizeof(*router), compare_u32);
    for (uint32_t i = 0; i < n; i++)
        if (i == 0 || router[i] != router[i - 1])
            router[m++] = router[i];
    return m;
}

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Pair number i is the routers i / n and i % n.  Of more than TAUT_TRAFFIC_HOPS
 * pairs each step-th is looked at.  A step that has a divisor in common with n
 * would meet the same destinations from every router. */
int taut_traffic_hops(struct taut_traffic *w, const uint32_t *node,
                      uint32_t ranks, uint32_t *most)
{
    uint32_t *router = malloc(((size_t)ranks + 1) * sizeof(*router));

    *most = 0;
    if (router == NULL)
        return -1;
    uint32_t n = list_routers(w->g, node, ranks, router);
    uint64_t all = (uint64_t)n * n, step = all / TAUT_TRAFFIC_HOPS + 1;
    int rc = 0;
    while (common_divisor(n, step) > 1)
        step++;
    for (uint64_t i = 0; rc == 0 && i < all; i += step) {
        uint32_t hops = taut_graph_hops(w->g, router[i / n], router[i % n],
                                        NONE, &w->route);
        if (hops == TAUT_HOPS_NO_MEMORY)
            rc = -1;
        else if (hops != UINT32_MAX && hops > *most)
            *most = hops;
    }
    free(router);
    if (rc < 0)
        errno = ENOMEM;
    return rc;
}
