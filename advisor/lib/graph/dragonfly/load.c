/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The load of many pairs on a dragonfly's links. First comes the demand between
 * the routers of each group (to, from and between gateways). Then this demand
 * is put on the ways inside the groups, once for each two routers instead of
 * once for each pair.  What goes from group to group is added up in groups.c
 * where routes are alike. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/graph/dragonfly/groups.h"

#define FAR TAUT_DRAGONFLY_FAR
#define MOST_SPARE ((size_t)32 << 20) /* bytes kept between calls */

struct job {
    const struct taut_dragonfly *d;
    const struct taut_graph *g;
    double *load;    /* [links] */
    double *room;    /* see room_size() */
    double *demand;  /* like d->dist; in 'room' */
    double *moved;   /* [groups * groups] adaptive: goes over other groups */
    double *between; /* [groups * groups] of routes that are alike */
    struct taut_groups groups;
    bool *used;  /* [groups] something is in the rows of its routers */
    bool failed; /* out of memory */
    struct taut_route route;
};

static double *demand_of(const struct job *j, uint32_t r, uint32_t s)
{
    return &j->demand[j->d->dist_first[r] + j->d->member[s]];
}

/* ---- the second step ---- */

static bool leads_to(const struct job *j, uint32_t link, uint32_t x, uint32_t y)
{
    return taut_dragonfly_leads_to(j->d, j->g, link, x, y) &&
           taut_graph_is_up(j->g, link);
}

static void spread(const struct job *j, uint32_t x, uint32_t y, double amount)
{
    const struct taut_dragonfly *d = j->d;
    const struct taut_graph *g = j->g;
    uint32_t n = 0, direct = taut_dragonfly_direct(d, x, y);

    if (direct != TAUT_GRAPH_NONE) {
        j->load[direct] += amount;
        return;
    }
    for (uint32_t i = d->near_first[x]; i < d->near_first[x + 1]; i++)
        n += leads_to(j, d->near[i], x, y);
    for (uint32_t i = d->near_first[x]; i < d->near_first[x + 1]; i++) {
        uint32_t l = d->near[i];
        if (!leads_to(j, l, x, y))
            continue;
        j->load[l] += amount / n;
        if (g->to[l] != y)
            spread(j, g->to[l], y, amount / n);
    }
}

static int spread_all(struct job *j)
{
    const struct taut_dragonfly *d = j->d;

    if (d->mode != TAUT_DRAGONFLY_MINIMAL &&
        taut_groups_spread(&j->groups, j->between, j->moved, j->load,
                           j->demand) < 0)
        return -1;
    if (j->failed) {
        errno = ENOMEM;
        return -1;
    }
    for (uint32_t r = 0; r < j->g->routers; r++) {
        uint32_t k = d->group[r];
        if (!j->used[k])
            continue;
        for (uint32_t i = d->group_first[k]; i < d->group_first[k + 1]; i++) {
            uint32_t s = d->routers[i];
            double amount = *demand_of(j, r, s);
            if (amount > 0 && r != s)
                spread(j, r, s, amount);
        }
    }
    return 0;
}

/* ---- the first step ---- */

/* A route of its own; returns false where there is none. */
static bool add_route(struct job *j, enum taut_dragonfly_mode mode, uint32_t r,
                      uint32_t s, double amount)
{
    struct taut_dragonfly_way way = {mode, 1, TAUT_DRAGONFLY_WHOLE};
    struct taut_route *t = &j->route;

    if (t->link == NULL && taut_route_init(t, j->g) < 0) {
        j->failed = true;
        return false;
    }
    if (taut_dragonfly_route_by(j->d, j->g, &way, r, s, t) < 0)
        return false;
    for (uint32_t i = 0; i < t->entries; i++)
        j->load[t->link[i]] += amount * (t->has_sets ? t->weight[i] : 1);
    return true;
}

/* Hops inside the two groups over a link between them; FAR: closed. */
static uint32_t hops_by(const struct job *j, uint32_t l, uint32_t r, uint32_t s)
{
    uint32_t before = taut_dragonfly_dist(j->d, r, j->g->from[l]);
    uint32_t after = taut_dragonfly_dist(j->d, j->g->to[l], s);

    if (before == FAR || after == FAR || !taut_graph_is_up(j->g, l))
        return FAR;
    return before + after;
}

static double pull(const struct job *j, uint32_t l)
{
    uint32_t c = taut_graph_link(j->g, l);

    return j->g->capacity[c] *
           (j->d->mode == TAUT_DRAGONFLY_MINIMAL ? 1 : j->g->left[c]);
}

/* The fewest hops, and the sum of what pulls at the links that are open: all
 * of them, or with minimal routing those with the fewest hops. */
static double measure(const struct job *j, uint32_t first, uint32_t end,
                      uint32_t r, uint32_t s, uint32_t *most)
{
    const struct taut_dragonfly *d = j->d;
    double sum = 0;

    *most = FAR - 1;
    for (uint32_t i = first; i < end; i++) {
        uint32_t hops = hops_by(j, d->pair[i], r, s);
        if (hops < *most && d->mode == TAUT_DRAGONFLY_MINIMAL) {
            *most = hops;
            sum = 0;
        }
        if (hops <= *most)
            sum += pull(j, d->pair[i]);
    }
    return sum;
}

/* Returns false when no link between the two groups will do. */
static bool add_between(struct job *j, uint32_t r, uint32_t s, double amount)
{
    const struct taut_dragonfly *d = j->d;
    size_t p = (size_t)d->group[r] * d->groups + d->group[s];
    uint32_t first = d->pair_first[p], end = d->pair_first[p + 1], most;
    double sum = measure(j, first, end, r, s, &most);

    for (uint32_t i = first; sum > 0 && i < end; i++) {
        uint32_t l = d->pair[i];
        if (hops_by(j, l, r, s) > most)
            continue;
        double part = amount * pull(j, l) / sum;
        j->load[l] += part;
        *demand_of(j, r, j->g->from[l]) += part;
        *demand_of(j, j->g->to[l], s) += part;
    }
    return sum > 0;
}

/* Over each other router of the group, equally; returns false where there is
 * none. */
static bool add_around_inside(struct job *j, uint32_t r, uint32_t s,
                              double amount)
{
    const struct taut_dragonfly *d = j->d;
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
            *demand_of(j, r, x) += amount / n;
            *demand_of(j, x, s) += amount / n;
        }
    return n > 0;
}

/* As Valiant; returns false without a route. */
static bool add_around(struct job *j, uint32_t r, uint32_t s, double amount)
{
    return (j->d->group[r] == j->d->group[s] &&
            add_around_inside(j, r, s, amount)) ||
           add_route(j, TAUT_DRAGONFLY_VALIANT, r, s, amount);
}

static bool is_alike(const struct job *j, uint32_t a, uint32_t b)
{
    return a != b && taut_dragonfly_is_alike(j->d, j->d->mode, a, b);
}

/* Returns false without a route. */
static bool add_pair(struct job *j, uint32_t r, uint32_t s, double amount)
{
    const struct taut_dragonfly *d = j->d;
    uint32_t a = d->group[r], b = d->group[s];
    double moved = j->moved[(size_t)a * d->groups + b] * amount;

    if (is_alike(j, a, b)) {
        j->between[(size_t)a * d->groups + b] += amount;
        *taut_groups_out(&j->groups, r, b) += amount;
        *taut_groups_in(&j->groups, s, a) += amount;
        return taut_groups_has_way(&j->groups, a, b);
    }
    if (moved > 0 && add_around(j, r, s, moved))
        amount -= moved;
    if (amount <= 0)
        return true;
    if (d->mode == TAUT_DRAGONFLY_VALIANT)
        return add_around(j, r, s, amount);
    if (d->group[r] != d->group[s])
        return add_between(j, r, s, amount) ||
               add_route(j, d->mode, r, s, amount);
    if (taut_dragonfly_dist(d, r, s) == FAR)
        return add_route(j, d->mode, r, s, amount);
    *demand_of(j, r, s) += amount;
    return true;
}

static size_t demand_cells(const struct job *j)
{
    const struct taut_dragonfly *d = j->d;
    uint32_t last = j->g->routers - 1, k = d->group[last];

    return d->dist_first[last] + d->group_first[k + 1] - d->group_first[k];
}

/* 'demand', then what taut_groups_init wants. */
static size_t room_size(const struct job *j)
{
    return demand_cells(j) + 2 * (size_t)j->g->routers * j->d->groups;
}

static double *take_room(const struct job *j)
{
    double *room = atomic_exchange(&j->d->spare->room, NULL);

    return room != NULL ? room : calloc(room_size(j), sizeof(*room));
}

static void clear_room(const struct job *j)
{
    const struct taut_dragonfly *d = j->d;
    size_t row = d->groups * sizeof(double);

    for (uint32_t r = 0; r < j->g->routers; r++) {
        uint32_t a = d->group[r];
        uint32_t n = d->group_first[a + 1] - d->group_first[a];
        if (j->used != NULL && !j->used[a])
            continue;
        memset(&j->demand[d->dist_first[r]], 0, n * sizeof(double));
        if (j->groups.out == NULL)
            continue;
        memset(taut_groups_out(&j->groups, r, 0), 0, row);
        memset(taut_groups_in(&j->groups, r, 0), 0, row);
    }
}

/* Keep it for the next, unless it is large or somebody else's is there. */
static void give_room(const struct job *j)
{
    size_t n = room_size(j);

    if (j->room != NULL && n <= MOST_SPARE / sizeof(*j->room)) {
        clear_room(j);
        free(atomic_exchange(&j->d->spare->room, j->room));
    } else {
        free(j->room);
    }
}

static void job_fini(struct job *j)
{
    give_room(j);
    free(j->used);
    free(j->moved);
    free(j->between);
    taut_groups_fini(&j->groups);
    taut_route_fini(&j->route);
}

/* How much of what goes between groups goes over others.
 *   demand  [groups * groups] */
static int choose(struct job *j, const double *demand)
{
    const struct taut_dragonfly *d = j->d;

    for (uint32_t a = 0; d->mode == TAUT_DRAGONFLY_VALIANT && a < d->groups;
         a++)
        for (uint32_t b = 0; b < d->groups; b++)
            j->moved[(size_t)a * d->groups + b] = a != b;
    return d->mode == TAUT_DRAGONFLY_ADAPTIVE
               ? taut_dragonfly_balance(d, j->g, demand, j->moved)
               : 0;
}

/* Groups that traffic begins or ends in; all of them where some may go over
 * others. */
static void mark_used(struct job *j, const double *demand)
{
    const struct taut_dragonfly *d = j->d;
    bool around = false;

    for (uint32_t a = 0; a < d->groups; a++)
        for (uint32_t b = 0; b < d->groups; b++) {
            size_t p = (size_t)a * d->groups + b;
            if (demand[p] <= 0)
                continue;
            j->used[a] = j->used[b] = true;
            around |= j->moved[p] > 0 ||
                      (a != b && (!is_alike(j, a, b) || !j->groups.is_open[p]));
        }
    for (uint32_t a = 0; around && a < d->groups; a++)
        j->used[a] = true;
}

/* 'demand': what each group sends to each other one. */
static int job_init(struct job *j, const double *demand)
{
    const struct taut_dragonfly *d = j->d;
    size_t pairs = (size_t)d->groups * d->groups;

    j->room = take_room(j);
    j->demand = j->room;
    j->moved = calloc(pairs, sizeof(*j->moved));
    j->between = calloc(pairs, sizeof(*j->between));
    j->used = calloc(d->groups, sizeof(*j->used));
    if (j->room == NULL || j->moved == NULL || j->between == NULL ||
        j->used == NULL ||
        taut_groups_init(&j->groups, d, j->g, j->room + demand_cells(j)) < 0) {
        errno = ENOMEM;
        return -1;
    }
    if (choose(j, demand) < 0)
        return -1;
    mark_used(j, demand);
    return 0;
}

static double *new_between(const struct taut_dragonfly *d)
{
    return calloc((size_t)d->groups * d->groups, sizeof(double));
}

/* ---- products: src[r] * dst[s] ---- */

static int sum_products(const struct taut_dragonfly *d,
                        const struct taut_graph *g, const uint64_t *src,
                        const uint64_t *dst, double *between)
{
    double *in = calloc(2 * (size_t)d->groups, sizeof(*in));
    double *out = in + d->groups;

    if (in == NULL)
        return -1;
    for (uint32_t r = 0; r < g->routers; r++) {
        out[d->group[r]] += (double)src[r];
        in[d->group[r]] += (double)dst[r];
    }
    for (uint32_t a = 0; a < d->groups; a++)
        for (uint32_t b = 0; b < d->groups; b++)
            between[(size_t)a * d->groups + b] = out[a] * in[b];
    free(in);
    return 0;
}

/* Products of two groups, pair by pair. */
static void add_each(struct job *j, struct taut_routers from,
                     struct taut_routers to, const uint64_t *src,
                     const uint64_t *dst, struct taut_lost *lost)
{
    for (uint32_t i = 0; i < from.n; i++) {
        uint32_t r = from.router[i];
        for (uint32_t k = 0; src[r] != 0 && k < to.n; k++) {
            uint32_t s = to.router[k];
            if (r != s && dst[s] != 0 &&
                !add_pair(j, r, s, (double)(src[r] * dst[s])))
                taut_lost_add(lost, r, s, src[r] * dst[s]);
        }
    }
}

/* The same where routes are alike, and there are some. */
static void add_sums(struct job *j, uint32_t a, uint32_t b, const uint64_t *src,
                     const uint64_t *dst)
{
    struct taut_routers from = taut_routers_of(j->d, a);
    struct taut_routers to = taut_routers_of(j->d, b);
    double out = 0, in = 0;

    for (uint32_t i = 0; i < from.n; i++)
        out += (double)src[from.router[i]];
    for (uint32_t k = 0; k < to.n; k++)
        in += (double)dst[to.router[k]];
    if (out <= 0 || in <= 0)
        return;
    j->between[(size_t)a * j->d->groups + b] += out * in;
    for (uint32_t i = 0; i < from.n; i++)
        *taut_groups_out(&j->groups, from.router[i], b) +=
            (double)src[from.router[i]] * in;
    for (uint32_t k = 0; k < to.n; k++)
        *taut_groups_in(&j->groups, to.router[k], a) +=
            (double)dst[to.router[k]] * out;
}

/* 'demand': of sum_products(); most groups have none where the nodes are few.
 */
static int add_products(struct job *j, const uint64_t *src, const uint64_t *dst,
                        const double *demand, struct taut_lost *lost)
{
    const struct taut_dragonfly *d = j->d;

    for (uint32_t a = 0; a < d->groups; a++)
        for (uint32_t b = 0; b < d->groups; b++)
            if (demand[(size_t)a * d->groups + b] <= 0)
                continue;
            else if (is_alike(j, a, b) && taut_groups_has_way(&j->groups, a, b))
                add_sums(j, a, b, src, dst);
            else
                add_each(j, taut_routers_of(d, a), taut_routers_of(d, b), src,
                         dst, lost);
    return spread_all(j);
}

int taut_dragonfly_loads(const void *self, const struct taut_graph *g,
                         const uint64_t *src, const uint64_t *dst, double *load,
                         struct taut_lost *lost)
{
    struct job j = {.d = self, .g = g, .load = load};
    double *between = new_between(j.d);
    int rc = -1;

    if (between != NULL && sum_products(j.d, g, src, dst, between) == 0 &&
        job_init(&j, between) == 0)
        rc = add_products(&j, src, dst, between, lost);
    job_fini(&j);
    free(between);
    return rc;
}

/* ---- pairs ---- */

int taut_dragonfly_pair_loads(const void *self, const struct taut_graph *g,
                              size_t n, const struct taut_flow_pair *pair,
                              double *load, bool *lost)
{
    const struct taut_dragonfly *d = self;
    struct job j = {.d = d, .g = g, .load = load};
    double *between = new_between(d);
    int rc = -1;

    for (size_t i = 0; between != NULL && i < n; i++)
        between[(size_t)d->group[pair[i].from] * d->groups +
                d->group[pair[i].to]] += pair[i].amount;
    if (between != NULL && job_init(&j, between) == 0) {
        for (size_t i = 0; i < n; i++)
            lost[i] = pair[i].from != pair[i].to &&
                      !add_pair(&j, pair[i].from, pair[i].to, pair[i].amount);
        rc = spread_all(&j);
    }
    job_fini(&j);
    free(between);
    return rc;
}
