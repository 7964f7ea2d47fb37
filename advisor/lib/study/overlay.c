/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Failed and slow links of one study. */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/study/draw.h"
#include "advisor/lib/study/study.h"

struct taut_overlay *taut_overlay_create(const struct taut_study *s)
{
    struct taut_overlay *o = calloc(1, sizeof(*o));
    size_t n = (size_t)s->g->links + 1;

    if (o == NULL)
        return NULL;
    o->links = s->g->links;
    o->left = malloc(n * sizeof(*o->left));
    o->stand = malloc(n * sizeof(*o->stand));
    if (o->left == NULL || o->stand == NULL) {
        taut_overlay_destroy(o);
        return NULL;
    }
    for (uint32_t l = 0; l < o->links; l++) {
        o->left[l] = 1;
        o->stand[l] = s->cables[l];
    }
    return o;
}

void taut_overlay_destroy(struct taut_overlay *o)
{
    int saved = errno;

    if (o != NULL) {
        free(o->left);
        free(o->stand);
    }
    free(o);
    errno = saved;
}

/* Each cable once, by the link of its two directions that comes first. */
static size_t list_cables(const struct taut_study *s, const bool *may,
                          uint32_t *list)
{
    size_t n = 0;

    for (uint32_t l = 0; l < s->g->links; l++) {
        uint32_t back = s->g->back[l];
        if (!may[l] || (back != TAUT_GRAPH_NONE && back < l && may[back]))
            continue;
        for (double c = s->cables[l]; c > 0.5; c--) {
            if (list != NULL)
                list[n] = l;
            n++;
        }
    }
    return n;
}

static void take(const struct taut_study *s, struct taut_overlay *o, uint32_t l,
                 double left)
{
    o->left[l] -= (1 - left) / s->cables[l];
    if (o->left[l] < 1e-9)
        o->left[l] = 0;
    if (left == 0)
        o->stand[l] = fmax(0, o->stand[l] - 1);
}

int64_t taut_overlay_draw(const struct taut_study *s, struct taut_overlay *o,
                          const bool *may, double share, double left,
                          uint64_t seed)
{
    size_t n = list_cables(s, may, NULL);
    uint32_t *list = malloc((n + 1) * sizeof(*list));
    size_t taken = (size_t)floor(share * (double)n + 0.5);

    if (list == NULL)
        return -1;
    list_cables(s, may, list);
    for (size_t i = 0; i < taken; i++) {
        size_t j = i + taut_draw_below(&seed, n - i);
        uint32_t l = list[j], back = s->g->back[l];
        list[j] = list[i];
        take(s, o, l, left);
        if (back != TAUT_GRAPH_NONE)
            take(s, o, back, left);
    }
    free(list);
    return (int64_t)taken;
}
