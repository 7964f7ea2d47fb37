/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A HyperX: demand of each cell, and one solution. */
#include <config.h>

#include <stdlib.h>

#include "advisor/lib/study/lines.h"

#define COLUMNS 7

static int init(struct taut_lines *w)
{
    const struct taut_study *s = w->s;

    for (uint32_t d = 0; d < s->dims; d++) {
        w->first[d] = w->cells;
        w->cells += (size_t)s->places * s->length[d];
    }
    w->room = calloc(COLUMNS * w->cells + 1, sizeof(*w->room));
    w->is_lost = calloc(w->d->n + 1, sizeof(*w->is_lost));
    if (w->room == NULL || w->is_lost == NULL)
        return -1;
    double **column[COLUMNS] = {&w->capacity, &w->stand, &w->demand, &w->x,
                                &w->total,    &w->load,  &w->use};
    for (int i = 0; i < COLUMNS; i++)
        *column[i] = w->room + (size_t)i * w->cells;
    return 0;
}

static void measure(struct taut_lines *w)
{
    const struct taut_study *s = w->s;

    for (uint32_t d = 0; d < s->dims; d++)
        for (uint32_t p = 0; p < s->places; p++)
            for (uint32_t b = 0; b < s->length[d]; b++) {
                uint32_t l =
                    s->line_link[((size_t)d * s->places + p) * s->longest + b];
                size_t c = taut_lines_cell(w, d, p, b);
                if (l == TAUT_GRAPH_NONE || w->o->left[l] <= 0)
                    continue;
                w->capacity[c] =
                    s->g->capacity[taut_graph_link(s->g, l)] * w->o->left[l];
                w->stand[c] = w->o->stand[l];
            }
}

/* Weight of the way over coordinate k from p to coordinate b. */
static double weight(const struct taut_lines *w, uint32_t d, uint32_t p,
                     uint32_t b, uint32_t k)
{
    double first = w->stand[taut_lines_cell(w, d, p, k)];
    double second =
        w->stand[taut_lines_cell(w, d, taut_lines_moved(w->s, d, p, k), b)];

    return first < second ? first : second;
}

static double total_weight(const struct taut_lines *w, uint32_t d, uint32_t p,
                           uint32_t b)
{
    double sum = 0;

    for (uint32_t k = 0; k < w->s->length[d]; k++)
        sum += weight(w, d, p, b, k);
    return sum;
}

/* ---- demand of each cell ---- */

/* Visit the cells on the way of a pair; stops where one returns false. */
static bool walk(const struct taut_lines *w,
                 const struct taut_demand_pair *pair,
                 bool (*visit)(const struct taut_lines *w, uint32_t d,
                               uint32_t p, uint32_t b, double bytes))
{
    const struct taut_study *s = w->s;
    uint32_t p = s->place[pair->from], q = s->place[pair->to];

    for (uint32_t d = 0; d < s->dims; d++) {
        uint32_t b = taut_lines_at(s, q, d);
        if (taut_lines_at(s, p, d) == b)
            continue;
        if (!visit(w, d, p, b, pair->bytes))
            return false;
        p = taut_lines_moved(s, d, p, b);
    }
    return true;
}

static bool has_way(const struct taut_lines *w, uint32_t d, uint32_t p,
                    uint32_t b, double bytes)
{
    size_t c = taut_lines_cell(w, d, p, b);

    (void)bytes;
    return w->stand[c] > 0 || total_weight(w, d, p, b) > 0;
}

static bool demand(const struct taut_lines *w, uint32_t d, uint32_t p,
                   uint32_t b, double bytes)
{
    w->demand[taut_lines_cell(w, d, p, b)] += bytes;
    return true;
}

static void begin(struct taut_lines *w)
{
    const struct taut_study *s = w->s;

    for (size_t i = 0; i < w->d->n; i++) {
        w->is_lost[i] = !walk(w, &w->d->pair[i], has_way);
        if (!w->is_lost[i])
            walk(w, &w->d->pair[i], demand);
    }
    for (uint32_t d = 0; d < s->dims; d++)
        for (uint32_t p = 0; p < s->places; p++)
            for (uint32_t b = 0; b < s->length[d]; b++) {
                size_t c = taut_lines_cell(w, d, p, b);
                if (w->demand[c] == 0)
                    continue;
                w->total[c] = total_weight(w, d, p, b);
                w->x[c] = w->stand[c] == 0 ? 0 : w->total[c] > 0 ? 0.5 : 1;
            }
}

static void tell_load(const struct taut_lines *w, double *load)
{
    const struct taut_study *s = w->s;

    for (uint32_t l = 0; l < s->g->links; l++) {
        uint32_t p = s->place[s->g->from[l]], q = s->place[s->g->to[l]], d = 0;
        while (taut_lines_at(s, p, d) == taut_lines_at(s, q, d))
            d++;
        load[l] = w->load[taut_lines_cell(w, d, p, taut_lines_at(s, q, d))];
    }
}

int taut_study_solve_lines(const struct taut_study *s,
                           const struct taut_overlay *o,
                           const struct taut_demand *d,
                           const struct taut_study_rules *rules, double *load,
                           struct taut_meet *meet)
{
    struct taut_lines w = {.s = s, .o = o, .d = d, .rules = rules};
    int rc = init(&w);

    if (rc == 0) {
        measure(&w);
        begin(&w);
        rc = taut_lines_settle(&w);
    }
    if (rc == 0)
        rc = taut_lines_meet(&w, meet);
    if (rc == 0 && load != NULL)
        tell_load(&w, load);
    free(w.room);
    free(w.is_lost);
    return rc;
}
