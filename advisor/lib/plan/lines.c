/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Straight lines: which links follow each other in one direction.  They are
 * followed for every router of every plan, so each line lies in one piece of
 * memory, with the routers that it comes to.
 *
 * For every link l, step[line[l] + k] is the k-th link after l, l itself being
 * number 0, until
 *
 *   a step without a link      nothing follows
 *   k = TAUT_PLAN_LINE_MOST    a ring goes on; nobody follows it so far
 *
 * Links of one chain share its steps: line[next(l)] = line[l] + 1.  A chain
 * that runs into a link with a place (a ring closes, two lines meet) copies
 * LINE_MOST steps from there on.  So there are at most
 *
 *   links + chains * (TAUT_PLAN_LINE_MOST + 1)
 *
 * steps.  Nobody knows the number of chains before: all are laid twice, first
 * to count, then to write. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/plan/inside.h"

#define NONE TAUT_GRAPH_NONE

/* The only link that leaves the far end of l in the same direction. */
static uint32_t next_of(const struct taut_graph *g, const uint32_t *direction,
                        uint32_t l)
{
    uint32_t found = NONE, r = g->to[l];

    for (uint32_t k = g->out_first[r]; k < g->out_first[r + 1]; k++) {
        if (direction[g->out[k]] != direction[l])
            continue;
        if (found != NONE)
            return NONE;
        found = g->out[k];
    }
    return found;
}

/* Step number n of all; they are only counted while there is no room. */
static void put(struct taut_board *b, uint32_t n, uint32_t l)
{
    if (b->step != NULL)
        b->step[n] = (struct taut_plan_step){
            .link = l, .to = l == NONE ? NONE : b->g->to[l]};
}

/* The line from link l on: what has no place yet, what follows where that
 * ends at a link that has one (a ring, or lines that meet), an end. */
static uint32_t lay(struct taut_board *b, const uint32_t *next, uint32_t l,
                    uint32_t n)
{
    for (; l != NONE && b->line[l] == NONE; l = next[l]) {
        b->line[l] = n;
        put(b, n++, l);
    }
    for (uint32_t k = 0; l != NONE && k < TAUT_PLAN_LINE_MOST; k++) {
        put(b, n++, l);
        l = next[l];
    }
    put(b, n, NONE);
    return n + 1;
}

/* All of them, those first that nothing leads to: begun in their middle they
 * would be two chains.  What is left then are rings.  Returns the steps. */
static uint32_t lay_all(struct taut_board *b, const uint32_t *next)
{
    uint32_t links = b->g->links, n = 0;
    bool *is_next = calloc((size_t)links + 1, 1);

    if (is_next == NULL)
        return 0;
    for (uint32_t l = 0; l < links; l++) {
        b->line[l] = NONE;
        if (next[l] != NONE)
            is_next[next[l]] = true;
    }
    for (uint32_t l = 0; l < links; l++)
        if (!is_next[l])
            n = lay(b, next, l, n);
    for (uint32_t l = 0; l < links; l++)
        if (b->line[l] == NONE)
            n = lay(b, next, l, n);
    free(is_next);
    return n;
}

static bool find_legs(struct taut_board *b)
{
    const struct taut_graph *g = b->g;

    if (g->engine->leg == NULL)
        return true;
    TAUT_TAKE(&b->memory, b->leg, (size_t)g->links + 1);
    for (uint32_t l = 0; b->leg != NULL && l < g->links; l++)
        b->leg[l] = (uint8_t)g->engine->leg(g->self, g, l);
    return b->leg != NULL;
}

bool taut_board_find_lines(struct taut_board *b, const uint32_t *direction)
{
    uint32_t links = b->g->links, n = 0;
    uint32_t *next = calloc((size_t)links + 1, sizeof(*next));

    TAUT_TAKE(&b->memory, b->line, (size_t)links + 1);
    if (next != NULL && b->line != NULL) {
        for (uint32_t l = 0; l < links; l++)
            next[l] = direction != NULL ? next_of(b->g, direction, l) : NONE;
        n = lay_all(b, next);
        TAUT_TAKE(&b->memory, b->step, (size_t)n + 1);
        n = b->step != NULL ? lay_all(b, next) : 0;
    }
    free(next);
    return (n > 0 || links == 0) && find_legs(b);
}

uint32_t taut_board_over(const struct taut_board *b, uint32_t most, uint32_t l)
{
    const struct taut_plan_step *at = taut_board_line(b, l);

    for (uint32_t k = 0; k < most && at->link != NONE; k++, at++)
        if (taut_board_is_local(b, at->to))
            return b->local[at->to] - 1;
    return NONE;
}
