/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counting: who took part in the tests of a run, and what is held in all. */
#include <config.h>

#include <string.h>

#include "advisor/lib/evidence/inside.h"

/* A set of nodes: those whose stamp is slot_now.  Raising slot_now empties it
 * at no cost, so a count is linear in the tests of a run. */
bool taut_evidence_is_new_node(struct taut_evidence *e, uint32_t endpoint)
{
    uint32_t node = endpoint % e->g->nodes;

    if (e->slot_stamp[node] == e->slot_now)
        return false;
    e->slot_stamp[node] = e->slot_now;
    return true;
}

/* Different nodes at one end of the tests at the ceiling. */
static uint32_t count_ends(struct taut_evidence *e, uint32_t c,
                           const struct taut_case *k, bool at_src)
{
    const struct taut_run *run = e->of[c].run;
    uint32_t n = 0;

    e->slot_now++;
    for (uint32_t i = k->start; run != NULL && i < run->n; i++) {
        const struct taut_low *low = run->entry[i].low;
        if (taut_run_is_at(e, &run->entry[i], k, c))
            n += taut_evidence_is_new_node(e, at_src ? low->src : low->dst);
    }
    return n;
}

/* c < 2 * endpoints is a port: even numbers are tx, odd ones rx.  The far ends
 * of a tx are its receivers, those of an rx its senders. */
struct taut_reporters taut_evidence_far(const struct taut_evidence *e,
                                        uint32_t c, uint32_t senders,
                                        uint32_t receivers)
{
    struct taut_reporters r = {.senders = senders, .receivers = receivers};

    if (c >= 2 * e->g->endpoints)
        r.far = senders > receivers ? senders : receivers;
    else
        r.far = c % 2 == 0 ? receivers : senders;
    return r;
}

struct taut_reporters taut_evidence_reporters(struct taut_evidence *e,
                                              uint32_t c,
                                              const struct taut_case *k)
{
    uint32_t senders = count_ends(e, c, k, true);

    return taut_evidence_far(e, c, senders, count_ends(e, c, k, false));
}

static uint32_t count_node(struct taut_evidence *e, uint32_t endpoint,
                           struct taut_part_of *list, uint32_t n)
{
    uint32_t node = endpoint % e->g->nodes;

    if (taut_evidence_is_new_node(e, node)) {
        e->slot[node] = n;
        list[n++] = (struct taut_part_of){.node = node};
    }
    list[e->slot[node]].tests++;
    return n;
}

uint32_t taut_evidence_nodes(struct taut_evidence *e, uint32_t c,
                             struct taut_part_of *list)
{
    const struct taut_run *run = e->of[c].run;
    uint32_t n = 0;

    e->slot_now++;
    for (uint32_t i = 0; run != NULL && i < run->n; i++) {
        n = count_node(e, run->entry[i].low->src, list, n);
        n = count_node(e, run->entry[i].low->dst, list, n);
    }
    return n;
}

size_t taut_evidence_lows(const struct taut_evidence *e)
{
    return e->lows;
}

uint32_t taut_evidence_runs(const struct taut_evidence *e)
{
    uint32_t n = 0;

    for (uint32_t c = 0; c < e->g->components; c++)
        n += e->of[c].run != NULL;
    return n;
}

/* Has a the longer run, or of two as long the smaller number? */
static bool is_longer(const struct taut_evidence *e, uint32_t a, uint32_t b)
{
    return e->of[a].run->n > e->of[b].run->n ||
           (e->of[a].run->n == e->of[b].run->n && a < b);
}

/* Insertion into a sorted list of 'most', from the ring of those accused last:
 * O(TAUT_EVIDENCE_RECENT * most), whatever the size of the machine.  The order
 * is total, so one that comes twice meets itself in the list. */
uint32_t taut_evidence_longest(const struct taut_evidence *e, uint32_t *list,
                               uint32_t most)
{
    uint32_t n = 0, recent = e->n_recent < TAUT_EVIDENCE_RECENT
                                 ? e->n_recent
                                 : TAUT_EVIDENCE_RECENT;

    for (uint32_t k = 0; k < recent; k++) {
        uint32_t c = e->recent[k], i = n;
        if (e->of[c].run == NULL || e->of[c].is_watched)
            continue;
        while (i > 0 && is_longer(e, c, list[i - 1]))
            i--;
        if (i == most || (i > 0 && list[i - 1] == c))
            continue;
        n += n < most;
        memmove(&list[i + 1], &list[i], (n - 1 - i) * sizeof(*list));
        list[i] = c;
    }
    return n;
}
