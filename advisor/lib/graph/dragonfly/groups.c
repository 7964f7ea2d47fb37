/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "advisor/lib/graph/dragonfly/groups.h"

static size_t cell(const struct taut_groups *x, uint32_t a, uint32_t b)
{
    return (size_t)a * x->d->groups + b;
}

void taut_groups_fini(struct taut_groups *x)
{
    taut_arena_free(&x->memory);
    *x = (struct taut_groups){0};
}

/* Links of a pair of groups share its traffic by what is left of them. */
static void share_out(struct taut_groups *x, size_t p)
{
    const struct taut_dragonfly *d = x->d;
    double sum = 0;

    for (uint32_t i = d->pair_first[p]; i < d->pair_first[p + 1]; i++) {
        uint32_t c = taut_graph_link(x->g, d->pair[i]);
        x->share[i] = x->g->capacity[c] * x->g->left[c];
        sum += x->share[i];
    }
    x->is_open[p] = sum > 0;
    for (uint32_t i = d->pair_first[p]; sum > 0 && i < d->pair_first[p + 1];
         i++)
        x->share[i] /= sum;
}

int taut_groups_init(struct taut_groups *x, const struct taut_dragonfly *d,
                     const struct taut_graph *g, double *room)
{
    size_t pairs = (size_t)d->groups * d->groups;
    size_t ends = (size_t)g->routers * d->groups;

    *x = (struct taut_groups){.d = d, .g = g, .out = room, .in = room + ends};
    TAUT_TAKE(&x->memory, x->share, (size_t)d->pair_first[pairs] + 1);
    TAUT_TAKE(&x->memory, x->is_open, pairs);
    TAUT_TAKE(&x->memory, x->detour, pairs);
    TAUT_TAKE(&x->memory, x->shut, pairs);
    if (taut_arena_check(&x->memory) < 0)
        return -1;
    x->is_well = true;
    for (uint32_t a = 0; a < d->groups; a++)
        for (uint32_t b = 0; b < d->groups; b++) {
            share_out(x, cell(x, a, b));
            if (a != b && !x->is_open[cell(x, a, b)])
                x->shut[x->n_shut++] = (uint32_t)cell(x, a, b);
            x->is_well &= d->is_whole[a];
        }
    x->is_well &= x->n_shut == 0;
    return 0;
}

/* Can traffic from a to b go over k? */
static bool is_way(const struct taut_groups *x, uint32_t a, uint32_t k,
                   uint32_t b)
{
    return k != a && k != b && x->d->is_whole[k] && x->is_open[cell(x, a, k)] &&
           x->is_open[cell(x, k, b)];
}

static uint32_t count_ways(const struct taut_groups *x, uint32_t a, uint32_t b)
{
    uint32_t n = 0;

    if (x->is_well)
        return a == b ? 0 : x->d->groups - 2;
    for (uint32_t k = 0; k < x->d->groups; k++)
        n += is_way(x, a, k, b);
    return n;
}

bool taut_groups_has_way(const struct taut_groups *x, uint32_t a, uint32_t b)
{
    return x->is_open[cell(x, a, b)] || count_ways(x, a, b) > 0;
}

/* ---- laying it on the links ---- */

struct laying {
    const struct taut_groups *x;
    const double *between;
    double *load;
    double *demand;
    double *row; /* [groups] scratch */
    double *at;  /* [groups] by member router: scratch of transit */
};

static double *demand_of(const struct laying *y, uint32_t r, uint32_t s)
{
    const struct taut_dragonfly *d = y->x->d;

    return &y->demand[d->dist_first[r] + d->member[s]];
}

/* 'amount' from router r of group a through the links to group b. */
static void leave(const struct laying *y, uint32_t r, uint32_t a, uint32_t b,
                  double amount)
{
    const struct taut_dragonfly *d = y->x->d;
    size_t p = cell(y->x, a, b);

    for (uint32_t i = d->pair_first[p]; i < d->pair_first[p + 1]; i++) {
        double part = amount * y->x->share[i];
        y->load[d->pair[i]] += part;
        *demand_of(y, r, y->x->g->from[d->pair[i]]) += part;
    }
}

/* The same on from the links to router s; the links themselves were seen to
 * where it left, or are with 'too'. */
static void arrive(const struct laying *y, uint32_t s, uint32_t a, uint32_t b,
                   double amount, bool too)
{
    const struct taut_dragonfly *d = y->x->d;
    size_t p = cell(y->x, a, b);

    for (uint32_t i = d->pair_first[p]; i < d->pair_first[p + 1]; i++) {
        double part = amount * y->x->share[i];
        *demand_of(y, y->x->g->to[d->pair[i]], s) += part;
        if (too)
            y->load[d->pair[i]] += part;
    }
}

/* What goes straight from a to b: a share of it all. */
static void lay_direct(const struct laying *y, uint32_t a, uint32_t b,
                       double share)
{
    const struct taut_dragonfly *d = y->x->d;

    for (uint32_t i = d->group_first[a]; i < d->group_first[a + 1]; i++) {
        uint32_t r = d->routers[i];
        double amount = *taut_groups_out(y->x, r, b) * share;
        if (amount > 0)
            leave(y, r, a, b, amount);
    }
    for (uint32_t i = d->group_first[b]; i < d->group_first[b + 1]; i++) {
        uint32_t s = d->routers[i];
        double amount = *taut_groups_in(y->x, s, a) * share;
        if (amount > 0)
            arrive(y, s, a, b, amount, false);
    }
}

/* Of a router's traffic with group b, what[b] times each[b * stride] goes
 * over each group that will do. */
struct over {
    uint32_t mine; /* the router's group */
    const double *what, *each;
    size_t stride;
    bool outward; /* else the router gets it */
};

static double amount_of(const struct over *o, uint32_t b)
{
    return o->what[b] * o->each[b * o->stride];
}

/* Take away what has no way over k from it on, or to it. */
static void drop_shut(const struct laying *y, const struct over *o)
{
    const struct taut_groups *x = y->x;
    uint32_t n = x->d->groups;

    for (uint32_t i = 0; i < x->n_shut; i++) {
        uint32_t from = x->shut[i] / n, to = x->shut[i] % n;
        if (o->outward)
            y->row[from] -= amount_of(o, to);
        else
            y->row[to] -= amount_of(o, from);
    }
    for (uint32_t k = 0; k < n; k++) {
        size_t p = o->outward ? cell(x, o->mine, k) : cell(x, k, o->mine);
        if (!x->d->is_whole[k] || !x->is_open[p])
            y->row[k] = 0;
    }
}

/* y->row[k] = what of it goes over group k: all but what is for k.  Returns
 * false when nothing. */
static bool sum_over(const struct laying *y, const struct over *o)
{
    uint32_t n = y->x->d->groups;
    double sum = 0;

    for (uint32_t b = 0; b < n; b++)
        sum += amount_of(o, b);
    for (uint32_t k = 0; sum > 0 && k < n; k++)
        y->row[k] = k != o->mine ? sum - amount_of(o, k) : 0;
    if (sum > 0 && !y->x->is_well)
        drop_shut(y, o);
    return sum > 0;
}

/* First and last groups of what goes over others. */
static void lay_ends(const struct laying *y, uint32_t r)
{
    const struct taut_groups *x = y->x;
    uint32_t n = x->d->groups, mine = x->d->group[r];
    struct over out = {mine, &x->out[(size_t)r * n],
                       &x->detour[(size_t)mine * n], 1, true};
    struct over in = {mine, &x->in[(size_t)r * n], &x->detour[mine], n, false};

    if (sum_over(y, &out))
        for (uint32_t k = 0; k < n; k++)
            if (y->row[k] > 0)
                leave(y, r, mine, k, y->row[k]);
    if (sum_over(y, &in))
        for (uint32_t k = 0; k < n; k++)
            if (y->row[k] > 0)
                arrive(y, r, k, mine, y->row[k], true);
}

/* What comes from group a to group k by the links of one router there, and
 * goes on: y->at[router][b]. */
static void transit_from(const struct laying *y, uint32_t a, uint32_t k)
{
    const struct taut_groups *x = y->x;
    const struct taut_dragonfly *d = x->d;
    size_t p = cell(x, a, k);
    uint32_t n = d->groups;

    for (uint32_t b = 0; b < n; b++)
        y->row[b] = b != k && (x->is_well || is_way(x, a, k, b))
                        ? x->detour[cell(x, a, b)] * y->between[cell(x, a, b)]
                        : 0;
    for (uint32_t i = d->pair_first[p]; i < d->pair_first[p + 1]; i++) {
        double *at = &y->at[(size_t)d->member[x->g->to[d->pair[i]]] * n];
        double share = x->share[i];
        for (uint32_t b = 0; b < n; b++)
            at[b] += share * y->row[b];
    }
}

/* Inside group k, from the links it comes by to those it leaves by. */
static void transit(const struct laying *y, uint32_t k, const bool *has_detour)
{
    const struct taut_groups *x = y->x;
    const struct taut_dragonfly *d = x->d;
    uint32_t n = d->groups;
    uint32_t members = d->group_first[k + 1] - d->group_first[k];
    bool any = false;

    memset(y->at, 0, (size_t)members * n * sizeof(*y->at));
    for (uint32_t a = 0; a < n; a++)
        if (has_detour[a] && a != k && x->is_open[cell(x, a, k)]) {
            transit_from(y, a, k);
            any = true;
        }
    for (uint32_t i = 0; any && i < members; i++) {
        uint32_t r = d->routers[d->group_first[k] + i];
        const double *at = &y->at[(size_t)d->member[r] * n];
        for (uint32_t b = 0; b < n; b++) {
            size_t p = cell(x, k, b);
            for (uint32_t j = d->pair_first[p];
                 at[b] > 0 && j < d->pair_first[p + 1]; j++)
                *demand_of(y, r, x->g->from[d->pair[j]]) += at[b] * x->share[j];
        }
    }
}

static uint32_t largest_group(const struct taut_dragonfly *d)
{
    uint32_t most = 0;

    for (uint32_t a = 0; a < d->groups; a++) {
        uint32_t n = d->group_first[a + 1] - d->group_first[a];
        most = n > most ? n : most;
    }
    return most;
}

static int lay_around(struct laying *y, const bool *has_detour)
{
    const struct taut_dragonfly *d = y->x->d;

    y->row = calloc(d->groups, sizeof(*y->row));
    y->at = calloc((size_t)largest_group(d) * d->groups, sizeof(*y->at));
    if (y->row != NULL && y->at != NULL) {
        for (uint32_t r = 0; r < y->x->g->routers; r++)
            lay_ends(y, r);
        for (uint32_t k = 0; k < d->groups; k++)
            if (d->is_whole[k])
                transit(y, k, has_detour);
    }
    int rc = y->row != NULL && y->at != NULL ? 0 : -1;
    free(y->row);
    free(y->at);
    return rc;
}

int taut_groups_spread(struct taut_groups *x, const double *between,
                       const double *moved, double *load, double *demand)
{
    struct laying y = {
        .x = x, .between = between, .load = load, .demand = demand};
    uint32_t n = x->d->groups;
    bool *has_detour = calloc(n, sizeof(*has_detour));
    bool any = false;

    if (has_detour == NULL)
        return -1;
    for (uint32_t a = 0; a < n; a++)
        for (uint32_t b = 0; b < n; b++) {
            size_t p = cell(x, a, b);
            bool open = x->is_open[p];
            uint32_t ways = 0;
            if (between[p] <= 0)
                continue;
            double share = open ? moved[p] : 1;
            if (share > 0)
                ways = count_ways(x, a, b);
            if (ways == 0)
                share = 0; /* straight, if at all */
            else
                x->detour[p] = share / ways;
            has_detour[a] |= share > 0;
            any |= share > 0;
            if (open && share < 1)
                lay_direct(&y, a, b, 1 - share);
        }
    int rc = any ? lay_around(&y, has_detour) : 0;
    free(has_detour);
    return rc;
}
