/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What comes and goes.
 *
 * Of the N spells in which a component was tested since a bout at the ceiling
 * L, m had a bout at L (within 'ceiling').  The odds of "it is slow in the part
 * f = m / N of all spells" against "its way is busy now and then" are
 *
 *   sum over the m spells  log(f / (b l w))  +  (N - m) log((1 - f) / (1 - b l))
 *
 *   b  the chance that the way of n links is busy some time in a spell:
 *      1 - (1 - busy_share)^(1 + (n - 1) / 4); where a single test showed the
 *      bout, it may also be one of the k tests of a spell on average that met a
 *      flow of somebody's: with (1 - contended)^k as a further factor.  Over a
 *      way without links, between two nodes that nobody uses, (1 - SELDOM)^k
 *      alone
 *   l  the chance that it is busy at just this level: at_level, at_fair near 1/2
 *      and 1/3; of the first bout, which chose the level, 1
 *   w  'steady' where several streams at once were at the ceiling, too; else 1
 *
 * for f > b l; else there is nothing.  A spell adds spell_most at most.  A bout
 * at L of which several streams got more was somebody's load: it takes GROWN.
 *
 * Each of the n bouts may be the first of the case, and its ceiling be L; the
 * best is taken.  (The best of n guesses is log(n) better than one: a verdict
 * needs so much more.) */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/evidence/inside.h"

#define GROWN 3       /* log odds */
#define SELDOM 0.03   /* chance that a port of a node that is tested is busy */
#define FRESH 6       /* bouts */
#define NEAR_FAIR 1.2 /* of 'ceiling': the best of a few tests is a little high */

/* ---- keeping ---- */

/* A link that a test of b surely crossed. */
static void add_to_way(const struct taut_evidence *e, struct taut_bout *b,
                       uint32_t on)
{
    if (on >= 2 * e->g->endpoints && b->n_way < TAUT_BOUT_WAY)
        b->way[b->n_way++] = on;
}

/* What the run of c showed at its ceiling.  Returns false where that is nothing
 * of its own. */
static bool describe_run(const struct taut_evidence *e, uint32_t c,
                         struct taut_bout *b)
{
    const struct taut_run *run = e->of[c].run;
    uint32_t at = 0;
    double best = 0;

    if (run == NULL || run->n == 0)
        return false;
    for (uint32_t i = 0; i < run->n; i++)
        if (run->entry[i].low->explained_by == TAUT_GRAPH_NONE)
            best = fmax(best, (double)run->entry[i].share);
    *b = (struct taut_bout){
        .share = (float)best,
        .tested = e->of[c].spells,
        .has_grown = (double)run->grown > best * (1 + e->rules.ceiling)};
    for (uint32_t i = 0; i < run->n; i++) {
        const struct taut_low *low = run->entry[i].low;
        if (low->explained_by != TAUT_GRAPH_NONE || run->entry[i].by_ack ||
            !taut_evidence_is_at(e, (double)run->entry[i].share, best))
            continue;
        at++;
        if (at == 1) {
            b->began = low->time;
            b->first_src = low->src;
            b->first_dst = low->dst;
        }
        b->time = low->time;
        b->ratio = low->bw_Bps / low->expected_Bps;
        b->src = low->src;
        b->dst = low->dst;
        b->n_way = 0;
        for (uint32_t k = 0; k < low->n; k++)
            if (!low->on[k].by_ack)
                add_to_way(e, b, low->on[k].c);
        if (at == 1 || low->links < b->links)
            b->links = low->links;
        b->is_wide = b->is_wide || low->streams > 1;
    }
    b->is_single = at == 1;
    return at > 0;
}

static bool is_level(const struct taut_evidence *e, const struct taut_bout *b,
                     double share)
{
    return fabs((double)b->share - share) <= e->rules.ceiling * share;
}

/* What fair sharing leaves of what is expected. */
static bool is_fair(const struct taut_evidence *e, const struct taut_bout *b)
{
    return taut_evidence_is_fair((double)b->ratio,
                                 NEAR_FAIR * e->rules.ceiling);
}

/* How many bouts have the ceiling of b; what fair sharing explains counts twice. */
static uint32_t count_alike(const struct taut_evidence *e,
                            const struct taut_bouts *list,
                            const struct taut_bout *b)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < list->n; i++)
        n += is_level(e, &list->at[i], (double)b->share);
    return n > 1 && is_fair(e, b) ? 2 * n : n;
}

/* The bout to be dropped for another: the oldest whose ceiling did not come back
 * while FRESH others came; else the oldest of the ceiling that has most. */
static uint32_t find_least(const struct taut_evidence *e,
                           const struct taut_bouts *list)
{
    uint32_t found = 0, most = 0;

    for (uint32_t i = 0; i < list->n; i++) {
        uint32_t n = count_alike(e, list, &list->at[i]);
        if (n == 1 && i + FRESH < list->n)
            return i;
        if (n > most) {
            most = n;
            found = i;
        }
    }
    return found;
}

static void push_bout(const struct taut_evidence *e, struct taut_bouts *list,
                      const struct taut_bout *b)
{
    if (list->n == TAUT_BOUTS_MAX) {
        uint32_t i = find_least(e, list);
        list->n--;
        memmove(&list->at[i], &list->at[i + 1],
                (list->n - i) * sizeof(list->at[0]));
    }
    list->at[list->n++] = *b;
}

/* Room for one more in the list of c, which grows as it is needed. */
static struct taut_bouts *open_bouts(struct taut_evidence *e, uint32_t c)
{
    struct taut_bouts *list = e->of[c].bouts;
    uint32_t n = list == NULL ? 0 : list->n;

    if (n < TAUT_BOUTS_MAX && (n & (n - 1)) == 0) { /* 0, 1, 2, 4, 8 */
        uint32_t room = n == 0 ? 1 : 2 * n;
        void *more = realloc(list, sizeof(*list) + room * sizeof(list->at[0]));
        if (more == NULL)
            return NULL;
        list = more;
        list->n = n;
        e->of[c].bouts = list;
    }
    return list;
}

void taut_bouts_keep(struct taut_evidence *e, uint32_t c)
{
    struct taut_bout b;

    if (!describe_run(e, c, &b))
        return;
    struct taut_bouts *list = open_bouts(e, c);
    if (list == NULL)
        e->out_of_memory = true;
    else
        push_bout(e, list, &b);
}

void taut_bouts_again(struct taut_evidence *e, uint32_t c,
                      const struct taut_pending *p, double share, double time)
{
    struct taut_bouts *list = e->of[c].bouts;
    double left = (double)e->of[c].left;

    if (list == NULL || list->n == 0 ||
        fabs(share - left) > e->rules.ceiling * left)
        return;
    struct taut_bout b = {.began = time,
                          .time = time,
                          .share = (float)share,
                          .ratio = list->at[list->n - 1].ratio,
                          .tested = e->of[c].spells,
                          .src = p->m.src,
                          .dst = p->m.dst,
                          .first_src = p->m.src,
                          .first_dst = p->m.dst,
                          .links = p->links,
                          .is_single = true,
                          .is_wide = p->m.streams > 1};
    for (uint32_t k = p->first; k < p->first + p->n; k++)
        add_to_way(e, &b, e->stage[k].c);
    if (taut_evidence_spell(e, list->at[list->n - 1].time) ==
        taut_evidence_spell(e, time)) {
        list->at[list->n - 1] = b;
        return;
    }
    list = open_bouts(e, c);
    if (list == NULL)
        e->out_of_memory = true;
    else
        push_bout(e, list, &b);
}

void taut_recurrence_name(struct taut_evidence *e, uint32_t c, bool yes)
{
    e->of[c].is_recurring = yes;
}

void taut_bouts_forget(struct taut_evidence *e, uint32_t c)
{
    free(e->of[c].bouts);
    e->of[c].bouts = NULL;
    e->of[c].is_recurring = false;
}

/* ---- weighing ---- */

/* The bouts of c and its open run, ascending time; returns how many. */
static uint32_t collect_bouts(const struct taut_evidence *e, uint32_t c,
                              struct taut_bout *out)
{
    const struct taut_bouts *list = e->of[c].bouts;
    uint32_t n = list == NULL ? 0 : list->n;

    if (n > 0)
        memcpy(out, list->at, n * sizeof(*out));
    if (e->of[c].run != NULL && describe_run(e, c, &out[n]))
        n++;
    return n;
}

/* b, of the way of a bout of c */
static double busy_chance(const struct taut_evidence *e, uint32_t c,
                          const struct taut_bout *b)
{
    double parts = b->links > 1 ? 1 + (b->links - 1) / 4.0 : 1;
    double quiet = pow(1 - e->rules.busy_share, parts);
    double tests = (double)e->of[c].tests / (e->of[c].spells + 1);

    if (b->links == 0)
        quiet = pow(1 - SELDOM, fmax(1, tests));
    else if (b->is_single)
        quiet *= pow(1 - e->rules.contended, fmax(1, tests));
    return 1 - quiet;
}

/* l */
static double level_chance(const struct taut_evidence *e,
                           const struct taut_bout *b)
{
    if (is_fair(e, b))
        return e->rules.at_fair;
    return (double)b->ratio < e->rules.floor ? 0.3 * e->rules.at_level
                                             : e->rules.at_level;
}

/* The spells with bouts at one ceiling, one after the other. */
struct matches {
    double spell;    /* of the last */
    double odds;     /* sum of -log(b l w), but for f */
    double own;      /* of the spell that is open */
    double b;        /* the largest */
    uint32_t spells; /* with a bout */
    uint32_t tested; /* by the first */
    double level;      /* the largest l */
    uint32_t fair;     /* bouts on ways with links that fair sharing explains */
};

static void close_match(const struct taut_evidence *e, struct matches *m)
{
    if (m->spells > 0)
        m->odds += fmin(m->own, e->rules.spell_most);
    m->own = 0;
}

static void add_match(const struct taut_evidence *e, uint32_t c,
                      struct matches *m, const struct taut_bout *b,
                      struct taut_recurrence *out)
{
    double spell = taut_evidence_spell(e, b->time);
    double busy = busy_chance(e, c, b);
    bool is_first = m->spells == 0;

    if (is_first) {
        m->tested = b->tested;
        out->first = b->time;
    }
    if (spell > m->spell) {
        close_match(e, m);
        m->spells++;
    }
    m->fair += b->links > 0 && is_fair(e, b);
    m->level = fmax(m->level, level_chance(e, b));
    out->wide += b->is_wide;
    m->spell = spell;
    m->b = fmax(m->b, busy);
    double chance = busy * (is_first ? 1 : level_chance(e, b)) *
                    (b->is_wide ? e->rules.steady : 1);
    m->own = fmax(m->own, -log(chance));
    out->last = b->time;
    out->since = b->tested;
}

/* The case of one level. */
static void weigh_level(const struct taut_evidence *e, uint32_t c,
                        const struct taut_bout *list, uint32_t n, double share,
                        struct taut_recurrence *out)
{
    struct matches m = {.spell = -HUGE_VAL};
    double sum = 0, grown = 0;

    *out = (struct taut_recurrence){.all = n};
    for (uint32_t i = 0; i < n; i++) {
        if (!is_level(e, &list[i], share))
            continue;
        if (list[i].has_grown) {
            grown += GROWN;
            continue;
        }
        add_match(e, c, &m, &list[i], out);
        sum += (double)list[i].share;
        out->bouts++;
    }
    if (out->bouts < 2)
        return;
    close_match(e, &m);
    out->share = sum / out->bouts;
    out->is_fair = 2 * m.fair > out->bouts;
    out->bouts = m.spells;
    out->spells = e->of[c].spells - m.tested + 1;
    out->since = e->of[c].spells - out->since;
    if (m.spells < 2)
        return;
    if (out->spells < out->bouts)
        out->spells = out->bouts;
    double f = fmin(0.95, (double)out->bouts / out->spells);
    double busy = m.b * m.level;
    if (f <= busy)
        return; /* it comes back as rarely as what is busy */
    out->score = m.odds + out->bouts * log(f) +
                 (out->spells - out->bouts) * log((1 - f) / (1 - busy)) -
                 grown;
}

/* The best case that begins with one of the bouts, at its ceiling.
 *   share  of the ceilings to be looked at; 0: all */
static void find_case(const struct taut_evidence *e, uint32_t c,
                      const struct taut_bout *list, uint32_t n, double share,
                      struct taut_recurrence *out)
{
    struct taut_recurrence one;

    *out = (struct taut_recurrence){.all = n};
    for (uint32_t i = 0; i + 1 < n; i++) {
        if (share > 0 && !is_level(e, &list[i], share))
            continue;
        weigh_level(e, c, &list[i], n - i, (double)list[i].share, &one);
        if (one.score > out->score)
            *out = one;
    }
    out->all = n;
}

double taut_recurrence_judge(struct taut_evidence *e, uint32_t c,
                             struct taut_recurrence *out)
{
    struct taut_bout list[TAUT_BOUTS_MAX + 1];

    find_case(e, c, list, collect_bouts(e, c, list), 0, out);
    return out->score;
}

double taut_recurrence_newest(struct taut_evidence *e, uint32_t c,
                              struct taut_recurrence *out)
{
    struct taut_bout list[TAUT_BOUTS_MAX + 1];
    uint32_t n = collect_bouts(e, c, list);

    *out = (struct taut_recurrence){.all = n};
    if (n >= 2)
        find_case(e, c, list, n, (double)list[n - 1].share, out);
    return out->score;
}

/* ---- who, and who else ---- */

/* Is b of the case k? */
static bool is_of_case(const struct taut_evidence *e, const struct taut_bout *b,
                       const struct taut_recurrence *k)
{
    return b->time >= k->first && is_level(e, b, k->share);
}

static uint32_t count_ends(struct taut_evidence *e,
                           const struct taut_bout *list, uint32_t n,
                           const struct taut_recurrence *k, bool at_source)
{
    uint32_t nodes = 0;

    e->slot_now++;
    for (uint32_t i = 0; i < n; i++)
        if (is_of_case(e, &list[i], k)) {
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
    uint32_t n = collect_bouts(e, c, list);
    uint32_t senders = count_ends(e, list, n, k, true);

    return taut_evidence_far(e, c, senders,
                             count_ends(e, list, n, k, false));
}

static bool is_rate(const struct taut_evidence *e, uint32_t o, float share,
                    double Bps)
{
    return fabs((double)share * e->g->capacity[o] - Bps) <=
           2 * e->rules.ceiling * Bps;
}

/* Had o a bout at this rate when c had the bout b?  What its open run showed
 * then counts, too: by now its ceiling may be another one. */
static bool explains_bout(const struct taut_evidence *e, uint32_t o,
                          const struct taut_bout *b, double Bps)
{
    const struct taut_bouts *list = e->of[o].bouts;
    const struct taut_run *run = e->of[o].run;

    for (uint32_t i = 0; list != NULL && i < list->n; i++)
        if (list->at[i].began <= b->time && b->began <= list->at[i].time &&
            is_rate(e, o, list->at[i].share, Bps))
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
        double Bps = (double)b.share * e->g->capacity[o];
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
    uint32_t n = collect_bouts(e, c, list), way[WAY_MOST];

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
    uint32_t n = collect_bouts(e, c, list), left = 0, all = 0;
    double Bps = k->share * e->g->capacity[c];

    for (uint32_t i = 0; i < n; i++) {
        if (!is_of_case(e, &list[i], k))
            continue;
        all++;
        if (!explains_bout(e, o, &list[i], Bps) || !is_on_way(e, &list[i], o))
            list[left++] = list[i];
    }
    *most = 2 * left <= all;
    if (left < 2)
        return 0;
    weigh_level(e, c, list, left, k->share, &rest);
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
    return rest < near ||
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
    uint32_t n = collect_bouts(e, c, list), left = 0, found = TAUT_GRAPH_NONE;
    double Bps = k->share * e->g->capacity[c];

    for (uint32_t i = 0; i < n; i++) {
        if (!is_of_case(e, &list[i], k))
            continue;
        uint32_t o = find_standing(e, c, &list[i], Bps, near);
        if (o == TAUT_GRAPH_NONE)
            list[left++] = list[i];
        else
            found = o;
    }
    if (found != TAUT_GRAPH_NONE && left >= 2)
        weigh_level(e, c, list, left, k->share, &rest);
    return rest.score < near ? found : TAUT_GRAPH_NONE;
}

uint32_t taut_recurrence_rival(struct taut_evidence *e, uint32_t c,
                               const struct taut_recurrence *k, double near,
                               double enough)
{
    struct taut_bout list[TAUT_BOUTS_MAX + 1];
    uint32_t n = collect_bouts(e, c, list);

    for (uint32_t i = 0; i < n; i++) {
        uint32_t way[WAY_MOST];
        if (!is_of_case(e, &list[i], k))
            continue;
        uint32_t on = find_way(e, &list[i], way);
        for (uint32_t j = 0; j < on; j++)
            if (is_rival(e, c, way[j], k, near, enough))
                return way[j];
    }
    return find_together(e, c, k, near);
}

/* Was o low at this rate where c was not on the way? */
static bool is_low_elsewhere(struct taut_evidence *e, uint32_t o, uint32_t c,
                             double Bps)
{
    struct taut_bout list[TAUT_BOUTS_MAX + 1];
    uint32_t n = collect_bouts(e, o, list);

    for (uint32_t i = 0; i < n; i++)
        if (is_rate(e, o, list[i].share, Bps) && !is_on_way(e, &list[i], c))
            return true;
    return false;
}

/* Was o low at the same rate in each test of c's case? */
static bool is_low_with(const struct taut_evidence *e, uint32_t c, uint32_t o,
                        const struct taut_case *k, double Bps)
{
    const struct taut_run *run = e->of[c].run;
    uint32_t n = 0;

    for (uint32_t i = k->start; i < run->n; i++) {
        const struct taut_low *low = run->entry[i].low;
        const struct taut_bout b = {.began = low->time, .time = low->time};
        if (run->entry[i].by_ack ||
            !taut_evidence_is_at(e, (double)run->entry[i].share, k->best))
            continue;
        if (!explains_bout(e, o, &b, Bps))
            return false;
        n++;
    }
    return n > 0;
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
            is_low_with(e, c, on, k, Bps) && is_low_elsewhere(e, on, c, Bps))
            return on;
    }
    return TAUT_GRAPH_NONE;
}

/* ---- out and back ---- */

const struct taut_bout *taut_bouts_of(const struct taut_evidence *e, uint32_t c,
                                      uint32_t *n, uint32_t *tested)
{
    const struct taut_bouts *list = e->of[c].bouts;

    *n = list == NULL ? 0 : list->n;
    *tested = e->of[c].spells;
    return list == NULL ? NULL : list->at;
}

int taut_bouts_restore(struct taut_evidence *e, uint32_t c,
                       const struct taut_bout *list, uint32_t n,
                       uint32_t tested)
{
    e->of[c].spells = tested > e->of[c].spells ? tested : e->of[c].spells;
    for (uint32_t i = 0; i < n; i++) {
        struct taut_bouts *own = open_bouts(e, c);
        if (own == NULL) {
            errno = ENOMEM;
            return -1;
        }
        push_bout(e, own, &list[i]);
    }
    return 0;
}
