/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A dragonfly with its routers: what messages meet. */
#include <config.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "advisor/lib/study/gates.h"

/* From r to its gates to group k with the gate itself (out), or from the gates
 * of group k to r: the hotter of both, mean over the gates. */
static double leg(const struct taut_gate_work *w, uint32_t r, uint32_t k,
                  bool is_out)
{
    const struct taut_gateways *t = w->s->gates;
    uint32_t here = w->s->group[r], a = is_out ? here : k;
    uint32_t b = is_out ? k : here;
    double sum = 0;

    for (uint32_t i = taut_gate_begin(w->s, a, b);
         i < taut_gate_end(w->s, a, b); i++) {
        uint32_t from = is_out ? r : taut_gate_router(t, here, t->gate_to[i]);
        uint32_t to = is_out ? t->gate_from[i] : t->member[r];
        if (w->share[i] > 0)
            sum += w->share[i] * fmax(w->inside[(size_t)from * w->most + to],
                                      w->use[t->gate[i]]);
    }
    return sum;
}

static double direct(const struct taut_gate_work *w, uint32_t r, uint32_t s)
{
    const struct taut_gateways *t = w->s->gates;
    uint32_t a = w->s->group[r], b = w->s->group[s];
    double sum = 0;

    for (uint32_t i = taut_gate_begin(w->s, a, b);
         i < taut_gate_end(w->s, a, b); i++) {
        uint32_t last = taut_gate_router(t, b, t->gate_to[i]);
        double x = w->inside[(size_t)r * w->most + t->gate_from[i]];
        double y = w->inside[(size_t)last * w->most + t->member[s]];
        if (w->share[i] > 0)
            sum += w->share[i] * fmax(w->use[t->gate[i]], fmax(x, y));
    }
    return sum;
}

/* From gate to gate inside group k, for one pair of groups. */
static double middle(const struct taut_gate_work *w,
                     const struct taut_gate_pair *p, uint32_t k)
{
    const struct taut_gateways *t = w->s->gates;
    double sum = 0;

    for (uint32_t a = taut_gate_begin(w->s, p->from, k);
         a < taut_gate_end(w->s, p->from, k); a++) {
        uint32_t at = taut_gate_router(t, k, t->gate_to[a]);
        for (uint32_t b = taut_gate_begin(w->s, k, p->to);
             b < taut_gate_end(w->s, k, p->to); b++)
            if (w->share[a] > 0 && w->share[b] > 0)
                sum += w->share[a] * w->share[b] *
                       w->inside[(size_t)at * w->most + t->gate_from[b]];
    }
    return sum;
}

/* Over other groups: the hottest of the mean legs, mean over the groups.
 * 'mid' has the middle of each group between. */
static double around(const struct taut_gate_work *w,
                     const struct taut_gate_pair *p, const double *mid,
                     uint32_t r, uint32_t s)
{
    const double *out = w->out + (size_t)r * w->n;
    const double *in = w->in + (size_t)s * w->n;
    double sum = 0;

    for (uint32_t k = 0; k < w->n; k++) {
        double v = out[k] > in[k] ? out[k] : in[k];
        sum += p->weight[k] * (v > mid[k] ? v : mid[k]);
    }
    return sum;
}

static void meet_pair(const struct taut_gate_work *w, size_t i,
                      const double *mid, struct taut_meet *meet)
{
    const struct taut_demand_pair *d = &w->d->pair[i];
    double a = 0, b = 0, x = 1;

    if (w->row_of[i] == TAUT_GRAPH_NONE) {
        a = w->inside[(size_t)d->from * w->most + w->s->gates->member[d->to]];
    } else {
        const struct taut_gate_row *row = &w->row[w->row_of[i]];
        const struct taut_gate_pair *p = &w->pair[row->pair];
        x = row->x;
        a = x > 0 ? direct(w, d->from, d->to) : 0;
        b = x < 1 ? around(w, p, mid + (size_t)row->pair * w->n, d->from, d->to)
                  : 0;
        if (!p->has_direct && !p->has_other)
            a = INFINITY;
    }
    if (isfinite(a) && isfinite(b)) {
        meet->out->direct += d->bytes * x;
        taut_meet_add(meet, d, x * a + (1 - x) * b, fmax(a, b));
    } else {
        taut_meet_lose(meet, d);
    }
}

static void sum_up(const struct taut_gate_work *w, struct taut_meet *meet)
{
    struct taut_study_result *out = meet->out;
    size_t links = 0;

    for (uint32_t l = 0; l < w->links; l++) {
        if (!(w->o->left[l] > 0))
            continue;
        out->hops += w->load[l];
        out->link_mean_s += w->use[l];
        out->link_s = fmax(out->link_s, w->use[l]);
        links++;
    }
    out->link_mean_s = links > 0 ? out->link_mean_s / (double)links : 0;
    out->direct = meet->bytes > 0 ? out->direct / meet->bytes : 1;
    out->hops = meet->bytes > 0 ? out->hops / meet->bytes : 0;
}

int taut_gate_meet(struct taut_gate_work *w, struct taut_meet *meet)
{
    double *mid = malloc(((size_t)w->pairs * w->n + 1) * sizeof(*mid));

    if (mid == NULL)
        return -1;
    taut_gate_inside(w, w->use, true, w->inside);
    for (uint32_t r = 0; r < w->routers; r++)
        for (uint32_t k = 0; k < w->n; k++) {
            w->out[(size_t)r * w->n + k] = leg(w, r, k, true);
            w->in[(size_t)r * w->n + k] = leg(w, r, k, false);
        }
    for (uint32_t i = 0; i < w->pairs; i++)
        for (uint32_t k = 0; k < w->n; k++)
            mid[(size_t)i * w->n + k] =
                w->pair[i].weight[k] > 0 ? middle(w, &w->pair[i], k) : 0;
    for (size_t i = 0; i < w->d->n; i++)
        meet_pair(w, i, mid, meet);
    sum_up(w, meet);
    free(mid);
    return 0;
}
