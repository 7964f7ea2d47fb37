/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.graph: routes as tables, and the other quick questions. */
#include <config.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/bindings/graph/mod_graph.h"

/* 64 bits that tell a set, with its weights, from all others. */
static lua_Integer key_of(const struct taut_route *t, uint32_t first,
                          uint32_t n)
{
    uint64_t key = n;

    for (uint32_t i = first; i < first + n; i++) {
        uint64_t bits;
        memcpy(&bits, &t->weight[i], sizeof(bits));
        key = (key ^ t->link[i]) * UINT64_C(0x9e3779b97f4a7c15);
        key = ((key ^ key >> 32) + bits) * UINT64_C(0xd6e8feb86659fd93);
        key ^= key >> 29;
    }
    return (lua_Integer)key;
}

/* Push a set of links as { c1, c2, …, w = { w1, w2, … } }: always the same
 * table for the same set, so that it may be kept and compared. */
static void push_set(lua_State *L, int graph, const struct taut_lua_graph *h,
                     uint32_t first, uint32_t n)
{
    const struct taut_route *t = &h->route;
    lua_Integer key = key_of(t, first, n);

    lua_getiuservalue(L, graph, 1);
    if (lua_rawgeti(L, -1, key) == LUA_TNIL) { /* sets nil */
        lua_pop(L, 1);
        taut_push_links(L, h->graph, &t->link[first], n);
        lua_createtable(L, (int)n, 0);
        for (uint32_t i = 0; i < n; i++) {
            lua_pushnumber(L, t->weight[first + i]);
            lua_rawseti(L, -2, (lua_Integer)i + 1);
        }
        lua_setfield(L, -2, "w");
        lua_pushvalue(L, -1);
        lua_rawseti(L, -3, key); /* sets set */
    }
    lua_remove(L, -2);
}

static void push_stage(lua_State *L, int graph, const struct taut_lua_graph *h,
                       uint32_t i)
{
    const struct taut_route *t = &h->route;
    uint32_t first = t->has_sets ? (i > 0 ? t->end[i - 1] : 0) : i;
    uint32_t n = t->has_sets ? t->end[i] - first : 1;

    if (!taut_route_is_sure(t, i))
        push_set(L, graph, h, first, n);
    else
        lua_pushinteger(
            L, (lua_Integer)taut_graph_link(h->graph, t->link[first]) + 1);
}

/* The table at 'arg', or a new one, is left on the top. */
static void push_result(lua_State *L, int arg, uint32_t n)
{
    if (lua_isnoneornil(L, arg)) {
        lua_createtable(L, (int)n, 0);
    } else {
        luaL_checktype(L, arg, LUA_TTABLE);
        lua_pushvalue(L, arg);
    }
}

/* What a longer route left in a table that is used again. */
static void cut(lua_State *L, lua_Integer n)
{
    for (lua_Integer i = n + 1, old = (lua_Integer)lua_rawlen(L, -1); i <= old;
         i++) {
        lua_pushnil(L);
        lua_rawseti(L, -2, i);
    }
}

/* nil, and what the topology's own function 'name' says about it, which is
 * told the rail at 'rail' (0: none). */
static int no_route(lua_State *L, const char *name, int rail)
{
    lua_settop(L, 5);
    luaL_pushfail(L);
    if (!lua_istable(L, 1) || lua_getfield(L, 1, name) != LUA_TFUNCTION) {
        lua_pushliteral(L, "no route");
        return 2;
    }
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 2);
    lua_pushvalue(L, 3);
    if (rail > 0)
        lua_pushvalue(L, rail);
    lua_call(L, rail > 0 ? 4 : 3, 1);
    return 2;
}

static uint32_t endpoint_of(lua_State *L, int arg, const struct taut_graph *g,
                            uint32_t rail)
{
    return rail * g->nodes + taut_check_node(L, arg, g);
}

#define UP_GRAPH lua_upvalueindex(1)

static struct taut_lua_graph *up_graph(lua_State *L)
{
    struct taut_lua_graph *h = lua_touserdata(L, UP_GRAPH);

    if (!h->is_ready)
        luaL_error(L, "graph that was closed");
    return h;
}

static int no_memory(lua_State *L)
{
    return luaL_error(L, "out of memory while looking for a route");
}

/* h->route is the route; not to have one is not an error, not to know is. */
static bool has_route(lua_State *L, struct taut_lua_graph *h, uint32_t r,
                      uint32_t s, uint32_t dst)
{
    int rc = taut_graph_route(h->graph, r, s, dst, &h->route);

    if (rc == TAUT_ROUTE_NO_MEMORY)
        no_memory(L);
    return rc == 0;
}

/* Put h->route, from endpoint a to b, into the table on the top.  Returns how
 * many stages there are. */
static lua_Integer put_route(lua_State *L, int graph,
                             const struct taut_lua_graph *h, uint32_t a,
                             uint32_t b)
{
    lua_Integer n = 0;

    lua_pushinteger(L, (lua_Integer)taut_graph_tx(a) + 1);
    lua_rawseti(L, -2, ++n);
    for (uint32_t i = 0; i < h->route.stages; i++) {
        push_stage(L, graph, h, i);
        lua_rawseti(L, -2, ++n);
    }
    lua_pushinteger(L, (lua_Integer)taut_graph_rx(b) + 1);
    lua_rawseti(L, -2, ++n);
    return n;
}

void taut_fill_route(lua_State *L, int graph, uint32_t a, uint32_t b)
{
    struct taut_lua_graph *h = lua_touserdata(L, graph);
    const struct taut_graph *g = h->graph;
    bool is_there = has_route(L, h, g->at[a], g->at[b], b);

    if (!lua_istable(L, -1)) {
        lua_pop(L, 1);
        lua_createtable(L, is_there ? (int)h->route.stages + 2 : 0, 0);
    }
    cut(L, is_there ? put_route(L, graph, h, a, b) : 0);
}

/* route(_, a, b [, t [, rail]]) */
static int route(lua_State *L)
{
    struct taut_lua_graph *h = up_graph(L);
    const struct taut_graph *g = h->graph;
    uint32_t rail = taut_opt_rail(L, 5, g);
    uint32_t a = endpoint_of(L, 2, g, rail), b = endpoint_of(L, 3, g, rail);

    if (g->at[a] == TAUT_GRAPH_NONE || g->at[b] == TAUT_GRAPH_NONE ||
        !has_route(L, h, g->at[a], g->at[b], b))
        return no_route(L, "why", 5);
    push_result(L, 4, h->route.stages + 2);
    cut(L, put_route(L, UP_GRAPH, h, a, b));
    return 1;
}

/* router_route(_, r, s [, t]) */
static int router_route(lua_State *L)
{
    struct taut_lua_graph *h = up_graph(L);
    const struct taut_graph *g = h->graph;
    uint32_t r = taut_check_router(L, 2, g), s = taut_check_router(L, 3, g);

    if (!has_route(L, h, r, s, TAUT_GRAPH_NONE))
        return no_route(L, "why_routers", 0);
    push_result(L, 4, h->route.stages);
    for (uint32_t i = 0; i < h->route.stages; i++) {
        push_stage(L, UP_GRAPH, h, i);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    cut(L, h->route.stages);
    return 1;
}

/* crosses(_, a, b, c [, rail]): may a route from node a to b take component c? */
static int crosses(lua_State *L)
{
    struct taut_lua_graph *h = up_graph(L);
    const struct taut_graph *g = h->graph;
    uint32_t rail = taut_opt_rail(L, 5, g);
    uint32_t a = endpoint_of(L, 2, g, rail), b = endpoint_of(L, 3, g, rail);
    uint32_t c = taut_check_component(L, 4, g), ends = 2 * g->endpoints;
    bool is_there =
        g->at[a] != TAUT_GRAPH_NONE && g->at[b] != TAUT_GRAPH_NONE &&
        (c < ends ? (c == taut_graph_tx(a) || c == taut_graph_rx(b)) &&
                        has_route(L, h, g->at[a], g->at[b], b)
                  : taut_graph_crosses(g, g->at[a], g->at[b], b, c - ends,
                                       &h->route));

    lua_pushboolean(L, is_there);
    return 1;
}

/* hops(_, a, b [, rail]) → number, math.huge without a route */
static int hops(lua_State *L)
{
    struct taut_lua_graph *h = up_graph(L);
    const struct taut_graph *g = h->graph;
    uint32_t rail = taut_opt_rail(L, 4, g);
    uint32_t a = endpoint_of(L, 2, g, rail), b = endpoint_of(L, 3, g, rail);
    uint32_t n = UINT32_MAX;

    if (g->at[a] != TAUT_GRAPH_NONE && g->at[b] != TAUT_GRAPH_NONE)
        n = taut_graph_hops(g, g->at[a], g->at[b], b, &h->route);
    if (n == TAUT_HOPS_NO_MEMORY)
        return no_memory(L);
    if (n == UINT32_MAX)
        lua_pushnumber(L, HUGE_VAL);
    else
        lua_pushinteger(L, n);
    return 1;
}

/* from(_, c), to(_, c): the routers at the ends */
static uint32_t end_of(lua_State *L, bool to)
{
    const struct taut_graph *g = up_graph(L)->graph;
    uint32_t c = taut_check_component(L, 2, g);

    if (c < 2 * g->endpoints)
        return g->at[c / 2];
    return to ? g->to[c - 2 * g->endpoints] : g->from[c - 2 * g->endpoints];
}

static int push_router(lua_State *L, uint32_t r)
{
    if (r == TAUT_GRAPH_NONE)
        luaL_pushfail(L);
    else
        lua_pushinteger(L, r);
    return 1;
}

static int from(lua_State *L)
{
    return push_router(L, end_of(L, false));
}

static int to(lua_State *L)
{
    return push_router(L, end_of(L, true));
}

/* router(_, n [, rail]) → its router, nil where it has no such rail */
static int router(lua_State *L)
{
    const struct taut_graph *g = up_graph(L)->graph;

    return push_router(L, g->at[endpoint_of(L, 2, g, taut_opt_rail(L, 3, g))]);
}

int taut_graph_closures(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"crosses", crosses},
        {"from", from},
        {"hops", hops},
        {"route", route},
        {"router", router},
        {"router_route", router_route},
        {"to", to},
        {NULL, NULL},
    };

    taut_check_ready(L, 1);
    luaL_newlibtable(L, functions);
    lua_pushvalue(L, 1);
    luaL_setfuncs(L, functions, 1);
    return 1;
}
