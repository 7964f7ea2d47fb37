/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ceilings: the best that the tests of a run showed, and what it explains.
 *
 * The ceiling of component o since time t is a share of o's capacity, 0..1:
 *
 *   L(o, t) = max(x, g)
 *
 *   x  the largest share of the low tests in o's run from t on; of MANY tests
 *      or more the third largest, if the largest is within 'ceiling' of that
 *   g  the largest share of tests from t on that were neither low nor clearing
 *      (TAUT_GLIMPSE_BEST)
 *
 * Several ceilings of o are tried: L0 since the beginning of the case in
 * question, L1 of o's own case, L2 of o's whole run.  A low test that showed
 * the share x of o is explained by o where, for one of them,
 *
 *   x >= L0 (1 - ceiling)
 *   |x / Li - 1| < ceiling
 *   |2 x / Li - 1| < 2 ceiling  or  |3 x / Li - 1| < 2 ceiling
 *
 * The last line is a slow component that one or two others share fairly. */
#include <config.h>

#include <math.h>

#include "advisor/lib/evidence/inside.h"

#define MANY 24 /* tests: their maximum is more than the ceiling, by noise */

/* x: the best share of the entries from time 'since' on; of many the third,
 * since the best of many is more than what there is, by noise.  A best well
 * above the third is not noise, and is used.
 *
 * One pass from the newest entry back, O(n); top[] holds the three largest, in
 * descending order. */
static double best_of(const struct taut_evidence *e, const struct taut_run *run,
                      double since)
{
    double top[3] = {0, 0, 0};
    uint32_t n = 0;

    for (uint32_t i = run->n; i-- > 0; n++) {
        if (run->entry[i].low->time < since)
            break;
        double v = (double)run->entry[i].share;
        for (int k = 0; k < 3; k++)
            if (v > top[k]) {
                double w = top[k];
                top[k] = v;
                v = w;
            }
    }
    bool is_noise = top[0] <= top[2] * (1 + e->rules.ceiling);
    return n >= MANY && is_noise ? top[2] : top[0];
}

double taut_evidence_best(const struct taut_evidence *e, uint32_t o,
                          double since)
{
    const struct taut_run *run = e->of[o].run;

    if (run == NULL)
        return 0;
    double best = best_of(e, run, since);
    const struct taut_glimpses *shown = &run->glimpses[TAUT_GLIMPSE_BEST];
    /* shares descend with time: the first in time is the largest */
    for (uint32_t i = 0; i < shown->n; i++)
        if (shown->list[i].time >= since)
            return fmax(best, (double)shown->list[i].share);
    return best;
}

bool taut_evidence_is_fair(double ratio, double near)
{
    return fabs(2 * ratio - 1) < near || fabs(3 * ratio - 1) < near;
}

/* An o that was cleared in the test's own event, or in a later one, was well:
 * it has nothing to do with the test. */
double taut_evidence_share(const struct taut_evidence *e, uint32_t o,
                           const struct taut_low *low)
{
    if (e->of[o].cleared_at >= low->serial)
        return -1;
    for (uint32_t i = 0; i < low->n; i++)
        if (low->on[i].c == o)
            return (double)low->on[i].share;
    return -1;
}

/* Three tests need no ceiling: o was named for this one; the test tells of o's
 * port alone; or the question is about any level (o->all). */
bool taut_evidence_explains(const struct taut_evidence *e,
                            const struct taut_other *o,
                            const struct taut_low *low)
{
    double near = e->rules.ceiling, share = taut_evidence_share(e, o->c, low);

    if (low->explained_by == o->c)
        return true;
    if (share < 0)
        return false;
    if (low->port == o->c)
        return true;
    for (int i = 0; i < 3; i++)
        if (o->all || share >= o->ceiling[0] * (1 - near) ||
            fabs(share / o->ceiling[i] - 1) < near ||
            taut_evidence_is_fair(share / o->ceiling[i], 2 * near))
            return true;
    return false;
}

struct taut_other taut_evidence_other(const struct taut_evidence *e, uint32_t o,
                                      double since)
{
    struct taut_case own;
    struct taut_other other = {.c = o};

    taut_evidence_judge(e, o, &own);
    other.ceiling[0] = taut_evidence_best(e, o, since);
    other.ceiling[1] = own.best;
    other.ceiling[2] = taut_evidence_best(e, o, -HUGE_VAL);
    return other;
}
