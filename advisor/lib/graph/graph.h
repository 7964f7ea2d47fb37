/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A machine as a graph: routers, directed links, the endpoints (rails of
 * nodes) on the routers, capacities and health; and a routing engine on top.
 *
 * Everything is numbered from 0 here; Lua counts nodes and components from
 * 1.  Components are, in this order, tx and rx of endpoint 0, tx and rx of
 * endpoint 1, … then the links: endpoint e = nodes * rail + node has tx 2e
 * and rx 2e + 1, link l is component 2 * endpoints + l.
 *
 * A graph is built once (create, fill the arrays, seal, give it an engine)
 * and then read by any number of threads; only health changes it, and
 * nothing may read it meanwhile. */
#ifndef TAUT_ADVISOR_LIB_GRAPH_GRAPH_H
#define TAUT_ADVISOR_LIB_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "advisor/lib/graph/arena.h"
#include "wire/error.h"

#define TAUT_GRAPH_NONE UINT32_MAX
#define TAUT_GRAPH_MAX_ROUTERS (UINT32_C(1) << 20)
#define TAUT_GRAPH_MAX_LINKS (UINT32_C(1) << 24)
#define TAUT_GRAPH_MAX_NODES (UINT32_C(1) << 20)
#define TAUT_GRAPH_MAX_RAILS 64

struct taut_engine;

struct taut_graph {
    struct taut_arena memory;
    uint32_t routers;
    uint32_t nodes;
    uint32_t rails;
    uint32_t endpoints; /* nodes * rails */
    uint32_t links;
    uint32_t components; /* 2 * endpoints + links */

    uint32_t *from, *to; /* [links] routers */
    uint32_t *back;      /* [links] same cable, other way; NONE: no such */
    uint32_t *at;        /* [endpoints] router; NONE: the rail is not there */
    double *capacity;    /* [components] bytes/s, healthy */
    double *left;        /* [components] share that is left, 0 = failed */

    /* made by seal: out[out_first[r]] … out[out_first[r + 1] - 1] are the
     * links that leave r, in[] those that reach it, on[] its endpoints */
    uint32_t *out_first, *out;
    uint32_t *in_first, *in;
    uint32_t *on_first, *on;

    const struct taut_engine *engine; /* NULL before taut_graph_route_by */
    void *self;                       /* the engine's own; owned */
    uint32_t max_entries;             /* entries a route can have at most */
};

/* What each of 'senders' tests gets of component c, bytes per second, when a plan
 * sends them over the same links at once.  A port never has more than one, and
 * of a set each may take another link.  What a test can reach is the smallest
 * share on its way (lua/taut/topology/model/expectation.lua says the same of routes
 * that are Lua tables). */
static inline double taut_graph_share(const struct taut_graph *g, uint32_t c,
                                      bool is_sure, uint32_t senders)
{
    bool is_shared = is_sure && senders > 1 && c >= 2 * g->endpoints;

    return g->capacity[c] / (is_shared ? senders : 1);
}

/* A graph of that size, its arrays allocated: at = NONE, back = NONE,
 * left = 1, everything else 0, to be filled by the caller.
 *   rails  1..TAUT_GRAPH_MAX_RAILS; the other limits above
 * Returns it, or NULL with errno EINVAL (beyond a limit, text in 'err') or
 * ENOMEM.  Give it to taut_graph_destroy. */
struct taut_graph *taut_graph_create(uint32_t routers, uint32_t nodes,
                                     uint32_t rails, uint32_t links,
                                     struct taut_error *err);
void taut_graph_destroy(struct taut_graph *g);

/* Check what was filled in, and index it.  Links whose 'back' is NONE get
 * the first unassigned link of the opposite direction. Returns 0, or -1 with
 * errno EINVAL (a router that is not there, a link from a router to itself, a
 * capacity that is not positive) or ENOMEM. */
int taut_graph_seal(struct taut_graph *g, struct taut_error *err);

/* Hand over an engine and what belongs to it; a previous one is destroyed.
 *   max_entries  see struct taut_route */
void taut_graph_route_by(struct taut_graph *g, const struct taut_engine *e,
                         void *self, uint32_t max_entries);

/* Tell the engine that 'left' has changed.  Returns 0, or -1 with errno. */
int taut_graph_update(struct taut_graph *g, struct taut_error *err);

static inline uint32_t taut_graph_tx(uint32_t endpoint)
{
    return 2 * endpoint;
}

static inline uint32_t taut_graph_rx(uint32_t endpoint)
{
    return 2 * endpoint + 1;
}

static inline uint32_t taut_graph_link(const struct taut_graph *g,
                                       uint32_t link)
{
    return 2 * g->endpoints + link; /* its component */
}

static inline bool taut_graph_is_up(const struct taut_graph *g, uint32_t link)
{
    return g->left[2 * (size_t)g->endpoints + link] > 0;
}

#endif
