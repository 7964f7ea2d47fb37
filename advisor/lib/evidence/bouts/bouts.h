/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What comes and goes: a component that is slow in some hours only.
 *
 * Each test that clears a component ends its run.  What the run showed is kept
 * as a bout: the ceiling, the time, who took part.  A cable that flaps comes
 * back to the same ceiling again and again; a busy network comes back to
 * another one.  weigh.c has the formula. */
#ifndef TAUT_ADVISOR_LIB_EVIDENCE_BOUTS_BOUTS_H
#define TAUT_ADVISOR_LIB_EVIDENCE_BOUTS_BOUTS_H

#include "advisor/lib/evidence/evidence.h"

#define TAUT_BOUTS_MAX 16 /* kept per component */
#define TAUT_BOUT_WAY 6   /* links of its way that are kept */
#define TAUT_CHAIN_NEWS 3 /* spells with bouts since the last whole test: it is
                             worth tests of its own */

/* A run that ended, or one that is open. */
struct taut_bout {
    double began, time; /* of its first and last test at the ceiling, seconds */
    float share;       /* of the component's capacity: the ceiling */
    float ratio;       /* of what was expected of that test */
    uint32_t tested;   /* spells in which the component was tested by then */
    uint32_t src, dst; /* endpoints of the last test */
    uint32_t first_src, first_dst; /* and of the first */
    uint32_t way[TAUT_BOUT_WAY]; /* links that its last test surely crossed,
                                    where somebody asked; not kept in a store */
    uint8_t n_way;     /* of them; 0: what routes say */
    uint16_t links;    /* on the shortest way of its tests */
    uint16_t low_spells;  /* with low tests, at whatever level */
    uint16_t wide_spells; /* with such of several streams at once */
    bool is_single;    /* it was the only one */
    bool is_wide;      /* several streams at once were at the ceiling, too, over a
                          way that is known */
    bool has_grown;    /* several streams got more than one */
    bool is_counted;   /* the losses of all its low tests are known, and do not
                          explain them */
};

/* What the bouts of a component amount to. */
struct taut_recurrence {
    double score;       /* log odds of "it comes and goes" against "busy" */
    double share;       /* the ceiling that comes back */
    double first, last; /* times of the bouts at it */
    bool is_fair;       /* it is what fair sharing of links leaves */
    bool is_any;        /* no ceiling: 'share' is the mean of the bouts */
    uint32_t bouts;     /* spells with a bout at this ceiling */
    uint32_t wide;      /* bouts of these that several streams bore out */
    uint32_t all;       /* bouts in all */
    uint32_t spells;    /* in which it was tested since the first of them */
    uint32_t since;     /* of these since the last */
};

/* Weigh the bouts of component c, its open run among them.  Returns log odds, 0
 * where there are fewer than two bouts at one ceiling. */
double taut_recurrence_judge(struct taut_evidence *e, uint32_t c,
                             struct taut_recurrence *out);

/* The same of the ceiling that was seen last alone. */
double taut_recurrence_newest(struct taut_evidence *e, uint32_t c,
                              struct taut_recurrence *out);

/* Different nodes that took part in the bouts at the ceiling. */
struct taut_reporters
taut_recurrence_reporters(struct taut_evidence *e, uint32_t c,
                          const struct taut_recurrence *k);

/* Another component on the way of a bout at the ceiling of 'k' that may have made
 * it: it had a bout at the same rate at the same time.  Without the bouts that
 * it explains less than 'near' is left of the case, or less than 'enough' and
 * half of the bouts where it weighs half as much by itself.  Or one of several that
 * explain it together, each with a case without c.  NONE: there is no such. */
uint32_t taut_recurrence_rival(struct taut_evidence *e, uint32_t c,
                               const struct taut_recurrence *k, double near,
                               double enough);

/* Another component on the way of each test of c's case k, which was low at the
 * same rate in each, and also where c was not on the way, or twice there. Then
 * it is the intermittent one, and c has no evidence of its own.  NONE: there is
 * no such. */
uint32_t taut_recurrence_twin(struct taut_evidence *e, uint32_t c,
                              const struct taut_case *k);

/* The bouts of component c, oldest first. */
struct taut_bouts_kept {
    const struct taut_bout *list; /* NULL: none */
    uint32_t n;
    uint32_t tested; /* spells in which it was tested */
    double chain;    /* time of the first bout since its last whole test;
                        HUGE_VAL: its last good test was whole */
};
struct taut_bouts_kept taut_bouts_of(const struct taut_evidence *e, uint32_t c);

/* And back.  Returns 0, or -1 with ENOMEM. */
int taut_bouts_restore(struct taut_evidence *e, uint32_t c,
                       const struct taut_bouts_kept *kept);

/* Component c was named as coming and going, or is so no more: what is low at its
 * ceiling then is a bout, although no test is low by that any more. */
void taut_recurrence_name(struct taut_evidence *e, uint32_t c, bool yes);

/* Component c was named: bouts of others that it explains, being on their way
 * and at the same rate at the same time, are theirs no more. */
void taut_recurrence_explain(struct taut_evidence *e, uint32_t c);

/* Forget the bouts of component c. */
void taut_bouts_forget(struct taut_evidence *e, uint32_t c);

#endif
