/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The equilibrium of one line after the other. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "advisor/lib/study/lines.h"

struct want {
    uint32_t a, b; /* coordinates in the line */
    size_t cell;
};

/* One line, in rows of its own: [from * len + to], and turned round so that
 * both hops of the ways over others stand side by side. */
struct line {
    struct taut_lines *w;
    uint32_t len, wants;
    size_t base, step; /* cell of coordinate a to b: base + a * step + b */
    struct want *want; /* [len * len] what has traffic */
    double *room;
    double *stand, *standing; /* cables; [to * len + from] */
    double *load, *second;    /* bytes; of second hops [to * len + from] */
    double *cost, *costing;   /* [to * len + from] */
};

#define MATRICES 6

static int line_init(struct line *n, struct taut_lines *w)
{
    size_t nn = (size_t)w->s->longest * w->s->longest;

    n->w = w;
    n->room = calloc(MATRICES * nn + 1, sizeof(*n->room));
    n->want = calloc(nn + 1, sizeof(*n->want));
    n->stand = n->room;
    n->standing = n->room + nn;
    n->load = n->room + 2 * nn;
    n->second = n->room + 3 * nn;
    n->cost = n->room + 4 * nn;
    n->costing = n->room + 5 * nn;
    return n->room != NULL && n->want != NULL ? 0 : -1;
}

static void line_fini(struct line *n)
{
    free(n->room);
    free(n->want);
}

/* The line through place p in dimension d. */
static void line_take(struct line *n, uint32_t d, uint32_t p)
{
    const struct taut_lines *w = n->w;

    n->len = w->s->length[d];
    n->base = taut_lines_cell(w, d, p, 0);
    n->step = (size_t)w->s->stride[d] * n->len;
    n->wants = 0;
    for (uint32_t a = 0; a < n->len; a++)
        for (uint32_t b = 0; b < n->len; b++) {
            size_t c = n->base + a * n->step + b;
            n->stand[a * n->len + b] = n->standing[b * n->len + a] =
                w->stand[c];
            if (w->demand[c] > 0)
                n->want[n->wants++] = (struct want){a, b, c};
        }
}

static void fill_one(const struct line *n, const struct want *t)
{
    const struct taut_lines *w = n->w;
    const double *out = n->stand + (size_t)t->a * n->len;
    const double *in = n->standing + (size_t)t->b * n->len;
    double *first = n->load + (size_t)t->a * n->len;
    double *second = n->second + (size_t)t->b * n->len;
    double x = w->x[t->cell], demand = w->demand[t->cell];

    first[t->b] += demand * x;
    if (x == 1)
        return;
    double round = demand * (1 - x) / w->total[t->cell];
    for (uint32_t k = 0; k < n->len; k++) {
        double v = round * (out[k] < in[k] ? out[k] : in[k]);
        first[k] += v;
        second[k] += v;
    }
}

static void fill(const struct line *n)
{
    struct taut_lines *w = n->w;
    size_t nn = (size_t)n->len * n->len;

    memset(n->load, 0, nn * sizeof(*n->load));
    memset(n->second, 0, nn * sizeof(*n->second));
    for (uint32_t i = 0; i < n->wants; i++)
        fill_one(n, &n->want[i]);
    for (uint32_t a = 0; a < n->len; a++)
        for (uint32_t b = 0; b < n->len; b++) {
            size_t c = n->base + a * n->step + b;
            w->load[c] = n->load[a * n->len + b] + n->second[b * n->len + a];
            w->use[c] = w->capacity[c] > 0 ? w->load[c] / w->capacity[c] : 0;
        }
}

static void price(const struct line *n)
{
    for (uint32_t a = 0; a < n->len; a++)
        for (uint32_t b = 0; b < n->len; b++)
            n->cost[a * n->len + b] = n->costing[b * n->len + a] =
                taut_study_cost(n->w->rules,
                                n->w->use[n->base + a * n->step + b]);
}

static void shift(const struct line *n, double step)
{
    struct taut_lines *w = n->w;

    price(n);
    for (uint32_t i = 0; i < n->wants; i++) {
        const struct want *t = &n->want[i];
        const double *out = n->stand + (size_t)t->a * n->len;
        const double *in = n->standing + (size_t)t->b * n->len;
        const double *first = n->cost + (size_t)t->a * n->len;
        const double *second = n->costing + (size_t)t->b * n->len;
        double sum = 0, total = w->total[t->cell];
        if (w->x[t->cell] == 0 || total == 0)
            continue;
        for (uint32_t k = 0; k < n->len; k++)
            sum += (out[k] < in[k] ? out[k] : in[k]) * (first[k] + second[k]);
        w->x[t->cell] =
            taut_study_shift(w->x[t->cell], first[t->b], sum / total, step);
    }
}

int taut_lines_settle(struct taut_lines *w)
{
    const struct taut_study *s = w->s;
    const struct taut_study_rules *r = w->rules;
    struct line n;
    int rc = line_init(&n, w);

    for (uint32_t d = 0; rc == 0 && d < s->dims; d++)
        for (uint32_t p = 0; p < s->places; p++) {
            if (taut_lines_at(s, p, d) != 0)
                continue;
            line_take(&n, d, p);
            for (unsigned i = 0; n.wants > 0 && i < r->rounds; i++) {
                fill(&n);
                shift(&n, r->step / (1 + r->slowing * i));
            }
            if (n.wants > 0)
                fill(&n);
        }
    line_fini(&n);
    return rc;
}
