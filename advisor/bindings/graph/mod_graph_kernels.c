/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.graph: what takes more than one route to answer. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/bindings/graph/mod_graph.h"
#include "advisor/lib/graph/flow.h"
#include "advisor/lib/graph/load.h"

/* Push { v[0], … }. */
static void push_doubles(lua_State *L, const double *v, uint32_t n)
{
    lua_createtable(L, (int)n, 0);
    for (uint32_t i = 0; i < n; i++) {
        lua_pushnumber(L, v[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
}

/* Push { { r, s }, … } of pairs without a route. */
static void push_lost(lua_State *L, const struct taut_lost *lost)
{
    lua_createtable(L, (int)lost->count, 0);
    for (uint32_t i = 0; i < lost->count; i++) {
        lua_createtable(L, 2, 0);
        for (int k = 0; k < 2; k++) {
            lua_pushinteger(L, lost->pair[2 * i + (uint32_t)k]);
            lua_rawseti(L, -2, k + 1);
        }
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
}

/* Whole weights from the array at 'index', 1 each where there is none. */
static uint64_t *weights(lua_State *L, int index, uint32_t n)
{
    uint64_t *w = taut_lua_buffer(L, n, sizeof(*w));

    for (uint32_t i = 0; i < n; i++) {
        w[i] = 1;
        if (lua_isnoneornil(L, index))
            continue;
        lua_rawgeti(L, index, (lua_Integer)i + 1);
        lua_Integer v = luaL_optinteger(L, -1, 0);
        luaL_argcheck(L, v >= 0 && v <= UINT32_MAX, index, "weight");
        w[i] = (uint64_t)v;
        lua_pop(L, 1);
    }
    return w;
}

/* all_to_all(g, weights or nil, { routers =, walk =, threads =, most =, to = })
 *   weights  per endpoint, or per router (from router 0 on) with 'routers'
 *   to       the weights as destinations, per endpoint, where they differ
 * → loads of the links, pairs without route, the first 'most' of these */
static int kernel_all_to_all(lua_State *L)
{
    const struct taut_graph *g = taut_check_ready(L, 1)->graph;
    struct taut_lost lost = {0};

    lua_settop(L, 3);
    if (lua_isnil(L, 3)) {
        lua_newtable(L);
        lua_replace(L, 3);
    }
    lost.max = (uint32_t)taut_opt_integer(L, 3, "most", 0, 0, 1 << 20);
    unsigned threads = (unsigned)taut_opt_integer(L, 3, "threads", 0, 0, 64);
    bool by_router = lua_getfield(L, 3, "routers") && lua_toboolean(L, -1);
    bool walk = lua_getfield(L, 3, "walk") && lua_toboolean(L, -1);
    uint64_t *w = weights(L, 2, by_router ? g->routers : g->endpoints);
    uint64_t *to = w;
    if (!by_router && lua_getfield(L, 3, "to") == LUA_TTABLE)
        to = weights(L, lua_gettop(L), g->endpoints);
    double *load = taut_lua_buffer(L, g->links, sizeof(*load));
    lost.pair = taut_lua_buffer(L, 2 * (size_t)lost.max, sizeof(uint32_t));
    int rc = by_router ? taut_load_routers(g, w, threads, walk, load, &lost)
                       : taut_load_between(g, w, to, threads, walk, load, &lost);
    if (rc < 0)
        return taut_fail_errno(L, "cannot add up the load");
    push_doubles(L, load, g->links);
    lua_pushinteger(L, (lua_Integer)lost.pairs);
    push_lost(L, &lost);
    return 3;
}

/* Pair number i (from 0) of the array at 2, as routers; returns false where
 * one of them is not there. */
static bool read_pair(lua_State *L, const struct taut_graph *g, uint32_t rail,
                      lua_Integer i, struct taut_flow_pair *pair,
                      uint32_t *dst)
{
    for (int k = 1; k <= 3; k++)
        lua_rawgeti(L, 2, 3 * i + k);
    uint32_t a = rail * g->nodes + taut_check_node(L, -3, g);
    uint32_t b = rail * g->nodes + taut_check_node(L, -2, g);
    *pair = (struct taut_flow_pair){g->at[a], g->at[b],
                                    luaL_checknumber(L, -1)};
    *dst = b;
    lua_pop(L, 3);
    return g->at[a] != TAUT_GRAPH_NONE && g->at[b] != TAUT_GRAPH_NONE;
}

/* One after the other.  Returns how many have no route, or -1 with ENOMEM. */
static lua_Integer walk_pairs(lua_State *L, struct taut_lua_graph *h,
                              uint32_t rail, lua_Integer n, double *load)
{
    const struct taut_graph *g = h->graph;
    struct taut_flow_pair pair;
    lua_Integer lost = 0;
    uint32_t dst;

    for (lua_Integer i = 0; i < n; i++) {
        int rc = -1;
        if (read_pair(L, g, rail, i, &pair, &dst))
            rc = taut_load_route(g, &pair, dst, load, &h->route);
        if (rc == TAUT_ROUTE_NO_MEMORY) {
            errno = ENOMEM;
            return -1;
        }
        lost += rc < 0;
    }
    return lost;
}

/* All at once, by the engine.  Returns how many have no route, or -1. */
static lua_Integer engine_pairs(lua_State *L, const struct taut_graph *g,
                                uint32_t rail, lua_Integer n, double *load)
{
    struct taut_flow_pair *pair = taut_lua_buffer(L, (size_t)n, sizeof(*pair));
    bool *lost = taut_lua_buffer(L, (size_t)n, sizeof(*lost));
    lua_Integer count = 0;
    size_t there = 0;
    uint32_t dst;

    for (lua_Integer i = 0; i < n; i++)
        if (read_pair(L, g, rail, i, &pair[there], &dst))
            there++;
    if (g->engine->pair_loads(g->self, g, there, pair, load, lost) < 0)
        return -1;
    for (size_t i = 0; i < there; i++)
        count += lost[i];
    return count + n - (lua_Integer)there;
}

/* pair_loads(g, { a, b, bytes, a, b, bytes, … } [, rail])
 * → loads of the links, pairs without a route */
static int kernel_pair_loads(lua_State *L)
{
    struct taut_lua_graph *h = taut_check_ready(L, 1);
    const struct taut_graph *g = h->graph;
    uint32_t rail = taut_opt_rail(L, 3, g);

    luaL_checktype(L, 2, LUA_TTABLE);
    double *load = taut_lua_buffer(L, g->links, sizeof(*load));
    lua_Integer n = (lua_Integer)lua_rawlen(L, 2) / 3;
    lua_Integer lost = g->engine->pair_loads != NULL
                           ? engine_pairs(L, g, rail, n, load)
                           : walk_pairs(L, h, rail, n, load);
    if (lost < 0)
        return taut_fail_errno(L, "cannot add up the load");
    push_doubles(L, load, g->links);
    lua_pushinteger(L, lost);
    return 2;
}

/* behind(g, c, left, share) → nodes */
static int kernel_behind(lua_State *L)
{
    const struct taut_graph *g = taut_check_graph(L, 1)->graph;
    uint32_t c = taut_check_component(L, 2, g);
    lua_Number left = luaL_checknumber(L, 3), share = luaL_checknumber(L, 4);
    uint32_t *nodes = taut_lua_buffer(L, g->nodes, sizeof(*nodes));

    luaL_argcheck(L, left >= 0 && left <= 1, 3, "not within 0 to 1");
    int n = taut_flow_behind(g, c, left, share, nodes);
    if (n < 0)
        return taut_fail_errno(L, "cannot find who is behind");
    taut_push_ids(L, nodes, (uint32_t)n);
    return 1;
}

/* flow(g, node, outward [, c, left]) → bytes/s */
static int kernel_flow(lua_State *L)
{
    const struct taut_graph *g = taut_check_graph(L, 1)->graph;
    uint32_t node = taut_check_node(L, 2, g), c = TAUT_GRAPH_NONE;
    double flow;

    if (!lua_isnoneornil(L, 4))
        c = taut_check_component(L, 4, g);
    if (taut_flow_of_node(g, node, lua_toboolean(L, 3), c,
                          luaL_optnumber(L, 5, 1), &flow) < 0)
        return taut_fail_errno(L, "cannot find the flow");
    lua_pushnumber(L, flow);
    return 1;
}

static void push_counts(lua_State *L, const uint64_t *count, uint32_t n)
{
    lua_createtable(L, (int)n, 0);
    for (uint32_t i = 0; i < n; i++) {
        lua_pushinteger(L, (lua_Integer)count[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
}

/* crossing(g, link [, rail]) → per node how many of its routes use the link
 * where it sends, where it receives */
static int kernel_crossing(lua_State *L)
{
    const struct taut_graph *g = taut_check_ready(L, 1)->graph;
    uint32_t link = taut_check_link(L, 2, g), rail = taut_opt_rail(L, 3, g);
    uint64_t *from = taut_lua_buffer(L, g->nodes, sizeof(*from));
    uint64_t *to = taut_lua_buffer(L, g->nodes, sizeof(*to));

    if (taut_load_crossing(g, link, rail, 0, from, to) < 0)
        return taut_fail_errno(L, "cannot look at the routes");
    push_counts(L, from, g->nodes);
    push_counts(L, to, g->nodes);
    return 2;
}

/* ---- classes ---- */

struct member {
    uint64_t hash;
    uint32_t component;
};

static int compare_members(const void *a, const void *b)
{
    const struct member *x = a, *y = b;

    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->component < y->component ? -1 : x->component > y->component;
}

static void push_members(lua_State *L, const struct member *m, uint32_t n)
{
    lua_createtable(L, (int)n, 0);
    for (uint32_t i = 0; i < n; i++) {
        lua_pushinteger(L, (lua_Integer)m[i].component + 1);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
}

/* classes(g) → those with several members, those no route uses */
static int kernel_classes(lua_State *L)
{
    const struct taut_graph *g = taut_check_ready(L, 1)->graph;
    uint64_t *hash = taut_lua_buffer(L, g->components, sizeof(*hash));
    struct member *m = taut_lua_buffer(L, g->components, sizeof(*m));
    lua_Integer classes = 0;

    if (taut_load_hash(g, 0, hash) < 0)
        return taut_fail_errno(L, "cannot look at the routes");
    for (uint32_t c = 0; c < g->components; c++)
        m[c] = (struct member){hash[c], c};
    qsort(m, g->components, sizeof(*m), compare_members);
    uint32_t first = 0;
    while (first < g->components && m[first].hash == 0)
        first++;
    push_members(L, m, first);
    lua_newtable(L);
    for (uint32_t i = first; i < g->components; i = first) {
        while (first < g->components && m[first].hash == m[i].hash)
            first++;
        if (first - i < 2)
            continue;
        push_members(L, &m[i], first - i);
        lua_rawseti(L, -2, ++classes);
    }
    lua_insert(L, -2);
    return 2;
}

/* ---- why there is no route ---- */

/* blame(g, r, s [, b [, rail]]) → failed links in the way from router r to s
 * (that of the rail of node b), nil where that is not known */
static int kernel_blame(lua_State *L)
{
    struct taut_lua_graph *h = taut_check_ready(L, 1);
    const struct taut_graph *g = h->graph;
    uint32_t r = taut_check_router(L, 2, g), s = taut_check_router(L, 3, g);
    uint32_t dst = TAUT_GRAPH_NONE;

    if (!lua_isnoneornil(L, 4))
        dst = taut_opt_rail(L, 5, g) * g->nodes + taut_check_node(L, 4, g);
    taut_route_begin(&h->route);
    if (g->engine->blame == NULL || r == s ||
        g->engine->blame(g->self, g, r, s, dst, &h->route) < 0)
        return 0;
    taut_push_links(L, g, h->route.link, h->route.entries);
    return 1;
}

/* bench(g, pairs, seed) → routes between random routers, walked one after
 * the other; links on them all */
static int kernel_walk_random(lua_State *L)
{
    struct taut_lua_graph *h = taut_check_ready(L, 1);
    const struct taut_graph *g = h->graph;
    lua_Integer n = luaL_checkinteger(L, 2);
    uint64_t x = (uint64_t)luaL_checkinteger(L, 3) | 1, links = 0;

    for (lua_Integer i = 0; i < n; i++) {
        x = x * 6364136223846793005U + 1442695040888963407U; /* Knuth, MMIX */
        uint32_t r = (uint32_t)(x >> 33) % g->routers;
        uint32_t s = (uint32_t)(x >> 13) % g->routers;
        if (taut_graph_route(g, r, s, TAUT_GRAPH_NONE, &h->route) == 0)
            links += h->route.entries;
    }
    lua_pushinteger(L, (lua_Integer)links);
    return 1;
}

const luaL_Reg taut_graph_kernels[] = {
    {"all_to_all", kernel_all_to_all},
    {"behind", kernel_behind},
    {"blame", kernel_blame},
    {"classes", kernel_classes},
    {"crossing", kernel_crossing},
    {"flow", kernel_flow},
    {"pair_loads", kernel_pair_loads},
    {"walk_random", kernel_walk_random},
    {NULL, NULL},
};
