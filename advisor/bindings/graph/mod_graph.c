/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.graph: machines as graphs, for Lua.  The models in
 * lua/taut/topology/ build one and ask it; doc/internals/bindings.md lists all. */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/bindings/graph/mod_graph.h"

/* ---- arguments ---- */

struct taut_lua_graph *taut_check_graph(lua_State *L, int index)
{
    struct taut_lua_graph *h = luaL_checkudata(L, index, TAUT_GRAPH_CLASS);

    luaL_argcheck(L, h->graph != NULL, index, "graph that was closed");
    return h;
}

struct taut_lua_graph *taut_check_ready(lua_State *L, int index)
{
    struct taut_lua_graph *h = taut_check_graph(L, index);

    luaL_argcheck(L, h->is_ready, index, "graph without a routing engine");
    return h;
}

static uint32_t check_range(lua_State *L, int arg, lua_Integer min,
                            lua_Integer max, const char *what)
{
    lua_Integer v = luaL_checkinteger(L, arg);

    if (v < min || v > max)
        luaL_error(L, "%s %I is not within %I to %I", what, (LUAI_UACINT)v,
                   (LUAI_UACINT)min, (LUAI_UACINT)max);
    return (uint32_t)(v - min);
}

uint32_t taut_check_component(lua_State *L, int arg, const struct taut_graph *g)
{
    return check_range(L, arg, 1, g->components, "component");
}

uint32_t taut_check_link(lua_State *L, int arg, const struct taut_graph *g)
{
    lua_Integer first = 2 * (lua_Integer)g->endpoints + 1;

    return check_range(L, arg, first, g->components, "link");
}

uint32_t taut_check_node(lua_State *L, int arg, const struct taut_graph *g)
{
    return check_range(L, arg, 1, g->nodes, "node");
}

uint32_t taut_check_router(lua_State *L, int arg, const struct taut_graph *g)
{
    return check_range(L, arg, 0, (lua_Integer)g->routers - 1, "router");
}

uint32_t taut_opt_rail(lua_State *L, int arg, const struct taut_graph *g)
{
    return lua_isnoneornil(L, arg) ? 0
                                   : check_range(L, arg, 1, g->rails, "rail");
}

void *taut_lua_buffer(lua_State *L, size_t n, size_t size)
{
    void *p = lua_newuserdatauv(L, (n + 1) * size, 0);

    memset(p, 0, (n + 1) * size);
    return p;
}

void taut_push_links(lua_State *L, const struct taut_graph *g,
                     const uint32_t *link, uint32_t n)
{
    lua_createtable(L, (int)n, 0);
    for (uint32_t i = 0; i < n; i++) {
        lua_pushinteger(L, (lua_Integer)taut_graph_link(g, link[i]) + 1);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
}

/* ---- building ---- */

/* Reads n whole numbers of field 'name'; false stands for NONE. */
static void read_numbers(lua_State *L, const char *name, uint32_t n,
                         uint32_t *out)
{
    if (lua_getfield(L, 1, name) != LUA_TTABLE)
        luaL_error(L, "field '%s': table expected", name);
    for (uint32_t i = 0; i < n; i++) {
        int is_number = 1;
        int type = lua_rawgeti(L, -1, (lua_Integer)i + 1);
        lua_Integer v = TAUT_GRAPH_NONE;
        if (type != LUA_TBOOLEAN)
            v = lua_tointegerx(L, -1, &is_number);
        if (!is_number || v < 0 || v > TAUT_GRAPH_NONE)
            luaL_error(L, "field '%s', entry %I: number expected", name,
                       (LUAI_UACINT)i + 1);
        out[i] = (uint32_t)v;
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static void read_capacities(lua_State *L, struct taut_graph *g)
{
    if (lua_getfield(L, 1, "capacity") != LUA_TTABLE)
        luaL_error(L, "field 'capacity': table expected");
    for (uint32_t c = 0; c < g->components; c++) {
        lua_rawgeti(L, -1, (lua_Integer)c + 1);
        g->capacity[c] = lua_tonumber(L, -1);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

/* 'back', as Lua counts links: from 1. */
static void read_back(lua_State *L, struct taut_graph *g)
{
    if (lua_getfield(L, 1, "back") == LUA_TNIL) {
        lua_pop(L, 1);
        return;
    }
    lua_pop(L, 1);
    read_numbers(L, "back", g->links, g->back);
    for (uint32_t l = 0; l < g->links; l++)
        if (g->back[l] != TAUT_GRAPH_NONE)
            g->back[l]--;
}

static uint32_t count_field(lua_State *L, const char *name, lua_Integer min)
{
    return (uint32_t)taut_opt_integer(L, 1, name, min, min, UINT32_MAX);
}

static uint32_t count_links(lua_State *L)
{
    uint32_t n = 0;

    if (lua_getfield(L, 1, "from") == LUA_TTABLE)
        n = (uint32_t)lua_rawlen(L, -1);
    lua_pop(L, 1);
    return n;
}

static int graph_new(lua_State *L)
{
    struct taut_error err = {""};

    luaL_checktype(L, 1, LUA_TTABLE);
    struct taut_lua_graph *h = lua_newuserdatauv(L, sizeof(*h), 2);
    *h = (struct taut_lua_graph){.graph = NULL};
    luaL_setmetatable(L, TAUT_GRAPH_CLASS);
    lua_newtable(L);
    lua_setiuservalue(L, -2, 1);
    h->graph = taut_graph_create(
        count_field(L, "routers", 1), count_field(L, "nodes", 1),
        count_field(L, "rails", 1), count_links(L), &err);
    if (h->graph == NULL)
        return taut_fail(L, "%s", err.text);
    read_numbers(L, "from", h->graph->links, h->graph->from);
    read_numbers(L, "to", h->graph->links, h->graph->to);
    read_numbers(L, "at", h->graph->endpoints, h->graph->at);
    read_back(L, h->graph);
    read_capacities(L, h->graph);
    if (taut_graph_seal(h->graph, &err) < 0)
        return taut_fail(L, "%s", err.text);
    return 1;
}

static int graph_gc(lua_State *L)
{
    struct taut_lua_graph *h = luaL_checkudata(L, 1, TAUT_GRAPH_CLASS);

    taut_graph_destroy(h->graph);
    taut_route_fini(&h->route);
    h->graph = NULL;
    h->is_ready = false;
    return 0;
}

static int graph_engine(lua_State *L)
{
    struct taut_lua_graph *h = taut_check_graph(L, 1);

    int n = taut_graph_lua_engine(L);
    if (h->graph->engine == NULL || n != 1)
        return n;
    taut_route_fini(&h->route);
    h->is_ready = taut_route_init(&h->route, h->graph) == 0;
    if (!h->is_ready)
        return taut_fail(L, "out of memory");
    return n;
}

/* ---- looking at it ---- */

/* g:opposite(c) → the link of the same cable the other way; of a tx its rx */
static int graph_opposite(lua_State *L)
{
    const struct taut_graph *g = taut_check_graph(L, 1)->graph;
    uint32_t c = taut_check_component(L, 2, g);
    uint32_t back = c ^ 1;

    if (c >= 2 * g->endpoints) {
        back = g->back[c - 2 * g->endpoints];
        if (back == TAUT_GRAPH_NONE)
            return 0;
        back = taut_graph_link(g, back);
    }
    lua_pushinteger(L, (lua_Integer)back + 1);
    return 1;
}

/* g:links_of(r) → those that leave it */
static int graph_links_of(lua_State *L)
{
    const struct taut_graph *g = taut_check_graph(L, 1)->graph;
    uint32_t r = taut_check_router(L, 2, g);

    taut_push_links(L, g, g->out + g->out_first[r],
                    g->out_first[r + 1] - g->out_first[r]);
    return 1;
}

/* g:on_router(r) → nodes, ascending; one with several rails there once */
static int graph_on_router(lua_State *L)
{
    const struct taut_graph *g = taut_check_graph(L, 1)->graph;
    uint32_t r = taut_check_router(L, 2, g);
    lua_Integer n = 0;

    lua_newtable(L);
    for (uint32_t i = g->on_first[r]; i < g->on_first[r + 1]; i++) {
        uint32_t node = g->on[i] % g->nodes;
        bool is_there = false;
        for (uint32_t k = 0; k < g->on[i] / g->nodes; k++)
            is_there = is_there || g->at[k * g->nodes + node] == r;
        if (is_there)
            continue;
        lua_pushinteger(L, (lua_Integer)node + 1);
        lua_rawseti(L, -2, ++n);
    }
    return 1;
}

/* ---- health ---- */

/* g:left(c) → share; g:set_left(c, share): takes effect with g:update() */
static int graph_left(lua_State *L)
{
    const struct taut_graph *g = taut_check_graph(L, 1)->graph;

    lua_pushnumber(L, g->left[taut_check_component(L, 2, g)]);
    return 1;
}

static int graph_set_left(lua_State *L)
{
    struct taut_graph *g = taut_check_graph(L, 1)->graph;
    uint32_t c = taut_check_component(L, 2, g);
    lua_Number left = luaL_checknumber(L, 3);

    luaL_argcheck(L, left >= 0 && left <= 1, 3, "not within 0 to 1");
    g->left[c] = left;
    return 0;
}

/* g:set_capacity(c, bytes/s): what a healthy c carries, once that is known;
 * g:update() for routing that shares out by it */
static int graph_set_capacity(lua_State *L)
{
    struct taut_graph *g = taut_check_graph(L, 1)->graph;
    uint32_t c = taut_check_component(L, 2, g);
    lua_Number v = luaL_checknumber(L, 3);

    luaL_argcheck(L, v > 0 && isfinite(v), 3, "not a capacity");
    g->capacity[c] = v;
    return 0;
}

static int graph_update(lua_State *L)
{
    struct taut_lua_graph *h = taut_check_ready(L, 1);
    struct taut_error err = {""};

    if (taut_graph_update(h->graph, &err) < 0)
        return err.text[0] ? taut_fail(L, "%s", err.text)
                           : taut_fail_errno(L, "cannot route");
    lua_pushboolean(L, 1);
    return 1;
}

/* graph.digest(text) → 16 hexadecimal digits: FNV-1a, 64 bits */
static int graph_digest(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);
    uint64_t h = 0xcbf29ce484222325U;
    char hex[17];

    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)text[i]) * 0x100000001b3U;
    for (int i = 15; i >= 0; i--, h >>= 4)
        hex[i] = "0123456789abcdef"[h & 15];
    lua_pushlstring(L, hex, 16);
    return 1;
}

int luaopen_taut_graph(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"digest", graph_digest},
        {"new", graph_new},
        {NULL, NULL},
    };
    static const luaL_Reg methods[] = {
        {"closures", taut_graph_closures},
        {"engine", graph_engine},
        {"left", graph_left},
        {"links_of", graph_links_of},
        {"on_router", graph_on_router},
        {"opposite", graph_opposite},
        {"set_capacity", graph_set_capacity},
        {"set_left", graph_set_left},
        {"update", graph_update},
        {NULL, NULL},
    };

    taut_class(L, TAUT_GRAPH_CLASS, methods, graph_gc);
    luaL_getmetatable(L, TAUT_GRAPH_CLASS);
    lua_getfield(L, -1, "__index");
    luaL_setfuncs(L, taut_graph_kernels, 0);
    lua_pop(L, 2);
    luaL_newlib(L, functions);
    return 1;
}
