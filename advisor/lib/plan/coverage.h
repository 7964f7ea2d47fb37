/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When each component was tested, asked for and crossed, how much of its time
 * probes may still take, and which plan has reserved it.  Components count
 * from 0; times are seconds of whatever clock the caller uses. */
#ifndef TAUT_ADVISOR_LIB_PLAN_COVERAGE_H
#define TAUT_ADVISOR_LIB_PLAN_COVERAGE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAUT_COVERAGE_NEVER (-1e18)
#define TAUT_COVERAGE_AHEAD_S 60  /* nothing is planned so far ahead */
#define TAUT_COVERAGE_SAVED_S 0.5 /* probing that a component can save up */

struct taut_coverage {
    uint32_t n;
    double link_time;      /* share of a component's time; 0: no limit */
    double busy_most;      /* the latest of busy_until */
    double *tested;        /* a test that meant something last used it */
    const double *cleared; /* somebody else's: it was last seen well; NULL:
                              nobody says, and 'tested' has to do */
    double *asked;         /* a test that can show it was planned */
    double *crossed;       /* one that crosses it but cannot show it */
    double *busy_until;
    double *spent, *spent_at;
};

/* Times of n components, all NEVER.  Returns it, or NULL with ENOMEM. */
struct taut_coverage *taut_coverage_create(uint32_t n);
void taut_coverage_destroy(struct taut_coverage *v);

/* Room for n components.  Returns 0, or -1 with ENOMEM; the arrays may have
 * moved. */
int taut_coverage_grow(struct taut_coverage *v, uint32_t n);

/* Take 'seconds' out of what c may use. */
void taut_coverage_spend(struct taut_coverage *v, uint32_t c, double seconds,
                         double now);

/* Keep other plans off c until 'until_s'. */
void taut_coverage_hold(struct taut_coverage *v, uint32_t c, double until_s);

/* A time of a clock that was set back since says nothing. */
static inline double taut_coverage_believed(double at, double now)
{
    return at > now + TAUT_COVERAGE_AHEAD_S ? TAUT_COVERAGE_NEVER : at;
}

/* Seconds of probing left to component c; HUGE_VAL without a limit. */
static inline double taut_coverage_left(const struct taut_coverage *v,
                                        uint32_t c, double now)
{
    if (v->link_time <= 0)
        return HUGE_VAL;
    double spent = v->spent[c];
    if (spent <= 0 || v->spent_at[c] > now + TAUT_COVERAGE_AHEAD_S)
        return TAUT_COVERAGE_SAVED_S;
    spent -= (now - v->spent_at[c]) * v->link_time;
    return TAUT_COVERAGE_SAVED_S - (spent > 0 ? spent : 0);
}

/* May a test of 'seconds' use c now?  Routine tests leave half of what is
 * saved up to urgent ones. */
static inline bool taut_coverage_allows(const struct taut_coverage *v,
                                        uint32_t c, double seconds, double now,
                                        bool urgent)
{
    double keep = TAUT_COVERAGE_SAVED_S / 2;

    if (v->link_time <= 0)
        return true;
    if (urgent || keep >= TAUT_COVERAGE_SAVED_S - seconds)
        keep = 0;
    return taut_coverage_left(v, c, now) - seconds >= keep;
}

/* When c was last seen well. */
static inline double taut_coverage_well(const struct taut_coverage *v,
                                        uint32_t c)
{
    return v->cleared != NULL ? v->cleared[c] : v->tested[c];
}

static inline double taut_coverage_last(const struct taut_coverage *v,
                                        uint32_t c)
{
    return v->tested[c] > v->asked[c] ? v->tested[c] : v->asked[c];
}

#endif
