/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between the files of taut.graph: a graph as Lua holds it. */
#ifndef TAUT_ADVISOR_BINDINGS_GRAPH_MOD_GRAPH_H
#define TAUT_ADVISOR_BINDINGS_GRAPH_MOD_GRAPH_H

#include "advisor/bindings/host.h"
#include "advisor/lib/graph/engine.h"

#define TAUT_GRAPH_CLASS "taut.graph"

/* Its user value 1 is the table of interned stages: key → stage; 2 the
 * parameters of an engine that needs them for as long as the graph lives. */
struct taut_lua_graph {
    struct taut_graph *graph;
    struct taut_route route; /* scratch of the main thread */
    bool is_ready;           /* has an engine, and room in 'route' */
};

/* The graph at a stack index; raises an error for anything else, and
 * where it has no engine yet. */
struct taut_lua_graph *taut_check_graph(lua_State *L, int index);
struct taut_lua_graph *taut_check_ready(lua_State *L, int index);

/* Arguments from 1 as Lua counts to numbers from 0 as C does: a component, a
 * link (a component, too), a node; a router counts from 0 on both sides. */
uint32_t taut_check_component(lua_State *L, int arg,
                              const struct taut_graph *g);
uint32_t taut_check_link(lua_State *L, int arg, const struct taut_graph *g);
uint32_t taut_check_node(lua_State *L, int arg, const struct taut_graph *g);
uint32_t taut_check_router(lua_State *L, int arg, const struct taut_graph *g);
uint32_t taut_opt_rail(lua_State *L, int arg, const struct taut_graph *g);

/* A buffer of n * size zeroed bytes that the stack holds; it leaves one
 * value there.  Raises an error when there is no memory. */
void *taut_lua_buffer(lua_State *L, size_t n, size_t size);

/* Push { component of link[0], … }. */
void taut_push_links(lua_State *L, const struct taut_graph *g,
                     const uint32_t *link, uint32_t n);

/* Put the route from endpoint a to b, as in topo:route, of the graph at an
 * index into the table on the top, whatever that had, or replace a value there
 * by a new table. Without a route nothing is put. */
void taut_fill_route(lua_State *L, int graph, uint32_t a, uint32_t b);

/* g:engine(name, parameters) → true | nil, err */
int taut_graph_lua_engine(lua_State *L);

/* g:closures() → table of functions that take a topology as their first
 * argument and look at it only to ask it why there is no route: quicker than
 * a method of a method. */
int taut_graph_closures(lua_State *L);

/* Methods that walk routes or look for flows, for the class. */
extern const luaL_Reg taut_graph_kernels[];

#endif
