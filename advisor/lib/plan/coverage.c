/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When components were tested, and how much of their time probes may take.
 *
 * The time is a leaky bucket for each component.  'spent' is what probes took,
 * in seconds, as of the time spent_at, and it leaks by link_time seconds a
 * second:
 *
 *   left(now) = SAVED - max(0, spent - link_time (now - spent_at))
 *
 * SAVED is TAUT_COVERAGE_SAVED_S.  A test of t seconds is allowed where left >=
 * t; a routine one leaves SAVED / 2 besides, unless t is as much by itself.
 * Probes that took longer than planned make 'left' negative, and the component
 * rests until that has leaked.  Without link_time nothing is counted.
 *
 * All times are on the caller's clock.  One that lies TAUT_COVERAGE_AHEAD_S or
 * more ahead was noted before the clock was set back, and counts as NEVER. */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "advisor/lib/plan/coverage.h"

#define ARRAYS 6

static double *copy_times(const double *old, uint32_t had, uint32_t n,
                          double first)
{
    double *t = malloc(((size_t)n + 1) * sizeof(*t));

    for (uint32_t c = 0; t != NULL && c < n; c++)
        t[c] = c < had ? old[c] : first;
    return t;
}

/* All arrays grow, or none does. */
int taut_coverage_grow(struct taut_coverage *v, uint32_t n)
{
    double **array[ARRAYS] = {&v->tested,     &v->asked, &v->crossed,
                              &v->busy_until, &v->spent, &v->spent_at};
    double *grown[ARRAYS];
    bool is_short = false;

    if (n <= v->n)
        return 0;
    for (int i = 0; i < ARRAYS; i++) {
        grown[i] = copy_times(*array[i], v->n, n,
                              array[i] == &v->spent ? 0 : TAUT_COVERAGE_NEVER);
        is_short = is_short || grown[i] == NULL;
    }
    for (int i = 0; i < ARRAYS; i++) {
        free(is_short ? grown[i] : *array[i]);
        if (!is_short)
            *array[i] = grown[i];
    }
    if (is_short) {
        errno = ENOMEM;
        return -1;
    }
    v->n = n;
    return 0;
}

struct taut_coverage *taut_coverage_create(uint32_t n)
{
    struct taut_coverage *v = calloc(1, sizeof(*v));

    if (v == NULL)
        return NULL;
    v->busy_most = TAUT_COVERAGE_NEVER;
    if (taut_coverage_grow(v, n) < 0) {
        taut_coverage_destroy(v);
        errno = ENOMEM;
        return NULL;
    }
    return v;
}

void taut_coverage_destroy(struct taut_coverage *v)
{
    if (v == NULL)
        return;
    free(v->tested);
    free(v->asked);
    free(v->crossed);
    free(v->busy_until);
    free(v->spent);
    free(v->spent_at);
    free(v);
}

void taut_coverage_spend(struct taut_coverage *v, uint32_t c, double seconds,
                         double now)
{
    if (v->link_time <= 0)
        return;
    double left = taut_coverage_left(v, c, now);
    v->spent[c] = fmax(0, TAUT_COVERAGE_SAVED_S - left) + seconds;
    v->spent_at[c] = now;
}

void taut_coverage_hold(struct taut_coverage *v, uint32_t c, double until_s)
{
    if (until_s > v->busy_until[c])
        v->busy_until[c] = until_s;
    if (until_s > v->busy_most)
        v->busy_most = until_s;
}
