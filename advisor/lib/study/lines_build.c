/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The grid that a HyperX is. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/study/lines.h"

static int check_places(struct taut_study *s, const uint32_t *place,
                        struct taut_error *err)
{
    memset(s->router, 0xff, s->g->routers * sizeof(*s->router));
    for (uint32_t r = 0; r < s->g->routers; r++) {
        if (place[r] >= s->g->routers ||
            s->router[place[r]] != TAUT_GRAPH_NONE) {
            taut_error_set(err, "router %u: no place of its own in the grid",
                           r);
            errno = EINVAL;
            return -1;
        }
        s->router[place[r]] = r;
        s->place[r] = place[r];
    }
    return 0;
}

static int enter_link(struct taut_study *s, uint32_t l, struct taut_error *err)
{
    uint32_t p = s->place[s->g->from[l]], q = s->place[s->g->to[l]];
    uint32_t dim = s->dims, differ = 0;

    for (uint32_t d = 0; d < s->dims; d++)
        if (taut_lines_at(s, p, d) != taut_lines_at(s, q, d)) {
            dim = d;
            differ++;
        }
    if (differ != 1) {
        taut_error_set(err, "link %u changes %u coordinates, expected one", l,
                       differ);
        errno = EINVAL;
        return -1;
    }
    s->line_link[((size_t)dim * s->places + p) * s->longest +
                 taut_lines_at(s, q, dim)] = l;
    return 0;
}

int taut_study_lines(struct taut_study *s, uint32_t dims,
                     const uint32_t *length, const uint32_t *place,
                     struct taut_error *err)
{
    size_t n = s->g->routers, cells;
    uint32_t stride = 1;

    s->dims = dims;
    for (uint32_t d = dims; d-- > 0; stride *= length[d]) {
        s->length[d] = length[d];
        s->stride[d] = stride;
        s->longest = length[d] > s->longest ? length[d] : s->longest;
    }
    if (stride != n) {
        taut_error_set(err, "%u places for %zu routers", stride, n);
        errno = EINVAL;
        return -1;
    }
    cells = dims * n * s->longest;
    s->place = malloc((n + 1) * sizeof(*s->place));
    s->router = malloc((n + 1) * sizeof(*s->router));
    s->line_link = malloc((cells + 1) * sizeof(*s->line_link));
    if (s->place == NULL || s->router == NULL || s->line_link == NULL)
        return -1;
    memset(s->line_link, 0xff, cells * sizeof(*s->line_link));
    if (check_places(s, place, err) < 0)
        return -1;
    for (uint32_t l = 0; l < s->g->links; l++)
        if (enter_link(s, l, err) < 0)
            return -1;
    return 0;
}
