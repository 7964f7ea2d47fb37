/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs: the low tests of a component since the last that cleared it.
 *
 * One low test stands in the runs of all components that it speaks against, and
 * is held once.  What is always so:
 *
 *   run->entry    oldest first; at most TAUT_EVIDENCE_SPELL_MAX of a spell and
 *                 TAUT_EVIDENCE_RUN_MAX in all (thin)
 *   run->low, of  of 'of' tests since the run's first, 'low' spoke against the
 *                 component: low <= of.  Entries that were thinned out count on
 *   run->acks, e->acks  entries by_ack, in the run and in all runs
 *   e->held       no gaps: e->held[low->place].low == low.  What is released
 *                 leaves its place to the last, in O(1)
 *   held.signs    a Bloom filter of the components that the test is about
 *
 * Whatever changes a run's entries or glimpses sets judged_at to 0. */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/evidence/inside.h"

/* ---- low tests ---- */

/* Two bits of 64 for a component, out of its number by Fibonacci hashing
 * (0x9e37... is 2^64 over the golden ratio).  A test about n components has
 * both bits of one that it is not about with the chance (1 - (63/64)^2n)^2: 5 %
 * for n = 8.  Such a test is looked at for nothing, and no more. */
static uint64_t sign_of(uint32_t c)
{
    uint64_t h = c * UINT64_C(0x9e3779b97f4a7c15);

    return UINT64_C(1) << (h >> 58) | UINT64_C(1) << (h >> 52 & 63);
}

/* A place among all that are held for one more. */
static int hold(struct taut_evidence *e, struct taut_low *low)
{
    if (e->lows == e->room_lows) {
        size_t room = 2 * e->room_lows + 256;
        struct taut_held *held = realloc(e->held, room * sizeof(*held));
        if (held == NULL)
            return -1;
        e->held = held;
        e->room_lows = room;
    }
    low->place = (uint32_t)e->lows;
    e->held[e->lows++] = (struct taut_held){.low = low};
    return 0;
}

void taut_low_sign(struct taut_evidence *e, const struct taut_low *low)
{
    uint64_t *signs = &e->held[low->place].signs;

    for (uint32_t i = 0; i < low->n; i++)
        *signs |= sign_of(low->on[i].c);
    if (low->explained_by != TAUT_GRAPH_NONE)
        *signs |= sign_of(low->explained_by);
}

struct taut_low *taut_low_create(struct taut_evidence *e, uint32_t n)
{
    struct taut_low *low =
        calloc(1, sizeof(*low) + (size_t)n * sizeof(low->on[0]));

    if (low == NULL || hold(e, low) < 0) {
        free(low);
        return NULL;
    }
    low->refs = 1;
    low->n = (uint16_t)n;
    low->explained_by = low->port = TAUT_GRAPH_NONE;
    low->confirms = TAUT_GRAPH_NONE;
    return low;
}

void taut_low_release(struct taut_evidence *e, struct taut_low *low)
{
    if (low == NULL || --low->refs > 0)
        return;
    struct taut_held *last = &e->held[--e->lows];
    last->low->place = low->place;
    e->held[low->place] = *last;
    free(low);
}

/* ---- runs ---- */

static void drop(struct taut_evidence *e, struct taut_run *run, uint32_t i)
{
    run->judged_at = 0;
    e->acks -= run->entry[i].by_ack;
    run->acks -= run->entry[i].by_ack;
    taut_low_release(e, run->entry[i].low);
    run->n--;
    memmove(&run->entry[i], &run->entry[i + 1],
            (run->n - i) * sizeof(run->entry[0]));
}

/* Some of what was counted is void, and nobody knows of how much of the rest:
 * what is there counts. */
static void count_anew(struct taut_run *run)
{
    run->low = run->of = run->n;
    run->low_acks = run->acks;
}

/* One more test spoke against c.  Of what is known to be slow the counts stay
 * as they were then. */
static void count(const struct taut_evidence *e, uint32_t c, bool by_ack)
{
    struct taut_run *run = e->of[c].run;

    if (e->of[c].left < 1)
        return;
    run->low++;
    run->low_acks += by_ack;
    run->of += by_ack; /* it did not cross c itself */
    run->of = run->of > run->low ? run->of : run->low;
}

static int make_room(struct taut_run *run)
{
    if (run->n < run->room)
        return 0;
    uint32_t room = run->room < 4 ? 4 : 2 * run->room;
    struct taut_entry *entry =
        realloc(run->entry, room * sizeof(run->entry[0]));
    if (entry == NULL)
        return -1;
    run->entry = entry;
    run->room = room;
    return 0;
}

static struct taut_run *open_run(struct taut_evidence *e, uint32_t c)
{
    if (e->of[c].run == NULL) {
        struct taut_run *run = calloc(1, sizeof(*run));
        if (run == NULL)
            return NULL;
        e->of[c].run = run;
    }
    return e->of[c].run;
}

static double spell_of(const struct taut_evidence *e,
                       const struct taut_run *run, uint32_t i)
{
    return taut_evidence_spell(e, run->entry[i].low->time);
}

/* The least telling of a spell's tests, the last of which is 'last'; *n: how
 * many there are.
 *
 *   value = share + 1 (over no link) + 1 (several streams)
 *
 * Shares are below 1, so a test over no link, which meets only what its two
 * ends carry, and one of several streams, to which others yield, outlive all
 * plain ones.  Of equals the best stays, since it makes the ceiling. */
static uint32_t least_telling(const struct taut_evidence *e,
                              const struct taut_run *run, uint32_t last,
                              uint32_t *n)
{
    double spell = spell_of(e, run, last), least = HUGE_VAL;
    uint32_t found = last;

    *n = 0;
    for (uint32_t i = last + 1; i-- > 0 && spell_of(e, run, i) == spell;) {
        const struct taut_entry *x = &run->entry[i];
        double value =
            (double)x->share + (x->low->links == 0) + (x->low->streams > 1);
        ++*n;
        if (value < least) {
            least = value;
            found = i;
        }
    }
    return found;
}

/* Of one spell a few tests tell all, of one long ago fewer still.  In this
 * order: a spell with more than SPELL_MAX loses its least telling test; a run
 * with more than RUN_MAX loses that of its oldest spell with more than
 * SPELL_OLD; else its oldest test goes. */
static void thin(struct taut_evidence *e, struct taut_run *run, uint32_t added)
{
    uint32_t n, last = added;

    while (last + 1 < run->n &&
           spell_of(e, run, last + 1) == spell_of(e, run, added))
        last++;
    uint32_t least = least_telling(e, run, last, &n);
    if (n > TAUT_EVIDENCE_SPELL_MAX) {
        drop(e, run, least);
        return;
    }
    for (uint32_t i = 0; run->n > TAUT_EVIDENCE_RUN_MAX && i < run->n; i++) {
        if (i + 1 < run->n && spell_of(e, run, i + 1) == spell_of(e, run, i))
            continue; /* not the last of its spell */
        least = least_telling(e, run, i, &n);
        if (n > TAUT_EVIDENCE_SPELL_OLD)
            drop(e, run, least);
    }
    if (run->n > TAUT_EVIDENCE_RUN_MAX)
        drop(e, run, 0);
}

/* The entry goes behind those of its own time; a late test has a place amid
 * others. */
int taut_run_add(struct taut_evidence *e, uint32_t c, struct taut_low *low,
                 double share, bool by_ack)
{
    struct taut_run *run = open_run(e, c);

    if (run == NULL || make_room(run) < 0) {
        errno = ENOMEM;
        return -1;
    }
    uint32_t i = run->n;
    while (i > 0 && run->entry[i - 1].low->time > low->time)
        i--;
    memmove(&run->entry[i + 1], &run->entry[i],
            (run->n - i) * sizeof(run->entry[0]));
    run->entry[i] = (struct taut_entry){
        .low = low, .share = (float)share, .by_ack = by_ack};
    run->n++;
    count(e, c, by_ack);
    run->judged_at = 0;
    low->refs++;
    e->acks += by_ack;
    run->acks += by_ack;
    if (by_ack)
        e->has_acks[c / 64] |= UINT64_C(1) << c % 64;
    e->recent[e->n_recent++ % TAUT_EVIDENCE_RECENT] = c;
    thin(e, run, i);
    return 0;
}

void taut_run_clear(struct taut_evidence *e, uint32_t c)
{
    struct taut_run *run = e->of[c].run;

    if (run == NULL)
        return;
    while (run->n > 0)
        drop(e, run, run->n - 1);
    free(run->entry);
    taut_run_forget_glimpses(run);
    free(run);
    e->of[c].run = NULL;
}

/* One bit a component says whether its run may have such entries: each good
 * test asks for its whole way back, and nearly always in vain. */
void taut_run_drop_acks(struct taut_evidence *e, uint32_t c)
{
    uint64_t bit = UINT64_C(1) << c % 64;
    struct taut_run *run;

    if ((e->has_acks[c / 64] & bit) == 0)
        return;
    e->has_acks[c / 64] &= ~bit;
    run = e->of[c].run;
    if (run == NULL)
        return;
    for (uint32_t i = run->n; i-- > 0;)
        if (run->entry[i].by_ack)
            drop(e, run, i);
    run->low -= run->low_acks;
    run->of -= run->low_acks;
    run->low_acks = 0;
    if (run->n == 0)
        taut_run_clear(e, c);
}

void taut_evidence_expire(struct taut_evidence *e, uint32_t c, double before)
{
    struct taut_run *run = e->of[c].run;

    while (run != NULL && run->n > 0 && run->entry[0].low->time < before)
        drop(e, run, 0);
    if (run != NULL && run->n == 0)
        taut_run_clear(e, c);
}

void taut_run_clear_until(struct taut_evidence *e, uint32_t c, double time)
{
    taut_evidence_expire(e, c, nextafter(time, HUGE_VAL));
    if (e->of[c].run != NULL)
        count_anew(e->of[c].run);
}

/* Of one component; what it was cleared of later is not news, and speaks
 * against nobody through it. */
static int put_back(struct taut_evidence *e, struct taut_low *low,
                    const struct taut_shown *on, bool in_run)
{
    if (e->cleared[on->c] >= low->time) {
        if (low->serial > e->of[on->c].cleared_at)
            e->of[on->c].cleared_at = low->serial;
        return 0;
    }
    if (!in_run || !(on->share >= 0) ||
        (low->port != TAUT_GRAPH_NONE && low->port != on->c))
        return 0;
    return taut_run_add(e, on->c, low, (double)on->share, on->by_ack);
}

int taut_evidence_restore(struct taut_evidence *e, const struct taut_low *head,
                          const struct taut_shown *on, uint32_t n,
                          const bool *in_run)
{
    struct taut_low *low = taut_low_create(e, n);
    int rc = 0;

    if (low == NULL) {
        errno = ENOMEM;
        return -1;
    }
    uint32_t place = low->place;
    *low = *head;
    low->refs = 1;
    low->place = place;
    low->n = (uint16_t)n;
    memcpy(low->on, on, n * sizeof(*on));
    taut_low_sign(e, low);
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        rc = put_back(e, low, &low->on[i], in_run == NULL || in_run[i]);
    if (rc == 0 && low->serial > e->serial)
        e->serial = low->serial;
    taut_low_release(e, low);
    return rc;
}

void taut_evidence_restore_counts(struct taut_evidence *e, uint32_t c,
                                  uint32_t low, uint32_t low_of)
{
    struct taut_run *run = e->of[c].run;

    if (run == NULL)
        return;
    run->low = low > run->low_acks ? low : run->low_acks;
    run->of = low_of > run->low ? low_of : run->low;
}

const struct taut_entry *taut_evidence_run(const struct taut_evidence *e,
                                           uint32_t c, uint32_t *n)
{
    const struct taut_run *run = e->of[c].run;

    *n = run == NULL ? 0 : run->n;
    return run == NULL ? NULL : run->entry;
}

/* Would c with so much left have made this test low?  Where the share that it
 * showed is at least 'good' of what is left, c alone explains it. */
static bool is_made_by(const struct taut_evidence *e,
                       const struct taut_low *low, uint32_t c, double left)
{
    for (uint32_t i = 0; i < low->n; i++)
        if (low->on[i].c == c)
            return (double)low->on[i].share >= e->rules.good * left;
    return false;
}

static bool holds(const struct taut_run *run, const struct taut_low *low)
{
    for (uint32_t i = 0; run != NULL && i < run->n; i++)
        if (run->entry[i].low == low)
            return true;
    return false;
}

/* Note whose runs hold a test, each once. */
static void note_holders(struct taut_evidence *e, const struct taut_low *low)
{
    for (uint32_t i = 0; i < low->n; i++) {
        uint32_t o = low->on[i].c;
        if (e->slot_stamp[o] == e->slot_now || !holds(e->of[o].run, low))
            continue;
        e->slot_stamp[o] = e->slot_now;
        e->explained[e->n_explained++] = o;
    }
}

static int by_number(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* It explains what it made low, also tests that stand in the runs of others
 * only.  All low tests are passed, by their signs: of most, the test itself is
 * not read.  slot_stamp makes sure that each holder is noted once. */
void taut_evidence_name(struct taut_evidence *e, uint32_t c, double left)
{
    uint64_t sign = sign_of(c);

    e->of[c].left = (float)left;
    e->judging++;
    e->slot_now++;
    e->n_explained = 0;
    for (size_t i = 0; left < 1 && i < e->lows; i++) {
        struct taut_low *low = e->held[i].low;
        if ((e->held[i].signs & sign) != sign)
            continue;
        if (is_made_by(e, low, c, left))
            low->explained_by = c;
        if (low->explained_by == c)
            note_holders(e, low);
    }
    if (e->n_explained > 0)
        qsort(e->explained, e->n_explained, sizeof(*e->explained), by_number);
}

const uint32_t *taut_evidence_explained(const struct taut_evidence *e,
                                        uint32_t *n)
{
    *n = e->n_explained;
    return e->explained;
}

void taut_evidence_forget(struct taut_evidence *e, uint32_t c)
{
    taut_evidence_name(e, c, 1);
    taut_run_clear(e, c);
    taut_loss_forget(e, c);
    taut_bouts_forget(e, c);
    e->of[c].good = 0;
    e->cleared[c] = -HUGE_VAL;
}

void taut_evidence_void(struct taut_evidence *e)
{
    for (uint32_t c = 0; c < e->g->components; c++) {
        taut_evidence_forget(e, c);
        e->cleared[c] = e->of[c].tested = -HUGE_VAL;
        e->of[c].tests = 0;
        e->of[c].reach = 0;
    }
}

bool taut_evidence_is_on_route(struct taut_evidence *e, uint32_t src,
                               uint32_t dst, uint32_t c)
{
    const struct taut_graph *g = e->g;

    if (c == taut_graph_tx(src) || c == taut_graph_rx(dst))
        return true;
    if (g->at[src] == TAUT_GRAPH_NONE || g->at[dst] == TAUT_GRAPH_NONE ||
        taut_graph_route(g, g->at[src], g->at[dst], dst, &e->route) != 0)
        return false;
    for (uint32_t i = 0; i < e->route.stages; i++) {
        uint32_t link = taut_route_sure_link(&e->route, i);
        if (link != TAUT_GRAPH_NONE && taut_graph_link(g, link) == c)
            return true;
    }
    return false;
}

/* Does the test still cross c, or its acknowledgements? */
static bool still_crosses(struct taut_evidence *e, const struct taut_entry *x,
                          uint32_t c)
{
    return x->by_ack
               ? taut_evidence_is_on_route(e, x->low->dst, x->low->src, c)
               : taut_evidence_is_on_route(e, x->low->src, x->low->dst, c);
}

void taut_evidence_reroute(struct taut_evidence *e)
{
    taut_loss_reroute(e);
    for (uint32_t c = 0; c < e->g->components; c++) {
        struct taut_run *run = e->of[c].run;
        uint32_t n = run == NULL ? 0 : run->n;
        for (uint32_t i = n; i-- > 0;)
            if (!still_crosses(e, &run->entry[i], c))
                drop(e, run, i);
        if (run != NULL && run->n < n)
            count_anew(run);
        if (run != NULL && run->n == 0)
            taut_run_clear(e, c);
    }
}
