/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several fabrics as one graph.  Each keeps a graph and an engine of its own,
 * which routes; here their routers, links and endpoints have other numbers.
 * No route leads from one to another. */
#ifndef TAUT_ADVISOR_LIB_GRAPH_JOINED_JOINED_H
#define TAUT_ADVISOR_LIB_GRAPH_JOINED_JOINED_H

#include "advisor/lib/graph/engine.h"

struct taut_joined_part {
    const struct taut_graph *graph; /* with an engine; outlives the whole */
    const uint32_t *node;           /* [graph->nodes] its nodes in the whole */
};

/* Give 'g' the routes of its parts.  Routers, links and rails of the first
 * come first, in their order, then those of the next.  Whoever changes health
 * changes that of the parts, too: they route.
 * Returns 0, or -1 with errno EINVAL (the parts are not what 'g' is made of)
 * or ENOMEM. */
int taut_joined_create(struct taut_graph *g,
                       const struct taut_joined_part *part, uint32_t n,
                       struct taut_error *err);

#endif
