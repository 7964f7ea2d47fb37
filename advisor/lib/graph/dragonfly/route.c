/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Routes of a dragonfly: up to five legs (a group, a link, a group, a link, a
 * group), each leg inside a group a few hops.  Traffic is split over the
 * gateways first and over the ways to each of them then. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/graph/dragonfly/gates.h"

#define FAR TAUT_DRAGONFLY_FAR
#define LOCAL TAUT_DRAGONFLY_LOCAL

#define SEARCHED 16 /* links up to which a stage is searched from its end */

/* Shares of links; those of one leg and hop are one stage. */
struct shares {
    uint32_t n, max;
    uint32_t *link;
    double *weight;
    uint32_t *slot; /* [2 * max] hash table: place in 'link', from 1; NULL
                       while max is SEARCHED */
};

/* Room of a stage that is searched. */
struct few {
    uint32_t link[SEARCHED];
    double weight[SEARCHED];
};

enum leg { FIRST, BETWEEN, LAST, LEGS };

#define STAGES (LEGS * LOCAL + 2)

struct legs {
    const struct taut_dragonfly *d;
    const struct taut_graph *g;
    const struct taut_dragonfly_way *way;
    struct shares local[LEGS][LOCAL];
    struct shares global[2];
    struct few *few; /* [STAGES]; the first n_few are taken */
    uint32_t n_few;
    bool failed; /* out of memory */
};

static void shares_fini(struct shares *s)
{
    if (s->max <= SEARCHED)
        return;
    free(s->link);
    free(s->weight);
    free(s->slot);
}

static void legs_fini(struct legs *l)
{
    for (uint32_t i = 0; i < LEGS * LOCAL; i++)
        shares_fini(&l->local[0][0] + i);
    shares_fini(&l->global[0]);
    shares_fini(&l->global[1]);
}

/* The slot of a link, or the empty one where it belongs. */
static uint32_t *slot_of(const struct shares *s, uint32_t link)
{
    uint32_t mask = 2 * s->max - 1;
    uint32_t i = (link * UINT32_C(2654435761)) >> 7 & mask;

    while (s->slot[i] != 0 && s->link[s->slot[i] - 1] != link)
        i = (i + 1) & mask;
    return &s->slot[i];
}

static void begin_few(struct legs *l, struct shares *s)
{
    struct few *few = &l->few[l->n_few++];

    s->max = SEARCHED;
    s->link = few->link;
    s->weight = few->weight;
}

/* Nothing is lost where there is no memory. */
static bool grow(struct shares *s)
{
    struct shares more = {.n = s->n, .max = 4 * s->max};

    more.link = malloc(more.max * sizeof(*more.link));
    more.weight = malloc(more.max * sizeof(*more.weight));
    more.slot = calloc(2 * (size_t)more.max, sizeof(*more.slot));
    if (more.link == NULL || more.weight == NULL || more.slot == NULL) {
        shares_fini(&more);
        return false;
    }
    memcpy(more.link, s->link, s->n * sizeof(*s->link));
    memcpy(more.weight, s->weight, s->n * sizeof(*s->weight));
    for (uint32_t i = 0; i < more.n; i++)
        *slot_of(&more, more.link[i]) = i + 1;
    shares_fini(s);
    *s = more;
    return true;
}

/* Place of a link, n where it has none. */
static uint32_t find(const struct shares *s, uint32_t link)
{
    uint32_t i = 0;

    if (s->slot != NULL) {
        uint32_t *slot = slot_of(s, link);
        return *slot != 0 ? *slot - 1 : s->n;
    }
    while (i < s->n && s->link[i] != link)
        i++;
    return i;
}

static void add(struct legs *l, struct shares *s, uint32_t link, double weight)
{
    uint32_t i = find(s, link);

    if (s->max == 0)
        begin_few(l, s);
    if (i < s->n) {
        s->weight[i] += weight;
        return;
    }
    if (l->failed || (s->n == s->max && !grow(s))) {
        l->failed = true;
        return;
    }
    s->link[s->n] = link;
    s->weight[s->n++] = weight;
    if (s->slot != NULL)
        *slot_of(s, link) = s->n;
}

static bool wants(const struct legs *l, enum leg leg)
{
    return l->way->legs & 1U << leg;
}

/* A link between two groups, each only once. */
static void add_global(struct legs *l, uint32_t hop, uint32_t link,
                       double weight)
{
    struct shares *s = &l->global[hop];

    if (wants(l, BETWEEN))
        add(l, s, link, weight);
}

static bool leads_to(const struct legs *l, uint32_t link, uint32_t x,
                     uint32_t y)
{
    return taut_dragonfly_leads_to(l->d, l->g, link, x, y) &&
           taut_graph_is_up(l->g, link);
}

/* All shortest ways from x to y inside their group, equally. */
static void spread(struct legs *l, enum leg leg, uint32_t hop, uint32_t x,
                   uint32_t y, double share)
{
    const struct taut_dragonfly *d = l->d;
    const struct taut_graph *g = l->g;
    uint32_t n = 0, direct = taut_dragonfly_direct(d, x, y);

    if (x == y || share <= 0 || !wants(l, leg))
        return;
    if (direct != TAUT_GRAPH_NONE) {
        add(l, &l->local[leg][hop], direct, share);
        return;
    }
    for (uint32_t i = d->near_first[x]; i < d->near_first[x + 1]; i++)
        n += leads_to(l, d->near[i], x, y);
    for (uint32_t i = d->near_first[x]; i < d->near_first[x + 1]; i++) {
        uint32_t link = d->near[i];
        if (!leads_to(l, link, x, y))
            continue;
        add(l, &l->local[leg][hop], link, share / n);
        spread(l, leg, hop + 1, g->to[link], y, share / n);
    }
}

/* ---- over one link between two groups ---- */

/* Returns false where none is left. */
static bool go_direct(struct legs *l, uint32_t r, uint32_t s, double share)
{
    const struct taut_dragonfly *d = l->d;
    uint32_t a = d->group[r], b = d->group[s];
    struct taut_gates way;

    if (!taut_gates_init(&way, taut_gates_count(d, a, b))) {
        l->failed = true;
        return false;
    }
    taut_gates_open(d, l->g, a, b, r, s, &way);
    taut_gates_share_out(l->way->mode, l->g, &way);
    for (uint32_t i = 0; i < way.n; i++) {
        const struct taut_gate *w = &way.gate[i];
        spread(l, FIRST, 0, r, l->g->from[w->link], share * w->share);
        add_global(l, 0, w->link, share * w->share);
        spread(l, LAST, 0, l->g->to[w->link], s, share * w->share);
    }
    bool found = way.n > 0;
    taut_gates_fini(&way);
    return found;
}

/* ---- over another group ---- */

static void go_over(struct legs *l, uint32_t r, uint32_t s,
                    const struct taut_gates *there, const struct taut_gates *on,
                    double share)
{
    const struct taut_graph *g = l->g;

    for (uint32_t i = 0; i < there->n; i++) {
        const struct taut_gate *w = &there->gate[i];
        spread(l, FIRST, 0, r, g->from[w->link], share * w->share);
        add_global(l, 0, w->link, share * w->share);
        for (uint32_t k = 0; wants(l, BETWEEN) && k < on->n; k++)
            spread(l, BETWEEN, 0, g->to[w->link], g->from[on->gate[k].link],
                   share * w->share * on->gate[k].share);
    }
    for (uint32_t k = 0; k < on->n; k++) {
        const struct taut_gate *w = &on->gate[k];
        add_global(l, 1, w->link, share * w->share);
        spread(l, LAST, 0, g->to[w->link], s, share * w->share);
    }
}

/* Over each other group that will do, equally.  Returns false when none
 * does. */
static bool go_around(struct legs *l, uint32_t r, uint32_t s, double share)
{
    const struct taut_dragonfly *d = l->d;
    uint32_t most = taut_gates_widest(d, d->group[r], d->group[s]), n = 0;
    struct taut_gates there = {.gate = NULL}, on = {.gate = NULL};

    if (!taut_gates_init(&there, most) || !taut_gates_init(&on, most)) {
        l->failed = true;
        goto out;
    }
    for (uint32_t k = 0; k < d->groups; k++)
        n += taut_gates_over(d, l->g, r, s, k, &there, &on);
    for (uint32_t k = 0; n > 0 && k < d->groups; k++) {
        if (!taut_gates_over(d, l->g, r, s, k, &there, &on))
            continue;
        taut_gates_share_out(TAUT_DRAGONFLY_ADAPTIVE, l->g, &there);
        taut_gates_share_out(TAUT_DRAGONFLY_ADAPTIVE, l->g, &on);
        go_over(l, r, s, &there, &on, share / n);
    }
out:
    taut_gates_fini(&there);
    taut_gates_fini(&on);
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

static bool fill(struct legs *l, uint32_t r, uint32_t s)
{
    const struct taut_dragonfly *d = l->d;
    bool same = d->group[r] == d->group[s];
    double share = l->way->share;

    if (l->way->mode == TAUT_DRAGONFLY_VALIANT &&
        (same ? go_around_inside(l, r, s, 1) : go_around(l, r, s, 1)))
        return true;
    if (same ? go_inside(l, r, s, share) : go_direct(l, r, s, share))
        return true;
    return go_around(l, r, s, 1);
}

static void emit_local(const struct legs *l, enum leg leg, struct taut_route *t)
{
    for (uint32_t h = 0; h < LOCAL && l->local[leg][h].n > 0; h++) {
        const struct shares *s = &l->local[leg][h];
        taut_route_add_part(t, s->link, s->weight, s->n);
    }
}

static int route_by_legs(const struct taut_dragonfly *d,
                         const struct taut_graph *g,
                         const struct taut_dragonfly_way *way, uint32_t r,
                         uint32_t s, struct taut_route *t)
{
    struct few few[STAGES]; /* routes are asked for by the million */
    struct legs l = {.d = d, .g = g, .way = way, .few = few};

    bool found = fill(&l, r, s) && !l.failed;
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

/* Three of four routes that plans ask for are one link inside a group: that
 * link, or NONE. */
static uint32_t whole_route(const struct taut_dragonfly *d,
                            const struct taut_dragonfly_way *way, uint32_t r,
                            uint32_t s)
{
    if (d->group[r] != d->group[s] || r == s || way->share < 1 ||
        way->mode == TAUT_DRAGONFLY_VALIANT || !(way->legs & 1U << FIRST) ||
        taut_dragonfly_dist(d, r, s) == FAR)
        return TAUT_GRAPH_NONE;
    return taut_dragonfly_direct(d, r, s);
}

int taut_dragonfly_route_by(const struct taut_dragonfly *d,
                            const struct taut_graph *g,
                            const struct taut_dragonfly_way *way, uint32_t r,
                            uint32_t s, struct taut_route *t)
{
    uint32_t link = whole_route(d, way, r, s);

    taut_route_begin(t);
    if (link == TAUT_GRAPH_NONE)
        return route_by_legs(d, g, way, r, s, t);
    taut_route_add(t, link);
    return 0;
}

int taut_dragonfly_route(const void *self, const struct taut_graph *g,
                         uint32_t r, uint32_t s, uint32_t dst,
                         struct taut_route *t)
{
    const struct taut_dragonfly *d = self;
    struct taut_dragonfly_way way = {
        d->mode, taut_dragonfly_minimal_share(d, r), TAUT_DRAGONFLY_WHOLE};

    (void)dst;
    return taut_dragonfly_route_by(d, g, &way, r, s, t);
}
