/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <stdatomic.h>
#include <stdlib.h>

#include "advisor/graph_updown_rows.h"

/* Distances of all routers from which downward links alone lead to s. */
static void fill_down(const struct taut_updown *u, const struct taut_graph *g,
                      uint32_t s, bool healthy, uint16_t *row, uint32_t *queue)
{
    uint32_t head = 0, tail = 0;

    row[s] = TAUT_UPDOWN_DOWN;
    queue[tail++] = s;
    while (head < tail) {
        uint32_t r = queue[head++];
        if ((row[r] & TAUT_UPDOWN_FAR) == TAUT_UPDOWN_HOPS_MAX)
            continue;
        for (uint32_t i = g->in_first[r]; i < g->in_first[r + 1]; i++) {
            uint32_t l = g->in[i], n = g->from[l];
            if (row[n] != TAUT_UPDOWN_FAR || taut_updown_is_upward(u, g, l) ||
                !(healthy || taut_graph_is_up(g, l)))
                continue;
            row[n] = row[r] + 1;
            queue[tail++] = n;
        }
    }
}

/* Distances of the others, from the roots downwards: their upward links lead
 * to routers whose distance is known by then. */
static void fill_up(const struct taut_updown *u, const struct taut_graph *g,
                    bool healthy, uint16_t *row)
{
    for (uint32_t k = 0; k < u->routers; k++) {
        uint32_t r = u->order[k];
        for (uint32_t i = g->out_first[r];
             !(row[r] & TAUT_UPDOWN_DOWN) && i < g->out_first[r + 1]; i++) {
            uint32_t l = g->out[i];
            uint32_t d = (row[g->to[l]] & TAUT_UPDOWN_FAR) + 1;
            if (d <= TAUT_UPDOWN_HOPS_MAX && d < row[r] &&
                taut_updown_is_upward(u, g, l) &&
                (healthy || taut_graph_is_up(g, l)))
                row[r] = (uint16_t)d;
        }
    }
}

uint16_t *taut_updown_new_row(const struct taut_updown *u,
                              const struct taut_graph *g, uint32_t s,
                              bool healthy)
{
    uint16_t *row = malloc(u->routers * sizeof(*row));
    uint32_t *queue = malloc(u->routers * sizeof(*queue));

    if (row == NULL || queue == NULL) {
        free(row);
        free(queue);
        return NULL;
    }
    for (uint32_t r = 0; r < u->routers; r++)
        row[r] = TAUT_UPDOWN_FAR;
    fill_down(u, g, s, healthy, row, queue);
    if (u->rank != NULL)
        fill_up(u, g, healthy, row);
    free(queue);
    return row;
}

/* Of two threads that make a row at once the first to finish wins. */
const uint16_t *taut_updown_row(const struct taut_updown *u,
                                const struct taut_graph *g, uint32_t s)
{
    uint16_t *row = atomic_load(&u->row[s]);
    uint16_t *none = NULL;

    if (row != NULL)
        return row;
    row = taut_updown_new_row(u, g, s, false);
    if (row != NULL &&
        !atomic_compare_exchange_strong(&u->row[s], &none, row)) {
        free(row);
        row = none;
    }
    return row;
}
