/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Other components that may have caused the bouts of a component. */
#include <config.h>

#include "advisor/lib/evidence/bouts/inside.h"

static uint32_t count_ends(struct taut_evidence *e,
                           const struct taut_bout *list, uint32_t n,
                           const struct taut_recurrence *k, bool at_source)
{
    uint32_t nodes = 0;

    e->slot_now++;
    for (uint32_t i = 0; i < n; i++)
        if (taut_bout_is_of_case(e, &list[i], k)) {
            const struct taut_bout *b = &list[i];
            nodes += taut_evidence_is_new_node(e, at_source ? b->src : b->dst);
            nodes += taut_evidence_is_new_node(e, at_source ? b->first_src
                                                            : b->first_dst);
        }
    return nodes;
}

struct taut_reporters taut_recurrence_reporters(struct taut_evidence *e,
                                                uint32_t c,
                                                const struct taut_recurrence *k)
{
    struct taut_bout list[TAUT_BOUTS_MAX + 1];
    uint32_t n = taut_bouts_collect(e, c, list);
    uint32_t senders = count_ends(e, list, n, k, true);

    return taut_evidence_far(e, c, senders,
                             count_ends(e, list, n, k, false));
}

#define ANY_RATE (-1.0) /* no rate tells */

/* Does this share of o mean so many bytes per second? */
static bool is_rate(const struct taut_evidence *e, uint32_t o, float share,
                    double Bps)
{
    return fabs((double)share * e->g->capacity[o] - Bps) <=
           2 * e->rules.ceiling * Bps;
}

static bool overlaps(const struct taut_bout *a, const struct taut_bout *b)
{
    return a->began <= b->time && b->began <= a->time;
}

/* In how many spells of the bout b was o low, at any level? */
static uint32_t low_spells_in(const struct taut_evidence *e, uint32_t o,
                              const struct taut_bout *b)
{
    const struct taut_bouts *list = e->of[o].bouts;
    const struct taut_run *run = e->of[o].run;
    double last = -HUGE_VAL;
    uint32_t n = 0;

    for (uint32_t i = 0; list != NULL && i < list->n; i++)
        if (overlaps(&list->at[i], b))
            n += list->at[i].low_spells;
    for (uint32_t i = 0; run != NULL && i < run->n; i++) {
        const struct taut_low *low = run->entry[i].low;
        double spell = taut_evidence_spell(e, low->time);
        if (run->entry[i].by_ack || low->time < b->began || low->time > b->time)
            continue;
        n += spell > last;
        last = spell;
    }
    return n;
}

/* Had o a bout at this rate when c had the bout b?  What its open run showed
 * then counts, too: by now its ceiling may be another one.  Where no rate tells,
 * it must have been low for at least half as long. */
static bool explains_bout(const struct taut_evidence *e, uint32_t o,
                          const struct taut_bout *b, double Bps)
{
    const struct taut_bouts *list = e->of[o].bouts;
    const struct taut_run *run = e->of[o].run;

    if (Bps <= ANY_RATE || e->of[o].is_scattered) {
        uint32_t n = low_spells_in(e, o, b);
        return n > 0 && 2 * n >= b->low_spells;
    }
    for (uint32_t i = 0; list != NULL && i < list->n; i++)
        if (overlaps(&list->at[i], b) && is_rate(e, o, list->at[i].share, Bps))
            return true;
    for (uint32_t i = 0; run != NULL && i < run->n; i++) {
        const struct taut_entry *x = &run->entry[i];
        if (b->began <= x->low->time && x->low->time <= b->time &&
            !x->by_ack && is_rate(e, o, x->share, Bps))
            return true;
    }
    return false;
}

/* The components that a bout surely crossed: its ends, and links.  Returns how
 * many they are. */
#define WAY_MOST 66 /* of longer ways the first links */
static uint32_t find_way(struct taut_evidence *e, const struct taut_bout *b,
                         uint32_t *way)
{
    const struct taut_graph *g = e->g;
    uint32_t n = 0;

    way[n++] = taut_graph_tx(b->src);
    way[n++] = taut_graph_rx(b->dst);
    for (uint32_t i = 0; i < b->n_way; i++)
        way[n++] = b->way[i];
    if (b->n_way > 0 || g->at[b->src] == TAUT_GRAPH_NONE ||
        g->at[b->dst] == TAUT_GRAPH_NONE ||
        taut_graph_route(g, g->at[b->src], g->at[b->dst], b->dst, &e->route) !=
            0)
        return n;
    for (uint32_t i = 0; i < e->route.stages && n < WAY_MOST; i++) {
        uint32_t link = taut_route_sure_link(&e->route, i);
        if (link != TAUT_GRAPH_NONE)
            way[n++] = taut_graph_link(g, link);
    }
    return n;
}

static bool is_on_way(struct taut_evidence *e, const struct taut_bout *b,
                      uint32_t c)
{
    uint32_t way[WAY_MOST], n = find_way(e, b, way);

    for (uint32_t i = 0; i < n; i++)
        if (way[i] == c)
            return true;
    return false;
}

/* Take out of the list of o what c explains. */
static void explain_list(struct taut_evidence *e, uint32_t c, uint32_t o)
{
    struct taut_bouts *list = e->of[o].bouts;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < list->n; i++) {
        const struct taut_bout b = list->at[i];
        double Bps = e->of[c].is_scattered
                         ? ANY_RATE
                         : (double)b.share * e->g->capacity[o];
        if (!explains_bout(e, c, &b, Bps) ||
            !is_on_way(e, &b, c))
            list->at[kept++] = b;
    }
    list->n = kept;
}

void taut_recurrence_explain(struct taut_evidence *e, uint32_t c)
{
    struct taut_bout list[TAUT_BOUTS_MAX + 1];
    const struct taut_run *run = e->of[c].run;
    uint32_t n = taut_bouts_collect(e, c, list), way[WAY_MOST];

    for (uint32_t i = 0; i < n; i++)
        for (uint32_t j = 0, on = find_way(e, &list[i], way); j < on; j++)
            if (way[j] != c && e->of[way[j]].bouts != NULL)
                explain_list(e, c, way[j]);
    for (uint32_t i = 0; run != NULL && i < run->n; i++) {
        const struct taut_low *low = run->entry[i].low;
        for (uint32_t j = 0; j < low->n; j++)
            if (low->on[j].c != c && e->of[low->on[j].c].bouts != NULL)
                explain_list(e, c, low->on[j].c);
    }
}

/* What is left of c's case without the bouts that o explains.
 *   most  is it not more than half of them? */
static double rest_without(struct taut_evidence *e, uint32_t c, uint32_t o,
                           const struct taut_recurrence *k, bool *most)
{
    struct taut_bout list[TAUT_BOUTS_MAX + 1];
    struct taut_recurrence rest;
    uint32_t n = taut_bouts_collect(e, c, list), left = 0, all = 0;
    double Bps = k->is_any ? ANY_RATE : k->share * e->g->capacity[c];

    for (uint32_t i = 0; i < n; i++) {
        if (!taut_bout_is_of_case(e, &list[i], k))
            continue;
        all++;
        if (!explains_bout(e, o, &list[i], Bps) || !is_on_way(e, &list[i], o))
            list[left++] = list[i];
    }
    *most = 2 * left <= all;
    if (left < 2)
        return 0;
    taut_recurrence_weigh(e, c, list, left, k, &rest);
    return rest.score;
}

static bool is_rival(struct taut_evidence *e, uint32_t c, uint32_t o,
                     const struct taut_recurrence *k, double near,
                     double enough)
{
    struct taut_recurrence other;
    struct taut_case own;

    if (o == c || (e->of[o].bouts == NULL && e->of[o].run == NULL))
        return false;
    bool most;
    double rest = rest_without(e, c, o, k, &most);
    return rest < fmin(near, k->score / 2) ||
           (rest < enough && most &&
            fmax(taut_recurrence_judge(e, o, &other),
                 taut_evidence_judge(e, o, &own)) >= k->score / 2);
}

/* Has o a case without what c explains? */
static bool stands_alone(struct taut_evidence *e, uint32_t o, uint32_t c,
                         double near)
{
    struct taut_recurrence comes;
    struct taut_case k, rest;
    bool most;

    return (taut_evidence_judge(e, o, &k) >= near &&
            taut_evidence_without(e, o, &k, c, &rest) >= near) ||
           (taut_recurrence_judge(e, o, &comes) >= near &&
            rest_without(e, o, c, &comes, &most) >= near);
}

/* One on the way of b that explains it and has a case without c, or NONE. */
static uint32_t find_standing(struct taut_evidence *e, uint32_t c,
                              const struct taut_bout *b, double Bps,
                              double near)
{
    uint32_t way[WAY_MOST], n = find_way(e, b, way);

    for (uint32_t i = 0; i < n; i++)
        if (way[i] != c && explains_bout(e, way[i], b, Bps) &&
            stands_alone(e, way[i], c, near))
            return way[i];
    return TAUT_GRAPH_NONE;
}

/* Others that explain it together: a sender meets each of several slow links now
 * and then.  Returns one of them where less than 'near' is left, or NONE. */
static uint32_t find_together(struct taut_evidence *e, uint32_t c,
                              const struct taut_recurrence *k, double near)
{
    struct taut_bout list[TAUT_BOUTS_MAX + 1];
    struct taut_recurrence rest = {.score = 0};
    uint32_t n = taut_bouts_collect(e, c, list), left = 0, found = TAUT_GRAPH_NONE;
    double Bps = k->is_any ? ANY_RATE : k->share * e->g->capacity[c];

    for (uint32_t i = 0; i < n; i++) {
        if (!taut_bout_is_of_case(e, &list[i], k))
            continue;
        uint32_t o = find_standing(e, c, &list[i], Bps, near);
        if (o == TAUT_GRAPH_NONE)
            list[left++] = list[i];
        else
            found = o;
    }
    if (found != TAUT_GRAPH_NONE && left >= 2)
        taut_recurrence_weigh(e, c, list, left, k, &rest);
    return rest.score < near ? found : TAUT_GRAPH_NONE;
}

uint32_t taut_recurrence_rival(struct taut_evidence *e, uint32_t c,
                               const struct taut_recurrence *k, double near,
                               double enough)
{
    struct taut_bout list[TAUT_BOUTS_MAX + 1];
    uint32_t n = taut_bouts_collect(e, c, list);

    for (uint32_t i = 0; i < n; i++) {
        uint32_t way[WAY_MOST];
        if (!taut_bout_is_of_case(e, &list[i], k))
            continue;
        uint32_t on = find_way(e, &list[i], way);
        for (uint32_t j = 0; j < on; j++)
            if (is_rival(e, c, way[j], k, near, enough))
                return way[j];
    }
    return find_together(e, c, k, near);
}

/* In how many bouts was o low at this rate where c was not on the way? */
static uint32_t count_elsewhere(struct taut_evidence *e, uint32_t o, uint32_t c,
                                double Bps)
{
    struct taut_bout list[TAUT_BOUTS_MAX + 1];
    uint32_t n = taut_bouts_collect(e, o, list), found = 0;

    for (uint32_t i = 0; i < n; i++)
        found += is_rate(e, o, list[i].share, Bps) &&
                 !is_on_way(e, &list[i], c);
    return found;
}

static bool is_on_test(const struct taut_low *low, uint32_t o)
{
    for (uint32_t i = 0; i < low->n; i++)
        if (low->on[i].c == o && !low->on[i].by_ack)
            return true;
    return false;
}

/* How o goes with the tests of c's case. */
enum company { NOT_ALWAYS, ON_EACH, LOW_IN_EACH };

/* Is o on the way of each test of c's case, and was it low at the same rate? */
static enum company find_company(const struct taut_evidence *e, uint32_t c,
                                 uint32_t o, const struct taut_case *k,
                                 double Bps)
{
    const struct taut_run *run = e->of[c].run;
    enum company is = LOW_IN_EACH;
    uint32_t n = 0;

    for (uint32_t i = k->start; i < run->n; i++) {
        const struct taut_low *low = run->entry[i].low;
        const struct taut_bout b = {.began = low->time, .time = low->time};
        if (run->entry[i].by_ack ||
            !taut_evidence_is_at(e, (double)run->entry[i].share, k->best))
            continue;
        if (!is_on_test(low, o))
            return NOT_ALWAYS;
        if (!explains_bout(e, o, &b, Bps))
            is = ON_EACH;
        n++;
    }
    return n > 0 ? is : NOT_ALWAYS;
}

/* Of a run that ended a bout keeps only the best, so that o need not be known as
 * low in each test where it was so twice elsewhere. */
static bool is_twin(struct taut_evidence *e, uint32_t c, uint32_t o,
                    const struct taut_case *k, double Bps)
{
    enum company is = find_company(e, c, o, k, Bps);

    return is != NOT_ALWAYS &&
           count_elsewhere(e, o, c, Bps) >= (is == LOW_IN_EACH ? 1 : 2);
}

uint32_t taut_recurrence_twin(struct taut_evidence *e, uint32_t c,
                              const struct taut_case *k)
{
    const struct taut_run *run = e->of[c].run;
    double Bps = k->best * e->g->capacity[c];
    uint32_t on;

    if (run == NULL || run->n == 0 || k->best <= 0)
        return TAUT_GRAPH_NONE;
    const struct taut_low *low = run->entry[run->n - 1].low;
    for (uint32_t i = 0; i < low->n; i++) {
        on = low->on[i].c;
        if (on != c && !low->on[i].by_ack && e->of[on].bouts != NULL &&
            is_twin(e, c, on, k, Bps))
            return on;
    }
    return TAUT_GRAPH_NONE;
}

