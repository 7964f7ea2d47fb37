/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A dragonfly with its routers: what does not change while it is solved. */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/study/gates.h"

#define MOST_NUMBERS ((size_t)1 << 25) /* 256 MB */

void taut_gates_destroy(struct taut_gateways *t)
{
    if (t == NULL)
        return;
    free(t->member);
    free(t->router);
    free(t->direct);
    free(t->via_first);
    free(t->via);
    free(t->gate_first);
    free(t->gate);
    free(t->gate_from);
    free(t->gate_to);
    free(t);
}

/* Numbers inside the groups. */
static int number(struct taut_study *s, struct taut_gateways *t)
{
    uint32_t *size = calloc((size_t)s->groups + 1, sizeof(*size));

    t->member = malloc(((size_t)s->g->routers + 1) * sizeof(*t->member));
    if (size == NULL || t->member == NULL) {
        free(size);
        return -1;
    }
    for (uint32_t r = 0; r < s->g->routers; r++) {
        t->member[r] = size[s->group[r]]++;
        t->most = t->member[r] >= t->most ? t->member[r] + 1 : t->most;
    }
    free(size);
    size_t all = (size_t)s->groups * t->most;
    t->router = malloc((all + 1) * sizeof(*t->router));
    if (t->router == NULL)
        return -1;
    memset(t->router, 0xff, all * sizeof(*t->router));
    for (uint32_t r = 0; r < s->g->routers; r++)
        t->router[(size_t)s->group[r] * t->most + t->member[r]] = r;
    return 0;
}

static size_t groups_of(const struct taut_study *s, uint32_t l)
{
    return (size_t)s->group[s->g->from[l]] * s->groups + s->group[s->g->to[l]];
}

static void join(const struct taut_study *s, struct taut_gateways *t)
{
    const struct taut_graph *g = s->g;
    size_t nn = (size_t)s->groups * s->groups;

    for (uint32_t l = 0; l < g->links; l++) {
        if (s->group[g->from[l]] == s->group[g->to[l]])
            t->direct[(size_t)g->from[l] * t->most + t->member[g->to[l]]] = l;
        else
            t->gate_first[groups_of(s, l) + 1]++;
    }
    for (size_t p = 0; p < nn; p++)
        t->gate_first[p + 1] += t->gate_first[p];
    uint32_t all = t->gate_first[nn];
    for (uint32_t l = g->links; l-- > 0;) /* each moves its end back */
        if (s->group[g->from[l]] != s->group[g->to[l]])
            t->gate[--t->gate_first[groups_of(s, l) + 1]] = l;
    memmove(t->gate_first, t->gate_first + 1, nn * sizeof(*t->gate_first));
    t->gate_first[nn] = all;
    for (uint32_t i = 0; i < all; i++) {
        t->gate_from[i] = t->member[g->from[t->gate[i]]];
        t->gate_to[i] = t->member[g->to[t->gate[i]]];
    }
}

/* Members k by which r reaches m; their number, and where 'list' is not NULL
 * themselves. */
static uint32_t between(const struct taut_gateways *t, uint32_t group,
                        uint32_t r, uint32_t m, uint32_t *list)
{
    uint32_t n = 0;

    if (t->direct[(size_t)r * t->most + m] != TAUT_GRAPH_NONE ||
        t->member[r] == m || taut_gate_router(t, group, m) == TAUT_GRAPH_NONE)
        return 0;
    for (uint32_t k = 0; k < t->most; k++) {
        uint32_t via = taut_gate_router(t, group, k);
        if (t->direct[(size_t)r * t->most + k] == TAUT_GRAPH_NONE ||
            t->direct[(size_t)via * t->most + m] == TAUT_GRAPH_NONE)
            continue;
        if (list != NULL)
            list[n] = k;
        n++;
    }
    return n;
}

static int list_between(const struct taut_study *s, struct taut_gateways *t)
{
    size_t all = (size_t)s->g->routers * t->most, n = 0;

    t->via_first = calloc(all + 1, sizeof(*t->via_first));
    if (t->via_first == NULL)
        return -1;
    for (size_t i = 0; i < all; i++) {
        uint32_t r = (uint32_t)(i / t->most), m = (uint32_t)(i % t->most);
        n += between(t, s->group[r], r, m, NULL);
        t->via_first[i + 1] = (uint32_t)n;
    }
    t->via = malloc((n + 1) * sizeof(*t->via));
    if (t->via == NULL)
        return -1;
    for (size_t i = 0; i < all; i++) {
        uint32_t r = (uint32_t)(i / t->most), m = (uint32_t)(i % t->most);
        between(t, s->group[r], r, m, t->via + t->via_first[i]);
    }
    return 0;
}

int taut_gates_create(struct taut_study *s)
{
    size_t nn = (size_t)s->groups * s->groups;
    struct taut_gateways *t = calloc(1, sizeof(*t));

    s->gates = t;
    if (t == NULL || number(s, t) < 0)
        return -1;
    size_t all = (size_t)s->g->routers * t->most;
    t->direct = malloc((all + 1) * sizeof(*t->direct));
    t->gate_first = calloc(nn + 2, sizeof(*t->gate_first));
    size_t links = (size_t)s->g->links + 1;
    t->gate = malloc(links * sizeof(*t->gate));
    t->gate_from = malloc(links * sizeof(*t->gate_from));
    t->gate_to = malloc(links * sizeof(*t->gate_to));
    if (t->direct == NULL || t->gate_first == NULL || t->gate == NULL ||
        t->gate_from == NULL || t->gate_to == NULL)
        return -1;
    memset(t->direct, 0xff, all * sizeof(*t->direct));
    join(s, t);
    return list_between(s, t);
}

/* ---- a solve ---- */

/* What share of the traffic between two groups each of their links has. */
static void share_gates(struct taut_gate_work *w)
{
    const struct taut_graph *g = w->s->g;
    const struct taut_gateways *t = w->s->gates;

    for (size_t p = 0; p < (size_t)w->n * w->n; p++) {
        uint32_t first = t->gate_first[p], end = t->gate_first[p + 1];
        double sum = 0;
        for (uint32_t i = first; i < end; i++) {
            uint32_t l = t->gate[i];
            w->share[i] = g->capacity[taut_graph_link(g, l)] * w->o->left[l];
            sum += w->share[i];
        }
        for (uint32_t i = first; i < end; i++)
            w->share[i] = sum > 0 ? w->share[i] / sum : 0;
    }
}

static double standing(const struct taut_gate_work *w, uint32_t from,
                       uint32_t to)
{
    double sum = 0;

    for (uint32_t i = taut_gate_begin(w->s, from, to);
         i < taut_gate_end(w->s, from, to); i++) {
        uint32_t l = w->s->gates->gate[i];
        sum += w->o->left[l] > 0 ? w->o->stand[l] : 0;
    }
    return sum;
}

/* What goes round leaves and arrives by these members. */
static void find_ends(struct taut_gate_work *w, struct taut_gate_pair *p)
{
    const struct taut_gateways *t = w->s->gates;

    for (uint32_t k = 0; k < w->n; k++) {
        for (uint32_t i = taut_gate_begin(w->s, p->from, k);
             i < taut_gate_end(w->s, p->from, k); i++)
            p->first[t->gate_from[i]] += p->weight[k] * w->share[i];
        for (uint32_t i = taut_gate_begin(w->s, k, p->to);
             i < taut_gate_end(w->s, k, p->to); i++)
            p->last[t->gate_to[i]] += p->weight[k] * w->share[i];
    }
}

static void weigh(struct taut_gate_work *w, struct taut_gate_pair *p)
{
    double sum = 0;

    p->has_direct = standing(w, p->from, p->to) > 0;
    for (uint32_t k = 0; k < w->n; k++) {
        double out = standing(w, p->from, k), in = standing(w, k, p->to);
        p->weight[k] = fmin(out, in);
        sum += p->weight[k];
    }
    p->has_other = sum > 0;
    for (uint32_t k = 0; k < w->n && sum > 0; k++)
        p->weight[k] /= sum;
    find_ends(w, p);
}

/* Number of what is known by a and b; a new one the first time. */
static uint32_t number_of(uint32_t *map, size_t at, uint32_t *next)
{
    if (map[at] == TAUT_GRAPH_NONE)
        map[at] = (*next)++;
    return map[at];
}

/* Which pair of groups, row and column each pair of routers belongs to. */
static int index_pairs(struct taut_gate_work *w)
{
    size_t nn = (size_t)w->n * w->n, rn = (size_t)w->routers * w->n;
    uint32_t *map = malloc((nn + 2 * rn) * sizeof(*map));
    const uint32_t *group = w->s->group;

    if (map == NULL)
        return -1;
    memset(map, 0xff, (nn + 2 * rn) * sizeof(*map));
    for (size_t i = 0; i < w->d->n; i++) {
        const struct taut_demand_pair *p = &w->d->pair[i];
        uint32_t a = group[p->from], b = group[p->to];
        if (a == b)
            continue;
        uint32_t at = number_of(map, (size_t)a * w->n + b, &w->pairs);
        uint32_t r = number_of(map + nn, (size_t)p->from * w->n + b, &w->rows);
        uint32_t c =
            number_of(map + nn + rn, (size_t)p->to * w->n + a, &w->cols);
        w->pair[at] = (struct taut_gate_pair){.from = a, .to = b};
        w->row[r].router = p->from;
        w->col[c].router = p->to;
        w->row[r].pair = w->col[c].pair = at;
        w->row[r].bytes += p->bytes;
        w->row_of[i] = r;
        w->col_of[i] = c;
    }
    free(map);
    return 0;
}

static int begin(struct taut_gate_work *w)
{
    size_t each = (size_t)w->n + 2 * w->most;

    w->weights = calloc(w->pairs * each + 1, sizeof(*w->weights));
    if (w->weights == NULL)
        return -1;
    for (uint32_t i = 0; i < w->pairs; i++) {
        w->pair[i].weight = w->weights + i * each;
        w->pair[i].first = w->pair[i].weight + w->n;
        w->pair[i].last = w->pair[i].first + w->most;
        weigh(w, &w->pair[i]);
    }
    for (uint32_t i = 0; i < w->rows; i++) {
        const struct taut_gate_pair *p = &w->pair[w->row[i].pair];
        w->row[i].x = !p->has_direct ? 0 : p->has_other ? 0.5 : 1;
    }
    return 0;
}

static void cut(struct taut_gate_work *w)
{
    size_t rn = (size_t)w->routers * w->n, rm = (size_t)w->routers * w->most;

    w->share = w->numbers;
    w->load = w->share + w->links;
    w->use = w->load + w->links;
    w->cost = w->use + w->links;
    w->moved = w->cost + w->links;
    w->brought = w->moved + rm;
    w->crossing = w->brought + rm;
    w->inside = w->crossing + rm;
    w->out = w->inside + rm;
    w->in = w->out + rn;
    w->between = w->in + rn;
}

int taut_gate_work_init(struct taut_gate_work *w, const struct taut_study *s,
                        const struct taut_overlay *o,
                        const struct taut_demand *d)
{
    size_t rn = (size_t)s->g->routers * s->groups;
    size_t nn = (size_t)s->groups * s->groups, n = d->n + 1;
    size_t all = 4 * (size_t)s->g->links +
                 4 * (size_t)s->g->routers * s->gates->most + 2 * rn + nn;

    *w = (struct taut_gate_work){.s = s,
                                 .o = o,
                                 .d = d,
                                 .n = s->groups,
                                 .most = s->gates->most,
                                 .routers = s->g->routers,
                                 .links = s->g->links};
    if (all > MOST_NUMBERS) {
        errno = ENOMEM;
        return -1;
    }
    size_t rows = n < rn ? n : rn, pairs = n < nn ? n : nn;
    w->numbers = calloc(all + 1, sizeof(*w->numbers));
    w->pair = calloc(pairs + 1, sizeof(*w->pair));
    w->row = calloc(rows + 1, sizeof(*w->row));
    w->col = calloc(rows + 1, sizeof(*w->col));
    w->row_of = malloc(2 * n * sizeof(*w->row_of));
    if (w->numbers == NULL || w->pair == NULL || w->row == NULL ||
        w->col == NULL || w->row_of == NULL)
        return -1;
    w->col_of = w->row_of + n;
    memset(w->row_of, 0xff, 2 * n * sizeof(*w->row_of));
    cut(w);
    share_gates(w);
    return index_pairs(w) < 0 ? -1 : begin(w);
}

void taut_gate_work_fini(struct taut_gate_work *w)
{
    free(w->numbers);
    free(w->weights);
    free(w->pair);
    free(w->row);
    free(w->col);
    free(w->row_of);
}
