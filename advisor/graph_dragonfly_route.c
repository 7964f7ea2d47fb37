/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Routes of a dragonfly: up to five legs (a group, a link, a group, a link, a
 * group), each leg inside a group a few hops.  Traffic is split over the
 * gateways first and over the ways to each of them then. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/graph_dragonfly.h"

#define FAR TAUT_DRAGONFLY_FAR
#define LOCAL TAUT_DRAGONFLY_LOCAL

/* Shares of links; those of one leg and hop are one stage. */
struct shares {
    uint32_t n, max;
    uint32_t *link;
    double *weight;
};

enum leg { FIRST, BETWEEN, LAST, LEGS };

struct legs {
    const struct taut_dragonfly *d;
    const struct taut_graph *g;
    enum taut_dragonfly_mode mode;
    struct shares local[LEGS][LOCAL];
    struct shares global[2];
    uint32_t since[LEGS][LOCAL]; /* entries before are other groups' */
    bool failed;                 /* out of memory */
};

static void legs_fini(struct legs *l)
{
    struct shares *s = &l->local[0][0];

    for (uint32_t i = 0; i < LEGS * LOCAL; i++) {
        free(s[i].link);
        free(s[i].weight);
    }
    for (uint32_t i = 0; i < 2; i++) {
        free(l->global[i].link);
        free(l->global[i].weight);
    }
}

static bool grow(struct shares *s)
{
    uint32_t max = s->max ? 2 * s->max : 32;
    uint32_t *link = realloc(s->link, max * sizeof(*link));
    if (link != NULL)
        s->link = link;
    double *weight = realloc(s->weight, max * sizeof(*weight));
    if (weight != NULL)
        s->weight = weight;
    if (link == NULL || weight == NULL)
        return false;
    s->max = max;
    return true;
}

static void add(struct legs *l, struct shares *s, uint32_t since, uint32_t link,
                double weight)
{
    for (uint32_t i = since; i < s->n; i++)
        if (s->link[i] == link) {
            s->weight[i] += weight;
            return;
        }
    if (s->n == s->max && !grow(s)) {
        l->failed = true;
        return;
    }
    s->link[s->n] = link;
    s->weight[s->n++] = weight;
}

/* Is 'link' the first hop of a shortest way from x to y in their group? */
static bool leads_to(const struct taut_dragonfly *d, const struct taut_graph *g,
                     uint32_t link, uint32_t x, uint32_t y)
{
    uint32_t to = g->to[link];

    return d->group[to] == d->group[x] &&
           taut_dragonfly_dist(d, to, y) + 1 == taut_dragonfly_dist(d, x, y) &&
           taut_graph_is_up(g, link);
}

/* All shortest ways from x to y inside their group, equally. */
static void spread(struct legs *l, enum leg leg, uint32_t hop, uint32_t x,
                   uint32_t y, double share)
{
    const struct taut_graph *g = l->g;
    uint32_t n = 0, direct = taut_dragonfly_direct(l->d, x, y);

    if (x == y || share <= 0)
        return;
    if (direct != TAUT_GRAPH_NONE) {
        add(l, &l->local[leg][hop], l->since[leg][hop], direct, share);
        return;
    }
    for (uint32_t i = g->out_first[x]; i < g->out_first[x + 1]; i++)
        n += leads_to(l->d, g, g->out[i], x, y);
    for (uint32_t i = g->out_first[x]; i < g->out_first[x + 1]; i++) {
        uint32_t link = g->out[i];
        if (!leads_to(l->d, g, link, x, y))
            continue;
        add(l, &l->local[leg][hop], l->since[leg][hop], link, share / n);
        spread(l, leg, hop + 1, g->to[link], y, share / n);
    }
}

/* ---- links between two groups ---- */

struct gate {
    uint32_t link;
    uint32_t hops; /* inside the two groups, where the ends matter */
    double share;
};

struct gates {
    uint32_t n;
    struct gate *gate;
};

static double pull(enum taut_dragonfly_mode mode, const struct taut_graph *g,
                   uint32_t link)
{
    uint32_t c = taut_graph_link(g, link);

    return g->capacity[c] * (mode == TAUT_DRAGONFLY_MINIMAL ? 1 : g->left[c]);
}

/* Keep the shortest where routing is minimal; share out 1 by capacity. */
static void share_out(enum taut_dragonfly_mode mode, const struct taut_graph *g,
                      struct gates *s)
{
    bool shortest = mode == TAUT_DRAGONFLY_MINIMAL;
    uint32_t least = UINT32_MAX, n = 0;
    double sum = 0;

    for (uint32_t i = 0; shortest && i < s->n; i++)
        if (s->gate[i].hops < least)
            least = s->gate[i].hops;
    for (uint32_t i = 0; i < s->n; i++)
        if (!shortest || s->gate[i].hops == least)
            s->gate[n++] = s->gate[i];
    s->n = n;
    for (uint32_t i = 0; i < n; i++)
        sum += s->gate[i].share = pull(mode, g, s->gate[i].link);
    for (uint32_t i = 0; i < n; i++)
        s->gate[i].share /= sum;
}

/* Links from group a to group b that are in use; with r (or s) given only
 * those that router r reaches (from whose far end s is reached). */
static void open_gates(const struct taut_dragonfly *d,
                       const struct taut_graph *g, uint32_t a, uint32_t b,
                       uint32_t r, uint32_t s, struct gates *out)
{
    size_t p = (size_t)a * d->groups + b;

    out->n = 0;
    for (uint32_t i = d->pair_first[p]; i < d->pair_first[p + 1]; i++) {
        uint32_t l = d->pair[i];
        uint32_t before =
            r == TAUT_GRAPH_NONE ? 0 : taut_dragonfly_dist(d, r, g->from[l]);
        uint32_t after =
            s == TAUT_GRAPH_NONE ? 0 : taut_dragonfly_dist(d, g->to[l], s);
        if (before != FAR && after != FAR && taut_graph_is_up(g, l))
            out->gate[out->n++] = (struct gate){l, before + after, 0};
    }
}

static uint32_t pair_size(const struct taut_dragonfly *d, uint32_t a,
                          uint32_t b)
{
    size_t p = (size_t)a * d->groups + b;

    return d->pair_first[p + 1] - d->pair_first[p];
}

static bool gates_init(struct gates *s, uint32_t max)
{
    s->n = 0;
    s->gate = malloc(((size_t)max + 1) * sizeof(*s->gate));
    return s->gate != NULL;
}

/* ---- over one link between two groups ---- */

/* Returns false where none is left. */
static bool go_direct(struct legs *l, uint32_t r, uint32_t s, double share)
{
    const struct taut_dragonfly *d = l->d;
    uint32_t a = d->group[r], b = d->group[s];
    struct gates way;

    if (!gates_init(&way, pair_size(d, a, b))) {
        l->failed = true;
        return false;
    }
    open_gates(d, l->g, a, b, r, s, &way);
    share_out(l->mode, l->g, &way);
    for (uint32_t i = 0; i < way.n; i++) {
        const struct gate *w = &way.gate[i];
        spread(l, FIRST, 0, r, l->g->from[w->link], share * w->share);
        add(l, &l->global[0], l->global[0].n, w->link, share * w->share);
        spread(l, LAST, 0, l->g->to[w->link], s, share * w->share);
    }
    bool found = way.n > 0;
    free(way.gate);
    return found;
}

/* ---- over another group ---- */

/* Make what has been added so far another group's. */
static void next_group(struct legs *l)
{
    for (uint32_t h = 0; h < LOCAL; h++)
        l->since[BETWEEN][h] = l->local[BETWEEN][h].n;
}

static void go_over(struct legs *l, uint32_t r, uint32_t s,
                    const struct gates *there, const struct gates *on,
                    double share)
{
    const struct taut_graph *g = l->g;

    next_group(l);
    for (uint32_t i = 0; i < there->n; i++) {
        const struct gate *w = &there->gate[i];
        spread(l, FIRST, 0, r, g->from[w->link], share * w->share);
        add(l, &l->global[0], l->global[0].n, w->link, share * w->share);
        for (uint32_t k = 0; k < on->n; k++)
            spread(l, BETWEEN, 0, g->to[w->link], g->from[on->gate[k].link],
                   share * w->share * on->gate[k].share);
    }
    for (uint32_t k = 0; k < on->n; k++) {
        const struct gate *w = &on->gate[k];
        add(l, &l->global[1], l->global[1].n, w->link, share * w->share);
        spread(l, LAST, 0, g->to[w->link], s, share * w->share);
    }
}

/* The gates to and from group k; false: it cannot be the one between. */
static bool can_go_over(const struct taut_dragonfly *d,
                        const struct taut_graph *g, uint32_t r, uint32_t s,
                        uint32_t k, struct gates *there, struct gates *on)
{
    uint32_t a = d->group[r], b = d->group[s];

    if (k == a || k == b || !d->is_whole[k])
        return false;
    open_gates(d, g, a, k, r, TAUT_GRAPH_NONE, there);
    open_gates(d, g, k, b, TAUT_GRAPH_NONE, s, on);
    return there->n > 0 && on->n > 0;
}

static uint32_t widest(const struct taut_dragonfly *d, uint32_t a, uint32_t b)
{
    uint32_t most = 0;

    for (uint32_t k = 0; k < d->groups; k++) {
        uint32_t n = pair_size(d, a, k), m = pair_size(d, k, b);
        most = n > most ? n : most;
        most = m > most ? m : most;
    }
    return most;
}

/* Over each other group that will do, equally.  Returns false when none
 * does. */
static bool go_around(struct legs *l, uint32_t r, uint32_t s, double share)
{
    const struct taut_dragonfly *d = l->d;
    uint32_t most = widest(d, d->group[r], d->group[s]), n = 0;
    struct gates there = {0}, on = {0};

    if (!gates_init(&there, most) || !gates_init(&on, most)) {
        l->failed = true;
        goto out;
    }
    for (uint32_t k = 0; k < d->groups; k++)
        n += can_go_over(d, l->g, r, s, k, &there, &on);
    for (uint32_t k = 0; n > 0 && k < d->groups; k++) {
        if (!can_go_over(d, l->g, r, s, k, &there, &on))
            continue;
        share_out(TAUT_DRAGONFLY_ADAPTIVE, l->g, &there);
        share_out(TAUT_DRAGONFLY_ADAPTIVE, l->g, &on);
        go_over(l, r, s, &there, &on, share / n);
    }
out:
    free(there.gate);
    free(on.gate);
    return n > 0;
}

/* Inside a group, over each other router of it, equally. */
static bool go_around_inside(struct legs *l, uint32_t r, uint32_t s,
                             double share)
{
    const struct taut_dragonfly *d = l->d;
    uint32_t mine = d->group[r], n = 0;

    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = d->group_first[mine]; i < d->group_first[mine + 1];
             i++) {
            uint32_t x = d->routers[i];
            if (x == r || x == s || taut_dragonfly_dist(d, r, x) == FAR ||
                taut_dragonfly_dist(d, x, s) == FAR)
                continue;
            if (pass == 0) {
                n++;
                continue;
            }
            spread(l, FIRST, 0, r, x, share / n);
            spread(l, LAST, 0, x, s, share / n);
        }
    return n > 0;
}

/* ---- routes ---- */

static bool go_inside(struct legs *l, uint32_t r, uint32_t s, double share)
{
    if (taut_dragonfly_dist(l->d, r, s) == FAR)
        return false;
    spread(l, FIRST, 0, r, s, share);
    return true;
}

double taut_dragonfly_minimal_share(const struct taut_dragonfly *d, uint32_t r)
{
    uint32_t mine = d->group[r];
    bool has_choice =
        d->groups > 2 || d->group_first[mine + 1] - d->group_first[mine] > 2;

    return d->mode == TAUT_DRAGONFLY_ADAPTIVE && has_choice ? 1 - d->misrouted
                                                            : 1;
}

static bool fill(struct legs *l, uint32_t r, uint32_t s, double share)
{
    const struct taut_dragonfly *d = l->d;
    bool same = d->group[r] == d->group[s];

    if (l->mode == TAUT_DRAGONFLY_VALIANT &&
        (same ? go_around_inside(l, r, s, 1) : go_around(l, r, s, 1)))
        return true;
    if (same ? go_inside(l, r, s, share) : go_direct(l, r, s, share))
        return true;
    return go_around(l, r, s, 1);
}

static void emit_local(const struct legs *l, enum leg leg, struct taut_route *t)
{
    for (uint32_t h = 0; h < LOCAL; h++) {
        const struct shares *s = &l->local[leg][h];
        taut_route_add_part(t, s->link, s->weight, s->n);
    }
}

static int route(const struct taut_dragonfly *d, const struct taut_graph *g,
                 enum taut_dragonfly_mode mode, double share, uint32_t r,
                 uint32_t s, struct taut_route *t)
{
    struct legs l = {.d = d, .g = g, .mode = mode};

    bool found = fill(&l, r, s, share) && !l.failed;
    if (found) {
        emit_local(&l, FIRST, t);
        taut_route_add_part(t, l.global[0].link, l.global[0].weight,
                            l.global[0].n);
        emit_local(&l, BETWEEN, t);
        taut_route_add_part(t, l.global[1].link, l.global[1].weight,
                            l.global[1].n);
        emit_local(&l, LAST, t);
    }
    legs_fini(&l);
    return found ? 0 : -1;
}

int taut_dragonfly_route(const void *self, const struct taut_graph *g,
                         uint32_t r, uint32_t s, uint32_t dst,
                         struct taut_route *t)
{
    const struct taut_dragonfly *d = self;

    (void)dst;
    return route(d, g, d->mode, taut_dragonfly_minimal_share(d, r), r, s, t);
}

int taut_dragonfly_route_as(const struct taut_dragonfly *d,
                            const struct taut_graph *g,
                            enum taut_dragonfly_mode mode, uint32_t r,
                            uint32_t s, struct taut_route *t)
{
    taut_route_begin(t);
    return route(d, g, mode, 1, r, s, t);
}

/* ---- hops ---- */

static uint32_t least(const struct gates *s)
{
    uint32_t hops = FAR;

    for (uint32_t i = 0; i < s->n; i++)
        if (s->gate[i].hops < hops)
            hops = s->gate[i].hops;
    return hops;
}

static uint32_t hops_direct(const struct taut_dragonfly *d,
                            const struct taut_graph *g, uint32_t r, uint32_t s)
{
    uint32_t best = UINT32_MAX;
    size_t p = (size_t)d->group[r] * d->groups + d->group[s];

    if (d->group[r] == d->group[s])
        return taut_dragonfly_dist(d, r, s) == FAR
                   ? UINT32_MAX
                   : taut_dragonfly_dist(d, r, s);
    for (uint32_t i = d->pair_first[p]; i < d->pair_first[p + 1]; i++) {
        uint32_t l = d->pair[i];
        uint32_t before = taut_dragonfly_dist(d, r, g->from[l]);
        uint32_t after = taut_dragonfly_dist(d, g->to[l], s);
        if (before != FAR && after != FAR && taut_graph_is_up(g, l) &&
            before + 1 + after < best)
            best = before + 1 + after;
    }
    return best;
}

/* Where the way over a group ends counts for more than how it crosses it:
 * the fewest links of all combinations. */
static uint32_t hops_over(const struct taut_dragonfly *d,
                          const struct taut_graph *g, uint32_t r, uint32_t s)
{
    uint32_t most = widest(d, d->group[r], d->group[s]), best = UINT32_MAX;
    struct gates there = {0}, on = {0};

    if (!gates_init(&there, most) || !gates_init(&on, most))
        goto out;
    for (uint32_t k = 0; k < d->groups; k++) {
        if (!can_go_over(d, g, r, s, k, &there, &on))
            continue;
        if (least(&there) + 2 + least(&on) >= best)
            continue;
        for (uint32_t i = 0; i < there.n; i++)
            for (uint32_t j = 0; j < on.n; j++) {
                uint32_t hops =
                    there.gate[i].hops + 2 + on.gate[j].hops +
                    taut_dragonfly_dist(d, g->to[there.gate[i].link],
                                        g->from[on.gate[j].link]);
                best = hops < best ? hops : best;
            }
    }
out:
    free(there.gate);
    free(on.gate);
    return best;
}

static uint32_t hops_around_inside(const struct taut_dragonfly *d, uint32_t r,
                                   uint32_t s)
{
    uint32_t mine = d->group[r], best = UINT32_MAX;

    for (uint32_t i = d->group_first[mine]; i < d->group_first[mine + 1]; i++) {
        uint32_t x = d->routers[i];
        uint32_t before = taut_dragonfly_dist(d, r, x);
        uint32_t after = taut_dragonfly_dist(d, x, s);
        if (x != r && x != s && before != FAR && after != FAR &&
            before + after < best)
            best = before + after;
    }
    return best;
}

uint32_t taut_dragonfly_hops(const void *self, const struct taut_graph *g,
                             uint32_t r, uint32_t s, uint32_t dst)
{
    const struct taut_dragonfly *d = self;
    uint32_t hops = UINT32_MAX;

    (void)dst;
    if (d->mode == TAUT_DRAGONFLY_VALIANT)
        hops = d->group[r] == d->group[s] ? hops_around_inside(d, r, s)
                                          : hops_over(d, g, r, s);
    if (hops == UINT32_MAX)
        hops = hops_direct(d, g, r, s);
    return hops == UINT32_MAX ? hops_over(d, g, r, s) : hops;
}
