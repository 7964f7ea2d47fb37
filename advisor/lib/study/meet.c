/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What messages meet on their ways: means, quantiles, those without a way. */
#include <config.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/study/study.h"

#define CLASSES 4096 /* of a value, for quantiles: 0.6 % wide each */
#define LEAST 1e-15
#define PER_FACTOR (CLASSES / 60.0) /* classes for each factor of e */

/* Quantiles are those of a histogram with classes of equal ratio: sorting
 * would take longer than all the rest. */
int taut_meet_init(struct taut_meet *m, const struct taut_demand *d,
                   struct taut_study_result *out)
{
    memset(m, 0, sizeof(*m));
    m->out = out;
    m->all = d->messages;
    m->weight = calloc(CLASSES, sizeof(*m->weight));
    return m->weight != NULL ? 0 : -1;
}

void taut_meet_fini(struct taut_meet *m)
{
    free(m->weight);
    m->weight = NULL;
}

static size_t class_of(double v)
{
    double i = v > LEAST ? log(v / LEAST) * PER_FACTOR : 0;

    return i < CLASSES - 1 ? (size_t)i : CLASSES - 1;
}

void taut_meet_add(struct taut_meet *m, const struct taut_demand_pair *p,
                   double expected, double hottest)
{
    m->messages += p->messages;
    m->bytes += p->bytes;
    m->sum += p->messages * expected;
    m->sum_bytes += p->bytes * expected;
    m->sum_hottest += p->messages * hottest;
    if (expected > m->out->most_s)
        m->out->most_s = expected;
    m->weight[class_of(expected)] += p->messages;
}

void taut_meet_lose(struct taut_meet *m, const struct taut_demand_pair *p)
{
    struct taut_study_result *out = m->out;

    if (out->named < TAUT_STUDY_NAMED)
        out->lost[out->named++] = (struct taut_study_lost){p->from, p->to};
    out->lost_pairs++;
    out->lost_bytes += p->bytes;
    out->lost_messages += p->messages;
}

static double quantile(const struct taut_meet *m, double share)
{
    double sum = 0;

    for (size_t i = 0; i < CLASSES; i++) {
        sum += m->weight[i];
        if (m->weight[i] > 0 && sum >= share * m->messages)
            return i > 0 ? LEAST * exp(((double)i + 0.5) / PER_FACTOR) : 0;
    }
    return 0;
}

void taut_meet_finish(struct taut_meet *m)
{
    static const double shares[3] = {0.5, 0.9, 0.99};
    struct taut_study_result *out = m->out;

    out->mean_s = m->messages > 0 ? m->sum / m->messages : 0;
    out->hottest_s = m->messages > 0 ? m->sum_hottest / m->messages : 0;
    out->mean_bytes_s = m->bytes > 0 ? m->sum_bytes / m->bytes : 0;
    out->all_s = m->all > 0 ? m->sum / m->all : 0;
    out->carried = m->bytes;
    for (int i = 0; i < 3; i++)
        out->quantile_s[i] = quantile(m, shares[i]);
}
