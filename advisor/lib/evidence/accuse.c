/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Low tests, and the components they speak against. */
#include <config.h>

#include <math.h>

#include "advisor/lib/evidence/inside.h"

/* The component may be what made this test low. */
static bool is_accused(const struct taut_evidence *e,
                       const struct taut_stage *s, double bw_Bps, double time)
{
    return bw_Bps / taut_stage_capacity(e, s) < e->rules.good &&
           e->of[s->c].cleared_at != e->serial && e->cleared[s->c] < time;
}

static void accuse(struct taut_evidence *e, struct taut_low *low)
{
    for (uint32_t i = 0; i < low->n; i++) {
        uint32_t c = low->on[i].c;
        if (low->port != TAUT_GRAPH_NONE && low->port != c)
            continue;
        if (taut_run_add(e, c, low, (double)low->on[i].share,
                         low->on[i].by_ack) < 0)
            e->out_of_memory = true;
        e->of[c].good = 0;
        taut_evidence_touch(e, c);
    }
}

/* The way back of a test through which nearly nothing came. */
static uint32_t way_back(struct taut_evidence *e, const struct taut_pending *p,
                         struct taut_shown *on, uint32_t room, double share)
{
    const struct taut_graph *g = e->g;
    uint32_t n = 0;

    if (taut_graph_route(g, g->at[p->m.dst], g->at[p->m.src], p->m.src,
                         &e->route) != 0)
        return 0;
    for (uint32_t i = 0; i < e->route.stages + 2 && n < room; i++) {
        uint32_t c = i == e->route.stages ? taut_graph_rx(p->m.src)
                                          : taut_graph_tx(p->m.dst);
        if (i < e->route.stages) {
            uint32_t link = taut_route_sure_link(&e->route, i);
            if (link == TAUT_GRAPH_NONE)
                continue;
            c = taut_graph_link(g, link);
        }
        if (e->of[c].cleared_at != e->serial)
            on[n++] = (struct taut_shown){c, (float)share, true};
    }
    return n;
}

/* All of a low test but what it accuses. */
static void describe(const struct taut_evidence *e,
                     const struct taut_pending *p, double time,
                     struct taut_low *low)
{
    low->time = time;
    low->id = p->m.id;
    low->job = p->m.job;
    low->serial = e->serial;
    low->src = p->m.src;
    low->dst = p->m.dst;
    low->confirms = p->m.confirms;
    low->port = p->m.by_port ? p->m.port : TAUT_GRAPH_NONE;
    low->bw_Bps = (float)p->m.bw_Bps;
    low->expected_Bps = (float)p->expected_Bps;
    low->flows = p->m.flows;
    low->streams = p->m.streams;
    low->links = p->links;
    low->by_sets = p->by_sets;
    low->is_counted = taut_loss_is_known(&p->m);
}

void taut_evidence_accuse(struct taut_evidence *e, const struct taut_pending *p,
                          double time, int64_t event)
{
    uint32_t n = 0, extra = 0;
    bool is_silent = p->m.bw_Bps < e->rules.ack * p->expected_Bps;

    for (uint32_t k = p->first; k < p->first + p->n; k++)
        n += is_accused(e, &e->stage[k], p->m.bw_Bps, time);
    if (is_silent)
        extra = e->g->max_entries + 2;
    if (n == 0 && extra == 0)
        return;
    struct taut_low *low = taut_low_create(e, n + extra);
    if (low == NULL) {
        e->out_of_memory = true;
        return;
    }
    describe(e, p, time, low);
    low->event = event;
    n = 0;
    for (uint32_t k = p->first; k < p->first + p->n; k++) {
        const struct taut_stage *s = &e->stage[k];
        if (is_accused(e, s, p->m.bw_Bps, time))
            low->on[n++] = (struct taut_shown){
                s->c, (float)(p->m.bw_Bps / taut_stage_capacity(e, s)), false};
    }
    if (is_silent)
        n += way_back(e, p, low->on + n, extra, p->m.bw_Bps / p->expected_Bps);
    low->n = (uint16_t)n;
    taut_low_sign(e, low);
    accuse(e, low);
    taut_low_release(e, low);
}
