/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Weighing bouts: log odds of "it comes and goes" against "its way is busy now
 * and then".
 *
 * One ceiling.  Of the N spells in which a component was tested since a bout at
 * the ceiling L, m had a bout at L (within 'ceiling').  With f = m / N
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
 *      and 1/3, and just below 'good', where the best of what is low often is; of
 *      the first bout, which chose the level, 1
 *   w  'steady' where several streams at once were at the ceiling, too; else 1
 *
 * for f > b l; else there is nothing.  A spell adds spell_most at most.  A bout
 * at L of which several streams got more was somebody's load: it takes GROWN.
 * Each of the n bouts may be the first of the case, and its ceiling be L; the
 * best is taken.  (The best of n guesses is log(n) better than one: a verdict
 * needs so much more.)
 *
 * No ceiling.  A lossy component without counts (go-back-N) is low at any
 * level, now and then not quite low, and never whole. (Where losses are counted
 * they speak for themselves, and a low test that they do not explain was busy.)
 * The N spells since its last whole test, or one that got all that it could
 * (taut_bouts_whole), are D seconds apart; in m of them, at least LOW_SHARE, it
 * was low:
 *
 *   N log(SHOWN / a)  +  sum over the m spells  log(1 / w)
 *
 *   a  the chance that a way of which each link may be busy is busy still, or
 *      again, after D seconds (taut_evidence_any_again) */
#include <config.h>

#include <string.h>

#include "advisor/lib/evidence/bouts/inside.h"

#define GROWN 3       /* log odds */
#define SELDOM 0.03   /* chance that a port of a node that is tested is busy */
#define SHOWN 0.95    /* chance that one that loses is not whole in a spell */
#define LOW_SHARE 0.4 /* of the spells */

uint32_t taut_bouts_collect(const struct taut_evidence *e, uint32_t c,
                            struct taut_bout *out)
{
    const struct taut_bouts *list = e->of[c].bouts;
    uint32_t n = list == NULL ? 0 : list->n;

    if (n > 0)
        memcpy(out, list->at, n * sizeof(*out));
    if (e->of[c].run != NULL && taut_bout_describe(e, c, &out[n]))
        n++;
    return n;
}

/* ---- at one ceiling ---- */

/* What one bout weighs; reckoned when it is wanted. */
struct weight {
    bool is_known;
    double spell;
    double busy;  /* b */
    double level; /* l */
    double first; /* -log(b w) */
    double again; /* -log(b l w) */
};

/* b, of the way of a bout of c */
static double busy_chance(const struct taut_evidence *e, uint32_t c,
                          const struct taut_bout *b)
{
    double parts = b->links > 1 ? 1 + (b->links - 1) / 4.0 : 1;
    double tests = fmax(1, (double)e->of[c].tests / (e->of[c].spells + 1));

    if (b->links == 0)
        return 1 - pow(1 - SELDOM, tests);
    double quiet = pow(1 - e->rules.busy_share, parts);
    if (b->is_single)
        quiet *= pow(1 - e->rules.contended, tests);
    return 1 - quiet;
}

/* l */
static double level_chance(const struct taut_evidence *e,
                           const struct taut_bout *b)
{
    if (taut_bout_is_fair(e, b) ||
        (double)b->ratio >= e->rules.good * (1 - 2 * e->rules.ceiling))
        return e->rules.at_fair;
    return (double)b->ratio < e->rules.floor ? 0.3 * e->rules.at_level
                                             : e->rules.at_level;
}

static const struct weight *weight_of(const struct taut_evidence *e, uint32_t c,
                                      const struct taut_bout *b,
                                      struct weight *w)
{
    if (w->is_known)
        return w;
    double wide = b->is_wide ? e->rules.steady : 1;
    w->is_known = true;
    w->spell = taut_evidence_spell(e, b->time);
    w->busy = busy_chance(e, c, b);
    w->level = level_chance(e, b);
    w->first = -log(w->busy * wide);
    w->again = w->first - log(w->level);
    return w;
}

/* The spells with bouts at one ceiling, one after the other. */
struct matches {
    double spell;    /* of the last */
    double odds;     /* sum of -log(b l w) */
    double own;      /* of the spell that is open */
    double busy;     /* the largest b */
    double level;    /* the largest l */
    uint32_t spells; /* with a bout */
    uint32_t tested; /* by the first */
    uint32_t fair;   /* bouts on ways with links that fair sharing explains */
};

static void close_match(const struct taut_evidence *e, struct matches *m)
{
    if (m->spells > 0)
        m->odds += fmin(m->own, e->rules.spell_most);
    m->own = 0;
}

static void add_match(const struct taut_evidence *e, struct matches *m,
                      const struct taut_bout *b, const struct weight *w,
                      struct taut_recurrence *out)
{
    bool is_first = m->spells == 0;

    if (is_first) {
        m->tested = b->tested;
        out->first = b->time;
    }
    if (w->spell > m->spell) {
        close_match(e, m);
        m->spells++;
    }
    m->spell = w->spell;
    m->fair += b->links > 0 && taut_bout_is_fair(e, b);
    m->busy = fmax(m->busy, w->busy);
    m->level = fmax(m->level, w->level);
    m->own = fmax(m->own, is_first ? w->first : w->again);
    out->wide += b->is_wide;
    out->last = b->time;
    out->since = b->tested;
}

static double match_score(const struct matches *m,
                          const struct taut_recurrence *k)
{
    double f = fmin(0.95, (double)k->bouts / k->spells);
    double busy = m->busy * m->level;

    if (f <= busy)
        return 0; /* it comes back as rarely as what is busy */
    return m->odds + k->bouts * log(f) +
           (k->spells - k->bouts) * log((1 - f) / (1 - busy));
}

/* Is there a second bout at this level? */
static bool has_another(const struct taut_evidence *e,
                        const struct taut_bout *list, uint32_t n, double share)
{
    uint32_t at = 0;

    for (uint32_t i = 0; i < n && at < 2; i++)
        at += !list[i].has_grown && taut_bout_is_level(e, &list[i], share);
    return at == 2;
}

/* The case of one level. */
static void weigh_level(const struct taut_evidence *e, uint32_t c,
                        const struct taut_bout *list, struct weight *w,
                        uint32_t n, double share, struct taut_recurrence *out)
{
    struct matches m = {.spell = -HUGE_VAL};
    double sum = 0, grown = 0;

    *out = (struct taut_recurrence){.all = n};
    for (uint32_t i = 0; i < n; i++) {
        if (!taut_bout_is_level(e, &list[i], share))
            continue;
        if (list[i].has_grown) {
            grown += GROWN;
            continue;
        }
        add_match(e, &m, &list[i], weight_of(e, c, &list[i], &w[i]), out);
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
    out->score = match_score(&m, out) - grown;
}

/* ---- at any level ---- */

/* What the spells of a chain have shown. */
struct chain {
    double began;   /* seconds */
    double shares;  /* sum */
    uint32_t kept;  /* bouts */
    uint32_t links; /* on the shortest way */
};

static void add_link(const struct taut_evidence *e, uint32_t c,
                     struct chain *m, const struct taut_bout *b,
                     struct taut_recurrence *out)
{
    if (m->kept++ == 0) {
        m->began = b->began;
        out->first = b->time;
        out->spells = e->of[c].spells - b->tested + b->low_spells;
    }
    out->bouts += b->low_spells;
    out->wide += b->wide_spells;
    m->shares += (double)b->share;
    m->links = b->links < m->links ? b->links : m->links;
    out->last = b->time;
    out->since = e->of[c].spells - b->tested;
}

/* The case of all bouts of the list. */
static void weigh_any(const struct taut_evidence *e, uint32_t c,
                      const struct taut_bout *list, uint32_t n,
                      struct taut_recurrence *out)
{
    struct chain m = {.links = UINT16_MAX};
    double grown = 0;

    *out = (struct taut_recurrence){.all = n, .is_any = true};
    for (uint32_t i = 0; i < n; i++)
        if (list[i].has_grown)
            grown += GROWN;
        else if (!list[i].is_counted)
            add_link(e, c, &m, &list[i], out);
    if (m.kept == 0 || out->bouts < 2)
        return;
    out->share = m.shares / m.kept;
    if (out->spells < out->bouts)
        out->spells = out->bouts;
    if (out->bouts < LOW_SHARE * out->spells)
        return;
    double apart_s = fmax(0, e->of[c].tested - m.began) / (out->spells - 1);
    double busy = taut_evidence_any_again(e, apart_s, m.links);
    out->score = out->spells * log(SHOWN / busy) -
                 out->wide * log(e->rules.steady) - grown;
}

/* The bouts since the last whole test of c: they are the last of the list.
 * Returns how many there are. */
static uint32_t count_chain(const struct taut_evidence *e, uint32_t c,
                            const struct taut_bout *list, uint32_t n)
{
    uint32_t k = n;

    if (!e->of[c].is_scattered)
        return 0;
    while (k > 0 && list[k - 1].time >= e->of[c].bouts->chain)
        k--;
    return n - k;
}

/* ---- the case of a component ---- */

/* The best case that begins with one of the bouts, at its ceiling.
 *   share  of the ceilings to be looked at; 0: all */
static void find_case(const struct taut_evidence *e, uint32_t c,
                      const struct taut_bout *list, uint32_t n, double share,
                      struct taut_recurrence *out)
{
    struct weight w[TAUT_BOUTS_MAX + 1] = {0};
    struct taut_recurrence one;

    *out = (struct taut_recurrence){.all = n};
    if (n < 2)
        return;
    for (uint32_t i = 0; i + 1 < n; i++) {
        if ((share > 0 && !taut_bout_is_level(e, &list[i], share)) ||
            !has_another(e, &list[i], n - i, (double)list[i].share))
            continue;
        weigh_level(e, c, &list[i], &w[i], n - i, (double)list[i].share, &one);
        if (one.score > out->score)
            *out = one;
    }
    uint32_t chain = count_chain(e, c, list, n);
    if (chain >= 2) {
        weigh_any(e, c, &list[n - chain], chain, &one);
        if (one.score > out->score ||
            (one.score > 0 && out->first >= one.first))
            *out = one; /* a level among many others that came as well */
    }
    out->all = n;
}

void taut_recurrence_weigh(const struct taut_evidence *e, uint32_t c,
                           const struct taut_bout *list, uint32_t n,
                           const struct taut_recurrence *k,
                           struct taut_recurrence *out)
{
    struct weight w[TAUT_BOUTS_MAX + 1] = {0};

    if (k->is_any) {
        weigh_any(e, c, list, n, out);
        return;
    }
    weigh_level(e, c, list, w, n, k->share, out);
}

/* Its list is empty: the open run is not a second bout. */
static bool has_none(const struct taut_evidence *e, uint32_t c)
{
    return e->of[c].bouts == NULL || e->of[c].bouts->n == 0;
}

double taut_recurrence_judge(struct taut_evidence *e, uint32_t c,
                             struct taut_recurrence *out)
{
    struct taut_bout list[TAUT_BOUTS_MAX + 1];

    *out = (struct taut_recurrence){.score = 0};
    if (!has_none(e, c))
        find_case(e, c, list, taut_bouts_collect(e, c, list), 0, out);
    return out->score;
}

double taut_recurrence_newest(struct taut_evidence *e, uint32_t c,
                              struct taut_recurrence *out)
{
    struct taut_bout list[TAUT_BOUTS_MAX + 1];

    *out = (struct taut_recurrence){.score = 0};
    if (has_none(e, c))
        return 0;
    uint32_t n = taut_bouts_collect(e, c, list);
    if (n >= 2)
        find_case(e, c, list, n, (double)list[n - 1].share, out);
    return out->score;
}
