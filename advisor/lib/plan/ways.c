/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a test uses.  The same few pairs of routers are asked for again and
 * again while a plan is laid out: whether a test is due, where it fits, what it
 * takes, and once more for the check itself.  So ways over sets, which engines
 * need long for, are kept: the last one in each slot.
 *
 * A way is tx, then the components of each stage, then rx.  Where routes do not
 * depend on the destination endpoint, only the two ends differ between nodes of
 * the same two routers, so that what lies between is kept by routers.
 *
 * The cache is direct-mapped: the key (r, s, dst) has one slot, where a new way
 * overwrites the old one.  All of it, SLOTS * sizeof(struct taut_plan_kept), is
 * 224 KiB.  Whoever changes routes calls taut_board_drop_ways. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "advisor/lib/plan/inside.h"

#define SLOTS 2048 /* a power of 2 */
#define KEPT 24    /* components of a way that is kept; longer ones are not */

struct taut_plan_kept {
    uint32_t r, s, dst; /* dst: NONE where ways do not depend on it */
    uint16_t n;         /* 0: nothing is kept here */
    uint16_t stages;
    uint32_t c[KEPT];
};

static int way_room(struct taut_plan_way *way, uint32_t n)
{
    if (way->max >= n)
        return 0;
    uint32_t *c = realloc(way->c, 2 * (size_t)n * sizeof(*c));
    if (c == NULL)
        return -1;
    way->c = c;
    way->max = 2 * n;
    return 0;
}

/* Components of the route behind way->c[way->n - 1].  TAUT_PLAN_UNSURE marks
 * the members of a set. */
static void read_route(const struct taut_board *b, struct taut_plan_way *way)
{
    const struct taut_route *t = &b->route;
    uint32_t base = 2 * b->g->endpoints;

    if (!t->has_sets) {
        for (uint32_t i = 0; i < t->stages; i++)
            way->c[way->n++] = base + t->link[i];
        return;
    }
    for (uint32_t i = 0, k = 0; i < t->stages; i++) {
        uint32_t flag = taut_route_is_sure(t, i) ? 0 : TAUT_PLAN_UNSURE;
        for (; k < t->end[i]; k++)
            way->c[way->n++] = (base + t->link[k]) | flag;
    }
}

/* The way between two routers behind way->c[0], as the graph has it. */
static bool find(struct taut_board *b, uint32_t r, uint32_t s, uint32_t dst,
                 struct taut_plan_way *way)
{
    if (taut_graph_route(b->g, r, s, dst, &b->route) != 0 ||
        way_room(way, b->route.entries + 2) < 0)
        return false;
    way->n = 1;
    read_route(b, way);
    way->stages = b->route.stages;
    way->has_sets = b->route.has_sets;
    return true;
}

/* Fibonacci hashing, once for each number of the key; the product's upper bits
 * depend on all bits below them. */
static struct taut_plan_kept *slot_of(const struct taut_board *b, uint32_t r,
                                      uint32_t s, uint32_t dst)
{
    uint64_t h = (uint64_t)r * 0x9e3779b97f4a7c15U;

    h = (h ^ s) * 0x9e3779b97f4a7c15U;
    h = (h ^ dst) * 0x9e3779b97f4a7c15U;
    return &b->kept[(h >> 40) % SLOTS];
}

static bool between(struct taut_board *b, uint32_t r, uint32_t s, uint32_t dst,
                    struct taut_plan_way *way)
{
    uint32_t to = b->g->engine->by_destination ? dst : TAUT_GRAPH_NONE;
    struct taut_plan_kept *k = slot_of(b, r, s, to);

    if (b->has_kept && k->n > 0 && k->r == r && k->s == s && k->dst == to) {
        if (way_room(way, k->n + 2U) < 0)
            return false;
        memcpy(way->c + 1, k->c, k->n * sizeof(*k->c));
        way->n = 1U + k->n;
        way->stages = k->stages;
        way->has_sets = true;
        return true;
    }
    if (!find(b, r, s, dst, way))
        return false;
    if (way->has_sets && way->n - 1 <= KEPT) {
        *k = (struct taut_plan_kept){.r = r,
                                     .s = s,
                                     .dst = to,
                                     .n = (uint16_t)(way->n - 1),
                                     .stages = (uint16_t)way->stages};
        memcpy(k->c, way->c + 1, k->n * sizeof(*k->c));
        b->has_kept = true;
    }
    return true;
}

bool taut_board_way(struct taut_board *b, uint32_t src, uint32_t dst,
                    struct taut_plan_way *way)
{
    uint32_t r = b->g->at[src], s = b->g->at[dst];

    way->n = 0;
    way->stages = 0;
    way->has_sets = false;
    if (r == TAUT_GRAPH_NONE || s == TAUT_GRAPH_NONE || way_room(way, 2) < 0)
        return false;
    way->n = 1;
    if (r != s && !between(b, r, s, dst, way)) {
        way->n = 0;
        return false;
    }
    way->c[0] = taut_graph_tx(src);
    way->c[way->n++] = taut_graph_rx(dst);
    way->stages += 2;
    return true;
}

bool taut_board_keep_ways(struct taut_board *b)
{
    TAUT_TAKE(&b->memory, b->kept, SLOTS);
    return b->kept != NULL;
}

void taut_board_drop_ways(struct taut_board *b)
{
    for (uint32_t i = 0; b->kept != NULL && i < SLOTS; i++)
        b->kept[i].n = 0;
    b->has_kept = false;
}
