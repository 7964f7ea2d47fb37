/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.study: what traffic does to a machine with failed and slow links. */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "advisor/bindings/graph/mod_graph.h"
#include "advisor/bindings/mod_study.h"

#define STUDY_CLASS "taut.study.machine"
#define OVERLAY_CLASS "taut.study.overlay"

#define MOST_CELLS 100000 /* of one batch */

/* User value 1 of a study is its graph, that of an overlay its study. */
struct study {
    struct taut_study *s;
};

struct overlay {
    struct taut_overlay *o;
};

static struct taut_study *check_study(lua_State *L, int arg)
{
    struct study *h = luaL_checkudata(L, arg, STUDY_CLASS);

    luaL_argcheck(L, h->s != NULL, arg, "study that was closed");
    return h->s;
}

static int study_gc(lua_State *L)
{
    struct study *h = luaL_checkudata(L, 1, STUDY_CLASS);

    taut_study_destroy(h->s);
    h->s = NULL;
    return 0;
}

static struct taut_overlay *check_overlay(lua_State *L, int arg)
{
    struct overlay *h = luaL_checkudata(L, arg, OVERLAY_CLASS);

    luaL_argcheck(L, h->o != NULL, arg, "overlay that was closed");
    return h->o;
}

static int overlay_gc(lua_State *L)
{
    struct overlay *h = luaL_checkudata(L, 1, OVERLAY_CLASS);

    taut_overlay_destroy(h->o);
    h->o = NULL;
    return 0;
}

/* ---- machines ---- */

static enum taut_study_kind kind_of(lua_State *L)
{
    static const char *const names[] = {"groups", "lines", "routes", NULL};
    static const enum taut_study_kind kinds[] = {
        TAUT_STUDY_GROUPS, TAUT_STUDY_LINES, TAUT_STUDY_ROUTES};

    lua_getfield(L, 2, "kind");
    int i = luaL_checkoption(L, -1, NULL, names);
    lua_pop(L, 1);
    return kinds[i];
}

/* Array of n whole numbers in field 'name' of table 2, left on the stack as
 * a buffer. */
static uint32_t *read_numbers(lua_State *L, const char *name, uint32_t n)
{
    uint32_t *out = taut_lua_buffer(L, n, sizeof(*out));

    lua_getfield(L, 2, name);
    luaL_checktype(L, -1, LUA_TTABLE);
    for (uint32_t i = 0; i < n; i++) {
        lua_rawgeti(L, -1, (lua_Integer)i + 1);
        lua_Integer v = luaL_checkinteger(L, -1);
        if (v < 0 || v >= TAUT_GRAPH_NONE)
            luaL_error(L, "field '%s': %I is no number from 0", name,
                       (LUAI_UACINT)v);
        out[i] = (uint32_t)v;
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return out;
}

/* Cables of each link from the map component → cables; NULL: one in each. */
static double *read_cables(lua_State *L, const struct taut_graph *g)
{
    double *out = NULL;

    if (lua_getfield(L, 2, "cables") == LUA_TTABLE) {
        out = taut_lua_buffer(L, g->links, sizeof(*out));
        for (uint32_t l = 0; l < g->links; l++)
            out[l] = 1;
        lua_pushnil(L);
        while (lua_next(L, -3) != 0) {
            uint32_t c = taut_check_link(L, -2, g);
            lua_Integer v = luaL_checkinteger(L, -1);
            if (v < 1 || v > 4096)
                luaL_error(L, "field 'cables': %I is not within 1 to 4096",
                           (LUAI_UACINT)v);
            out[c] = (double)v;
            lua_pop(L, 1);
        }
    }
    return out;
}

static int shape(lua_State *L, struct taut_study *s, struct taut_error *err)
{
    uint32_t length[TAUT_STUDY_MAX_DIMS], dims;

    if (s->kind == TAUT_STUDY_GROUPS)
        return taut_study_groups(s, read_numbers(L, "group", s->g->routers),
                                 err);
    if (s->kind == TAUT_STUDY_ROUTES)
        return 0;
    lua_getfield(L, 2, "dims");
    luaL_checktype(L, -1, LUA_TTABLE);
    dims = (uint32_t)lua_rawlen(L, -1);
    lua_pop(L, 1);
    luaL_argcheck(L, dims >= 1 && dims <= TAUT_STUDY_MAX_DIMS, 2, "dimensions");
    const uint32_t *given = read_numbers(L, "dims", dims);
    for (uint32_t d = 0; d < dims; d++)
        length[d] = given[d];
    return taut_study_lines(s, dims, length,
                            read_numbers(L, "place", s->g->routers), err);
}

/* study.machine(graph, { kind = "groups", group = {…} } or { kind = "lines",
 * dims =, place = {…} } or { kind = "routes" }, each with cables = map link →
 * cables): a study | nil, err */
static int study_machine(lua_State *L)
{
    const struct taut_graph *g = taut_check_ready(L, 1)->graph;
    struct taut_error err = {""};

    luaL_checktype(L, 2, LUA_TTABLE);
    enum taut_study_kind kind = kind_of(L);
    struct study *h = lua_newuserdatauv(L, sizeof(*h), 1);
    h->s = NULL;
    luaL_setmetatable(L, STUDY_CLASS);
    int self = lua_gettop(L);
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, self, 1);
    h->s = taut_study_create(g, kind, read_cables(L, g));
    if (h->s == NULL)
        return taut_fail_errno(L, "cannot keep the machine");
    if (shape(L, h->s, &err) < 0)
        return err.text[0] != '\0'
                   ? taut_fail(L, "%s", err.text)
                   : taut_fail_errno(L, "cannot keep the machine");
    lua_pushvalue(L, self);
    return 1;
}

/* s:places() → how many there are between which demand is counted, and what
 * they are */
static int study_places(lua_State *L)
{
    const struct taut_study *s = check_study(L, 1);

    lua_pushinteger(L, s->places);
    lua_pushstring(L, s->kind == TAUT_STUDY_GROUPS ? "groups"
                      : s->by_node                 ? "nodes"
                                                   : "routers");
    return 2;
}

/* ---- overlays ---- */

static struct taut_overlay *push_overlay(lua_State *L,
                                         const struct taut_study *s)
{
    struct overlay *h = lua_newuserdatauv(L, sizeof(*h), 1);

    h->o = NULL;
    luaL_setmetatable(L, OVERLAY_CLASS);
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 1);
    h->o = taut_overlay_create(s);
    if (h->o == NULL)
        luaL_error(L, "out of memory for an overlay");
    return h->o;
}

/* What the map component → share at 'arg' says is left, at most; of a link of
 * several cables, as many stand as the share has room for. */
static void limit(lua_State *L, int arg, const struct taut_study *s,
                  struct taut_overlay *o)
{
    luaL_checktype(L, arg, LUA_TTABLE);
    lua_pushnil(L);
    while (lua_next(L, arg) != 0) {
        uint32_t c = taut_check_component(L, -2, s->g);
        double v = luaL_checknumber(L, -1);
        if (!(v >= 0 && v <= 1))
            luaL_error(L, "component %I: %f is not within 0 to 1",
                       (LUAI_UACINT)c + 1, v);
        if (c >= 2 * s->g->endpoints) {
            uint32_t l = c - 2 * s->g->endpoints;
            o->left[l] = fmin(o->left[l], v);
            o->stand[l] = fmin(o->stand[l], ceil(v * s->cables[l] - 1e-9));
        }
        lua_pop(L, 1);
    }
}

/* s:overlay(map component → share left or nil): what is known to be bad */
static int study_overlay(lua_State *L)
{
    const struct taut_study *s = check_study(L, 1);

    lua_settop(L, 2);
    struct taut_overlay *o = push_overlay(L, s);
    if (!lua_isnil(L, 2))
        limit(L, 2, s, o);
    return 1;
}

/* o:limit(map component → share left) → o */
static int overlay_limit(lua_State *L)
{
    struct taut_overlay *o = check_overlay(L, 1);

    lua_settop(L, 2);
    lua_getiuservalue(L, 1, 1);
    limit(L, 2, check_study(L, 3), o);
    lua_settop(L, 1);
    return 1;
}

/* Which links the array of components in argument 'arg' names; all of them
 * where it is nil. */
static bool *read_links(lua_State *L, int arg, const struct taut_graph *g)
{
    bool *may = taut_lua_buffer(L, g->links, sizeof(*may));
    bool all = lua_isnoneornil(L, arg);
    lua_Integer n = all ? 0 : luaL_len(L, arg);

    for (uint32_t l = 0; l < g->links; l++)
        may[l] = all;
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, arg, i);
        may[taut_check_link(L, -1, g)] = true;
        lua_pop(L, 1);
    }
    return may;
}

static double check_share(lua_State *L, int arg)
{
    double v = luaL_checknumber(L, arg);

    luaL_argcheck(L, v >= 0 && v <= 1, arg, "no share from 0 to 1");
    return v;
}

/* s:draw(share, seed, links or nil, left or 0) → overlay, cables taken */
static int study_draw(lua_State *L)
{
    const struct taut_study *s = check_study(L, 1);
    double share = check_share(L, 2);
    uint64_t seed = (uint64_t)luaL_checkinteger(L, 3);

    lua_settop(L, 5);
    double left = lua_isnil(L, 5) ? 0 : check_share(L, 5);
    const bool *may = read_links(L, 4, s->g);
    struct taut_overlay *o = push_overlay(L, s);
    int64_t taken = taut_overlay_draw(s, o, may, share, left, seed);
    if (taken < 0)
        return taut_fail_errno(L, "cannot draw links");
    lua_pushinteger(L, taken);
    return 2;
}

/* o:slow(links, share): what these links have left is that share of it */
static int overlay_slow(lua_State *L)
{
    struct taut_overlay *o = check_overlay(L, 1);

    lua_getiuservalue(L, 1, 1);
    const struct taut_study *s = check_study(L, -1);
    const bool *may = read_links(L, 2, s->g);
    double share = check_share(L, 3);
    for (uint32_t l = 0; l < o->links; l++)
        if (may[l])
            o->left[l] *= share;
    lua_settop(L, 1);
    return 1;
}

/* o:left() → map component → share, where it is below 1 */
static int overlay_left(lua_State *L)
{
    const struct taut_overlay *o = check_overlay(L, 1);

    lua_getiuservalue(L, 1, 1);
    const struct taut_graph *g = check_study(L, -1)->g;
    lua_newtable(L);
    for (uint32_t l = 0; l < o->links; l++)
        if (o->left[l] < 1) {
            lua_pushnumber(L, o->left[l]);
            lua_rawseti(L, -2, (lua_Integer)taut_graph_link(g, l) + 1);
        }
    return 1;
}

/* ---- solving ---- */

static double rule(lua_State *L, int table, const char *name, double fallback)
{
    lua_getfield(L, table, name);
    double v = luaL_optnumber(L, -1, fallback);
    lua_pop(L, 1);
    return v;
}

static struct taut_study_rules read_rules(lua_State *L, int arg)
{
    luaL_checktype(L, arg, LUA_TTABLE);
    struct taut_study_rules r = {
        .power = rule(L, arg, "power", 8),
        .floor = rule(L, arg, "floor", 0.05),
        .step = rule(L, arg, "step", 1.5),
        .slowing = rule(L, arg, "slowing", 0.1),
        .rounds = (unsigned)taut_opt_integer(L, arg, "rounds", 30, 0, 10000),
        .unit_s = rule(L, arg, "unit_s", 1),
    };
    luaL_argcheck(L, r.unit_s > 0 && isfinite(r.unit_s), arg,
                  "unit_s is not above 0");
    return r;
}

static void set_number(lua_State *L, const char *name, double v)
{
    lua_pushnumber(L, v);
    lua_setfield(L, -2, name);
}

static void push_lost(lua_State *L, const struct taut_study_result *r)
{
    lua_createtable(L, (int)r->named, 0);
    for (uint32_t i = 0; i < r->named; i++) {
        lua_createtable(L, 2, 0);
        lua_pushinteger(L, r->lost[i].from);
        lua_rawseti(L, -2, 1);
        lua_pushinteger(L, r->lost[i].to);
        lua_rawseti(L, -2, 2);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
}

static void push_result(lua_State *L, const struct taut_study_result *r)
{
    lua_createtable(L, 0, 20);
    set_number(L, "mean_s", r->mean_s);
    set_number(L, "mean_bytes_s", r->mean_bytes_s);
    set_number(L, "all_s", r->all_s);
    set_number(L, "most_s", r->most_s);
    set_number(L, "hottest_s", r->hottest_s);
    set_number(L, "p50_s", r->quantile_s[0]);
    set_number(L, "p90_s", r->quantile_s[1]);
    set_number(L, "p99_s", r->quantile_s[2]);
    set_number(L, "link_s", r->link_s);
    set_number(L, "link_mean_s", r->link_mean_s);
    set_number(L, "direct", r->direct);
    set_number(L, "hops", r->hops);
    set_number(L, "carried", r->carried);
    set_number(L, "lost_bytes", r->lost_bytes);
    set_number(L, "lost_messages", r->lost_messages);
    lua_pushinteger(L, (lua_Integer)r->lost_pairs);
    lua_setfield(L, -2, "lost_pairs");
    push_lost(L, r);
    lua_setfield(L, -2, "lost");
}

/* s:solve(demand, overlay, rules, with load) → result, with `load` = map
 * component → bytes where that was asked for */
static int study_solve(lua_State *L)
{
    const struct taut_study *s = check_study(L, 1);
    const struct taut_demand *d = taut_check_demand(L, 2);
    const struct taut_overlay *o = check_overlay(L, 3);
    struct taut_study_rules rules = read_rules(L, 4);
    struct taut_study_result r;

    double *load = lua_toboolean(L, 5)
                       ? taut_lua_buffer(L, (size_t)s->g->links + 1, 8)
                       : NULL;
    if (taut_study_solve(s, o, d, &rules, load, &r) < 0)
        return taut_fail_errno(L, "cannot solve");
    push_result(L, &r);
    if (load == NULL)
        return 1;
    lua_newtable(L);
    for (uint32_t l = 0; l < s->g->links; l++)
        if (load[l] > 0) {
            lua_pushnumber(L, load[l]);
            lua_rawseti(L, -2, (lua_Integer)taut_graph_link(s->g, l) + 1);
        }
    lua_setfield(L, -2, "load");
    return 1;
}

/* s:batch({ { demand =, overlay =, rules = }, … }, threads or 0) → results */
static int study_batch(lua_State *L)
{
    const struct taut_study *s = check_study(L, 1);
    lua_Integer n = luaL_len(L, 2);

    luaL_argcheck(L, n >= 0 && n <= MOST_CELLS, 2, "too many cells");
    lua_Integer threads = luaL_optinteger(L, 3, 0);
    luaL_argcheck(L, threads >= 0 && threads <= TAUT_STUDY_MAX_THREADS, 3,
                  "too many threads");
    struct taut_study_cell *cell = taut_lua_buffer(L, (size_t)n, sizeof(*cell));
    for (lua_Integer i = 0; i < n; i++) {
        lua_rawgeti(L, 2, i + 1);
        int at = lua_gettop(L);
        luaL_checktype(L, at, LUA_TTABLE);
        lua_getfield(L, at, "demand");
        lua_getfield(L, at, "overlay");
        lua_getfield(L, at, "rules");
        cell[i].demand = taut_check_demand(L, at + 1);
        cell[i].overlay = check_overlay(L, at + 2);
        cell[i].rules = read_rules(L, at + 3);
        lua_settop(L, at - 1);
    }
    if (taut_study_batch(s, cell, (size_t)n, (unsigned)threads) < 0)
        return taut_fail_errno(L, "cannot solve");
    lua_createtable(L, (int)n, 0);
    for (lua_Integer i = 0; i < n; i++) {
        push_result(L, &cell[i].result);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

int luaopen_taut_study(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"demand", taut_demand_lua_new},
        {"machine", study_machine},
        {NULL, NULL},
    };
    static const luaL_Reg machine[] = {
        {"batch", study_batch},     {"draw", study_draw},
        {"overlay", study_overlay}, {"places", study_places},
        {"solve", study_solve},     {NULL, NULL},
    };
    static const luaL_Reg overlay[] = {
        {"left", overlay_left},
        {"limit", overlay_limit},
        {"slow", overlay_slow},
        {NULL, NULL},
    };

    taut_class(L, STUDY_CLASS, machine, study_gc);
    taut_class(L, OVERLAY_CLASS, overlay, overlay_gc);
    taut_demand_lua_class(L);
    luaL_newlib(L, functions);
    return 1;
}
