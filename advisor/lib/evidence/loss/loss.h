/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Losses: which component loses a share of its packets.
 *
 * A ceiling is a rate that no test exceeds; a loss is a share that no test
 * stays below.  So there are runs of tests for losses as there are for
 * ceilings (evidence.h), one for each component that tests with losses crossed
 * since a test last cleared it.  A run keeps every test since then whose
 * losses were counted, those without losses too: they speak against a small
 * share and in the end clear the component.
 *
 * A run is weighed as log odds of "this component loses the share p" against
 * "queues lose it".  loss/score.c has the formulas. */
#ifndef TAUT_ADVISOR_LIB_EVIDENCE_LOSS_H
#define TAUT_ADVISOR_LIB_EVIDENCE_LOSS_H

#include "advisor/lib/evidence/evidence.h"

/* One test whose losses were counted.  Runs of several components hold it. */
struct taut_loss_test {
    double time; /* seconds */
    int64_t id, event, job;
    uint32_t serial;   /* events counted here, from 1 */
    uint32_t src, dst; /* endpoints */
    float segments;    /* sent, those sent again included */
    float lost;        /* of them */
    float rate;        /* that it had, of what was expected; < 0: void */
    float single;      /* log odds that its losses came one at a time, as those
                          of a bad link do, and not in bursts, as a queue drops
                          them (loss/burst.c); 0: its rate does not say */
    uint32_t refs;
    uint16_t links; /* on its route */
    uint16_t n;
    uint32_t on[]; /* components that it surely crossed */
};

/* What a run amounts to. */
struct taut_loss_case {
    double score;       /* log odds */
    double share;       /* of the segments that the component loses: p */
    double first, last; /* times of the tests that lost about this share */
    uint32_t tests;     /* in the run */
    uint32_t at;        /* of them those that lost about this share */
    uint32_t spells;    /* in which that happened */
    uint32_t events;    /* the same */
    double segments, lost; /* of the tests at the share */
    double rate;     /* that these had on average, of what was expected */
    uint32_t recent; /* tests at the share in the last spell that has some */
    uint32_t start;        /* first test of the run that belongs to the case */
};

/* Weigh the loss run of component c.  Returns log odds, 0 without a run. */
double taut_loss_judge(struct taut_evidence *e, uint32_t c,
                       struct taut_loss_case *out);

/* Its tests, oldest first, *n of them; NULL: it has no run.  Valid until it
 * changes. */
struct taut_loss_test *const *taut_loss_run(const struct taut_evidence *e,
                                            uint32_t c, uint32_t *n);

/* Did test t lose about the share of case k, and does it belong to it? */
bool taut_loss_is_at(const struct taut_evidence *e, uint32_t c,
                     const struct taut_loss_case *k,
                     const struct taut_loss_test *t);

/* Nodes at the ends of the tests at the share of case k. */
struct taut_reporters taut_loss_reporters(struct taut_evidence *e, uint32_t c,
                                          const struct taut_loss_case *k);

/* Others that may be what loses: each lies on the ways of so many of c's tests
 * that less than 'enough' log odds are left without these, and its own case
 * weighs no less than c's by 'near'.  What lies on most of them first.
 * Returns *n of them, valid until the next question about rivals. */
const struct taut_rival *taut_loss_rivals(struct taut_evidence *e, uint32_t c,
                                          double enough, double near,
                                          uint32_t *n);

/* Component c loses this share, for sure: it explains the losses of the tests
 * over it.  0: it loses nothing. */
void taut_loss_name(struct taut_evidence *e, uint32_t c, double share);

/* Tests since the last one with losses that show component c without the share
 * for which it was named. */
uint32_t taut_loss_good(const struct taut_evidence *e, uint32_t c);

/* Forget the run of c and what it was named for. */
void taut_loss_forget(struct taut_evidence *e, uint32_t c);

/* Put a test back that a store kept, into the runs of the components that it
 * names.
 *   head    'n', 'on' and 'refs' are not read
 *   on, n   the components
 *   in_run  [n] does it stand in that one's run?
 * Returns 0 or -1 with ENOMEM. */
int taut_loss_restore(struct taut_evidence *e,
                      const struct taut_loss_test *head, const uint32_t *on,
                      uint32_t n, const bool *in_run);

#endif
