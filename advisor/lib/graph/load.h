/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What traffic between many pairs puts on the links, walked route by route
 * on all processors or, where the engine can, in one go. */
#ifndef TAUT_ADVISOR_LIB_GRAPH_LOAD_H
#define TAUT_ADVISOR_LIB_GRAPH_LOAD_H

#include "advisor/lib/graph/engine.h"

/* load[l] += src[e] * dst[f] * share of the route from e to f that is on link
 * l, for each pair of endpoints of one rail on different routers.
 *   src, dst  [endpoints], whole numbers; endpoints that are not there count
 *             0; the same array twice: all-to-all
 *   load      [links]
 *   lost      pairs without a route
 *   threads   1..64; 0: one per processor
 *   walk      walk every pair, even where the engine knows better
 * Returns 0, or -1 with errno ENOMEM or EAGAIN. */
int taut_load_between(const struct taut_graph *g, const uint64_t *src,
                      const uint64_t *dst, unsigned threads, bool walk,
                      double *load, struct taut_lost *lost);

/* All-to-all between routers, for figures: w[r] = 1 for each router. */
int taut_load_routers(const struct taut_graph *g, const uint64_t *w,
                      unsigned threads, bool walk, double *load,
                      struct taut_lost *lost);

/* One pair: load[l] += amount * share.  't' is scratch.
 *   dst  destination endpoint, on router pair->to
 * Returns as taut_graph_route. */
int taut_load_route(const struct taut_graph *g,
                    const struct taut_flow_pair *pair, uint32_t dst,
                    double *load, struct taut_route *t);

/* For each component a number that depends only on the set of routes that
 * use it, or may (a set of links): equal numbers, equal sets, but for one
 * chance in 2^50; 0 where no route uses it.  Pairs of one rail count.
 *   hash  [components]
 * Method: each pair of routers has a random number, the product of one of
 * the source and one of the destination; a set is their sum modulo 2^64, so
 * that an engine's sums() gives it.  Returns as above. */
int taut_load_hash(const struct taut_graph *g, unsigned threads,
                   uint64_t *hash);

/* For each node, how many of its routes to and from the other routers use a
 * link (or may): from[n] += where n sends, to[n] += where it receives.
 *   from, to  [nodes]
 * Returns as above. */
int taut_load_crossing(const struct taut_graph *g, uint32_t link, uint32_t rail,
                       unsigned threads, uint64_t *from, uint64_t *to);

#endif
