/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Largest flows near a node, whatever the routing. */
#ifndef TAUT_ADVISOR_LIB_GRAPH_FLOW_H
#define TAUT_ADVISOR_LIB_GRAPH_FLOW_H

#include "advisor/lib/graph/graph.h"

/* The largest flow between node 'node' (all its rails) and the endpoints on
 * other routers than its own; where it shares its routers with the whole
 * machine, the other nodes' endpoints.
 *   outward  true: from the node, false: to it
 *   c, left  component that has only this share of its capacity (the others
 *            have what g->left says); TAUT_GRAPH_NONE: all are healthy
 *   flow     bytes/s, written on success
 * Method: shortest augmenting paths (Edmonds and Karp 1972), from the node,
 * so that only its neighbourhood is looked at.
 * Returns 0, or -1 with errno ENOMEM. */
int taut_flow_of_node(const struct taut_graph *g, uint32_t node, bool outward,
                      uint32_t c, double left, double *flow);

/* Nodes behind component c when 'left' of it is left: the largest flow in
 * one direction falls below 'share' of what it is with everything healthy,
 * and c has its part in that.
 *   nodes  [g->nodes], the caller's; gets node numbers, ascending
 * Returns how many, or -1 with errno ENOMEM. */
int taut_flow_behind(const struct taut_graph *g, uint32_t c, double left,
                     double share, uint32_t *nodes);

#endif
