/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.study: what traffic does to a machine with failed and slow links. */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "advisor/bindings/graph/mod_graph.h"
#include "advisor/bindings/study/mod_study.h"

#define STUDY_CLASS "taut.study.machine"
#define OVERLAY_CLASS "taut.study.overlay"

/* User value 1 of a study is its graph, that of an overlay its study. */
struct study {
    struct taut_study *s;
};

struct overlay {
    struct taut_overlay *o;
};

struct taut_study *taut_check_study(lua_State *L, int arg)
{
    struct study *h = luaL_checkudata(L, arg, STUDY_CLASS);

    luaL_argcheck(L, h->s != NULL, arg, "study that was closed");
    return h->s;
}

struct taut_overlay *taut_check_overlay(lua_State *L, int arg)
{
    struct overlay *h = luaL_checkudata(L, arg, OVERLAY_CLASS);

    luaL_argcheck(L, h->o != NULL, arg, "overlay that was closed");
    return h->o;
}

static int study_gc(lua_State *L)
{
    struct study *h = luaL_checkudata(L, 1, STUDY_CLASS);

    taut_study_destroy(h->s);
    h->s = NULL;
    return 0;
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
    static const char *const names[] = {"groups", "gates", "lines", "routes",
                                        NULL};
    static const enum taut_study_kind kinds[] = {
        TAUT_STUDY_GROUPS, TAUT_STUDY_GATES, TAUT_STUDY_LINES,
        TAUT_STUDY_ROUTES};

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
            luaL_error(L, "field '%s': %I is not a number from 0", name,
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

    if (s->kind == TAUT_STUDY_GROUPS || s->kind == TAUT_STUDY_GATES)
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

/* study.machine(graph, { kind = "groups" or "gates", group = {…} } or { kind = "lines",
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
    const struct taut_study *s = taut_check_study(L, 1);

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
    const struct taut_study *s = taut_check_study(L, 1);

    lua_settop(L, 2);
    struct taut_overlay *o = push_overlay(L, s);
    if (!lua_isnil(L, 2))
        limit(L, 2, s, o);
    return 1;
}

/* o:limit(map component → share left) → o */
static int overlay_limit(lua_State *L)
{
    struct taut_overlay *o = taut_check_overlay(L, 1);

    lua_settop(L, 2);
    lua_getiuservalue(L, 1, 1);
    limit(L, 2, taut_check_study(L, 3), o);
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
    const struct taut_study *s = taut_check_study(L, 1);
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
    struct taut_overlay *o = taut_check_overlay(L, 1);

    lua_getiuservalue(L, 1, 1);
    const struct taut_study *s = taut_check_study(L, -1);
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
    const struct taut_overlay *o = taut_check_overlay(L, 1);

    lua_getiuservalue(L, 1, 1);
    const struct taut_graph *g = taut_check_study(L, -1)->g;
    lua_newtable(L);
    for (uint32_t l = 0; l < o->links; l++)
        if (o->left[l] < 1) {
            lua_pushnumber(L, o->left[l]);
            lua_rawseti(L, -2, (lua_Integer)taut_graph_link(g, l) + 1);
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
        {"batch", taut_study_lua_batch}, {"draw", study_draw},
        {"overlay", study_overlay},      {"places", study_places},
        {"solve", taut_study_lua_solve}, {NULL, NULL},
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
