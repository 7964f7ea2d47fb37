/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One at a time, or in bursts: what a stream's rate says of its losses.
 *
 * A bad link loses segments one at a time; a queue that overflows drops b of
 * them, which slow a stream down as one loss does.  A stream that loses the
 * share p gets (Mathis, Semke, Mahdavi, Ott, CCR 1997)
 *
 *   rate = MATHIS * segment / (r sqrt(p / b))        r: its round trip
 *
 * so  x = MATHIS * segment / (rate sqrt(p))  is  r  for a bad link, r / sqrt(b)
 * for a queue.  With r spread evenly over [least, most] and b log-uniform over
 * [1, MOST_BURST], y = sqrt(b):
 *
 *   single   1 / (most - least)                      for least <= x <= most
 *   burst    2 / log(MOST_BURST) * (y2 - y1) / (most - least)
 *            y1 = max(1, least / x), y2 = min(sqrt(MOST_BURST), most / x)
 *
 * A stream as fast as its way says only that its losses would have let it: r
 * was no longer than x, or than x y.
 *
 *   single   part(x);  part(r) = (r - least) / (most - least), within 0 and 1
 *   burst    2 / log(MOST_BURST) * sum over y of part(x y) / y
 *
 * Where the round trip was measured it is known to be no shorter than at rest,
 * and no longer than MEASURED times that; else the settings say. */
#include <config.h>

#include <math.h>

#include "advisor/lib/evidence/inside.h"

#define MATHIS 1.224745 /* sqrt(3/2), of a window for each loss */
#define SEGMENT_LEAST 500
#define SEGMENT_MOST 9000 /* bytes */
#define MOST_BURST 30.0   /* segments */
#define FULL 0.95         /* of what is expected: its way held it back */
#define NEAR 0.9          /* of the shortest round trip: counts scatter */
#define MEASURED 2.5
#define STEPS 16
#define UNLIKELY 0.02
#define LEAST -4.0
#define MOST 2.0 /* log odds */

struct round_trip {
    double least, most; /* seconds */
};

static double part(const struct round_trip *r, double x)
{
    return fmin(1, fmax(0, (x - r->least) / (r->most - r->least)));
}

/* Of a stream that its losses held back. */
static double odds_of_pace(const struct round_trip *r, double x)
{
    double y1 = fmax(1, r->least / x);
    double y2 = fmin(sqrt(MOST_BURST), r->most / x);
    double single = x >= r->least ? 1 : 0;
    double burst = 2 / log(MOST_BURST) * fmax(0, y2 - y1);

    if (x > r->most)
        return 0; /* something else held it back */
    return log((single + UNLIKELY) / (burst + UNLIKELY));
}

/* Of a stream that its way held back. */
static double odds_of_full(const struct round_trip *r, double x)
{
    double step = log(sqrt(MOST_BURST)) / STEPS, burst = 0;

    for (int i = 0; i < STEPS; i++)
        burst += part(r, x * exp((i + 0.5) * step)) / STEPS;
    return log((part(r, x) + UNLIKELY) / (burst + UNLIKELY));
}

double taut_loss_single(const struct taut_evidence *e,
                        const struct taut_measured *m)
{
    struct round_trip r = {NEAR * e->rules.loss_rtt_least,
                           e->rules.loss_rtt_most};

    if (e->rules.lossless || m->streams > 1 || !(m->segment_bytes > 0) ||
        m->lost < 1 || !(m->bw_Bps > 0))
        return 0;
    if (m->min_rtt_ns > 0)
        r = (struct round_trip){NEAR * 1e-9 * m->min_rtt_ns,
                                MEASURED * 1e-9 * m->min_rtt_ns};
    double segment =
        fmin(SEGMENT_MOST, fmax(SEGMENT_LEAST, m->segment_bytes));
    double x = MATHIS * segment / (m->bw_Bps * sqrt(m->lost / m->segments));
    double odds = m->bw_Bps >= FULL * m->expected_Bps ? odds_of_full(&r, x)
                                                      : odds_of_pace(&r, x);
    return fmin(MOST, fmax(LEAST, odds));
}
