/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Components that should be alike, and classes that have changed.
 *
 * A class has changed where
 *
 *   tested >= least   and   low >= share * tested
 *
 *   tested  its components that a test crossed since the time given
 *   low     of these, those whose run weighs 'weight' log odds or more
 *
 * Weighing is what costs.  So two upper bounds of 'low' come first: how many
 * have a run at all, then how many have TAUT_EVIDENCE_OPEN tests in it.  The
 * first comes out of one pass over all components for all classes. */
#include <config.h>

#include <math.h>

#include "advisor/lib/evidence/inside.h"

/* Was it tested since then, and does anything speak against it? */
static bool is_tested(const struct taut_evidence *e, uint32_t o, double since)
{
    return e->class[o] != TAUT_GRAPH_NONE && e->of[o].tested >= since;
}

static bool is_open(const struct taut_evidence *e, uint32_t o)
{
    return e->of[o].run != NULL && e->of[o].run->n >= TAUT_EVIDENCE_OPEN;
}

static uint32_t count_open(const struct taut_evidence *e, uint32_t class,
                           double since)
{
    uint32_t n = 0;

    for (uint32_t o = 0; o < e->g->components; o++)
        n += e->class[o] == class && is_tested(e, o, since) && is_open(e, o);
    return n;
}

/* Runs are looked at, and weighed, only where there are enough of them, which
 * is almost never. */
static bool count_low(const struct taut_evidence *e, uint32_t class,
                      double since, double weight, double enough)
{
    struct taut_change *t = &e->change[class];
    struct taut_case k;

    if (count_open(e, class, since) < enough)
        return false;
    t->low = 0;
    for (uint32_t o = 0; o < e->g->components; o++)
        if (e->class[o] == class && is_tested(e, o, since) && is_open(e, o))
            t->low += taut_evidence_judge(e, o, &k) >= weight;
    return t->low >= enough;
}

bool taut_evidence_changed(const struct taut_evidence *e, uint32_t c,
                           double since, double weight, uint32_t least,
                           double share, struct taut_change *out)
{
    bool found = false;

    for (uint32_t i = 0; i < e->classes; i++)
        e->change[i] = (struct taut_change){.tested = 0};
    for (uint32_t o = 0; o < e->g->components; o++)
        if (is_tested(e, o, since)) {
            struct taut_change *t = &e->change[e->class[o]];
            t->c = o;
            t->tested++;
            t->low += e->of[o].run != NULL; /* at most */
        }
    for (uint32_t i = 0; i < e->classes; i++) {
        const struct taut_change *t = &e->change[i];
        double enough = share * t->tested;
        if (t->tested >= least && t->low >= enough &&
            count_low(e, i, since, weight, enough) &&
            (!found || i == e->class[c])) {
            *out = *t;
            found = true;
        }
    }
    return found;
}

/* Alike are ceilings L with |L - Lc| <= near Lc, Lc being c's own. */
uint32_t taut_evidence_alike(const struct taut_evidence *e, uint32_t c,
                             double since, double near)
{
    double own = taut_evidence_best(e, c, -HUGE_VAL);
    uint32_t n = 0;

    for (uint32_t o = 0; o < e->g->components; o++)
        if (e->class[o] == e->class[c] && is_tested(e, o, since) &&
            is_open(e, o) && e->cleared[o] == -HUGE_VAL)
            n += fabs(taut_evidence_best(e, o, -HUGE_VAL) - own) <= near * own;
    return n;
}
