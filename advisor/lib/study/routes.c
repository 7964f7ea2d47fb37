/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The routes of the graph's own engine: torus, tree, tables.  They follow the
 * graph's health; the overlay says what capacity is left. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/study/chance.h"
#include "advisor/lib/study/study.h"

#define STRETCHES 32 /* stages with a choice that are told apart */

struct routes {
    const struct taut_study *s;
    const struct taut_overlay *o;
    struct taut_route route;
    double *load; /* [links] bytes */
    double *use;  /* [links] seconds */
};

/* First and last entry of stage i. */
static uint32_t stage_first(const struct taut_route *t, uint32_t i)
{
    return !t->has_sets ? i : i > 0 ? t->end[i - 1] : 0;
}

static uint32_t stage_end(const struct taut_route *t, uint32_t i)
{
    return t->has_sets ? t->end[i] : i + 1;
}

static double part(const struct taut_route *t, uint32_t e)
{
    return t->has_sets ? t->weight[e] : 1;
}

/* Does the route cross only what has something left? */
static bool carries(const struct routes *w)
{
    for (uint32_t e = 0; e < w->route.entries; e++)
        if (part(&w->route, e) > 0 && w->o->left[w->route.link[e]] <= 0)
            return false;
    return true;
}

/* Returns 1 with the pair's route, 0 where there is none, or -1. */
static int find(struct routes *w, const struct taut_demand_pair *p)
{
    const struct taut_graph *g = w->s->g;
    uint32_t from = p->from, to = p->to, dst = TAUT_GRAPH_NONE;

    if (w->s->by_node) {
        dst = to;
        from = g->at[from];
        to = g->at[to];
        if (from == TAUT_GRAPH_NONE || to == TAUT_GRAPH_NONE)
            return 0;
    }
    int rc = taut_graph_route(g, from, to, dst, &w->route);
    if (rc == TAUT_ROUTE_NO_MEMORY) {
        errno = ENOMEM;
        return -1;
    }
    return rc == 0 && carries(w);
}

static int fill(struct routes *w, const struct taut_demand *d)
{
    const struct taut_graph *g = w->s->g;

    for (size_t i = 0; i < d->n; i++) {
        int found = find(w, &d->pair[i]);
        if (found < 0)
            return -1;
        for (uint32_t e = 0; found > 0 && e < w->route.entries; e++)
            w->load[w->route.link[e]] += d->pair[i].bytes * part(&w->route, e);
    }
    for (uint32_t l = 0; l < g->links; l++)
        if (w->o->left[l] > 0)
            w->use[l] = w->load[l] /
                        (g->capacity[taut_graph_link(g, l)] * w->o->left[l]);
    return 0;
}

/* Every choice of a link in each stage is made by itself; what crosses none
 * of a stage's links meets nothing there. */
static void stage_chances(const struct routes *w, uint32_t i,
                          struct taut_chance *c)
{
    const struct taut_route *t = &w->route;
    double rest = 1;

    c->n = 0;
    for (uint32_t e = stage_first(t, i); e < stage_end(t, i); e++) {
        taut_chance_put(c, w->use[t->link[e]], part(t, e));
        rest -= part(t, e);
    }
    if (rest > 1e-9)
        taut_chance_put(c, 0, rest);
    taut_chance_sort(c);
}

static void meet_pair(struct routes *w, const struct taut_demand_pair *p,
                      struct taut_chance *chance, struct taut_meet *meet)
{
    const struct taut_chance *all[STRETCHES];
    const struct taut_route *t = &w->route;
    double sure = 0;
    uint32_t n = 1;

    for (uint32_t i = 0; i < STRETCHES; i++)
        all[i] = &chance[i];
    chance[0].n = 0;
    for (uint32_t i = 0; i < t->stages; i++) {
        uint32_t e = stage_first(t, i);
        if (taut_route_is_sure(t, i) || n == STRETCHES)
            sure = w->use[t->link[e]] > sure ? w->use[t->link[e]] : sure;
        else
            stage_chances(w, i, &chance[n++]);
    }
    taut_chance_put(&chance[0], sure, 1);
    for (uint32_t e = 0; e < t->entries; e++)
        meet->out->hops += p->bytes * part(t, e);
    meet->out->direct += p->bytes;
    taut_meet_add(meet, p, taut_chance_of_most(all, n),
                  taut_chance_most(all, n));
}

static int sum_up(struct routes *w, const struct taut_demand *d,
                  struct taut_chance *chance, struct taut_meet *meet)
{
    struct taut_study_result *out = meet->out;
    const struct taut_graph *g = w->s->g;
    size_t links = 0;

    for (size_t i = 0; i < d->n; i++) {
        int found = find(w, &d->pair[i]);
        if (found < 0)
            return -1;
        if (found > 0)
            meet_pair(w, &d->pair[i], chance, meet);
        else
            taut_meet_lose(meet, &d->pair[i]);
    }
    for (uint32_t l = 0; l < g->links; l++)
        if (w->o->left[l] > 0) {
            out->link_mean_s += w->use[l];
            out->link_s = w->use[l] > out->link_s ? w->use[l] : out->link_s;
            links++;
        }
    out->link_mean_s = links > 0 ? out->link_mean_s / (double)links : 0;
    out->direct = meet->bytes > 0 ? out->direct / meet->bytes : 1;
    out->hops = meet->bytes > 0 ? out->hops / meet->bytes : 0;
    return 0;
}

static int solve(struct routes *w, const struct taut_demand *d,
                 struct taut_meet *meet)
{
    uint32_t most = w->s->g->max_entries + TAUT_ROUTE_SLACK + 1;
    struct taut_chance chance[STRETCHES];

    if (taut_chance_init(chance, STRETCHES, most) < 0)
        return -1;
    int rc = fill(w, d);
    if (rc == 0)
        rc = sum_up(w, d, chance, meet);
    taut_chance_fini(chance, STRETCHES);
    return rc;
}

int taut_study_solve_routes(const struct taut_study *s,
                            const struct taut_overlay *o,
                            const struct taut_demand *d,
                            const struct taut_study_rules *rules, double *load,
                            struct taut_meet *meet)
{
    struct routes w = {.s = s, .o = o};
    size_t n = s->g->links;
    int rc = -1;

    (void)rules;
    w.load = calloc(2 * n + 1, sizeof(*w.load));
    if (w.load != NULL && taut_route_init(&w.route, s->g) == 0) {
        w.use = w.load + n;
        rc = solve(&w, d, meet);
    }
    if (rc == 0 && load != NULL)
        memcpy(load, w.load, n * sizeof(*load));
    taut_route_fini(&w.route);
    free(w.load);
    return rc;
}
