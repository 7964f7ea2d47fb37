/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.flow: how long communication patterns take on a machine. */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "advisor/bindings/graph/mod_graph.h"
#include "advisor/lib/flow/traffic.h"

#define FLOW_CLASS "taut.flow"
#define PATTERN_CLASS "taut.flow.pattern"

/* ---- patterns ---- */

struct pattern {
    struct taut_traffic_pattern *p;
};

static struct taut_traffic_pattern *check_pattern(lua_State *L, int arg)
{
    struct pattern *h = luaL_checkudata(L, arg, PATTERN_CLASS);

    luaL_argcheck(L, h->p != NULL, arg, "pattern that was closed");
    return h->p;
}

static int pattern_gc(lua_State *L)
{
    struct pattern *h = luaL_checkudata(L, 1, PATTERN_CLASS);

    taut_traffic_pattern_destroy(h->p);
    h->p = NULL;
    return 0;
}

/* Number in field 'name' of the table on top, above 'above'. */
static double number_field(lua_State *L, const char *name, double fallback,
                           double above)
{
    lua_getfield(L, -1, name);
    double v = luaL_optnumber(L, -1, fallback);
    if (!(v > above) || !isfinite(v))
        luaL_error(L, "field '%s': %f is not above %f", name, v, above);
    lua_pop(L, 1);
    return v;
}

/* Ranks from 1 in field 'name' of the table on top. */
static void read_ranks(lua_State *L, const char *name, uint32_t n,
                       uint32_t ranks, uint32_t *out)
{
    lua_getfield(L, -1, name);
    luaL_checktype(L, -1, LUA_TTABLE);
    for (uint32_t i = 0; i < n; i++) {
        lua_rawgeti(L, -1, (lua_Integer)i + 1);
        lua_Integer v = luaL_checkinteger(L, -1);
        if (v < 1 || v > (lua_Integer)ranks)
            luaL_error(L, "field '%s': rank %I is not within 1 to %I", name,
                       (LUAI_UACINT)v, (LUAI_UACINT)ranks);
        out[i] = (uint32_t)(v - 1);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static void read_bytes(lua_State *L, uint32_t n, double *out)
{
    lua_getfield(L, -1, "bytes");
    for (uint32_t i = 0; i < n; i++) {
        lua_rawgeti(L, -1, (lua_Integer)i + 1);
        out[i] = luaL_checknumber(L, -1);
        if (!(out[i] >= 0) || !isfinite(out[i]))
            luaL_error(L, "field 'bytes': pair %I has %f", (LUAI_UACINT)i + 1,
                       out[i]);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

/* A step of pairs, from the table on top. */
static void read_pairs(lua_State *L, uint32_t ranks,
                       struct taut_traffic_step *s)
{
    lua_getfield(L, -1, "src");
    lua_Unsigned n = luaL_len(L, -1) > 0 ? (lua_Unsigned)luaL_len(L, -1) : 0;
    lua_pop(L, 1);
    if (n > TAUT_TRAFFIC_MAX_PAIRS)
        luaL_error(L, "%I pairs in one step, expected at most %I",
                   (LUAI_UACINT)n, (LUAI_UACINT)TAUT_TRAFFIC_MAX_PAIRS);
    bool has_bytes = lua_getfield(L, -1, "bytes") == LUA_TTABLE;
    lua_pop(L, 1);
    if (taut_traffic_step_alloc(s, (uint32_t)n, has_bytes) < 0)
        luaL_error(L, "out of memory for %I pairs", (LUAI_UACINT)n);
    read_ranks(L, "src", s->n, ranks, s->src);
    read_ranks(L, "dst", s->n, ranks, s->dst);
    if (has_bytes)
        read_bytes(L, s->n, s->bytes);
    else
        s->each = number_field(L, "bytes", 0, 0);
}

static void read_step(lua_State *L, uint32_t ranks, struct taut_traffic_step *s)
{
    luaL_checktype(L, -1, LUA_TTABLE);
    s->times = number_field(L, "times", 1, 0);
    lua_getfield(L, -1, "kind");
    const char *kind = luaL_checkstring(L, -1);
    s->all_to_all = kind[0] == 'a';
    lua_pop(L, 1);
    if (s->all_to_all)
        s->each = number_field(L, "bytes", 0, 0);
    else
        read_pairs(L, ranks, s);
}

/* flow.pattern { ranks =, steps = { { kind =, src =, dst =, bytes =,
 * times = }, … } }: for f:time; ranks count from 1 */
static int flow_pattern(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    uint32_t ranks =
        (uint32_t)taut_opt_integer(L, 1, "ranks", 0, 1, TAUT_TRAFFIC_MAX_RANKS);
    lua_getfield(L, 1, "steps");
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_Integer steps = luaL_len(L, 2);
    luaL_argcheck(L, steps <= TAUT_TRAFFIC_MAX_STEPS, 1, "too many steps");
    struct pattern *h = lua_newuserdatauv(L, sizeof(*h), 0);
    h->p = NULL;
    luaL_setmetatable(L, PATTERN_CLASS);
    h->p = taut_traffic_pattern_create(ranks, (uint32_t)steps);
    if (h->p == NULL)
        return taut_fail_errno(L, "cannot keep the pattern");
    for (uint32_t i = 0; i < h->p->steps; i++) {
        lua_rawgeti(L, 2, (lua_Integer)i + 1);
        read_step(L, ranks, &h->p->step[i]);
        lua_pop(L, 1);
    }
    return 1;
}

/* ---- machines ---- */

/* Its user value 1 is the graph. */
struct flow {
    struct taut_traffic *w;
    bool has_left, has_background; /* other than nothing was said */
};

static struct taut_traffic *check_flow(lua_State *L)
{
    struct flow *h = luaL_checkudata(L, 1, FLOW_CLASS);

    luaL_argcheck(L, h->w != NULL, 1, "flow that was closed");
    return h->w;
}

static int flow_gc(lua_State *L)
{
    struct flow *h = luaL_checkudata(L, 1, FLOW_CLASS);

    taut_traffic_destroy(h->w);
    h->w = NULL;
    return 0;
}

/* flow.new(graph) */
static int flow_new(lua_State *L)
{
    const struct taut_graph *g = taut_check_ready(L, 1)->graph;
    struct flow *h = lua_newuserdatauv(L, sizeof(*h), 1);

    *h = (struct flow){.w = NULL};
    luaL_setmetatable(L, FLOW_CLASS);
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 1);
    h->w = taut_traffic_create(g);
    return h->w != NULL ? 1 : taut_fail_errno(L, "cannot keep the traffic");
}

/* Fill from a map component → number, 'all' where it says nothing; the map
 * may be nil.
 *   has  did the last one say something?  Does this one? */
static void read_map(lua_State *L, int arg, const struct taut_graph *g,
                     double all, double most, double *out, bool *has)
{
    for (uint32_t c = 0; *has && c < g->components; c++)
        out[c] = all;
    *has = !lua_isnoneornil(L, arg);
    if (!*has)
        return;
    luaL_checktype(L, arg, LUA_TTABLE);
    lua_pushnil(L);
    while (lua_next(L, arg) != 0) {
        uint32_t c = taut_check_component(L, -2, g);
        double v = luaL_checknumber(L, -1);
        if (!(v >= 0 && v <= most))
            luaL_error(L, "component %I: %f is not within 0 to %f",
                       (LUAI_UACINT)c + 1, v, most);
        out[c] = v;
        lua_pop(L, 1);
    }
}

/* f:found(left, background): what is left of components, and what others
 * send there in bytes/s */
static int flow_found(lua_State *L)
{
    struct taut_traffic *w = check_flow(L);
    struct flow *h = lua_touserdata(L, 1);

    lua_settop(L, 3);
    read_map(L, 2, w->g, 1, 1, w->left, &h->has_left);
    read_map(L, 3, w->g, 0, HUGE_VAL, w->background, &h->has_background);
    return 0;
}

static uint32_t *read_nodes(lua_State *L, int arg, const struct taut_graph *g,
                            uint32_t ranks)
{
    uint32_t *node = taut_lua_buffer(L, ranks, sizeof(*node));

    for (uint32_t i = 0; i < ranks; i++) {
        lua_rawgeti(L, arg, (lua_Integer)i + 1);
        node[i] = taut_check_node(L, -1, g);
        lua_pop(L, 1);
    }
    return node;
}

/* f:time(nodes, pattern) → { time_s =, ideal_s =, slowest =, bytes =,
 * hops_mean =, lost = } */
static int flow_time(lua_State *L)
{
    struct taut_traffic *w = check_flow(L);
    const struct taut_traffic_pattern *p = check_pattern(L, 3);
    struct taut_traffic_time out;

    luaL_checktype(L, 2, LUA_TTABLE);
    luaL_argcheck(L, lua_rawlen(L, 2) == p->ranks, 2, "not as many as ranks");
    const uint32_t *node = read_nodes(L, 2, w->g, p->ranks);
    if (taut_traffic_time(w, p, node, &out) < 0)
        return taut_fail_errno(L, "cannot add up the traffic");
    lua_createtable(L, 0, 8);
    taut_set_any(L, "time_s", out.time_s);
    taut_set_any(L, "ideal_s", out.ideal_s);
    taut_set_any(L, "bytes", out.bytes);
    taut_set_any(L, "hops_mean", out.hops_mean);
    taut_set_integer(L, "lost", (lua_Integer)w->lost);
    if (out.slowest != TAUT_GRAPH_NONE) {
        taut_set_integer(L, "slowest", (lua_Integer)out.slowest + 1);
    }
    return 1;
}

/* f:fair(nodes, pattern) → seconds until the last message has arrived, and
 * on average; nil, err where there are too many messages */
static int flow_fair(lua_State *L)
{
    struct taut_traffic *w = check_flow(L);
    const struct taut_traffic_pattern *p = check_pattern(L, 3);
    struct taut_traffic_fair out;

    luaL_checktype(L, 2, LUA_TTABLE);
    luaL_argcheck(L, lua_rawlen(L, 2) == p->ranks, 2, "not as many as ranks");
    const uint32_t *node = read_nodes(L, 2, w->g, p->ranks);
    if (taut_traffic_fair(w, p, node, &out) < 0)
        return errno == EOVERFLOW
                   ? taut_fail(L, "more messages than fair rates are found for")
                   : taut_fail_errno(L, "cannot find fair rates");
    lua_pushnumber(L, out.time_s);
    lua_pushnumber(L, out.mean_s);
    return 2;
}

/* f:hops(nodes) → the most links between two of them */
static int flow_hops(lua_State *L)
{
    struct taut_traffic *w = check_flow(L);
    uint32_t most;

    luaL_checktype(L, 2, LUA_TTABLE);
    lua_Unsigned n = lua_rawlen(L, 2);
    luaL_argcheck(L, n <= TAUT_TRAFFIC_MAX_RANKS, 2, "too many nodes");
    const uint32_t *node = read_nodes(L, 2, w->g, (uint32_t)n);
    if (taut_traffic_hops(w, node, (uint32_t)n, &most) < 0)
        return taut_fail_errno(L, "cannot count hops");
    lua_pushinteger(L, most);
    return 1;
}

/* Of these components only: the keys of the table at 2. */
static int load_of_some(lua_State *L, const struct taut_traffic *w)
{
    lua_newtable(L);
    for (lua_pushnil(L); lua_next(L, 2) != 0; lua_pop(L, 1)) {
        lua_Integer c = lua_isinteger(L, -2) ? lua_tointeger(L, -2) : 0;
        if (c < 1 || c > w->g->components || w->total[c - 1] <= 0)
            continue;
        lua_pushnumber(L, w->total[c - 1]);
        lua_rawseti(L, 3, c);
    }
    return 1;
}

/* f:load([set]) → { [component] = bytes } of the last f:time, without zeros;
 * of the components that are keys of a set, where there is one */
static int flow_load(lua_State *L)
{
    const struct taut_traffic *w = check_flow(L);

    lua_settop(L, 2);
    if (lua_istable(L, 2))
        return load_of_some(L, w);
    lua_newtable(L);
    for (uint32_t c = 0; c < w->g->components; c++) {
        if (w->total[c] <= 0)
            continue;
        lua_pushnumber(L, w->total[c]);
        lua_rawseti(L, -2, (lua_Integer)c + 1);
    }
    return 1;
}

int luaopen_taut_flow(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"new", flow_new},
        {"pattern", flow_pattern},
        {NULL, NULL},
    };
    static const luaL_Reg methods[] = {
        {"fair", flow_fair}, {"found", flow_found}, {"hops", flow_hops},
        {"load", flow_load}, {"time", flow_time},   {NULL, NULL},
    };
    static const luaL_Reg none[] = {{NULL, NULL}};

    taut_class(L, FLOW_CLASS, methods, flow_gc);
    taut_class(L, PATTERN_CLASS, none, pattern_gc);
    luaL_newlib(L, functions);
    return 1;
}
