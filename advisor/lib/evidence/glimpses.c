/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Glimpses: what tests let through a component while its run goes on.
 *
 * A glimpse is a share of the component's capacity and a time.  What is kept:
 *
 *   BEST   g1 > g2 > ... in the order in which they came: the best, the best
 *          after it, and so on.  The first one since t is the maximum since t.
 *   PART   by time; of each spell the three largest
 *   WHOLE  by time; of each spell the largest
 *
 * Of PART and WHOLE the oldest go when there is no room. */
#include <config.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/evidence/inside.h"

/* So many are kept of a kind, and from one spell. */
static const struct {
    uint8_t most, of_spell;
} rooms[TAUT_GLIMPSE_KINDS] = {
    [TAUT_GLIMPSE_BEST] = {6, 6},
    [TAUT_GLIMPSE_PART] = {TAUT_EVIDENCE_GLIMPSES, 3},
    [TAUT_GLIMPSE_WHOLE] = {TAUT_EVIDENCE_GLIMPSES, 1},
};

static bool make_room(struct taut_glimpses *kept, enum taut_glimpse_kind kind)
{
    if (kept->n < kept->room)
        return true;
    uint32_t room = kept->room == 0 ? 2 : 2U * kept->room;
    if (room > rooms[kind].most)
        room = rooms[kind].most;
    if (room == kept->room)
        return false;
    struct taut_glimpse *list =
        realloc(kept->list, room * sizeof(kept->list[0]));
    if (list == NULL)
        return false;
    kept->list = list;
    kept->room = (uint8_t)room;
    return true;
}

/* The best, the best after it, …: what is no better and came before says nothing.
 * Without room the last is taken for one of now: rather too much than too little. */
static void note_best(struct taut_glimpses *kept, double share, double time)
{
    uint32_t n = kept->n;

    while (n > 0 && (double)kept->list[n - 1].share <= share)
        n--;
    kept->n = (uint8_t)n;
    if (!make_room(kept, TAUT_GLIMPSE_BEST)) {
        if (n == 0)
            return;
        share = (double)kept->list[--n].share;
    }
    kept->list[n] = (struct taut_glimpse){.share = (float)share, .time = time};
    kept->n = (uint8_t)(n + 1);
}

/* The smallest of the spell that 'time' is in, where that has as many as are kept; NULL:
 * it has not. */
static struct taut_glimpse *least_of_spell(const struct taut_evidence *e,
                                           struct taut_glimpses *kept,
                                           double time, uint32_t most)
{
    struct taut_glimpse *least = NULL;
    uint32_t n = 0;

    for (uint32_t i = 0; i < kept->n; i++) {
        struct taut_glimpse *g = &kept->list[i];
        if (taut_evidence_spell(e, g->time) != taut_evidence_spell(e, time))
            continue;
        n++;
        if (least == NULL || g->share < least->share)
            least = g;
    }
    return n < most ? NULL : least;
}

static void note_in_time(const struct taut_evidence *e,
                         struct taut_glimpses *kept,
                         enum taut_glimpse_kind kind, double share, double time)
{
    struct taut_glimpse *least =
        least_of_spell(e, kept, time, rooms[kind].of_spell);

    if (least != NULL) {
        least->share = fmaxf(least->share, (float)share);
        return;
    }
    if (!make_room(kept, kind)) {
        if (kept->n == 0)
            return;
        memmove(&kept->list[0], &kept->list[1],
                --kept->n * sizeof(kept->list[0]));
    }
    uint32_t i = kept->n++;
    for (; i > 0 && kept->list[i - 1].time > time; i--)
        kept->list[i] = kept->list[i - 1];
    kept->list[i] = (struct taut_glimpse){.share = (float)share, .time = time};
}

void taut_run_glimpse(const struct taut_evidence *e, struct taut_run *run,
                      enum taut_glimpse_kind kind, double share, double time)
{
    run->judged_at = 0;
    if (kind == TAUT_GLIMPSE_BEST)
        note_best(&run->glimpses[kind], share, time);
    else
        note_in_time(e, &run->glimpses[kind], kind, share, time);
}

void taut_run_forget_glimpses(struct taut_run *run)
{
    for (int kind = 0; kind < TAUT_GLIMPSE_KINDS; kind++)
        free(run->glimpses[kind].list);
}

const struct taut_glimpse *taut_evidence_glimpses(const struct taut_evidence *e,
                                                  uint32_t c,
                                                  enum taut_glimpse_kind kind,
                                                  uint32_t *n)
{
    const struct taut_run *run = e->of[c].run;

    *n = run == NULL ? 0 : run->glimpses[kind].n;
    return *n == 0 ? NULL : run->glimpses[kind].list;
}

void taut_evidence_restore_glimpses(struct taut_evidence *e, uint32_t c,
                                    enum taut_glimpse_kind kind,
                                    const struct taut_glimpse *list, uint32_t n)
{
    struct taut_run *run = e->of[c].run;

    if (run == NULL || run->glimpses[kind].n > 0)
        return;
    for (uint32_t i = 0; i < n; i++)
        taut_run_glimpse(e, run, kind, (double)list[i].share, list[i].time);
}
