/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs: the low tests of a component since the last that cleared it. */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/evidence/inside.h"

struct taut_low *taut_low_create(struct taut_evidence *e, uint32_t n)
{
    struct taut_low *low =
        calloc(1, sizeof(*low) + (size_t)n * sizeof(low->on[0]));

    if (low == NULL)
        return NULL;
    low->refs = 1;
    low->n = (uint16_t)n;
    low->explained_by = low->port = TAUT_GRAPH_NONE;
    low->confirms = TAUT_GRAPH_NONE;
    e->lows++;
    return low;
}

void taut_low_release(struct taut_evidence *e, struct taut_low *low)
{
    if (low == NULL || --low->refs > 0)
        return;
    e->lows--;
    free(low);
}

static void drop(struct taut_evidence *e, struct taut_run *run, uint32_t i)
{
    run->judged_at = 0;
    e->acks -= run->entry[i].by_ack;
    taut_low_release(e, run->entry[i].low);
    run->n--;
    memmove(&run->entry[i], &run->entry[i + 1],
            (run->n - i) * sizeof(run->entry[0]));
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
    if (e->run[c] == NULL) {
        struct taut_run *run = calloc(1, sizeof(*run));
        if (run == NULL)
            return NULL;
        e->run[c] = run;
    }
    return e->run[c];
}

static double spell_of(const struct taut_evidence *e,
                       const struct taut_run *run, uint32_t i)
{
    return taut_evidence_spell(e, run->entry[i].low->time);
}

/* The least telling of a spell's tests, the last of which is 'last'; *n: how
 * many there are. */
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

/* Of one spell a few tests tell all, of one long ago fewer still. */
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
    run->judged_at = 0;
    low->refs++;
    e->acks += by_ack;
    e->recent[e->n_recent++ % TAUT_EVIDENCE_RECENT] = c;
    thin(e, run, i);
    return 0;
}

void taut_run_clear(struct taut_evidence *e, uint32_t c)
{
    struct taut_run *run = e->run[c];

    if (run == NULL)
        return;
    while (run->n > 0)
        drop(e, run, run->n - 1);
    free(run->entry);
    free(run);
    e->run[c] = NULL;
}

void taut_run_drop_acks(struct taut_evidence *e, uint32_t c)
{
    struct taut_run *run = e->run[c];

    for (uint32_t i = run == NULL ? 0 : run->n; i-- > 0;)
        if (run->entry[i].by_ack)
            drop(e, run, i);
    if (run != NULL && run->n == 0)
        taut_run_clear(e, c);
}

void taut_evidence_expire(struct taut_evidence *e, uint32_t c, double before)
{
    struct taut_run *run = e->run[c];

    while (run != NULL && run->n > 0 && run->entry[0].low->time < before)
        drop(e, run, 0);
    if (run != NULL && run->n == 0)
        taut_run_clear(e, c);
}

/* Of one component; what it was cleared of later is no news, and speaks
 * against nobody through it. */
static int put_back(struct taut_evidence *e, struct taut_low *low,
                    const struct taut_shown *on, bool in_run)
{
    if (e->cleared[on->c] >= low->time) {
        if (low->serial > e->cleared_at[on->c])
            e->cleared_at[on->c] = low->serial;
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
    *low = *head;
    low->refs = 1;
    low->looked = 0;
    low->n = (uint16_t)n;
    memcpy(low->on, on, n * sizeof(*on));
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        rc = put_back(e, low, &low->on[i], in_run == NULL || in_run[i]);
    if (rc == 0 && low->serial > e->serial)
        e->serial = low->serial;
    taut_low_release(e, low);
    return rc;
}

const struct taut_glimpse *taut_evidence_glimpses(const struct taut_evidence *e,
                                                  uint32_t c, uint32_t *n)
{
    const struct taut_run *run = e->run[c];

    *n = run == NULL ? 0 : run->n_shown;
    return run == NULL ? NULL : run->shown;
}

void taut_evidence_restore_glimpses(struct taut_evidence *e, uint32_t c,
                                    const struct taut_glimpse *list, uint32_t n)
{
    struct taut_run *run = e->run[c];

    if (run == NULL || run->n_shown > 0)
        return;
    run->judged_at = 0;
    for (uint32_t i = 0; i < n && i < TAUT_EVIDENCE_GLIMPSES; i++)
        run->shown[run->n_shown++] = list[i];
}

const struct taut_entry *taut_evidence_run(const struct taut_evidence *e,
                                           uint32_t c, uint32_t *n)
{
    const struct taut_run *run = e->run[c];

    *n = run == NULL ? 0 : run->n;
    return run == NULL ? NULL : run->entry;
}

/* Would c with so much left have made this test low? */
static bool is_made_by(const struct taut_evidence *e,
                       const struct taut_low *low, uint32_t c, double left)
{
    for (uint32_t i = 0; i < low->n; i++)
        if (low->on[i].c == c)
            return (double)low->on[i].share >= e->rules.good * left;
    return false;
}

/* A test stands in the runs of all that it accuses. */
static bool is_looked_at(const struct taut_evidence *e, struct taut_low *low)
{
    bool was = low->looked == e->looks;

    low->looked = e->looks;
    return was;
}

/* It explains what it made low.  Returns whether the run holds such a test. */
static bool explain(const struct taut_evidence *e, struct taut_run *run,
                    uint32_t c, double left)
{
    bool any = false;

    for (uint32_t i = 0; run != NULL && i < run->n; i++) {
        struct taut_low *low = run->entry[i].low;
        if (!is_looked_at(e, low) && is_made_by(e, low, c, left))
            low->explained_by = c;
        any = any || low->explained_by == c;
    }
    return any;
}

void taut_evidence_name(struct taut_evidence *e, uint32_t c, double left)
{
    e->left[c] = (float)left;
    e->judging++;
    e->looks++;
    e->n_explained = 0;
    /* Some of its tests stand in the runs of others only. */
    for (uint32_t o = 0; left < 1 && o < e->g->components; o++)
        if (explain(e, e->run[o], c, left))
            e->explained[e->n_explained++] = o;
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
    e->good[c] = 0;
    e->cleared[c] = -HUGE_VAL;
}

void taut_evidence_void(struct taut_evidence *e)
{
    for (uint32_t c = 0; c < e->g->components; c++) {
        taut_evidence_forget(e, c);
        e->cleared[c] = e->tested[c] = -HUGE_VAL;
        e->tests[c] = 0;
        e->reach[c] = 0;
    }
}

static bool is_on_route(struct taut_evidence *e, uint32_t src, uint32_t dst,
                        uint32_t c)
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
    return x->by_ack ? is_on_route(e, x->low->dst, x->low->src, c)
                     : is_on_route(e, x->low->src, x->low->dst, c);
}

void taut_evidence_reroute(struct taut_evidence *e)
{
    for (uint32_t c = 0; c < e->g->components; c++) {
        struct taut_run *run = e->run[c];
        for (uint32_t i = run == NULL ? 0 : run->n; i-- > 0;)
            if (!still_crosses(e, &run->entry[i], c))
                drop(e, run, i);
        if (run != NULL && run->n == 0)
            taut_run_clear(e, c);
    }
}
