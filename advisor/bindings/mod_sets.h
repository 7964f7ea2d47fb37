/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets of nodes between Lua and C. */
#ifndef TAUT_ADVISOR_BINDINGS_MOD_SETS_H
#define TAUT_ADVISOR_BINDINGS_MOD_SETS_H

#include "advisor/bindings/graph/mod_graph.h"

/* Read { [node] = true, … } at 'arg' into is_free[nodes] and spare[routers]:
 * of each router's at most 'most' stay free.  Raises an error for a node
 * that is not there.  Returns how many are free. */
uint32_t taut_lua_read_free(lua_State *L, int arg, const struct taut_graph *g,
                            uint32_t most, bool *is_free, uint32_t *spare);

/* Push { node, … } in the order of the table rank[node] at 'arg', or by
 * number where there is none; 'node' is sorted on the way. */
void taut_lua_push_nodes(lua_State *L, uint32_t n, uint32_t *node, int arg);

#endif
