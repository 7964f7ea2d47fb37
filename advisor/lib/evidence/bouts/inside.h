/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the bouts have in common. */
#ifndef TAUT_ADVISOR_LIB_EVIDENCE_BOUTS_INSIDE_H
#define TAUT_ADVISOR_LIB_EVIDENCE_BOUTS_INSIDE_H

#include "advisor/lib/evidence/inside.h"

/* Describe what the run of c showed at its ceiling.  Returns false where that is
 * nothing of its own. */
bool taut_bout_describe(const struct taut_evidence *e, uint32_t c,
                        struct taut_bout *b);

/* Copy the bouts of c and its open run, ascending time, to
 * out[TAUT_BOUTS_MAX + 1].  Returns how many they are. */
uint32_t taut_bouts_collect(const struct taut_evidence *e, uint32_t c,
                            struct taut_bout *out);

/* Weigh the case that begins with the first of n bouts at the ceiling k->share
 * of component c. */
void taut_recurrence_weigh(const struct taut_evidence *e, uint32_t c,
                           const struct taut_bout *list, uint32_t n,
                           const struct taut_recurrence *k,
                           struct taut_recurrence *out);

/* Is the bout near this share of the component's capacity? */
static inline bool taut_bout_is_level(const struct taut_evidence *e,
                                      const struct taut_bout *b, double share)
{
    return fabs((double)b->share - share) <= e->rules.ceiling * share;
}

#define TAUT_BOUT_NEAR_FAIR 1.2 /* of 'ceiling': the best of a few tests is a
                                   little high */

/* Does fair sharing leave this share of the expected rate? */
static inline bool taut_bout_is_fair(const struct taut_evidence *e,
                                     const struct taut_bout *b)
{
    return taut_evidence_is_fair((double)b->ratio,
                                 TAUT_BOUT_NEAR_FAIR * e->rules.ceiling);
}

/* Is it a bout of the case k? */
static inline bool taut_bout_is_of_case(const struct taut_evidence *e,
                                        const struct taut_bout *b,
                                        const struct taut_recurrence *k)
{
    return b->time >= k->first &&
           (k->is_any || taut_bout_is_level(e, b, k->share));
}

#endif
