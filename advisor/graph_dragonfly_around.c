/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <stdlib.h>

#include "advisor/graph_dragonfly_around.h"

#define VALIANT TAUT_DRAGONFLY_VALIANT

static size_t cell(const struct taut_dragonfly *d, uint32_t i, uint32_t group)
{
    return (size_t)i * d->groups + group;
}

bool taut_around_init(struct taut_around *a, const struct taut_dragonfly *d,
                      const struct taut_graph *g)
{
    size_t pairs = (size_t)d->groups * d->groups;
    size_t ends = (size_t)g->routers * d->groups;

    *a = (struct taut_around){.between = calloc(pairs, sizeof(*a->between)),
                              .first = calloc(ends, sizeof(*a->first)),
                              .last = calloc(ends, sizeof(*a->last)),
                              .is = calloc(pairs, sizeof(*a->is))};
    if (a->between != NULL && a->first != NULL && a->last != NULL &&
        a->is != NULL)
        return true;
    taut_around_fini(a);
    return false;
}

void taut_around_fini(struct taut_around *a)
{
    free(a->between);
    free(a->first);
    free(a->last);
    free(a->is);
    *a = (struct taut_around){0};
}

int taut_around_add(struct taut_around *a, const struct taut_dragonfly *d,
                    const struct taut_graph *g, uint32_t r, uint32_t s,
                    double amount, struct taut_route *t)
{
    uint32_t from = d->group[r], to = d->group[s];
    struct taut_dragonfly_way way = {VALIANT, 1, 0};

    if (a->is == NULL || !taut_dragonfly_is_alike(d, VALIANT, from, to))
        return 1;
    signed char *is = &a->is[cell(d, from, to)];
    if (*is == 0)
        *is = taut_dragonfly_route_by(d, g, &way, r, s, t) < 0 ? -1 : 1;
    if (*is < 0)
        return -1;
    a->between[cell(d, from, to)] += amount;
    a->first[cell(d, r, to)] += amount;
    a->last[cell(d, s, from)] += amount;
    return 0;
}

struct spreading {
    const struct taut_dragonfly *d;
    const struct taut_graph *g;
    double *load;
    struct taut_route *t;
};

static void lay(const struct spreading *p, unsigned legs, uint32_t r,
                uint32_t s, double amount)
{
    struct taut_dragonfly_way way = {VALIANT, 1, legs};
    const struct taut_route *t = p->t;

    if (amount <= 0 ||
        taut_dragonfly_route_by(p->d, p->g, &way, r, s, p->t) < 0)
        return;
    for (uint32_t i = 0; i < t->entries; i++)
        p->load[t->link[i]] += amount * (t->has_sets ? t->weight[i] : 1);
}

void taut_around_spread(const struct taut_around *a,
                        const struct taut_dragonfly *d,
                        const struct taut_graph *g, double *load,
                        struct taut_route *t)
{
    struct spreading p = {d, g, load, t};

    for (uint32_t from = 0; a->is != NULL && from < d->groups; from++)
        for (uint32_t to = 0; to < d->groups; to++) {
            if (a->between[cell(d, from, to)] <= 0)
                continue;
            const uint32_t *r = &d->routers[d->group_first[from]];
            const uint32_t *s = &d->routers[d->group_first[to]];
            uint32_t n = d->group_first[from + 1] - d->group_first[from];
            uint32_t m = d->group_first[to + 1] - d->group_first[to];
            lay(&p, TAUT_DRAGONFLY_BETWEEN, *r, *s,
                a->between[cell(d, from, to)]);
            for (uint32_t i = 0; i < n; i++)
                lay(&p, TAUT_DRAGONFLY_FIRST, r[i], *s,
                    a->first[cell(d, r[i], to)]);
            for (uint32_t i = 0; i < m; i++)
                lay(&p, TAUT_DRAGONFLY_LAST, *r, s[i],
                    a->last[cell(d, s[i], from)]);
        }
}
