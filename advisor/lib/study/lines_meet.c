/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What messages meet on a HyperX. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "advisor/lib/study/chance.h"
#include "advisor/lib/study/lines.h"

/* What messages may meet in each cell, put down when first asked for. */
struct meetings {
    uint32_t room;  /* values of a cell at most */
    uint32_t *slot; /* [cells] from 1, 0: not yet */
    uint32_t slots, used;
    struct taut_chance *chance; /* [slots] */
    struct taut_chance_one *one;
};

static int meetings_init(struct meetings *m, const struct taut_lines *w)
{
    memset(m, 0, sizeof(*m));
    m->room = w->s->longest + 1;
    for (size_t c = 0; c < w->cells; c++)
        m->slots += w->demand[c] > 0;
    m->slot = calloc(w->cells + 1, sizeof(*m->slot));
    m->chance = calloc((size_t)m->slots + 1, sizeof(*m->chance));
    m->one = malloc(((size_t)m->slots * m->room + 1) * sizeof(*m->one));
    return m->slot && m->chance && m->one ? 0 : -1;
}

static void meetings_fini(struct meetings *m)
{
    free(m->slot);
    free(m->chance);
    free(m->one);
}

static void put_chances(const struct taut_lines *w, uint32_t d, uint32_t p,
                        uint32_t b, struct taut_chance *out)
{
    size_t c = taut_lines_cell(w, d, p, b),
           step = (size_t)w->s->stride[d] * w->s->length[d];
    size_t row = taut_lines_cell(w, d, p, 0),
           column = row + b - taut_lines_at(w->s, p, d) * step;

    if (w->x[c] > 0)
        taut_chance_put(out, w->use[c], w->x[c]);
    for (uint32_t k = 0; w->x[c] < 1 && k < w->s->length[d]; k++) {
        size_t i = row + k, j = column + k * step;
        double v = w->stand[i] < w->stand[j] ? w->stand[i] : w->stand[j];
        if (v > 0)
            taut_chance_put(out, w->use[i] > w->use[j] ? w->use[i] : w->use[j],
                            (1 - w->x[c]) * v / w->total[c]);
    }
    taut_chance_sort(out);
}

static const struct taut_chance *chances_of(const struct taut_lines *w,
                                            struct meetings *m, uint32_t d,
                                            uint32_t p, uint32_t b)
{
    uint32_t *slot = &m->slot[taut_lines_cell(w, d, p, b)];

    if (*slot == 0) {
        struct taut_chance *c = &m->chance[m->used];
        c->room = m->room;
        c->one = m->one + (size_t)m->used * m->room;
        put_chances(w, d, p, b, c);
        *slot = ++m->used;
    }
    return &m->chance[*slot - 1];
}

static void meet_pair(const struct taut_lines *w,
                      const struct taut_demand_pair *pair, struct meetings *m,
                      struct taut_meet *meet)
{
    const struct taut_study *s = w->s;
    const struct taut_chance *chance[TAUT_STUDY_MAX_DIMS];
    uint32_t p = s->place[pair->from], q = s->place[pair->to], n = 0;
    double hops = 0, direct = 1;

    for (uint32_t d = 0; d < s->dims; d++) {
        uint32_t b = taut_lines_at(s, q, d);
        if (taut_lines_at(s, p, d) == b)
            continue;
        double x = w->x[taut_lines_cell(w, d, p, b)];
        chance[n++] = chances_of(w, m, d, p, b);
        hops += 2 - x;
        direct *= x;
        p = taut_lines_moved(s, d, p, b);
    }
    meet->out->hops += pair->bytes * hops;
    meet->out->direct += pair->bytes * direct;
    taut_meet_add(meet, pair, taut_chance_of_most(chance, n),
                  taut_chance_most(chance, n));
}

static void tell_links(const struct taut_lines *w,
                       struct taut_study_result *out)
{
    size_t links = 0;

    for (size_t c = 0; c < w->cells; c++)
        if (w->capacity[c] > 0) {
            out->link_mean_s += w->use[c];
            out->link_s = w->use[c] > out->link_s ? w->use[c] : out->link_s;
            links++;
        }
    out->link_mean_s = links > 0 ? out->link_mean_s / (double)links : 0;
}

int taut_lines_meet(const struct taut_lines *w, struct taut_meet *meet)
{
    struct taut_study_result *out = meet->out;
    struct meetings m;
    int rc = meetings_init(&m, w);

    for (size_t i = 0; rc == 0 && i < w->d->n; i++)
        if (w->is_lost[i])
            taut_meet_lose(meet, &w->d->pair[i]);
        else
            meet_pair(w, &w->d->pair[i], &m, meet);
    meetings_fini(&m);
    tell_links(w, out);
    out->direct = meet->bytes > 0 ? out->direct / meet->bytes : 1;
    out->hops = meet->bytes > 0 ? out->hops / meet->bytes : 0;
    return rc;
}
