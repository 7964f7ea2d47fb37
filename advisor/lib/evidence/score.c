/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Weighing a run: log odds of "broken" against "busy".
 *
 * A broken component c lets no more than one share L of its capacity through,
 * its ceiling.  A busy network leaves shares that scatter.  A test that showed
 * the share x of c is at the ceiling where
 *
 *   x >= (1 - ceiling) L   or   L - x < TAUT_EVIDENCE_AT
 *
 * A case is the ceiling L and the entry of the run with which it begins.  Its
 * score, in natural logarithms, is a sum over the spells (spell_s) with low
 * tests:
 *
 *   score = sum of min(spell_most, w)  -  A  -  W
 *
 *   w  a spell with a test at L:
 *        max(E, log(SHOWN / (l a s)))   where E >= 0
 *        E                              where E < 0
 *      a spell with none:
 *        min(E, 0)                      where a test got 1/2 or 1/3 of L: what
 *                                       is broken may be busy besides
 *        min(E, -miss)                  else
 *      and min(w, -miss) where two tests got the same part of different
 *      expectations (is_proportional)
 *   l  the chance that a busy network shows just this level (level_chance); the
 *      largest of the spell's tests at L
 *   a  the chance that a way which was busy at the last spell at L is busy D
 *      seconds later (again); 1 for the first such spell
 *   s  'steady' where several streams at once were at L; else 1
 *   E  a sum over the spell's events that have tests over no link, with F flows
 *      in all:
 *        min(event_most, -log(m l))     where one of these tests is at L
 *        max(-event_most, log(m))       where none is
 *   m  the chance that all F flows met other traffic: min(1, F contended^F s)
 *   A  what uneven tests take (parts_above)
 *   W  what whole tests take from a case without a ceiling (take_wholes)
 *
 * A spell that finds the sum below 0 begins a new case at 0.  Tests that
 * another named component explains are left out.  'judge' tries several cases
 * and takes that with the largest score.
 *
 * The settings (ceiling, miss, steady ...) are those of struct
 * taut_evidence_rules. */
#include <config.h>

#include <math.h>

#include "advisor/lib/evidence/inside.h"

#define SOME 8    /* tests of a spell that are looked at */
#define SHOWN 0.7 /* chance that a broken one shows its ceiling in a spell */
#define SHOWN_ANY 0.95 /* and that one that loses is low in it */

/* A case without a ceiling: what sends all again from a lost packet on, or loses
 * without anybody counting, is low in every test, at any level.  Each low test
 * is at the ceiling -1 then, and its level tells nothing; what is left is that
 * the way was busy in every spell, and that several streams got no more.  Each
 * link of a long way may be what was busy, whatever the others are.
 *
 * In the formulas above: SHOWN is SHOWN_ANY, l is 1, and a comes from
 * taut_evidence_any_again.  Tests whose losses are counted are left out. */
#define ANY_LEVEL (-1.0)

/* A quarter of a test above the ceiling: that a broken component lets so much
 * through takes a pause before which its way ran full; on one that is only busy
 * it is what is left when others pause.  The chances are 0.2 and 0.55, and those of
 * a spell are not independent.  ABOVE = log(0.55 / 0.2). */
#define ABOVE 1.0
#define ABOVE_SPELL 2.0
/* A single stream that got all that it could: of what is well that are most, of
 * what is low at any level few.  The chances are 0.6 and 0.1.
 * WHOLE = log(0.6 / 0.1). */
#define WHOLE 1.8

/* l: the chance that a busy network shows just the level of this test.
 *   ratio  what the test got of what there would be without other traffic
 * Two or three streams that share fairly leave 1/2 or 1/3 often.  Levels below
 * 'floor' are rarer than those above. */
static double level_chance(const struct taut_evidence *e, double ratio)
{
    const struct taut_evidence_rules *r = &e->rules;

    if (taut_evidence_is_fair(ratio, e->rules.ceiling))
        return r->at_fair;
    return ratio < r->floor ? r->at_level * 0.3 : r->at_level;
}

/* What a single stream got. */
struct part {
    double of;          /* of what was expected */
    double expected_Bps;
};

/* What one event, and one spell, has told so far.  weigh() fills it entry by
 * entry; close_event and close_spell add the result and empty it again.  Only
 * 'was_at' outlives the spell. */
struct tally {
    uint32_t serial;
    double spell;
    double flows;  /* of tests over no link, in the event */
    bool is_at;    /* one of these at the ceiling */
    double level;  /* the largest chance of its level */
    double events; /* log odds of the spell's events with such tests */
    double spell_level;
    uint32_t links; /* of the shortest way on which the ceiling was shown */
    double was_at;  /* time of the last spell before that showed it */
    bool spell_at, spell_any;
    bool is_wide, spell_wide; /* several streams at once were at the ceiling */
    bool spell_half; /* a fair share of the ceiling was: busy besides */
    struct part at[SOME], below[SOME]; /* in the spell */
    int n_at, n_below;
};

/* m: the chance that all F flows of an event that crossed no link, and so only
 * the two ends, met other traffic.
 *
 *   m = min(1, F contended^F s)
 *
 * From 12 flows on m counts as 0: event_most limits the weight then. */
static double met_chance(const struct taut_evidence *e, const struct tally *y)
{
    double all = y->flows < 12 ? pow(e->rules.contended, y->flows) : 0;

    if (y->is_wide)
        all *= e->rules.steady;
    return fmin(1, all * y->flows);
}

static void close_event(const struct taut_evidence *e, struct tally *y)
{
    double most = e->rules.event_most;

    if (y->flows > 0 && y->is_at) {
        y->events += fmin(-log(met_chance(e, y) * y->level), most);
    } else if (y->flows > 0) {
        y->events += fmax(log(met_chance(e, y)), -most);
    }
    y->flows = y->level = 0;
    y->is_at = y->is_wide = false;
}

/* a: the chance that a way which was busy is still busy, or again.  Its n parts
 * are busy independently, each with the chance busy_share at any time.  The way
 * keeps its state for an exponentially distributed time of mean busy_h hours;
 * then the state is drawn anew.  After D seconds:
 *
 *   p = 1 - (1 - busy_share)^n
 *   a = p + (1 - p) exp(-D / (3600 busy_h)) */
static double again(const struct taut_evidence *e, double ago_s, double parts)
{
    const struct taut_evidence_rules *r = &e->rules;
    double share = 1 - pow(1 - r->busy_share, parts);

    return share + (1 - share) * exp(-ago_s / 3600 / r->busy_h);
}

/* Several links in a row are busy together: each after the first counts as a
 * quarter of an independent part. */
double taut_evidence_busy_again(const struct taut_evidence *e, double ago_s,
                                uint32_t links)
{
    return again(e, ago_s, links > 1 ? 1 + (links - 1) / 4.0 : 1);
}

double taut_evidence_any_again(const struct taut_evidence *e, double ago_s,
                               uint32_t links)
{
    return again(e, ago_s, fmax(1, links));
}

/* log(SHOWN / (l a s)): a spell at the ceiling.  'time' is that of the last
 * test at the ceiling; D runs from the last one of the spell before. */
static double spell_weight(const struct taut_evidence *e, const struct tally *y,
                           double time, bool is_any_level)
{
    double chance = y->spell_level, ago_s = time - y->was_at;

    if (y->was_at > -HUGE_VAL)
        chance *= is_any_level ? taut_evidence_any_again(e, ago_s, y->links)
                               : taut_evidence_busy_again(e, ago_s, y->links);
    if (y->spell_wide)
        chance *= e->rules.steady;
    return log((is_any_level ? SHOWN_ANY : SHOWN) / chance);
}

/* Do two with the same part of their expected rates differ in bytes because
 * these differed?  Where the same was expected of both, one is just above the
 * ceiling's edge and the other just below it. */
static bool is_same_part(const struct part *at, const struct part *below,
                         double near)
{
    return below->expected_Bps < at->expected_Bps * (1 - near) &&
           fabs(below->of - at->of) < near * at->of;
}

/* A busy network leaves each test the same part of its expected rate; a broken
 * component leaves all the same bytes per second. */
static bool is_proportional(const struct taut_evidence *e,
                            const struct tally *y)
{
    for (int i = 0; i < y->n_at; i++)
        for (int j = 0; j < y->n_below; j++)
            if (is_same_part(&y->at[i], &y->below[j], e->rules.ceiling))
                return true;
    return false;
}

/* Add the spell's w to the score, and empty the tally. */
static void close_spell(const struct taut_evidence *e, struct tally *y,
                        struct taut_case *out)
{
    close_event(e, y);
    if (!y->spell_any)
        return;
    double w = y->events;
    if (y->spell_at && w >= 0)
        w = fmax(w, spell_weight(e, y, out->last,
                                  out->best <= ANY_LEVEL));
    else if (!y->spell_at)
        w = y->spell_half ? fmin(w, 0) : fmin(w, -e->rules.miss);
    if (out->best > ANY_LEVEL && is_proportional(e, y))
        w = fmin(w, -e->rules.miss);
    y->n_at = y->n_below = 0;
    out->newest = fmin(w, e->rules.spell_most);
    out->score += out->newest;
    out->spells += y->spell_at;
    if (y->spell_at)
        y->was_at = out->last;
    y->links = UINT32_MAX;
    y->events = 0;
    y->spell_at = y->spell_any = y->spell_half = y->spell_wide = false;
    y->spell_level = 0;
}

/* What part a single stream got; several get another one of a busy network.
 * The first SOME of each kind are kept, so that is_proportional compares no
 * more than SOME^2 pairs. */
static void keep_part(struct tally *y, const struct taut_low *low, bool is_at)
{
    struct part part = {(double)low->bw_Bps / (double)low->expected_Bps,
                        (double)low->expected_Bps};

    if (low->streams > 1)
        return;
    if (is_at && y->n_at < SOME)
        y->at[y->n_at++] = part;
    else if (!is_at && y->n_below < SOME)
        y->below[y->n_below++] = part;
}

/* One at the ceiling, which a healthy c shows with the chance 'level'. */
static void weigh_at(struct tally *y, const struct taut_low *low, double share,
                     double level, uint32_t c, struct taut_case *out)
{
    if (out->at++ == 0)
        out->first = low->time;
    out->last = low->time;
    out->events += low->serial != y->serial || out->at == 1;
    out->confirmed += low->confirms == c && low->streams > 1;
    y->spell_at = true;
    y->spell_wide = y->spell_wide || low->streams > 1;
    y->links = low->links < y->links ? low->links : y->links;
    y->spell_level = fmax(y->spell_level, level);
    out->mean += (share - out->mean) / out->at;
    if (low->links > 0)
        return;
    y->is_at = true;
    y->is_wide = y->is_wide || low->streams > 1;
    y->level = fmax(y->level, level);
}

/* Entry number 'at'; if c is healthy, a busy network let 'ratio' of what there
 * is through. */
static void weigh(const struct taut_evidence *e, struct tally *y,
                  const struct taut_run *run, uint32_t at, double ratio,
                  uint32_t c, struct taut_case *out)
{
    const struct taut_entry *x = &run->entry[at];
    const struct taut_low *low = x->low;
    double spell = taut_evidence_spell(e, low->time);
    bool is_at = taut_evidence_is_at(e, (double)x->share, out->best);

    if (spell > y->spell) {
        close_spell(e, y, out);
        if (out->score < 0) { /* it is better begun here */
            *out = (struct taut_case){
                .best = out->best, .low = out->low, .start = at};
            y->was_at = -HUGE_VAL;
        }
    } else if (low->serial != y->serial)
        close_event(e, y);
    y->spell = spell;
    y->spell_any = true;
    y->spell_half = y->spell_half ||
                    (out->best > ANY_LEVEL &&
                     taut_evidence_is_fair((double)x->share / out->best,
                                           e->rules.ceiling));
    if (low->links == 0)
        y->flows += low->flows;
    keep_part(y, low, is_at);
    if (is_at)
        weigh_at(y, low, (double)x->share,
                 out->best > ANY_LEVEL ? level_chance(e, ratio) : 1, c, out);
    y->serial = low->serial;
}

/* Do others explain the test?  Else '*ratio' is raised to the largest part that
 * the test got of another's ceiling: if that one is slow, its ceiling is what
 * there would be without other traffic. */
static bool explained(const struct taut_evidence *e,
                      const struct taut_others *w, const struct taut_low *low,
                      double *ratio)
{
    for (uint32_t i = 0; i < w->n; i++) {
        if (taut_evidence_explains(e, &w->list[i], low))
            return true;
        double share = taut_evidence_share(e, w->list[i].c, low);
        if (share >= 0)
            *ratio = fmax(*ratio, share / w->list[i].ceiling[0]);
    }
    return false;
}

/* A: what uneven tests take from a case.  In each spell
 *     min(ABOVE_SPELL, ABOVE * how many were above its ceiling),
 * above being more than L (1 + ceiling). */
static double parts_above(const struct taut_evidence *e,
                          const struct taut_run *run,
                          const struct taut_case *k)
{
    const struct taut_glimpses *parts = &run->glimpses[TAUT_GLIMPSE_PART];
    double sum = 0, in_spell = 0, spell = -HUGE_VAL;

    if (k->best <= ANY_LEVEL || k->start >= run->n)
        return 0;
    for (uint32_t i = 0; i < parts->n; i++) {
        const struct taut_glimpse *p = &parts->list[i];
        double at = taut_evidence_spell(e, p->time);
        if (p->time < run->entry[k->start].low->time ||
            (double)p->share <= k->best * (1 + e->rules.ceiling))
            continue;
        if (at > spell) {
            sum += in_spell;
            in_spell = 0;
        }
        spell = at;
        in_spell = fmin(ABOVE_SPELL, in_spell + ABOVE);
    }
    return sum + in_spell;
}

/* A component that is low at any level is seldom whole, a good one mostly is.
 * So WHOLE is taken for each spell with such a glimpse, from number '*next' on
 * and until 'time', that was more than its low tests got on average. */
static void take_wholes(const struct taut_run *run, uint32_t *next, double time,
                        struct taut_case *out)
{
    const struct taut_glimpses *wholes = &run->glimpses[TAUT_GLIMPSE_WHOLE];

    for (; *next < wholes->n && wholes->list[*next].time <= time; ++*next)
        if (out->at > 0 && (double)wholes->list[*next].share > out->mean)
            out->score -= WHOLE;
}

/* The case of the entries from 'start' on, 'best' being the ceiling: one pass
 * over the run, oldest first, for each spell's w. */
static void weigh_from(const struct taut_evidence *e, uint32_t c,
                       uint32_t start, double best, const struct taut_others *w,
                       struct taut_case *out)
{
    const struct taut_run *run = e->of[c].run;
    struct tally y = {
        .spell = -HUGE_VAL, .was_at = -HUGE_VAL, .links = UINT32_MAX};
    uint32_t whole = best > ANY_LEVEL ? UINT32_MAX : 0;

    *out = (struct taut_case){.low = run->n, .start = start, .best = best};
    for (uint32_t i = start; i < run->n; i++) {
        const struct taut_low *low = run->entry[i].low;
        if ((low->explained_by != TAUT_GRAPH_NONE && low->explained_by != c) ||
            (best <= ANY_LEVEL && low->is_counted))
            continue;
        double ratio = (double)low->bw_Bps / (double)low->expected_Bps;
        take_wholes(run, &whole, low->time, out);
        if (!explained(e, w, low, &ratio))
            weigh(e, &y, run, i, ratio, c, out);
    }
    close_spell(e, &y, out);
    take_wholes(run, &whole, HUGE_VAL, out);
    out->score -= parts_above(e, run, out);
}

/* A case begins with an event, not amid one. */
static uint32_t next_event(const struct taut_run *run, uint32_t i)
{
    while (i > 0 && i < run->n &&
           run->entry[i].low->time <= run->entry[i - 1].low->time)
        i++;
    return i;
}

static void keep_better(const struct taut_evidence *e, uint32_t c,
                        uint32_t start, struct taut_case *out)
{
    const struct taut_others nobody = {.n = 0};
    struct taut_case one;

    start = next_event(e->of[c].run, start);
    if (start == e->of[c].run->n)
        return;
    double since = e->of[c].run->entry[start].low->time;
    weigh_from(e, c, start, taut_evidence_best(e, c, since), &nobody, &one);
    if (one.score > out->score || out->low == 0)
        *out = one;
}

/* The first entry after a time; run->n: none. */
static uint32_t first_after(const struct taut_run *run, double time)
{
    uint32_t i = run->n;

    while (i > 0 && run->entry[i - 1].low->time > time)
        i--;
    return i;
}

/* It may have been busy, or well, before it broke: the case may begin
 * wherever, from there on, the best is lower than before.
 *
 * The loop walks from the newest entry to the oldest.  'best' is the largest
 * share seen so far, 'start' the oldest entry at that ceiling.  An entry that
 * is clearly better than all newer ones ends a candidate.  The bests of two
 * candidates differ by the factor 1 / (1 - ceiling) at least.  So there are at
 * most 45 in a factor of ten at ceiling = 0.05, and each costs one pass over
 * the run.
 *
 * Then cases that begin after each of the best glimpses are tried, and last the
 * one without a ceiling. */
static void judge(const struct taut_evidence *e, uint32_t c,
                  struct taut_case *out)
{
    const struct taut_run *run = e->of[c].run;
    uint32_t start = 0;
    double best = -1;

    *out = (struct taut_case){.score = 0};
    for (uint32_t i = run->n; i-- > 0;) {
        double share = (double)run->entry[i].share;
        if (best >= 0 && share * (1 - e->rules.ceiling) > best)
            keep_better(e, c, start, out);
        if (share >= best * (1 - e->rules.ceiling))
            start = i;
        best = fmax(best, share);
    }
    keep_better(e, c, start, out);
    const struct taut_glimpses *shown = &run->glimpses[TAUT_GLIMPSE_BEST];
    for (uint32_t k = 0; k < shown->n; k++) {
        uint32_t i = first_after(run, shown->list[k].time);
        if (i < run->n && i > start)
            keep_better(e, c, i, out);
    }
    const struct taut_others nobody = {.n = 0};
    struct taut_case any;
    weigh_from(e, c, 0, ANY_LEVEL, &nobody, &any);
    if (any.at > 0 && any.score > out->score)
        *out = any;
}

/* The last judgement is kept until the run changes (judged_at is 0 then) or
 * something that concerns all runs does (e->judging counts that). */
double taut_evidence_judge(const struct taut_evidence *e, uint32_t c,
                           struct taut_case *out)
{
    struct taut_run *run = e->of[c].run;

    if (run == NULL || run->n == 0) {
        *out = (struct taut_case){.score = 0};
        return 0;
    }
    if (run->judged_at != e->judging) {
        judge(e, c, &run->judged);
        run->judged_at = e->judging;
    }
    *out = run->judged;
    return out->score;
}

double taut_evidence_rest(const struct taut_evidence *e, uint32_t c,
                          const struct taut_case *k,
                          const struct taut_others *w, struct taut_case *out)
{
    *out = (struct taut_case){.score = 0};
    if (e->of[c].run == NULL || k->start >= e->of[c].run->n)
        return 0;
    weigh_from(e, c, k->start, k->best, w, out);
    return out->score;
}

double taut_evidence_without(const struct taut_evidence *e, uint32_t c,
                             const struct taut_case *k, uint32_t o,
                             struct taut_case *out)
{
    struct taut_other other = taut_evidence_other(e, o, k->first);
    other.all = k->best <= ANY_LEVEL; /* no level tells the two apart */
    struct taut_others w = {.list = &other, .n = 1};

    return taut_evidence_rest(e, c, k, &w, out);
}

bool taut_evidence_is_news(struct taut_evidence *e, uint32_t c,
                           double weight)
{
    struct taut_case k;

    struct taut_loss_case loss;
    struct taut_recurrence comes;

    return e->of[c].is_watched || taut_evidence_judge(e, c, &k) >= weight ||
           taut_loss_judge(e, c, &loss) >= weight ||
           taut_recurrence_newest(e, c, &comes) >= weight ||
           (comes.is_any && comes.bouts >= TAUT_CHAIN_NEWS);
}
