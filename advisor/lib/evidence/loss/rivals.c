/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which component loses: others on the ways of the same tests, and who took
 * part in these. */
#include <config.h>

#include "advisor/lib/evidence/inside.h"

/* ---- who took part ---- */

static uint32_t count_ends(struct taut_evidence *e, uint32_t c,
                           const struct taut_loss_case *k, bool at_source)
{
    const struct taut_loss_run *run = e->loss[c].run;
    uint32_t n = 0;

    e->slot_now++;
    for (uint32_t i = 0; run != NULL && i < run->n; i++) {
        const struct taut_loss_test *t = run->test[i];
        if (taut_loss_is_at(e, c, k, t))
            n += taut_evidence_is_new_node(e, at_source ? t->src : t->dst);
    }
    return n;
}

struct taut_reporters taut_loss_reporters(struct taut_evidence *e, uint32_t c,
                                          const struct taut_loss_case *k)
{
    uint32_t senders = count_ends(e, c, k, true);

    return taut_evidence_far(e, c, senders, count_ends(e, c, k, false));
}

/* ---- rivals ---- */

/* Everything else on the ways of the tests at the share of c. */
static uint32_t collect(struct taut_evidence *e, uint32_t c,
                        const struct taut_loss_case *k)
{
    const struct taut_loss_run *run = e->loss[c].run;
    uint32_t n = 0;

    e->slot_now++;
    for (uint32_t i = 0; run != NULL && i < run->n; i++) {
        const struct taut_loss_test *t = run->test[i];
        if (!taut_loss_is_at(e, c, k, t))
            continue;
        for (uint32_t j = 0; j < t->n; j++)
            if (t->on[j] != c && e->loss[t->on[j]].run != NULL)
                n = taut_rivals_count(e, t->on[j], n);
    }
    taut_rivals_sort(e, n);
    return n;
}

const struct taut_rival *taut_loss_rivals(struct taut_evidence *e, uint32_t c,
                                          double enough, double near,
                                          uint32_t *n)
{
    struct taut_loss_case k, own, rest;
    uint32_t all, found = 0;

    taut_loss_judge(e, c, &k);
    all = collect(e, c, &k);
    for (uint32_t i = 0; i < all; i++) {
        struct taut_rival one = e->rival[i];
        if (one.tests < TAUT_EVIDENCE_LEAST * k.at)
            break;
        one.same = (double)one.tests / k.at;
        one.score = taut_loss_judge(e, one.c, &own);
        taut_loss_weigh(e, c, k.share, one.c, &rest);
        one.rest = rest.score;
        if (one.rest < enough && one.score > k.score - near)
            e->rival[found++] = one;
    }
    *n = found;
    return e->rival;
}
