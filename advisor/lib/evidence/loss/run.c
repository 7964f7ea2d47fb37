/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs of tests whose losses were counted.
 *
 * Of a test that lost R of S segments the share lies, with three standard
 * deviations of a Poisson number, between
 *     lower(R, S) = (R - 3 sqrt(R)) / S
 *     upper(R, S) = (R + 3 sqrt(R) + 7) / S        7: exp(-7) is 1/1000
 * A test speaks against what it crossed from a share of loss_floor on.  It
 * clears a component when its upper bound lies below the floor, or below what
 * each test of the component's run has lost at least.  So do the tests of a run
 * since the last that spoke against it, their losses and segments summed: one of
 * 25 ms at 10 Gbit/s has 20,000 segments, too few for a floor of 1/10,000. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/evidence/inside.h"

#define RTT_STEP 0.05
#define RTT_MOST 65 /* tests of an event that are looked at */
#define CLASS_TESTS 8192 /* of a class, then the older ones count half */

static double upper_share(double lost, double segments)
{
    return (lost + 3 * sqrt(lost) + 7) / segments;
}

static double lower_share(double lost, double segments)
{
    return fmax(0, lost - 3 * sqrt(lost)) / segments;
}

static bool is_lossy(const struct taut_evidence *e, double lost,
                     double segments)
{
    return lost >= 1 && lost >= e->rules.loss_floor * segments;
}

/* Did somebody else's queue stand on its way?  Its own is not there yet when its
 * first segments go. */
static bool is_delayed(const struct taut_evidence *e,
                       const struct taut_pending *p)
{
    return e->usual_rtt_ns > 0 &&
           p->m.min_rtt_ns > e->rules.loss_queue * e->usual_rtt_ns;
}

static int by_size(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* The usual round trip follows the median of each event in steps, so that one
 * node, which is at the ends of a few of its tests only, cannot lead it away. */
static void follow_rtt(struct taut_evidence *e)
{
    double list[RTT_MOST];
    uint32_t n = 0;

    for (uint32_t i = 0; i < e->n_tests && n < RTT_MOST; i++)
        if (e->test[i].m.min_rtt_ns > 0)
            list[n++] = e->test[i].m.min_rtt_ns;
    if (n == 0)
        return;
    qsort(list, n, sizeof(*list), by_size);
    double median = list[n / 2];
    if (!(e->usual_rtt_ns > 0))
        e->usual_rtt_ns = median;
    else if (median < e->usual_rtt_ns)
        e->usual_rtt_ns *= 1 - RTT_STEP;
    else
        e->usual_rtt_ns *= 1 + RTT_STEP;
}

/* Was anybody told what the test lost?  Of a test that is void for its rate the
 * caller says so only where that is its ends' doing.  What several streams lose
 * on a fabric whose queues drop is mostly their own doing, as is what one stream
 * loses that is slower than its losses would make it, or behind somebody's queue. */
static bool is_counted(const struct taut_evidence *e,
                       const struct taut_pending *p)
{
    return !p->m.by_port && taut_loss_is_known(&p->m) &&
           p->m.lost <= p->m.segments &&
           (p->m.streams <= 1 || e->rules.lossless) &&
           !(is_lossy(e, p->m.lost, p->m.segments) &&
             (p->is_queued || is_delayed(e, p)));
}

/* ---- tests ---- */

static void release(struct taut_loss_test *t)
{
    if (--t->refs == 0)
        free(t);
}

static struct taut_loss_test *create_test(uint32_t n)
{
    struct taut_loss_test *t =
        calloc(1, sizeof(*t) + (size_t)n * sizeof(t->on[0]));

    if (t != NULL) {
        t->refs = 1;
        t->n = (uint16_t)n;
    }
    return t;
}

/* ---- runs ---- */

static bool has_bit(const struct taut_evidence *e, uint32_t c)
{
    return (e->has_loss[c / 64] >> c % 64 & 1) != 0;
}

/* The bit says whether tests without losses have to look at c. */
static void set_bit(struct taut_evidence *e, uint32_t c)
{
    uint64_t bit = UINT64_C(1) << c % 64;

    if (e->loss[c].run != NULL || e->loss[c].share > 0)
        e->has_loss[c / 64] |= bit;
    else
        e->has_loss[c / 64] &= ~bit;
}

static void drop_test(struct taut_loss_run *run, uint32_t i)
{
    release(run->test[i]);
    run->n--;
    memmove(&run->test[i], &run->test[i + 1],
            (run->n - i) * sizeof(run->test[0]));
    run->judged_at = 0;
}

void taut_loss_clear(struct taut_evidence *e, uint32_t c)
{
    struct taut_loss_run *run = e->loss[c].run;

    if (run == NULL)
        return;
    while (run->n > 0)
        drop_test(run, run->n - 1);
    free(run->test);
    free(run);
    e->loss[c].run = NULL;
    set_bit(e, c);
}

static struct taut_loss_run *open_run(struct taut_evidence *e, uint32_t c)
{
    struct taut_loss_run *run = e->loss[c].run;

    if (run == NULL) {
        run = calloc(1, sizeof(*run));
        if (run == NULL)
            return NULL;
        run->least_share = HUGE_VAL;
        e->loss[c].run = run;
        set_bit(e, c);
    }
    if (run->n == run->room) {
        uint32_t room = run->room < 4 ? 4 : 2 * run->room;
        void *test = realloc(run->test, room * sizeof(run->test[0]));
        if (test == NULL)
            return NULL;
        run->test = test;
        run->room = room;
    }
    return run;
}

/* The smallest test of a spell, the last of which is 'last'; *n: how many it
 * has. */
static uint32_t find_smallest(const struct taut_evidence *e,
                              const struct taut_loss_run *run, uint32_t last,
                              uint32_t *n)
{
    double spell = taut_evidence_spell(e, run->test[last]->time);
    uint32_t found = last;

    *n = 0;
    for (uint32_t i = last + 1;
         i-- > 0 && taut_evidence_spell(e, run->test[i]->time) == spell;) {
        ++*n;
        if (run->test[i]->segments < run->test[found]->segments)
            found = i;
    }
    return found;
}

/* Some tests of a spell tell all of it. */
static void thin_run(const struct taut_evidence *e, struct taut_loss_run *run,
                     uint32_t added)
{
    uint32_t n, last = added;
    double spell = taut_evidence_spell(e, run->test[added]->time);

    while (last + 1 < run->n &&
           taut_evidence_spell(e, run->test[last + 1]->time) == spell)
        last++;
    uint32_t smallest = find_smallest(e, run, last, &n);
    if (n > TAUT_LOSS_SPELL_MAX)
        drop_test(run, smallest);
    else if (run->n > TAUT_LOSS_RUN_MAX)
        drop_test(run, 0);
}

/* A test of a run speaks against the component, or, if it is the newest, adds to
 * what its quiet tests say. */
static void count_quiet(const struct taut_evidence *e,
                        struct taut_loss_run *run,
                        const struct taut_loss_test *t)
{
    double lost = (double)t->lost, segments = (double)t->segments;

    if (is_lossy(e, lost, segments)) {
        run->quiet_segments = run->quiet_lost = 0;
        run->least_share = fmin(run->least_share, lower_share(lost, segments));
    } else if (t == run->test[run->n - 1]) {
        run->quiet_segments += segments;
        run->quiet_lost += lost;
    }
}

/* Enter a test into the run of c.  Returns 0, or -1 with ENOMEM. */
static int enter_test(struct taut_evidence *e, uint32_t c,
                      struct taut_loss_test *t)
{
    struct taut_loss_run *run = open_run(e, c);

    if (run == NULL) {
        errno = ENOMEM;
        return -1;
    }
    uint32_t i = run->n;
    while (i > 0 && run->test[i - 1]->time > t->time)
        i--;
    memmove(&run->test[i + 1], &run->test[i],
            (run->n - i) * sizeof(run->test[0]));
    run->test[i] = t;
    run->n++;
    t->refs++;
    run->judged_at = 0;
    count_quiet(e, run, t);
    thin_run(e, run, i);
    return 0;
}

/* ---- an event ---- */

/* Does a test show that c loses less than the tests of its run say? */
static bool is_cleared(const struct taut_evidence *e, uint32_t c, double upper)
{
    const struct taut_loss_run *run = e->loss[c].run;

    return run != NULL &&
           upper < fmax(e->rules.loss_floor, run->least_share < HUGE_VAL
                                                 ? run->least_share
                                                 : 0);
}

/* Do the tests since the last with losses, together? */
static bool is_quiet(const struct taut_evidence *e, uint32_t c)
{
    const struct taut_loss_run *run = e->loss[c].run;

    return run->quiet_segments > 0 &&
           is_cleared(e, c, upper_share(run->quiet_lost, run->quiet_segments));
}

static void forget_quiet(struct taut_loss_known *k)
{
    k->quiet_segments = k->quiet_lost = 0;
}

/* A test of a component that was named speaks for the share it was named for,
 * or against it; where it is too short for that, together with those before. */
static void count_good(struct taut_evidence *e, uint32_t c, double lost,
                       double segments)
{
    struct taut_loss_known *k = &e->loss[c];
    double share = (double)k->share, usual = share * segments;

    if (!(share > 0))
        return;
    if (lost > usual + taut_loss_scatter(usual)) {
        k->good -= k->good > 0; /* more than that: a queue's doing, or worse */
        return;
    }
    k->quiet_segments += (float)segments;
    k->quiet_lost += (float)lost;
    double all = (double)k->quiet_segments, gone = (double)k->quiet_lost;
    bool has_share =
        fmax(lower_share(lost, segments), lower_share(gone, all)) > 0.5 * share;
    if (has_share)
        k->good = 0;
    else if (upper_share(gone, all) < fmax(e->rules.loss_floor, 0.5 * share))
        k->good++;
    else
        return;
    forget_quiet(k);
}

/* What the test says of those that it crossed: a run that it contradicts ends. */
static void clear_stages(struct taut_evidence *e, const struct taut_pending *p,
                         double time)
{
    double upper = upper_share(p->m.lost, p->m.segments);

    for (uint32_t k = p->first; k < p->first + p->n; k++) {
        uint32_t c = e->stage[k].c;
        if (!has_bit(e, c))
            continue;
        taut_evidence_touch(e, c);
        count_good(e, c, p->m.lost, p->m.segments);
        if (time >= e->newest && is_cleared(e, c, upper))
            taut_loss_clear(e, c);
    }
}

/* Note for each component which test of the event says best that it loses
 * little. */
static void mark_least(struct taut_evidence *e)
{
    e->slot_now++;
    for (uint32_t i = 0; i < e->n_tests; i++) {
        const struct taut_pending *p = &e->test[i];
        if (!is_counted(e, p))
            continue;
        double upper = upper_share(p->m.lost, p->m.segments);
        for (uint32_t k = p->first; k < p->first + p->n; k++) {
            uint32_t c = e->stage[k].c;
            const struct taut_measured *m = &e->test[e->slot[c]].m;
            if (e->slot_stamp[c] == e->slot_now &&
                upper_share(m->lost, m->segments) <= upper)
                continue;
            e->slot_stamp[c] = e->slot_now;
            e->slot[c] = i;
        }
    }
}

/* Does a test of the same event show that c loses less than this? */
static bool is_excused(const struct taut_evidence *e, uint32_t c, double lower)
{
    const struct taut_measured *m = &e->test[e->slot[c]].m;

    return upper_share(m->lost, m->segments) < fmax(lower, e->rules.loss_floor);
}

static void describe_test(const struct taut_evidence *e,
                          const struct taut_pending *p, double time,
                          int64_t event, struct taut_loss_test *t)
{
    t->time = time;
    t->id = p->m.id;
    t->job = p->m.job;
    t->event = event;
    t->serial = e->serial;
    t->src = p->m.src;
    t->dst = p->m.dst;
    t->segments = (float)p->m.segments;
    t->lost = (float)p->m.lost;
    t->rate = p->m.bw_Bps < 0
                  ? -1
                  : (float)fmin(1, p->m.bw_Bps / p->m.expected_Bps);
    t->single = (float)taut_loss_single(e, &p->m);
    t->links = p->links;
    for (uint32_t k = 0; k < p->n; k++)
        t->on[k] = e->stage[p->first + k].c;
}

/* Put a test into the runs of the components that it crossed: one with losses
 * begins them. */
static void add_test(struct taut_evidence *e, const struct taut_pending *p,
                     double time, int64_t event)
{
    bool begins = is_lossy(e, p->m.lost, p->m.segments);
    double lower = lower_share(p->m.lost, p->m.segments);
    struct taut_loss_test *t = NULL;

    for (uint32_t k = p->first; k < p->first + p->n; k++) {
        uint32_t c = e->stage[k].c;
        bool has_run = has_bit(e, c) && e->loss[c].run != NULL;
        if (!has_run && (!begins || is_excused(e, c, lower)))
            continue;
        if (t == NULL) {
            t = create_test(p->n);
            if (t == NULL) {
                e->out_of_memory = true;
                return;
            }
            describe_test(e, p, time, event, t);
        }
        if (enter_test(e, c, t) < 0)
            e->out_of_memory = true;
        else if (is_quiet(e, c))
            taut_loss_clear(e, c);
        taut_evidence_touch(e, c);
    }
    if (t != NULL)
        release(t);
}

/* Of which half decade of shares; -1: less than all of them. */
static int bin_of(double lost, double segments)
{
    double place = 2 * log10(lost / segments / TAUT_LOSS_LEAST);

    if (lost < 1 || place < 0)
        return -1;
    return place < TAUT_LOSS_BINS ? (int)place : TAUT_LOSS_BINS - 1;
}

/* What is like the components of a test loses so much, unless one of them is
 * known to be what loses. */
static void count_classes(struct taut_evidence *e, const struct taut_pending *p)
{
    int bin = bin_of(p->m.lost, p->m.segments);

    for (uint32_t k = p->first; k < p->first + p->n; k++)
        if (e->loss[e->stage[k].c].share > 0)
            return;
    for (uint32_t k = p->first; k < p->first + p->n; k++) {
        struct taut_loss_class *y = taut_loss_class_of(e, e->stage[k].c);
        y->tests++;
        if (bin >= 0)
            y->lossy[bin]++;
        if (y->tests < CLASS_TESTS)
            continue;
        y->tests /= 2;
        for (int i = 0; i < TAUT_LOSS_BINS; i++)
            y->lossy[i] /= 2;
    }
}

void taut_loss_take(struct taut_evidence *e, double time, int64_t event)
{
    bool is_any = false;

    follow_rtt(e);
    for (uint32_t i = 0; i < e->n_tests; i++) {
        const struct taut_pending *p = &e->test[i];
        if (!is_counted(e, p))
            continue;
        clear_stages(e, p, time);
        count_classes(e, p);
        is_any |= is_lossy(e, p->m.lost, p->m.segments);
    }
    if (is_any)
        mark_least(e);
    for (uint32_t i = 0; i < e->n_tests; i++)
        if (is_counted(e, &e->test[i]))
            add_test(e, &e->test[i], time, event);
}

/* ---- changes ---- */

struct taut_loss_test *const *taut_loss_run(const struct taut_evidence *e,
                                            uint32_t c, uint32_t *n)
{
    const struct taut_loss_run *run = e->loss[c].run;

    *n = run == NULL ? 0 : run->n;
    return run == NULL ? NULL : run->test;
}

void taut_loss_name(struct taut_evidence *e, uint32_t c, double share)
{
    e->loss[c].share = (float)share;
    e->loss[c].good = 0;
    forget_quiet(&e->loss[c]);
    e->judging++; /* it explains tests in the runs of others */
    set_bit(e, c);
}

uint32_t taut_loss_good(const struct taut_evidence *e, uint32_t c)
{
    return e->loss[c].good;
}

void taut_loss_forget(struct taut_evidence *e, uint32_t c)
{
    if (e->loss[c].share > 0)
        taut_loss_name(e, c, 0);
    taut_loss_clear(e, c);
}

void taut_loss_reroute(struct taut_evidence *e)
{
    for (uint32_t c = 0; c < e->g->components; c++) {
        struct taut_loss_run *run = e->loss[c].run;
        for (uint32_t i = run == NULL ? 0 : run->n; i-- > 0;)
            if (!taut_evidence_is_on_route(e, run->test[i]->src,
                                           run->test[i]->dst, c))
                drop_test(run, i);
        if (run != NULL && run->n == 0)
            taut_loss_clear(e, c);
    }
}

int taut_loss_restore(struct taut_evidence *e,
                      const struct taut_loss_test *head, const uint32_t *on,
                      uint32_t n, const bool *in_run)
{
    struct taut_loss_test *t = create_test(n);
    int rc = 0;

    if (t == NULL) {
        errno = ENOMEM;
        return -1;
    }
    *t = *head;
    t->refs = 1;
    t->n = (uint16_t)n;
    memcpy(t->on, on, n * sizeof(*on));
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        if (in_run[i])
            rc = enter_test(e, on[i], t);
    if (rc == 0 && t->serial > e->serial)
        e->serial = t->serial;
    release(t);
    return rc;
}
