/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "advisor/lib/flow/traffic.h"

struct taut_traffic_pattern *taut_traffic_pattern_create(uint32_t ranks,
                                                         uint32_t steps)
{
    struct taut_traffic_pattern *p = calloc(1, sizeof(*p));

    if (p == NULL)
        return NULL;
    p->ranks = ranks;
    p->steps = steps;
    p->step = calloc((size_t)steps + 1, sizeof(*p->step));
    if (p->step != NULL)
        return p;
    free(p);
    errno = ENOMEM;
    return NULL;
}

void taut_traffic_pattern_destroy(struct taut_traffic_pattern *p)
{
    if (p == NULL)
        return;
    for (uint32_t i = 0; i < p->steps; i++) {
        free(p->step[i].src);
        free(p->step[i].dst);
        free(p->step[i].bytes);
    }
    free(p->step);
    free(p);
}

int taut_traffic_step_alloc(struct taut_traffic_step *s, uint32_t n,
                            bool has_bytes)
{
    s->src = malloc(((size_t)n + 1) * sizeof(*s->src));
    s->dst = malloc(((size_t)n + 1) * sizeof(*s->dst));
    s->bytes = has_bytes ? malloc(((size_t)n + 1) * sizeof(*s->bytes)) : NULL;
    if (s->src == NULL || s->dst == NULL || (has_bytes && s->bytes == NULL)) {
        errno = ENOMEM;
        return -1;
    }
    s->n = n;
    return 0;
}
