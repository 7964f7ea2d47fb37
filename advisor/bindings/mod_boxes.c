/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.boxes: boxes of a torus or mesh for Lua, which counts nodes from 1.
 *
 *   local b = boxes.new(graph, { 25, 16, 24 }, { true, true, true })
 *   b:free(set [, per_router]) → count  nodes that may be used: { [n] = true, …
 * } b:bad { router, dim, weight, … }  dim from 1; cables to the next router
 *   b:search(count, room, whole) → array of boxes
 *   b:choose(box, count [, rank]) → array of nodes, in the order of rank[n]
 *   b:count({ at }, { extent }) → free nodes and nodes of one box
 *   b:dense(least, density [, nodes]) → free nodes, without these
 *
 * A box: { at = {…}, extent = {…}, volume =, free =, total =, bad = }. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/bindings/mod_sets.h"
#include "advisor/lib/boxes/boxes.h"

#define CLASS "taut.boxes"

struct lua_boxes {
    struct taut_boxes *boxes;
    const struct taut_graph *graph; /* user value 1 keeps it */
    uint32_t dims;
    uint32_t *free, *total; /* [routers] */
    bool *is_free;          /* [nodes] */
};

static struct lua_boxes *check_boxes(lua_State *L)
{
    struct lua_boxes *h = luaL_checkudata(L, 1, CLASS);

    luaL_argcheck(L, h->boxes != NULL, 1, "boxes that were closed");
    return h;
}

static int boxes_gc(lua_State *L)
{
    struct lua_boxes *h = luaL_checkudata(L, 1, CLASS);

    taut_boxes_destroy(h->boxes);
    free(h->free);
    free(h->total);
    free(h->is_free);
    *h = (struct lua_boxes){.boxes = NULL};
    return 0;
}

static uint32_t read_dims(lua_State *L, uint32_t *length, bool *wraps)
{
    lua_Integer dims = (lua_Integer)lua_rawlen(L, 2);

    luaL_argcheck(L, dims >= 1 && dims <= TAUT_BOXES_MAX_DIMS, 2, "dimensions");
    for (lua_Integer d = 0; d < dims; d++) {
        lua_rawgeti(L, 2, d + 1);
        lua_Integer len = luaL_checkinteger(L, -1);
        luaL_argcheck(L, len >= 1 && len <= 4096, 2, "length of a ring");
        length[d] = (uint32_t)len;
        lua_rawgeti(L, 3, d + 1);
        wraps[d] = lua_toboolean(L, -1);
        lua_pop(L, 2);
    }
    return (uint32_t)dims;
}

static void count_nodes(struct lua_boxes *h)
{
    const struct taut_graph *g = h->graph;

    for (uint32_t n = 0; n < g->nodes; n++)
        if (g->at[n] != TAUT_GRAPH_NONE)
            h->total[g->at[n]]++;
}

/* new(graph, { lengths }, { wraps }) → boxes | nil, err */
static int boxes_new(lua_State *L)
{
    const struct taut_graph *g = taut_check_graph(L, 1)->graph;
    uint32_t length[TAUT_BOXES_MAX_DIMS];
    bool wraps[TAUT_BOXES_MAX_DIMS];
    struct taut_error err = {""};

    luaL_checktype(L, 2, LUA_TTABLE);
    luaL_checktype(L, 3, LUA_TTABLE);
    uint32_t dims = read_dims(L, length, wraps);
    struct lua_boxes *h = lua_newuserdatauv(L, sizeof(*h), 1);
    *h = (struct lua_boxes){.graph = g, .dims = dims};
    luaL_setmetatable(L, CLASS);
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 1);
    h->boxes = taut_boxes_create(dims, length, wraps, &err);
    if (h->boxes == NULL)
        return err.text[0] ? taut_fail(L, "%s", err.text)
                           : taut_fail_errno(L, "boxes");
    if (taut_boxes_routers(h->boxes) != g->routers)
        return luaL_error(L, "the graph has another number of routers");
    h->free = calloc(g->routers, sizeof(*h->free));
    h->total = calloc(g->routers, sizeof(*h->total));
    h->is_free = calloc(g->nodes + 1, sizeof(*h->is_free));
    if (h->free == NULL || h->total == NULL || h->is_free == NULL)
        return taut_fail_errno(L, "boxes");
    count_nodes(h);
    taut_boxes_fill(h->boxes, h->free, h->total);
    return 1;
}

/* b:free(set [, per_router]) → count */
static int boxes_free(lua_State *L)
{
    struct lua_boxes *h = check_boxes(L);
    lua_Integer most = luaL_optinteger(L, 3, UINT32_MAX);

    luaL_argcheck(L, most >= 1 && most <= UINT32_MAX, 3, "nodes per router");
    lua_pushinteger(L, taut_lua_read_free(L, 2, h->graph, (uint32_t)most,
                                          h->is_free, h->free));
    taut_boxes_fill(h->boxes, h->free, h->total);
    return 1;
}

/* b:bad { router, dim, weight, … } */
static int boxes_bad(lua_State *L)
{
    struct lua_boxes *h = check_boxes(L);

    luaL_checktype(L, 2, LUA_TTABLE);
    size_t n = lua_rawlen(L, 2) / 3;
    struct taut_boxes_cable *cable = taut_lua_buffer(L, n, sizeof(*cable));
    for (size_t i = 0; i < n; i++) {
        for (lua_Integer k = 1; k <= 3; k++)
            lua_rawgeti(L, 2, (lua_Integer)(3 * i) + k);
        lua_Integer d = luaL_checkinteger(L, -2);
        luaL_argcheck(L, d >= 1 && d <= h->dims, 2, "dimension");
        cable[i] =
            (struct taut_boxes_cable){taut_check_router(L, -3, h->graph),
                                      (uint32_t)d - 1, luaL_checknumber(L, -1)};
        lua_pop(L, 3);
    }
    if (taut_boxes_mark(h->boxes, n, cable) < 0)
        return luaL_error(L, "out of memory for bad cables");
    return 0;
}

static void push_numbers(lua_State *L, const uint32_t *v, uint32_t n)
{
    lua_createtable(L, (int)n, 0);
    for (uint32_t i = 0; i < n; i++) {
        lua_pushinteger(L, v[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
}

static void push_box(lua_State *L, const struct lua_boxes *h,
                     const struct taut_box *box)
{
    lua_createtable(L, 0, 6);
    push_numbers(L, box->at, h->dims);
    lua_setfield(L, -2, "at");
    push_numbers(L, box->extent, h->dims);
    lua_setfield(L, -2, "extent");
    taut_set_integer(L, "volume", box->volume);
    taut_set_integer(L, "free", box->free);
    taut_set_integer(L, "total", box->total);
    taut_set_number(L, "bad", box->bad);
}

/* b:search(count, room, whole) → boxes, one of each shape */
static int boxes_search(lua_State *L)
{
    struct lua_boxes *h = check_boxes(L);
    lua_Integer count = luaL_checkinteger(L, 2);
    struct taut_boxes_request r = {.room = luaL_optnumber(L, 3, 1.5),
                                   .whole = lua_toboolean(L, 4)};
    struct taut_box *found;
    size_t n;

    luaL_argcheck(L, count >= 1 && count <= UINT32_MAX, 2, "nodes");
    luaL_argcheck(L, r.room >= 1, 3, "room below 1");
    r.count = (uint32_t)count;
    if (taut_boxes_search(h->boxes, &r, &found, &n) < 0)
        return luaL_error(L, "out of memory while looking for boxes");
    lua_createtable(L, (int)n,
                    0); /* an error here loses found: out of memory */
    for (size_t i = 0; i < n; i++) {
        push_box(L, h, &found[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    free(found);
    return 1;
}

static void read_numbers(lua_State *L, const char *name, uint32_t n,
                         uint32_t *out)
{
    if (lua_getfield(L, 2, name) != LUA_TTABLE)
        luaL_error(L, "a box without '%s'", name);
    for (uint32_t i = 0; i < n; i++) {
        lua_rawgeti(L, -1, (lua_Integer)i + 1);
        lua_Integer v = luaL_checkinteger(L, -1);
        luaL_argcheck(L, v >= 0 && v <= 4096, 2, "coordinate of a box");
        out[i] = (uint32_t)v;
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static struct taut_box read_box(lua_State *L, const struct lua_boxes *h)
{
    struct taut_box box = {.volume = 1};

    luaL_checktype(L, 2, LUA_TTABLE);
    read_numbers(L, "at", h->dims, box.at);
    read_numbers(L, "extent", h->dims, box.extent);
    for (uint32_t d = 0; d < h->dims; d++)
        box.volume *= box.extent[d];
    luaL_argcheck(L, box.volume >= 1 && box.volume <= h->graph->routers, 2,
                  "extents of a box");
    return box;
}

/* The first 'take' free nodes of a router. */
static uint32_t add_nodes(const struct lua_boxes *h, uint32_t r, uint32_t take,
                          uint32_t *node)
{
    const struct taut_graph *g = h->graph;
    uint32_t n = 0;

    for (uint32_t k = g->on_first[r]; k < g->on_first[r + 1] && n < take; k++)
        if (g->on[k] < g->nodes && h->is_free[g->on[k]])
            node[n++] = g->on[k]; /* others are another rail's endpoints */
    return n;
}

/* b:choose(box, count) → nodes | nil, err */
static int boxes_choose(lua_State *L)
{
    struct lua_boxes *h = check_boxes(L);
    struct taut_box box = read_box(L, h);
    lua_Integer count = luaL_checkinteger(L, 3);
    uint32_t n = 0;

    luaL_argcheck(L, count >= 1 && count <= h->graph->nodes, 3, "nodes");
    uint32_t *router = taut_lua_buffer(L, box.volume, sizeof(*router));
    uint32_t *take = taut_lua_buffer(L, box.volume, sizeof(*take));
    uint32_t *node = taut_lua_buffer(L, (size_t)count, sizeof(*node));
    if (taut_boxes_choose(h->boxes, &box, (uint32_t)count, router, take) < 0)
        return taut_fail_errno(L, "cannot choose nodes");
    for (uint32_t i = 0; i < box.volume; i++)
        n += add_nodes(h, router[i], take[i], node + n);
    taut_lua_push_nodes(L, n, node, 4);
    return 1;
}

/* A number per dimension. */
static void read_array(lua_State *L, int arg, const struct lua_boxes *h,
                       uint32_t *out)
{
    luaL_checktype(L, arg, LUA_TTABLE);
    for (uint32_t d = 0; d < h->dims; d++) {
        lua_rawgeti(L, arg, (lua_Integer)d + 1);
        lua_Integer v = luaL_checkinteger(L, -1);
        luaL_argcheck(L, v >= 0 && v <= 4096, arg, "coordinate of a box");
        out[d] = (uint32_t)v;
        lua_pop(L, 1);
    }
}

/* b:count({ at }, { extent }) → free nodes, nodes */
static int boxes_count(lua_State *L)
{
    struct lua_boxes *h = check_boxes(L);
    struct taut_box box = {.volume = 0};

    read_array(L, 2, h, box.at);
    read_array(L, 3, h, box.extent);
    if (taut_boxes_count(h->boxes, &box) < 0)
        return luaL_error(L, "no box of this machine");
    lua_pushinteger(L, box.free);
    lua_pushinteger(L, box.total);
    return 2;
}

/* Free nodes of the array at 'arg' are busy, or free again. */
static void take_out(lua_State *L, struct lua_boxes *h, int arg, bool out)
{
    if (!lua_istable(L, arg))
        return;
    for (lua_Integer i = 1, n = (lua_Integer)lua_rawlen(L, arg); i <= n; i++) {
        lua_rawgeti(L, arg, i);
        lua_Integer v = lua_tointeger(L, -1);
        lua_pop(L, 1);
        if (v < 1 || v > h->graph->nodes || !h->is_free[v - 1])
            continue;
        h->free[h->graph->at[v - 1]] += out ? UINT32_MAX : 1;
    }
    taut_boxes_fill(h->boxes, h->free, h->total);
}

/* b:dense(least, density [, nodes]) → free nodes in dense boxes, when these
 * different nodes are taken */
static int boxes_dense(lua_State *L)
{
    struct lua_boxes *h = check_boxes(L);
    lua_Integer least = luaL_checkinteger(L, 2);
    lua_Number density = luaL_checknumber(L, 3);
    uint32_t nodes;

    luaL_argcheck(L, least >= 1 && least <= UINT32_MAX, 2, "nodes");
    luaL_argcheck(L, density > 0 && density <= 1, 3, "not within 0 to 1");
    take_out(L, h, 4, true);
    int rc = taut_boxes_dense(h->boxes, (uint32_t)least, density, &nodes);
    take_out(L, h, 4, false);
    if (rc < 0)
        return luaL_error(L, "out of memory while looking for boxes");
    lua_pushinteger(L, nodes);
    return 1;
}

int luaopen_taut_boxes(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"bad", boxes_bad},     {"choose", boxes_choose},
        {"count", boxes_count}, {"dense", boxes_dense},
        {"free", boxes_free},   {"search", boxes_search},
        {NULL, NULL},
    };
    static const luaL_Reg functions[] = {
        {"new", boxes_new},
        {NULL, NULL},
    };

    taut_class(L, CLASS, methods, boxes_gc);
    luaL_newlib(L, functions);
    return 1;
}
