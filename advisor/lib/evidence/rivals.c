/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rivals: what else was on the ways of the tests against a component.
 *
 * Component c has the case k.  For another component o on the ways of its tests
 *
 *   same(o)  share of k's tests at the ceiling whose ways cross o, 0..1
 *   rest(o)  score of k, in log odds, without the tests that o explains
 *            (ceilings.c, score.c)
 *
 * o is a rival where same >= TAUT_EVIDENCE_LEAST and
 *
 *   rest(o) < enough   or   what is left may be chance (weigh)
 *
 * If there is none, let S be the watched components o whose own case has
 * rest_o(c) >= enough: it stands without c.  All of S are rivals where k
 * without every test that crosses one of S weighs less than 'enough'.
 *
 * One rest() is a pass over a run, and weigh needs two or three.  So o is
 * looked at in the order of same(o), and the search ends at the first that is
 * on too few tests. */
#include <config.h>

#include <stdlib.h>

#include "advisor/lib/evidence/inside.h"

/* ---- who is on the ways ---- */

/* slot[c] is c's place in e->rival[], and holds as long as slot_stamp[c] is
 * slot_now: raising slot_now empties the whole table at once. */
uint32_t taut_rivals_count(struct taut_evidence *e, uint32_t c, uint32_t n)
{
    if (e->slot_stamp[c] != e->slot_now) {
        if (n == TAUT_EVIDENCE_RIVALS)
            return n;
        e->slot_stamp[c] = e->slot_now;
        e->slot[c] = n;
        e->rival[n++] = (struct taut_rival){.c = c, .cleared_at = -HUGE_VAL};
    }
    e->rival[e->slot[c]].tests++;
    return n;
}

static int by_tests(const void *a, const void *b)
{
    const struct taut_rival *x = a, *y = b;

    if (x->tests != y->tests)
        return x->tests < y->tests ? 1 : -1;
    return (x->c > y->c) - (x->c < y->c);
}

void taut_rivals_sort(struct taut_evidence *e, uint32_t n)
{
    qsort(e->rival, n, sizeof(*e->rival), by_tests);
}

/* Everything else on the ways of the tests at c's ceiling, what is on most of
 * them first; returns how many. */
static uint32_t collect(struct taut_evidence *e, uint32_t c,
                        const struct taut_case *k)
{
    const struct taut_run *run = e->of[c].run;
    uint32_t n = 0;

    if (run == NULL || k->at == 0)
        return 0;
    e->slot_now++;
    for (uint32_t i = k->start; i < run->n; i++) {
        const struct taut_low *low = run->entry[i].low;
        if (!taut_run_is_at(e, &run->entry[i], k, c))
            continue;
        for (uint32_t j = 0; j < low->n; j++)
            if (low->on[j].c != c)
                n = taut_rivals_count(e, low->on[j].c, n);
    }
    taut_rivals_sort(e, n);
    for (uint32_t i = 0; i < n; i++)
        e->rival[i].same = (double)e->rival[i].tests / k->at;
    return n;
}

/* ---- who explains it ---- */

/* The rest of c's case k without a rival, and whether that may be chance. It
 * may if it was seen in one spell only, in which c may have been as busy as the
 * rival is slow, and the rival also shows its ceiling without c.
 *
 *   is_chance   rest > 0, what is left was shown in one spell at most, and the
 *               rival's own case has more than 0 left without c */
static void weigh(struct taut_evidence *e, uint32_t c,
                  const struct taut_case *k, struct taut_rival *r)
{
    struct taut_case rest, own;

    r->rest = taut_evidence_without(e, c, k, r->c, &rest);
    r->score = taut_evidence_judge(e, r->c, &own);
    r->is_chance = r->rest > 0 && rest.spells < 2 && own.at > 0 &&
                   taut_evidence_without(e, r->c, &own, c, &rest) > 0;
}

/* Those of the n rivals that explain so much alone; they move to the front. */
static uint32_t alone(struct taut_evidence *e, uint32_t c,
                      const struct taut_case *k, double enough, uint32_t n)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < n; i++) {
        struct taut_rival one = e->rival[i];
        if (one.tests < TAUT_EVIDENCE_LEAST * k->at)
            break;
        weigh(e, c, k, &one);
        if (one.rest < enough || one.is_chance)
            e->rival[found++] = one;
    }
    return found;
}

/* S: suspects whose own case stands without c, of n rivals.  'all': they may be
 * busy besides, so the level of a test that crosses them proves nothing. */
static struct taut_others independent(struct taut_evidence *e, uint32_t c,
                                      double enough, uint32_t n)
{
    struct taut_case own, rest;
    struct taut_others w = {.list = e->other};

    for (uint32_t i = 0; i < n; i++) {
        uint32_t o = e->rival[i].c;
        if (!e->of[o].is_watched)
            continue;
        taut_evidence_judge(e, o, &own);
        if (taut_evidence_without(e, o, &own, c, &rest) >= enough)
            e->other[w.n++] = (struct taut_other){.c = o, .all = true};
    }
    return w;
}

/* Those that explain so much together. */
static uint32_t together(struct taut_evidence *e, uint32_t c,
                         const struct taut_case *k, double enough, uint32_t n)
{
    struct taut_others w = independent(e, c, enough, n);
    struct taut_case rest;

    if (w.n == 0 || taut_evidence_rest(e, c, k, &w, &rest) >= enough)
        return 0;
    for (uint32_t i = 0; i < w.n; i++)
        e->rival[i] = (struct taut_rival){.c = w.list[i].c,
                                          .tests = k->at,
                                          .same = 1,
                                          .rest = rest.score,
                                          .cleared_at = -HUGE_VAL};
    return w.n;
}

const struct taut_rival *taut_evidence_rivals(struct taut_evidence *e,
                                              uint32_t c, double enough,
                                              uint32_t *n)
{
    struct taut_case k;

    taut_evidence_judge(e, c, &k);
    uint32_t all = collect(e, c, &k);
    *n = alone(e, c, &k, enough, all);
    if (*n == 0)
        *n = together(e, c, &k, enough, all);
    return e->rival;
}

const struct taut_rival *taut_evidence_alternatives(struct taut_evidence *e,
                                                    uint32_t c, uint32_t most,
                                                    uint32_t *n)
{
    struct taut_case k;

    taut_evidence_judge(e, c, &k);
    uint32_t all = collect(e, c, &k);
    *n = all < most ? all : most;
    for (uint32_t i = 0; i < *n; i++) {
        struct taut_rival *r = &e->rival[i];
        weigh(e, c, &k, r);
        if (e->cleared[r->c] > k.first) {
            r->cleared_at = e->cleared[r->c];
            r->cleared_by = e->of[r->c].cleared_by;
        }
    }
    return e->rival;
}
