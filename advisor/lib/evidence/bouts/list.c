/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bouts of a component: which are kept, and which go for others. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/evidence/bouts/inside.h"

#define FRESH 6    /* bouts */
#define MOSTLY 0.6 /* of the good tests of a class */

/* A link that a test of b surely crossed. */
static void add_to_way(const struct taut_evidence *e, struct taut_bout *b,
                       uint32_t on)
{
    if (on >= 2 * e->g->endpoints && b->n_way < TAUT_BOUT_WAY)
        b->way[b->n_way++] = on;
}

/* The newest spells that were counted. */
struct last_spells {
    double low, wide;
};

/* Does the test bear a bout out with several streams?  Not over a set of links, of
 * which a slow one may have held them back. */
static bool is_wide(const struct taut_low *low)
{
    return low->streams > 1 && !low->by_sets;
}

/* One more low test, at whatever level. */
static void count_low(const struct taut_evidence *e, struct taut_bout *b,
                      const struct taut_low *low, struct last_spells *last)
{
    double spell = taut_evidence_spell(e, low->time);

    b->low_spells += spell > last->low;
    last->low = spell;
    if (is_wide(low)) {
        b->wide_spells += spell > last->wide;
        last->wide = spell;
    }
}

bool taut_bout_describe(const struct taut_evidence *e, uint32_t c,
                        struct taut_bout *b)
{
    const struct taut_run *run = e->of[c].run;
    struct last_spells last = {-HUGE_VAL, -HUGE_VAL};
    uint32_t at = 0;
    double best = 0;

    if (run == NULL || run->n == 0)
        return false;
    for (uint32_t i = 0; i < run->n; i++)
        if (run->entry[i].low->explained_by == TAUT_GRAPH_NONE)
            best = fmax(best, (double)run->entry[i].share);
    *b = (struct taut_bout){
        .share = (float)best,
        .tested = e->of[c].spells,
        .is_counted = true,
        .has_grown = (double)run->grown > best * (1 + e->rules.ceiling)};
    for (uint32_t i = 0; i < run->n; i++) {
        const struct taut_low *low = run->entry[i].low;
        if (low->explained_by != TAUT_GRAPH_NONE || run->entry[i].by_ack)
            continue;
        count_low(e, b, low, &last);
        b->is_counted = b->is_counted && low->is_counted;
        if (!taut_evidence_is_at(e, (double)run->entry[i].share, best))
            continue;
        at++;
        if (at == 1) {
            b->began = low->time;
            b->first_src = low->src;
            b->first_dst = low->dst;
        }
        b->time = low->time;
        b->ratio = low->bw_Bps / low->expected_Bps;
        b->src = low->src;
        b->dst = low->dst;
        b->n_way = 0;
        for (uint32_t k = 0; k < low->n; k++)
            if (!low->on[k].by_ack)
                add_to_way(e, b, low->on[k].c);
        if (at == 1 || low->links < b->links)
            b->links = low->links;
        b->is_wide = b->is_wide || is_wide(low);
    }
    b->is_single = at == 1;
    return at > 0;
}

/* How many bouts have the ceiling of b; what fair sharing explains counts twice. */
static uint32_t count_alike(const struct taut_evidence *e,
                            const struct taut_bouts *list,
                            const struct taut_bout *b)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < list->n; i++)
        n += taut_bout_is_level(e, &list->at[i], (double)b->share);
    return n > 1 && taut_bout_is_fair(e, b) ? 2 * n : n;
}

/* The bout to be dropped for another: the oldest whose ceiling did not come back
 * while FRESH others came; else the oldest of the ceiling that has most. */
static uint32_t find_least(const struct taut_evidence *e,
                           const struct taut_bouts *list)
{
    uint32_t found = 0, most = 0;

    for (uint32_t i = 0; i < list->n; i++) {
        uint32_t n = count_alike(e, list, &list->at[i]);
        if (n == 1 && i + FRESH < list->n)
            return i;
        if (n > most) {
            most = n;
            found = i;
        }
    }
    return found;
}

static void push_bout(const struct taut_evidence *e, struct taut_bouts *list,
                      const struct taut_bout *b)
{
    if (list->n == TAUT_BOUTS_MAX) {
        uint32_t i = find_least(e, list);
        list->n--;
        memmove(&list->at[i], &list->at[i + 1],
                (list->n - i) * sizeof(list->at[0]));
    }
    list->at[list->n++] = *b;
}

/* Room for one more in the list of c, which grows as it is needed. */
static struct taut_bouts *open_bouts(struct taut_evidence *e, uint32_t c)
{
    struct taut_bouts *list = e->of[c].bouts;
    uint32_t n = list == NULL ? 0 : list->n;

    if (n < TAUT_BOUTS_MAX && (n & (n - 1)) == 0) { /* 0, 1, 2, 4, 8 */
        uint32_t room = n == 0 ? 1 : 2 * n;
        void *more = realloc(list, sizeof(*list) + room * sizeof(list->at[0]));
        if (more == NULL)
            return NULL;
        list = more;
        list->n = n;
        e->of[c].bouts = list;
    }
    return list;
}

/* The run is part of what never was whole since its first bout.  What was low
 * and good by turns in one spell is one bout. */
static bool join_chain(const struct taut_evidence *e, uint32_t c,
                       const struct taut_bout *b)
{
    const struct taut_known *k = &e->of[c];
    struct taut_bout *last =
        k->is_scattered && k->bouts->n > 0 ? &k->bouts->at[k->bouts->n - 1]
                                           : NULL;

    if (last == NULL || taut_evidence_spell(e, last->time) !=
                            taut_evidence_spell(e, b->began))
        return false;
    double began = last->began;
    float share = fmaxf(last->share, b->share);
    bool is_wide = last->is_wide || b->is_wide;
    bool is_counted = last->is_counted && b->is_counted;
    uint16_t low_spells = last->low_spells - 1, wide = last->wide_spells;
    *last = *b;
    last->began = began;
    last->share = share;
    last->is_wide = is_wide;
    last->is_counted = is_counted;
    last->low_spells = (uint16_t)(low_spells + b->low_spells);
    last->wide_spells = wide > 0 && b->wide_spells > 0
                            ? (uint16_t)(wide - 1 + b->wide_spells)
                            : (uint16_t)(wide + b->wide_spells);
    last->is_single = false;
    return true;
}

/* Where most good tests of a class are not whole, more is expected of it than it
 * carries, and what is not whole tells nothing. */
static bool is_usually_whole(const struct taut_evidence *e, uint32_t c)
{
    const struct taut_loss_class *class = taut_loss_class_of(e, c);

    return class->whole >= MOSTLY * class->good;
}

void taut_bouts_keep(struct taut_evidence *e, uint32_t c, bool is_whole)
{
    struct taut_bout b;

    if (!taut_bout_describe(e, c, &b) || join_chain(e, c, &b))
        return;
    struct taut_bouts *list = open_bouts(e, c);
    if (list == NULL) {
        e->out_of_memory = true;
        return;
    }
    push_bout(e, list, &b);
    if (is_whole || b.is_counted || e->of[c].is_scattered ||
        !is_usually_whole(e, c))
        return;
    e->of[c].is_scattered = true;
    list->chain = b.time;
}

void taut_bouts_whole(struct taut_evidence *e, uint32_t c, double share)
{
    const struct taut_bouts *list = e->of[c].bouts;

    if (e->of[c].is_scattered && list != NULL && list->n > 0 &&
        share > (double)list->at[list->n - 1].share)
        taut_bouts_end_chain(e, c);
}

void taut_bouts_end_chain(struct taut_evidence *e, uint32_t c)
{
    if (!e->of[c].is_scattered)
        return;
    e->of[c].is_scattered = false;
    taut_evidence_touch(e, c);
}

void taut_bouts_again(struct taut_evidence *e, uint32_t c,
                      const struct taut_pending *p, double share, double time)
{
    struct taut_bouts *list = e->of[c].bouts;
    double left = (double)e->of[c].left;

    bool is_low = e->of[c].is_scattered && share < e->rules.good;

    if (list == NULL || list->n == 0 ||
        (!is_low && fabs(share - left) > e->rules.ceiling * left))
        return;
    struct taut_bout b = {.began = time,
                          .time = time,
                          .share = (float)share,
                          .ratio = list->at[list->n - 1].ratio,
                          .tested = e->of[c].spells,
                          .src = p->m.src,
                          .dst = p->m.dst,
                          .first_src = p->m.src,
                          .first_dst = p->m.dst,
                          .links = p->links,
                          .is_single = true,
                          .is_counted = taut_loss_is_known(&p->m),
                          .is_wide = p->m.streams > 1 && !p->by_sets,
                          .low_spells = 1,
                          .wide_spells = p->m.streams > 1 && !p->by_sets};
    for (uint32_t k = p->first; k < p->first + p->n; k++)
        add_to_way(e, &b, e->stage[k].c);
    if (taut_evidence_spell(e, list->at[list->n - 1].time) ==
        taut_evidence_spell(e, time)) {
        list->at[list->n - 1] = b;
        return;
    }
    list = open_bouts(e, c);
    if (list == NULL)
        e->out_of_memory = true;
    else
        push_bout(e, list, &b);
}

void taut_recurrence_name(struct taut_evidence *e, uint32_t c, bool yes)
{
    e->of[c].is_recurring = yes;
}

void taut_bouts_forget(struct taut_evidence *e, uint32_t c)
{
    free(e->of[c].bouts);
    e->of[c].bouts = NULL;
    e->of[c].is_recurring = e->of[c].is_scattered = false;
}

struct taut_bouts_kept taut_bouts_of(const struct taut_evidence *e, uint32_t c)
{
    const struct taut_known *k = &e->of[c];
    bool has = k->bouts != NULL && k->bouts->n > 0;

    return (struct taut_bouts_kept){
        .list = has ? k->bouts->at : NULL,
        .n = has ? k->bouts->n : 0,
        .tested = k->spells,
        .chain = has && k->is_scattered ? k->bouts->chain : HUGE_VAL};
}

int taut_bouts_restore(struct taut_evidence *e, uint32_t c,
                       const struct taut_bouts_kept *kept)
{
    struct taut_known *k = &e->of[c];

    k->spells = kept->tested > k->spells ? kept->tested : k->spells;
    for (uint32_t i = 0; i < kept->n; i++) {
        struct taut_bouts *own = open_bouts(e, c);
        if (own == NULL) {
            errno = ENOMEM;
            return -1;
        }
        push_bout(e, own, &kept->list[i]);
    }
    if (kept->n > 0 && kept->chain < HUGE_VAL) {
        k->is_scattered = true;
        k->bouts->chain = kept->chain;
    }
    return 0;
}
