/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parameters of the routing engines for trees, tables, HyperX, dragonflies
 * and several fabrics, as Lua gives them; rows of mod_graph_engines.c.  On the stack
 * are 1 the graph, 3 the table of parameters.  Return 0, or -1 with errno
 * and text; raise an error for a wrong type. */
#ifndef TAUT_ADVISOR_BINDINGS_GRAPH_MOD_GRAPH_MODELS_H
#define TAUT_ADVISOR_BINDINGS_GRAPH_MOD_GRAPH_MODELS_H

#include "advisor/bindings/graph/mod_graph.h"

/* { rank = { per router } or nil, stride = { per router } or nil: equal
 *   shares, key = { per endpoint } or nil } */
int taut_lua_updown(lua_State *L, struct taut_graph *g, struct taut_error *err);

/* { row = function(router) → { for each endpoint, then for each router:
 *   component of the link, or false } } */
int taut_lua_tables(lua_State *L, struct taut_graph *g, struct taut_error *err);

/* { parts = { { graph = taut.graph, nodes = { per node of it: its
 *   number in the whole, from 0 } }, … } }: several fabrics; the graph keeps
 *   those of its parts */
int taut_lua_joined(lua_State *L, struct taut_graph *g, struct taut_error *err);

/* { dims = { 4, 4 }, place = { per router }, adaptive =, misrouted = } */
int taut_lua_hyperx(lua_State *L, struct taut_graph *g, struct taut_error *err);

/* { group = { per router }, mode = "minimal" | "adaptive" | "valiant",
 *   misrouted = } */
int taut_lua_dragonfly(lua_State *L, struct taut_graph *g,
                       struct taut_error *err);

#endif
