/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Weighing losses: log odds of "c loses the share p" against "queues do".
 *
 * Of a test with S segments, R of them lost, on whose way other components
 * that were named lose the share b together:
 *
 *   P1 = (1 - q) s N(R; (p + b) S + w) + Q(R - (p + b) S)     c loses p
 *   P0 = (1 - q) s N(R; b S + w)       + Q(R - b S)           it does not
 *
 *   N(R; m)  negative binomial of mean m whose standard deviation is that of a
 *            Poisson number and SPREAD of m besides
 *   Q(x)     what queues drop, by half decades of the share x / S:
 *            f / (HALF x), HALF = log(10) / 2, where tests over components of
 *            c's class fall into this half decade with the frequency f.  To
 *            these are added PRIOR tests of which the part loss_contended lost
 *            a share that is log-uniform over two decades
 *   q        the sum of all f
 *   w        what is well loses: WELL of the segments
 *   s        the odds that they came one at a time and not in bursts
 *            (loss/burst.c)
 *
 * (The likelihood of counts on known ways is Flock's, Harsh et al., CoNEXT
 * 2023; that losses of queues come by the hour is not in there.)
 *
 * Tests of one spell (spell_s) may all have met the same busy network, which
 * loses one share as long as it lasts.  So a spell adds what its tests say
 * together, but no more than
 *
 *   log(SHOWN s N(R; p S) / (again / (NATS R)))
 *
 *   R, S     sums over those of its tests that lost about p
 *   s        their geometric mean: the network drops alike in all of them
 *   again    the chance that the way is still, or again, busy (score.c)
 *   1/(NATS R)  the chance that a busy network, whose share is log-uniform over
 *            NATS, loses just as many
 *
 * nor more than spell_most.  Tests over no link at all meet no network: what
 * they say is added, and has no other limit than spell_most.  On a lossless
 * fabric a busy network loses something with the chance NEWS only.  What speaks
 * against p counts in full; a case that falls below 0 begins anew. */
#include <config.h>

#include <math.h>
#include <stdlib.h>

#include "advisor/lib/evidence/inside.h"

#define SPREAD 0.1
#define HALF 1.151293      /* a half decade, in natural logarithms */
#define NATS 4.6           /* two decades */
#define PRIOR 200          /* tests */
#define PRIOR_BINS 6       /* half decades over which these lost something */
#define WELL 2e-6          /* of the segments: ten components that are well */
#define SHOWN 0.7          /* chance that what loses does so in a spell */
#define NEWS 0.01          /* chance that a lossless fabric loses something */
#define RARE 1e-6          /* no test is less likely: routes may be wrong */
#define GUESSES 4          /* shares that are tried */
#define BURSTS -2.5        /* log odds: a queue dropped these */
#define FEW 12.0           /* losses, of which a test may have none */

#define SIZE (1 / (SPREAD * SPREAD))

/* What of log N(x; m) does not depend on m. */
static double log_ways(double x)
{
    return lgamma(x + SIZE) - lgamma(SIZE) - lgamma(x + 1);
}

/* log N(x; m), of log_ways(x) */
static double log_count(double x, double m, double ways)
{
    return SIZE * log(SIZE / (SIZE + m)) + x * log(m / (SIZE + m)) + ways;
}

/* What queues drop on the ways of a class. */
struct queue {
    double chance; /* q */
    double part[TAUT_LOSS_BINS]; /* f */
};

static void describe_queue(const struct taut_evidence *e, uint32_t c,
                           struct queue *q)
{
    const struct taut_loss_class *y = taut_loss_class_of(e, c);
    double some = e->rules.lossless ? NEWS : e->rules.loss_contended;
    double all = (double)y->tests + PRIOR;

    q->chance = 0;
    for (int i = 0; i < TAUT_LOSS_BINS; i++) {
        double prior = i < PRIOR_BINS ? PRIOR * some / PRIOR_BINS : 0;
        q->part[i] = ((double)y->lossy[i] + prior + 0.1) / all;
        q->chance += q->part[i];
    }
    q->chance = fmin(0.95, q->chance);
}

/* Q(x) */
static double queue_chance(const struct queue *q, double x, double segments)
{
    int bin = 0;

    if (x < -1)
        return RARE;
    if (x < 1) /* less than one segment: half of the smallest shares */
        return q->part[0] / 2;
    double place = 2 * log10(x / segments / TAUT_LOSS_LEAST);
    if (place > 0)
        bin = place < TAUT_LOSS_BINS ? (int)place : TAUT_LOSS_BINS - 1;
    return q->part[bin] / (HALF * x);
}

/* What of the tests of a run does not depend on the share that is tried. */
struct known {
    struct queue q;
    struct {
        double base;   /* b */
        double ways;   /* log_ways of what it lost */
        double queued; /* P0 */
    } test[TAUT_LOSS_RUN_MAX + 1];
};

/* Of what t lost, the share 'share' being lost one at a time. */
static double chance_of(const struct queue *q, const struct taut_loss_test *t,
                        double share, double ways)
{
    double lost = (double)t->lost, segments = (double)t->segments;
    double m = share * segments + WELL * segments;

    return fmax(RARE,
                (1 - q->chance) * exp(log_count(lost, m, ways) +
                                       (double)t->single) +
                    queue_chance(q, lost - share * segments, segments));
}

/* The share that others are known to lose on the way of t. */
static double known_share(const struct taut_evidence *e,
                          const struct taut_loss_test *t, uint32_t c)
{
    double sum = 0;

    for (uint32_t i = 0; i < t->n; i++)
        if (t->on[i] != c)
            sum += (double)e->loss[t->on[i]].share;
    return sum;
}

static void know_shares(const struct taut_evidence *e, uint32_t c,
                        struct known *k)
{
    const struct taut_loss_run *run = e->loss[c].run;

    for (uint32_t i = 0; i < run->n; i++)
        k->test[i].base = known_share(e, run->test[i], c);
}

static void know_chances(const struct taut_evidence *e, uint32_t c,
                         struct known *k)
{
    const struct taut_loss_run *run = e->loss[c].run;

    describe_queue(e, c, &k->q);
    for (uint32_t i = 0; i < run->n; i++) {
        const struct taut_loss_test *t = run->test[i];
        double ways = log_ways((double)t->lost);
        k->test[i].ways = ways;
        k->test[i].queued = chance_of(&k->q, t, k->test[i].base, ways);
    }
}

/* log(P1 / P0) of test number i of the run */
static double odds_of(const struct known *k, uint32_t i,
                      const struct taut_loss_test *t, double p)
{
    double lossy =
        chance_of(&k->q, t, k->test[i].base + p, k->test[i].ways);

    return log(lossy / k->test[i].queued);
}

double taut_loss_scatter(double mean)
{
    return 3 * sqrt(mean + SPREAD * SPREAD * mean * mean) + 1;
}

/* Is what the test lost, but for what others do, about the share p, and may it
 * have been one segment at a time? */
static bool is_about(const struct taut_loss_test *t, double base, double p)
{
    double m = p * (double)t->segments;
    double off = (double)t->lost - (base + p) * (double)t->segments;

    return fabs(off) <= taut_loss_scatter(m) &&
           t->lost >= 1 && (double)t->single > BURSTS;
}

/* ---- the case of one share ---- */

struct spell_tally {
    double spell;    /* its number */
    double odds;     /* of its tests over links together */
    double apart;    /* of those over no link */
    double lost;     /* of the tests about the share, beside what others do */
    double segments; /* of these */
    double single;   /* of these, the sum of log s */
    uint32_t n;      /* how many they are */
    double last;     /* time of the last of these */
    double was_at;   /* time of the last such test before */
    uint32_t links;  /* of the shortest way among them */
    uint32_t serial; /* of the event that was counted last */
    uint32_t rated;  /* of all spells, tests about the share that had a rate */
    bool is_any, is_at;
};

static double most_of_spell(const struct taut_evidence *e,
                            const struct spell_tally *y, double share)
{
    double busy = 1, fit;

    if (y->n == 0)
        return 0; /* none over links was about the share */
    if (e->rules.lossless)
        busy = NEWS;
    else if (y->was_at > -HUGE_VAL)
        busy = taut_evidence_busy_again(e, y->last - y->was_at, y->links);
    double lost = fmax(0, y->lost);
    fit = log_count(lost, share * y->segments, log_ways(lost)) +
          log(NATS * fmax(1, lost));
    return fmin(e->rules.spell_most,
                log(SHOWN / busy) + fit + y->single / (double)y->n);
}

static void close_spell(const struct taut_evidence *e, struct spell_tally *y,
                        struct taut_loss_case *out)
{
    if (!y->is_any)
        return;
    double odds = y->apart +
                  (y->odds < 0 ? y->odds
                               : fmin(y->odds, most_of_spell(e, y, out->share)));
    if (odds < 0)
        out->score += fmax(odds, -3 * e->rules.spell_most);
    else if (y->is_at)
        out->score += fmin(odds, e->rules.spell_most);
    if (y->is_at) {
        out->spells++;
        y->was_at = y->last;
    }
    y->odds = y->apart = y->lost = y->segments = y->single = 0;
    y->n = 0;
    y->is_any = y->is_at = false;
    y->links = UINT32_MAX;
}

static void count_at(struct spell_tally *y, const struct taut_loss_test *t,
                     double base, struct taut_loss_case *out)
{
    if (out->at++ == 0)
        out->first = t->time;
    out->last = y->last = t->time;
    out->events += t->serial != y->serial || out->at == 1;
    out->segments += (double)t->segments;
    out->lost += (double)t->lost;
    if (t->rate >= 0)
        out->rate += ((double)t->rate - out->rate) / ++y->rated;
    out->recent = y->is_at ? out->recent + 1 : 1;
    y->serial = t->serial;
    y->is_at = true;
    if (t->links == 0)
        return;
    y->lost += (double)t->lost - base * (double)t->segments;
    y->segments += (double)t->segments;
    y->single += (double)t->single;
    y->n++;
    y->links = t->links < y->links ? t->links : y->links;
}

/* May component o be what made the test lose? */
static bool is_on_way(const struct taut_evidence *e,
                      const struct taut_loss_test *t, uint32_t o)
{
    const struct taut_loss_run *run = e->loss[o].run;

    if (run == NULL || run->n == 0 || run->test[0]->time > t->time)
        return false; /* it was cleared since */
    for (uint32_t i = 0; i < t->n; i++)
        if (t->on[i] == o)
            return true;
    return false;
}

static void weigh_share(const struct taut_evidence *e, uint32_t c,
                        const struct known *k, double share, uint32_t o,
                        struct taut_loss_case *out)
{
    const struct taut_loss_run *run = e->loss[c].run;
    struct spell_tally y = {
        .spell = -HUGE_VAL, .was_at = -HUGE_VAL, .links = UINT32_MAX};

    *out = (struct taut_loss_case){.tests = run->n, .share = share};
    for (uint32_t i = 0; i < run->n; i++) {
        const struct taut_loss_test *t = run->test[i];
        double spell = taut_evidence_spell(e, t->time);
        if (o != TAUT_GRAPH_NONE && is_on_way(e, t, o))
            continue;
        if (spell > y.spell) {
            close_spell(e, &y, out);
            if (out->score < 0) { /* it is better begun here */
                *out = (struct taut_loss_case){
                    .tests = run->n, .share = share, .start = i};
                y.was_at = -HUGE_VAL;
                y.rated = 0;
            }
        }
        y.spell = spell;
        y.is_any = true;
        *(t->links > 0 ? &y.odds : &y.apart) += odds_of(k, i, t, share);
        if (is_about(t, k->test[i].base, share))
            count_at(&y, t, k->test[i].base, out);
    }
    close_spell(e, &y, out);
    if (y.rated == 0)
        out->rate = 1; /* nothing is known to be gone */
}

void taut_loss_weigh(struct taut_evidence *e, uint32_t c, double share,
                     uint32_t o, struct taut_loss_case *out)
{
    struct known k;

    know_shares(e, c, &k);
    know_chances(e, c, &k);
    weigh_share(e, c, &k, share, o, out);
}

bool taut_loss_is_at(const struct taut_evidence *e, uint32_t c,
                     const struct taut_loss_case *k,
                     const struct taut_loss_test *t)
{
    return t->time >= k->first &&
           is_about(t, known_share(e, t, c), k->share);
}

/* ---- which share ---- */

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* The share of all tests from number 'start' on that lost about the share p. */
static double average_share(const struct taut_loss_run *run,
                            const struct known *k, uint32_t start, double p)
{
    double lost = 0, segments = 0;

    for (uint32_t i = start; i < run->n; i++) {
        const struct taut_loss_test *t = run->test[i];
        double base = k->test[i].base;
        double m = p * (double)t->segments;
        double off = (double)t->lost - base * (double)t->segments - m;
        if (fabs(off) > taut_loss_scatter(m))
            continue;
        lost += (double)t->lost - base * (double)t->segments;
        segments += (double)t->segments;
    }
    return segments > 0 && lost > 0 ? lost / segments : p;
}

static double refine_share(const struct taut_loss_run *run,
                           const struct known *k, uint32_t start, double p)
{
    return average_share(run, k, start, average_share(run, k, start, p));
}

/* What each test with losses lost beside what others do, ascending; returns how
 * many. */
static uint32_t sort_shares(const struct taut_evidence *e, uint32_t c,
                            const struct known *k, double *list)
{
    const struct taut_loss_run *run = e->loss[c].run;
    uint32_t n = 0;

    for (uint32_t i = 0; i < run->n; i++) {
        const struct taut_loss_test *t = run->test[i];
        double share =
            (double)t->lost / (double)t->segments - k->test[i].base;
        if (t->lost >= 1 && share >= e->rules.loss_floor)
            list[n++] = share;
    }
    qsort(list, n, sizeof(*list), by_size);
    return n;
}

/* The case of the share near 'guess'; 'tried' was one already.  A test of few
 * segments that lost none, from before c lost anything, may pass for one that
 * lost about this share: with lost = 0, is_about() holds up to
 *
 *   m = 3 sqrt(m + SPREAD^2 m^2) + 1,  that is m = FEW
 *
 * So where a test has no more, the share is that of the tests from which on the
 * case of 'guess' is best. */
static double try_share(const struct taut_evidence *e, uint32_t c,
                        const struct known *k, double guess, double tried,
                        struct taut_loss_case *out)
{
    const struct taut_loss_run *run = e->loss[c].run;
    float least = run->test[0]->segments;
    uint32_t start = 0;

    for (uint32_t i = 1; i < run->n; i++)
        least = fminf(least, run->test[i]->segments);
    if (guess * (double)least <= FEW) {
        weigh_share(e, c, k, guess, TAUT_GRAPH_NONE, out);
        start = out->start;
    }
    double p = refine_share(run, k, start, guess);
    *out = (struct taut_loss_case){.score = 0};
    if (p < e->rules.loss_floor || fabs(p - tried) < 0.01 * p)
        return tried;
    weigh_share(e, c, k, p, TAUT_GRAPH_NONE, out);
    return p;
}

static void judge(struct taut_evidence *e, uint32_t c,
                  struct taut_loss_case *out)
{
    static const double quantile[GUESSES] = {0.1, 0.3, 0.5, 0.8};
    double list[TAUT_LOSS_RUN_MAX + 1], tried = -1;
    const struct taut_loss_run *run = e->loss[c].run;
    struct known k;

    know_shares(e, c, &k);
    uint32_t n = sort_shares(e, c, &k, list);
    *out = (struct taut_loss_case){.tests = run->n};
    if (n > 0)
        know_chances(e, c, &k);
    for (int g = 0; n > 0 && g < GUESSES; g++) {
        struct taut_loss_case one;
        double guess = list[(uint32_t)(quantile[g] * (n - 1))];
        tried = try_share(e, c, &k, guess, tried, &one);
        if (one.score > out->score)
            *out = one;
    }
}

double taut_loss_judge(struct taut_evidence *e, uint32_t c,
                       struct taut_loss_case *out)
{
    struct taut_loss_run *run = e->loss[c].run;

    if (run == NULL) {
        *out = (struct taut_loss_case){.score = 0};
        return 0;
    }
    if (run->judged_at != e->judging) {
        judge(e, c, &run->judged);
        run->judged_at = e->judging;
    }
    *out = run->judged;
    return out->score;
}
