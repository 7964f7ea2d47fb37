/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A dragonfly with its routers: the equilibrium. */
#include <config.h>

#include <math.h>
#include <string.h>

#include "advisor/lib/study/gates.h"

#define SELDOM 5 /* rounds between two in which all is added up */

/* ---- inside a group ---- */

static uint32_t standing_link(const struct taut_gate_work *w, uint32_t r,
                              uint32_t member)
{
    uint32_t l = w->s->gates->direct[(size_t)r * w->most + member];

    return l != TAUT_GRAPH_NONE && w->o->left[l] > 0 ? l : TAUT_GRAPH_NONE;
}

/* Both links from r over its group's k-th member to m; false: no way. */
static bool over(const struct taut_gate_work *w, uint32_t r, uint32_t k,
                 uint32_t m, uint32_t link[2])
{
    uint32_t via = w->s->gates->router[(size_t)w->s->group[r] * w->most + k];

    link[0] = standing_link(w, r, k);
    link[1] =
        link[0] != TAUT_GRAPH_NONE ? standing_link(w, via, m) : TAUT_GRAPH_NONE;
    return link[1] != TAUT_GRAPH_NONE;
}

/* The n-th way from r over a member of its group to m: those that the wiring
 * has, or, where a direct link has failed, any.  Returns 1 with the links; 0
 * where it does not stand, -1 where there are no more. */
static int way(const struct taut_gate_work *w, uint32_t r, uint32_t m,
               uint32_t n, uint32_t link[2])
{
    const struct taut_gateways *t = w->s->gates;
    size_t at = (size_t)r * w->most + m;

    if (t->direct[at] != TAUT_GRAPH_NONE)
        return n < w->most ? over(w, r, n, m, link) : -1;
    if (n >= t->via_first[at + 1] - t->via_first[at])
        return -1;
    return over(w, r, t->via[t->via_first[at] + n], m, link);
}

static double mean_over(const struct taut_gate_work *w, uint32_t r, uint32_t m,
                        const double *value, bool most)
{
    double sum = 0;
    uint32_t link[2], ways = 0;
    int stands;

    for (uint32_t n = 0; (stands = way(w, r, m, n, link)) >= 0; n++)
        if (stands) {
            double a = value[link[0]], b = value[link[1]];
            sum += most ? fmax(a, b) : a + b;
            ways++;
        }
    return ways > 0 ? sum / ways : INFINITY;
}

void taut_gate_inside(const struct taut_gate_work *w, const double *value,
                      bool most, double *out)
{
    const struct taut_gateways *t = w->s->gates;

    for (uint32_t r = 0; r < w->routers; r++)
        for (uint32_t m = 0; m < w->most; m++) {
            size_t at = (size_t)r * w->most + m;
            uint32_t l = standing_link(w, r, m);
            if (l != TAUT_GRAPH_NONE)
                out[at] = value[l];
            else if (m == t->member[r] ||
                     t->router[(size_t)w->s->group[r] * w->most + m] ==
                         TAUT_GRAPH_NONE)
                out[at] = 0;
            else
                out[at] = mean_over(w, r, m, value, most);
        }
}

static void carry_over(struct taut_gate_work *w, uint32_t r, uint32_t m,
                       double bytes)
{
    uint32_t link[2], ways = 0;
    int stands;

    for (uint32_t n = 0; (stands = way(w, r, m, n, link)) >= 0; n++)
        ways += stands > 0;
    for (uint32_t n = 0; (stands = way(w, r, m, n, link)) >= 0; n++)
        if (stands) {
            w->load[link[0]] += bytes / ways;
            w->load[link[1]] += bytes / ways;
        }
}

void taut_gate_carry(struct taut_gate_work *w)
{
    const struct taut_gateways *t = w->s->gates;

    for (uint32_t r = 0; r < w->routers; r++)
        for (uint32_t m = 0; m < w->most; m++) {
            uint32_t to = taut_gate_router(t, w->s->group[r], m);
            double bytes = w->moved[(size_t)r * w->most + m];
            if (to == TAUT_GRAPH_NONE || to == r)
                continue;
            bytes += w->crossing[(size_t)r * w->most + m] +
                     w->brought[(size_t)to * w->most + t->member[r]];
            uint32_t l = standing_link(w, r, m);
            if (l != TAUT_GRAPH_NONE)
                w->load[l] += bytes;
            else if (bytes > 0)
                carry_over(w, r, m, bytes);
        }
}

/* ---- loads with the present shares ---- */

/* From each router to its gates. */
static void leave(struct taut_gate_work *w)
{
    const struct taut_gateways *t = w->s->gates;

    for (uint32_t i = 0; i < w->rows; i++) {
        const struct taut_gate_row *row = &w->row[i];
        struct taut_gate_pair *p = &w->pair[row->pair];
        double *moved = w->moved + (size_t)row->router * w->most;
        double bytes = row->bytes * row->x, round = row->bytes - bytes;
        uint32_t end = taut_gate_end(w->s, p->from, p->to);
        for (uint32_t k = taut_gate_begin(w->s, p->from, p->to); k < end; k++)
            moved[t->gate_from[k]] += bytes * w->share[k];
        for (uint32_t m = 0; m < w->most; m++)
            moved[m] += round * p->first[m];
        p->direct += bytes;
        p->round += round;
    }
}

/* To each router from its gates; and what leaves no group. */
static void arrive(struct taut_gate_work *w)
{
    const struct taut_gateways *t = w->s->gates;

    for (size_t i = 0; i < w->d->n; i++) {
        const struct taut_demand_pair *p = &w->d->pair[i];
        if (w->row_of[i] == TAUT_GRAPH_NONE) {
            w->crossing[(size_t)p->from * w->most + t->member[p->to]] +=
                p->bytes;
            continue;
        }
        double x = w->row[w->row_of[i]].x;
        w->col[w->col_of[i]].direct += x * p->bytes;
        w->col[w->col_of[i]].round += (1 - x) * p->bytes;
    }
    for (uint32_t i = 0; i < w->cols; i++) {
        const struct taut_gate_col *col = &w->col[i];
        const struct taut_gate_pair *p = &w->pair[col->pair];
        double *brought = w->brought + (size_t)col->router * w->most;
        uint32_t end = taut_gate_end(w->s, p->from, p->to);
        for (uint32_t k = taut_gate_begin(w->s, p->from, p->to); k < end; k++)
            brought[t->gate_to[k]] += col->direct * w->share[k];
        for (uint32_t m = 0; m < w->most; m++)
            brought[m] += col->round * p->last[m];
    }
}

/* Through the group k of one pair, from gate to gate. */
static void through_group(struct taut_gate_work *w,
                          const struct taut_gate_pair *p, uint32_t k)
{
    const struct taut_gateways *t = w->s->gates;
    double bytes = p->round * p->weight[k];

    for (uint32_t a = taut_gate_begin(w->s, p->from, k);
         a < taut_gate_end(w->s, p->from, k); a++) {
        uint32_t at = taut_gate_router(t, k, t->gate_to[a]);
        double *moved = w->crossing + (size_t)at * w->most;
        for (uint32_t b = taut_gate_begin(w->s, k, p->to);
             b < taut_gate_end(w->s, k, p->to); b++)
            moved[t->gate_from[b]] += bytes * w->share[a] * w->share[b];
    }
}

/* Between groups, and where 'is_full' inside those between. */
static void cross(struct taut_gate_work *w, bool is_full)
{
    for (uint32_t i = 0; i < w->pairs; i++) {
        const struct taut_gate_pair *p = &w->pair[i];
        w->between[(size_t)p->from * w->n + p->to] += p->direct;
        for (uint32_t k = 0; p->round > 0 && k < w->n; k++) {
            double bytes = p->round * p->weight[k];
            w->between[(size_t)p->from * w->n + k] += bytes;
            w->between[(size_t)k * w->n + p->to] += bytes;
            if (is_full && bytes > 0)
                through_group(w, p, k);
        }
    }
}

static void over_gates(struct taut_gate_work *w)
{
    const struct taut_gateways *t = w->s->gates;

    for (size_t p = 0; p < (size_t)w->n * w->n; p++)
        for (uint32_t i = t->gate_first[p]; i < t->gate_first[p + 1]; i++)
            w->load[t->gate[i]] = w->between[p] * w->share[i];
}

static void clear(struct taut_gate_work *w, bool is_full)
{
    size_t rm = (size_t)w->routers * w->most;

    memset(w->moved, 0, (is_full ? 3 : 1) * rm * sizeof(double));
    memset(w->between, 0, (size_t)w->n * w->n * sizeof(double));
    memset(w->load, 0, w->links * sizeof(double));
    for (uint32_t i = 0; i < w->pairs; i++)
        w->pair[i].direct = w->pair[i].round = 0;
    for (uint32_t i = 0; i < w->cols; i++)
        w->col[i].direct = w->col[i].round = 0;
}

/* 'is_full': also what happens inside groups after the first link between
 * groups, which else stays as it was some rounds before. */
static void fill(struct taut_gate_work *w, bool is_full)
{
    const struct taut_graph *g = w->s->g;

    clear(w, is_full);
    leave(w);
    if (is_full)
        arrive(w);
    cross(w, is_full);
    over_gates(w);
    taut_gate_carry(w);
    for (uint32_t l = 0; l < w->links; l++)
        w->use[l] = w->o->left[l] > 0
                        ? w->load[l] / (g->capacity[taut_graph_link(g, l)] *
                                        w->o->left[l])
                        : 0;
}

/* ---- choices ---- */

/* Cost of the ways inside groups, of the links between each two groups, and of
 * those on each pair's ways round. */
static void price(struct taut_gate_work *w)
{
    const struct taut_gateways *t = w->s->gates;

    for (uint32_t l = 0; l < w->links; l++)
        w->cost[l] = taut_study_cost(w->rules, w->use[l]);
    taut_gate_inside(w, w->cost, false, w->inside);
    for (size_t p = 0; p < (size_t)w->n * w->n; p++) {
        w->between[p] = 0;
        for (uint32_t i = t->gate_first[p]; i < t->gate_first[p + 1]; i++)
            w->between[p] += w->share[i] * w->cost[t->gate[i]];
    }
    for (uint32_t i = 0; i < w->pairs; i++) {
        struct taut_gate_pair *p = &w->pair[i];
        p->cost = 0;
        for (uint32_t k = 0; k < w->n; k++)
            p->cost += p->weight[k] * (w->between[(size_t)p->from * w->n + k] +
                                       w->between[(size_t)k * w->n + p->to]);
    }
}

static void shift(struct taut_gate_work *w, double step)
{
    const struct taut_gateways *t = w->s->gates;

    for (uint32_t i = 0; i < w->rows; i++) {
        struct taut_gate_row *row = &w->row[i];
        const struct taut_gate_pair *p = &w->pair[row->pair];
        const double *inside = w->inside + (size_t)row->router * w->most;
        double direct = w->between[(size_t)p->from * w->n + p->to];
        double round = p->cost;
        if (!p->has_direct || !p->has_other)
            continue;
        for (uint32_t k = taut_gate_begin(w->s, p->from, p->to);
             k < taut_gate_end(w->s, p->from, p->to); k++)
            direct += w->share[k] * inside[t->gate_from[k]];
        for (uint32_t m = 0; m < w->most; m++)
            round += p->first[m] * inside[m];
        row->x = taut_study_shift(row->x, direct, round, step);
    }
}

int taut_study_solve_gates(const struct taut_study *s,
                           const struct taut_overlay *o,
                           const struct taut_demand *d,
                           const struct taut_study_rules *rules, double *load,
                           struct taut_meet *meet)
{
    struct taut_gate_work w;
    int rc = taut_gate_work_init(&w, s, o, d);

    w.rules = rules;
    for (unsigned i = 0; rc == 0 && i < rules->rounds; i++) {
        fill(&w, i % SELDOM == 0);
        price(&w);
        shift(&w, rules->step / (1 + rules->slowing * i));
    }
    if (rc == 0) {
        fill(&w, true);
        rc = taut_gate_meet(&w, meet);
        if (load != NULL)
            memcpy(load, w.load, w.links * sizeof(*load));
    }
    taut_gate_work_fini(&w);
    return rc;
}
