/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.sets: sets of free nodes that lie near each other.
 *
 *   sets.sorted(nodes [, rank]) → array in the order of rank[node]
 *   local s = sets.new(graph)
 *   s:free(set [, per_router]) → count   nodes that may be used
 *   s:avoid { component, … }             links growth does not go over
 *   s:reach(router, count) → sum of the hops, or nil where too few are reached
 *   s:grow(router, count [, rank]) → array of nodes | nil, err
 *   s:surface(nodes) → free nodes that are not in the set, on its routers and
 *                      on those next to them
 *   s:seeds(most) → array of routers with free nodes, spread over all */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/bindings/mod_sets.h"
#include "advisor/lib/boxes/ball.h"

#define CLASS "taut.sets"

/* ---- what other modules use, too ---- */

static void limit_per_router(const struct taut_graph *g, uint32_t most,
                             bool *is_free, uint32_t *spare)
{
    memset(spare, 0, g->routers * sizeof(*spare));
    for (uint32_t n = 0; n < g->nodes; n++) {
        uint32_t r = g->at[n];
        if (!is_free[n])
            continue;
        if (r == TAUT_GRAPH_NONE || spare[r] >= most)
            is_free[n] = false;
        else
            spare[r]++;
    }
}

uint32_t taut_lua_read_free(lua_State *L, int arg, const struct taut_graph *g,
                            uint32_t most, bool *is_free, uint32_t *spare)
{
    uint32_t count = 0;

    luaL_checktype(L, arg, LUA_TTABLE);
    memset(is_free, 0, g->nodes * sizeof(*is_free));
    for (lua_pushnil(L); lua_next(L, arg) != 0; lua_pop(L, 1)) {
        lua_Integer n = lua_isinteger(L, -2) ? lua_tointeger(L, -2) : 0;
        if (n < 1 || n > g->nodes)
            luaL_error(L, "node %I is not within 1 to %I", (LUAI_UACINT)n,
                       (LUAI_UACINT)g->nodes);
        is_free[n - 1] = lua_toboolean(L, -1);
    }
    limit_per_router(g, most, is_free, spare);
    for (uint32_t r = 0; r < g->routers; r++)
        count += spare[r];
    return count;
}

struct ranked {
    lua_Integer rank;
    uint32_t node;
};

static int compare(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    return x->node < y->node ? -1 : x->node > y->node;
}

void taut_lua_push_nodes(lua_State *L, uint32_t n, uint32_t *node, int arg)
{
    bool by_rank = lua_istable(L, arg);
    struct ranked *r = taut_lua_buffer(L, n, sizeof(*r));

    for (uint32_t i = 0; i < n; i++) {
        r[i] = (struct ranked){node[i], node[i]};
        if (!by_rank)
            continue;
        lua_rawgeti(L, arg, (lua_Integer)node[i] + 1);
        r[i].rank = luaL_optinteger(L, -1, 0);
        lua_pop(L, 1);
    }
    qsort(r, n, sizeof(*r), compare);
    lua_createtable(L, (int)n, 0);
    for (uint32_t i = 0; i < n; i++) {
        node[i] = r[i].node;
        lua_pushinteger(L, (lua_Integer)r[i].node + 1);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
}

/* ---- the class ---- */

struct lua_sets {
    struct taut_ball ball;
    const struct taut_graph *g; /* user value 1 keeps it */
    bool *is_free;              /* [nodes] */
    uint32_t *spare;            /* [routers] */
    bool *avoid;                /* [links] */
    uint32_t *node;             /* [nodes] scratch */
};

static struct lua_sets *check_sets(lua_State *L)
{
    struct lua_sets *h = luaL_checkudata(L, 1, CLASS);

    luaL_argcheck(L, h->g != NULL, 1, "sets that were closed");
    return h;
}

static int sets_gc(lua_State *L)
{
    struct lua_sets *h = luaL_checkudata(L, 1, CLASS);

    taut_ball_fini(&h->ball);
    free(h->is_free);
    free(h->spare);
    free(h->avoid);
    free(h->node);
    *h = (struct lua_sets){.g = NULL};
    return 0;
}

static int sets_new(lua_State *L)
{
    const struct taut_graph *g = taut_check_graph(L, 1)->graph;
    struct lua_sets *h = lua_newuserdatauv(L, sizeof(*h), 1);

    *h = (struct lua_sets){.g = g};
    luaL_setmetatable(L, CLASS);
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 1);
    h->is_free = calloc(g->nodes + 1, sizeof(*h->is_free));
    h->spare = calloc(g->routers + 1, sizeof(*h->spare));
    h->avoid = calloc(g->links + 1, sizeof(*h->avoid));
    h->node = calloc(g->nodes + 1, sizeof(*h->node));
    if (h->is_free == NULL || h->spare == NULL || h->avoid == NULL ||
        h->node == NULL || taut_ball_init(&h->ball, g) < 0)
        return luaL_error(L, "out of memory for sets of nodes");
    return 1;
}

static int sets_free(lua_State *L)
{
    struct lua_sets *h = check_sets(L);
    lua_Integer most = luaL_optinteger(L, 3, UINT32_MAX);

    luaL_argcheck(L, most >= 1 && most <= UINT32_MAX, 3, "nodes per router");
    lua_pushinteger(L, taut_lua_read_free(L, 2, h->g, (uint32_t)most,
                                          h->is_free, h->spare));
    return 1;
}

static int sets_avoid(lua_State *L)
{
    struct lua_sets *h = check_sets(L);

    luaL_checktype(L, 2, LUA_TTABLE);
    memset(h->avoid, 0, h->g->links * sizeof(*h->avoid));
    for (lua_Integer i = 1, n = (lua_Integer)lua_rawlen(L, 2); i <= n; i++) {
        lua_rawgeti(L, 2, i);
        uint32_t c = taut_check_link(L, -1, h->g);
        h->avoid[c] = true;
        lua_pop(L, 1);
    }
    return 0;
}

static uint32_t check_count(lua_State *L, const struct lua_sets *h)
{
    lua_Integer count = luaL_checkinteger(L, 3);

    luaL_argcheck(L, count >= 1 && count <= h->g->nodes, 3, "nodes");
    return (uint32_t)count;
}

static int sets_reach(lua_State *L)
{
    struct lua_sets *h = check_sets(L);
    uint32_t router = taut_check_router(L, 2, h->g);
    uint32_t count = check_count(L, h);
    uint64_t hops;

    if (taut_ball_grow(&h->ball, h->is_free, h->spare, h->avoid, router, count,
                       h->node, &hops) < count)
        return 0;
    lua_pushinteger(L, (lua_Integer)hops);
    return 1;
}

static int sets_grow(lua_State *L)
{
    struct lua_sets *h = check_sets(L);
    uint32_t router = taut_check_router(L, 2, h->g);
    uint32_t count = check_count(L, h);
    uint32_t n = taut_ball_grow(&h->ball, h->is_free, h->spare, h->avoid,
                                router, count, h->node, NULL);

    if (n < count)
        return taut_fail(L, "%u nodes are within reach, %u are wanted", n,
                         count);
    taut_lua_push_nodes(L, n, h->node, 4);
    return 1;
}

static int sets_seeds(lua_State *L)
{
    struct lua_sets *h = check_sets(L);
    lua_Integer most = luaL_checkinteger(L, 2), n = 0, seen = 0, out = 0;

    luaL_argcheck(L, most >= 1, 2, "number of routers");
    for (uint32_t r = 0; r < h->g->routers; r++)
        n += h->spare[r] > 0;
    lua_newtable(L);
    for (uint32_t r = 0; r < h->g->routers && out < most; r++) {
        if (h->spare[r] == 0)
            continue;
        if (seen * most >= out * n) { /* as many as there are, if fewer */
            lua_pushinteger(L, r);
            lua_rawseti(L, -2, ++out);
        }
        seen++;
    }
    return 1;
}

/* s:surface(nodes) → free nodes beside the set */
static int sets_surface(lua_State *L)
{
    struct lua_sets *h = check_sets(L);

    luaL_checktype(L, 2, LUA_TTABLE);
    uint32_t n = (uint32_t)lua_rawlen(L, 2);
    luaL_argcheck(L, n <= h->g->nodes, 2, "more nodes than there are");
    for (uint32_t i = 0; i < n; i++) {
        lua_rawgeti(L, 2, (lua_Integer)i + 1);
        h->node[i] = taut_check_node(L, -1, h->g);
        lua_pop(L, 1);
    }
    lua_pushinteger(
        L, taut_ball_surface(&h->ball, h->spare, h->is_free, h->node, n));
    return 1;
}

/* sorted(nodes [, rank]) → array in the order of rank[node], or by number */
static int sets_sorted(lua_State *L)
{
    lua_settop(L, 2);
    luaL_checktype(L, 1, LUA_TTABLE);
    uint32_t n = (uint32_t)lua_rawlen(L, 1);
    uint32_t *node = taut_lua_buffer(L, n, sizeof(*node));
    for (uint32_t i = 0; i < n; i++) {
        lua_rawgeti(L, 1, (lua_Integer)i + 1);
        lua_Integer v = luaL_checkinteger(L, -1);
        luaL_argcheck(L, v >= 1 && v <= UINT32_MAX, 1, "node");
        node[i] = (uint32_t)v - 1;
        lua_pop(L, 1);
    }
    taut_lua_push_nodes(L, n, node, 2);
    return 1;
}

int luaopen_taut_sets(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"avoid", sets_avoid}, {"free", sets_free},   {"grow", sets_grow},
        {"reach", sets_reach}, {"seeds", sets_seeds}, {"surface", sets_surface},
        {NULL, NULL},
    };
    static const luaL_Reg functions[] = {
        {"new", sets_new},
        {"sorted", sets_sorted},
        {NULL, NULL},
    };

    taut_class(L, CLASS, methods, sets_gc);
    luaL_newlib(L, functions);
    return 1;
}
