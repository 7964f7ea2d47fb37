/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Links of one switch that are at one ceiling at the same time: they have one
 * cause, be it a busy place, the switch or a bundle of cables.
 *
 * Link c has a case with the ceiling L.  Another link o of the same router and
 * the same direction is as low as c where in 'spells' spells or more
 *
 *   |x - L| <= ceiling L    x: the share of o that one of o's low tests showed
 *
 * by tests that did not cross c, while c was at L in the same spell.
 *
 * The cost is (links of the router) * (entries of o's run) * (entries of c's
 * run), at most 192^2 a link. */
#include <config.h>

#include "advisor/lib/evidence/inside.h"

static bool has_crossed(const struct taut_low *low, uint32_t c)
{
    for (uint32_t i = 0; i < low->n; i++)
        if (low->on[i].c == c)
            return true;
    return false;
}

/* Was c at the ceiling of its case in that spell? */
static bool is_at_in(const struct taut_evidence *e, uint32_t c,
                     const struct taut_case *k, double spell)
{
    const struct taut_run *run = e->of[c].run;

    for (uint32_t i = k->start; i < run->n; i++)
        if (taut_evidence_spell(e, run->entry[i].low->time) == spell &&
            taut_run_is_at(e, &run->entry[i], k, c))
            return true;
    return false;
}

/* Spells in which link o was as low as c was, by tests that did not cross c.
 * Entries come by time, so comparing with the last spell counts each once. */
static uint32_t together(const struct taut_evidence *e, uint32_t o, uint32_t c,
                         const struct taut_case *k)
{
    const struct taut_run *run = e->of[o].run;
    double last = -HUGE_VAL, near = e->rules.ceiling * k->best;
    uint32_t n = 0;

    for (uint32_t i = 0; run != NULL && i < run->n; i++) {
        const struct taut_low *low = run->entry[i].low;
        double spell = taut_evidence_spell(e, low->time);
        if (spell == last || low->explained_by != TAUT_GRAPH_NONE ||
            fabs((double)run->entry[i].share - k->best) > near ||
            has_crossed(low, c) || !is_at_in(e, c, k, spell))
            continue;
        last = spell;
        n++;
    }
    return n;
}

/* Of the links out of a router, or into it.  c counts as one of the low. */
static struct taut_company count(const struct taut_evidence *e, uint32_t c,
                                 const struct taut_case *k, uint32_t router,
                                 bool is_out, uint32_t spells)
{
    const struct taut_graph *g = e->g;
    const uint32_t *first = is_out ? g->out_first : g->in_first;
    const uint32_t *link = is_out ? g->out : g->in;
    struct taut_company y = {.router = router, .is_out = is_out};
    uint32_t l = c - 2 * g->endpoints;

    for (uint32_t i = first[router]; i < first[router + 1]; i++) {
        uint32_t o = taut_graph_link(g, link[i]);
        bool is_low = o == c || together(e, o, c, k) >= spells;
        y.tested += e->of[o].tested >= k->first;
        y.low += is_low;
        y.beside += is_low && g->from[link[i]] == g->from[l] &&
                    g->to[link[i]] == g->to[l];
    }
    return y;
}

struct taut_company taut_evidence_company(const struct taut_evidence *e,
                                          uint32_t c, uint32_t spells)
{
    const struct taut_graph *g = e->g;
    struct taut_company none = {.low = 0};
    struct taut_case k;

    if (c < 2 * g->endpoints || e->of[c].run == NULL)
        return none;
    taut_evidence_judge(e, c, &k);
    uint32_t l = c - 2 * g->endpoints;
    struct taut_company out = count(e, c, &k, g->from[l], true, spells);
    struct taut_company in = count(e, c, &k, g->to[l], false, spells);
    return out.low >= in.low ? out : in;
}
