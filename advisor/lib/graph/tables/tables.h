/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Routing by forwarding tables, as a subnet manager has written them into
 * the switches.  Nothing is rerouted: a pair whose route meets a failed link
 * has none until there are new tables. */
#ifndef TAUT_ADVISOR_LIB_GRAPH_TABLES_TABLES_H
#define TAUT_ADVISOR_LIB_GRAPH_TABLES_TABLES_H

#include "advisor/lib/graph/engine.h"

#define TAUT_TABLES_NONE UINT16_MAX
#define TAUT_TABLES_MAX_PORTS 4096 /* links that leave one router */

/* Give 'g' tables that are still empty. */
int taut_tables_create(struct taut_graph *g, struct taut_error *err);

/* The table of router r.
 *   next  [endpoints + routers] for each destination endpoint, then for each
 *         destination router, which of the links that leave r (0: the first
 *         in the order of their numbers), or TAUT_TABLES_NONE
 * Returns 0, or -1 with errno EINVAL: a link that is not there. */
int taut_tables_set(struct taut_graph *g, uint32_t r, const uint16_t *next,
                    struct taut_error *err);

#endif
