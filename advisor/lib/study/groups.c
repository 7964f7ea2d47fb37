/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A dragonfly seen as its groups. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "advisor/lib/study/study.h"

struct groups {
    uint32_t n;
    const struct taut_demand *d;
    const struct taut_study_rules *rules;
    double *capacity; /* [n * n] bytes/s between two groups */
    double *stand;    /* [n * n] cables that stand */
    double *arriving; /* [n * n] the same, [to][from] */
    double *load;     /* [n * n] bytes */
    double *second;   /* [n * n] bytes of second hops, [to][from] */
    double *use;      /* [n * n] seconds */
    double *used;     /* [n * n] seconds, [to][from] */
    double *cost;     /* [n * n] */
    double *costs;    /* [n * n] [to][from] */
    double *weight;   /* [n] of the groups between, for one pair */
    double *x;        /* [pairs] share that goes direct */
    double *total;    /* [pairs] sum of the weights of the groups between */
};

#define MATRICES 9

static int init(struct groups *w, const struct taut_study *s,
                const struct taut_demand *d)
{
    size_t nn = (size_t)s->groups * s->groups;

    memset(w, 0, sizeof(*w));
    w->n = s->groups;
    w->d = d;
    w->capacity = calloc(nn * MATRICES + w->n + 2 * d->n + 1, sizeof(double));
    if (w->capacity == NULL)
        return -1;
    w->stand = w->capacity + nn;
    w->arriving = w->stand + nn;
    w->load = w->arriving + nn;
    w->second = w->load + nn;
    w->use = w->second + nn;
    w->used = w->use + nn;
    w->cost = w->used + nn;
    w->costs = w->cost + nn;
    w->weight = w->costs + nn;
    w->x = w->weight + w->n;
    w->total = w->x + d->n;
    return 0;
}

static void measure(struct groups *w, const struct taut_study *s,
                    const struct taut_overlay *o)
{
    const struct taut_graph *g = s->g;

    for (uint32_t l = 0; l < g->links; l++) {
        uint32_t a = s->group[g->from[l]], b = s->group[g->to[l]];
        if (a == b)
            continue;
        size_t p = (size_t)a * w->n + b;
        w->capacity[p] += g->capacity[taut_graph_link(g, l)] * o->left[l];
        w->stand[p] += o->left[l] > 0 ? o->stand[l] : 0;
        w->arriving[(size_t)b * w->n + a] = w->stand[p];
    }
}

/* Weights of the groups between a and b into w->weight; their sum. */
static double weigh(struct groups *w, uint32_t a, uint32_t b)
{
    const double *out = w->stand + (size_t)a * w->n;
    const double *in = w->arriving + (size_t)b * w->n;
    double sum = 0;

    for (uint32_t k = 0; k < w->n; k++) {
        w->weight[k] = out[k] < in[k] ? out[k] : in[k];
        sum += w->weight[k];
    }
    /* out[a] and in[b] are 0: a and b themselves have no weight */
    return sum;
}

static void begin(struct groups *w)
{
    for (size_t i = 0; i < w->d->n; i++) {
        const struct taut_demand_pair *p = &w->d->pair[i];
        bool has_direct = w->stand[(size_t)p->from * w->n + p->to] > 0;
        w->total[i] = weigh(w, p->from, p->to);
        w->x[i] = !has_direct ? 0 : w->total[i] > 0 ? 0.5 : 1;
    }
}

static bool has_way(const struct groups *w, size_t i)
{
    return w->x[i] > 0 || w->total[i] > 0;
}

/* Bytes between groups with the present shares. */
static void fill(struct groups *w)
{
    size_t nn = (size_t)w->n * w->n;

    memset(w->load, 0, nn * sizeof(double));
    memset(w->second, 0, nn * sizeof(double));
    for (size_t i = 0; i < w->d->n; i++) {
        const struct taut_demand_pair *p = &w->d->pair[i];
        double round = p->bytes * (1 - w->x[i]);
        w->load[(size_t)p->from * w->n + p->to] += p->bytes * w->x[i];
        if (!has_way(w, i) || round == 0)
            continue;
        double *first = w->load + (size_t)p->from * w->n;
        double *second = w->second + (size_t)p->to * w->n;
        round /= weigh(w, p->from, p->to);
        for (uint32_t k = 0; k < w->n; k++) {
            first[k] += round * w->weight[k];
            second[k] += round * w->weight[k];
        }
    }
    for (uint32_t a = 0; a < w->n; a++)
        for (uint32_t b = 0; b < w->n; b++) {
            size_t p = (size_t)a * w->n + b, q = (size_t)b * w->n + a;
            w->load[p] += w->second[q];
            w->use[p] = w->capacity[p] > 0 ? w->load[p] / w->capacity[p] : 0;
            w->used[q] = w->use[p];
        }
}

static void price(struct groups *w)
{
    for (uint32_t a = 0; a < w->n; a++)
        for (uint32_t b = 0; b < w->n; b++) {
            size_t p = (size_t)a * w->n + b;
            w->cost[p] = taut_study_cost(w->rules, w->use[p]);
            w->costs[(size_t)b * w->n + a] = w->cost[p];
        }
}

static void shift(struct groups *w, double step)
{
    for (size_t i = 0; i < w->d->n; i++) {
        const struct taut_demand_pair *p = &w->d->pair[i];
        const double *first = w->cost + (size_t)p->from * w->n;
        const double *second = w->costs + (size_t)p->to * w->n;
        double sum = 0;
        if (w->x[i] == 0 || w->total[i] == 0)
            continue;
        weigh(w, p->from, p->to);
        for (uint32_t k = 0; k < w->n; k++)
            sum += w->weight[k] * (first[k] + second[k]);
        w->x[i] =
            taut_study_shift(w->x[i], first[p->to], sum / w->total[i], step);
    }
}

/* ---- what comes of it ---- */

static void meet_pair(struct groups *w, size_t i, struct taut_meet *meet)
{
    const struct taut_demand_pair *p = &w->d->pair[i];
    const double *first = w->use + (size_t)p->from * w->n;
    const double *second = w->used + (size_t)p->to * w->n;
    double direct = first[p->to], sum = 0, most = w->x[i] > 0 ? direct : 0;

    if (!has_way(w, i)) {
        taut_meet_lose(meet, p);
        return;
    }
    if (w->total[i] > 0)
        weigh(w, p->from, p->to);
    for (uint32_t k = 0; w->total[i] > 0 && k < w->n; k++) {
        double v = first[k] > second[k] ? first[k] : second[k];
        sum += w->weight[k] * v;
        if (w->weight[k] > 0 && v > most)
            most = v;
    }
    sum = w->total[i] > 0 ? sum / w->total[i] : 0;
    meet->out->direct += p->bytes * w->x[i];
    meet->out->hops += p->bytes * (2 - w->x[i]);
    taut_meet_add(meet, p, w->x[i] * direct + (1 - w->x[i]) * sum, most);
}

static void sum_up(struct groups *w, struct taut_meet *meet)
{
    struct taut_study_result *out = meet->out;
    size_t links = 0;

    for (size_t i = 0; i < w->d->n; i++)
        meet_pair(w, i, meet);
    for (size_t p = 0; p < (size_t)w->n * w->n; p++)
        if (w->capacity[p] > 0) {
            out->link_mean_s += w->use[p];
            out->link_s = w->use[p] > out->link_s ? w->use[p] : out->link_s;
            links++;
        }
    out->link_mean_s = links > 0 ? out->link_mean_s / (double)links : 0;
    out->direct = meet->bytes > 0 ? out->direct / meet->bytes : 1;
    out->hops = meet->bytes > 0 ? out->hops / meet->bytes : 0;
}

/* Bytes between two groups on their links, by what is left of each. */
static void spread(const struct groups *w, const struct taut_study *s,
                   const struct taut_overlay *o, double *load)
{
    const struct taut_graph *g = s->g;

    for (uint32_t l = 0; l < g->links; l++) {
        uint32_t a = s->group[g->from[l]], b = s->group[g->to[l]];
        size_t p = (size_t)a * w->n + b;
        load[l] = a == b || w->capacity[p] == 0
                      ? 0
                      : w->load[p] * g->capacity[taut_graph_link(g, l)] *
                            o->left[l] / w->capacity[p];
    }
}

int taut_study_solve_groups(const struct taut_study *s,
                            const struct taut_overlay *o,
                            const struct taut_demand *d,
                            const struct taut_study_rules *rules, double *load,
                            struct taut_meet *meet)
{
    struct groups w;

    if (init(&w, s, d) < 0)
        return -1;
    w.rules = rules;
    measure(&w, s, o);
    begin(&w);
    for (unsigned i = 0; i < rules->rounds; i++) {
        fill(&w);
        price(&w);
        shift(&w, rules->step / (1 + rules->slowing * i));
    }
    fill(&w);
    sum_up(&w, meet);
    if (load != NULL)
        spread(&w, s, o, load);
    free(w.capacity);
    return 0;
}
