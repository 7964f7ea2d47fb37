/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.study: what jobs send, between places that count from 0. */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "advisor/bindings/graph/mod_graph.h"
#include "advisor/bindings/study/mod_study.h"

#define DEMAND_CLASS "taut.study.demand"
#define MOST_RANKS (1 << 24)
#define MOST_OFFSETS 4096

struct demand {
    struct taut_demand *d;
};

static struct taut_demand *check_open(lua_State *L, int arg)
{
    struct demand *h = luaL_checkudata(L, arg, DEMAND_CLASS);

    luaL_argcheck(L, h->d != NULL, arg, "demand that was closed");
    return h->d;
}

struct taut_demand *taut_check_demand(lua_State *L, int arg)
{
    struct taut_demand *d = check_open(L, arg);

    if (taut_demand_seal(d) < 0)
        luaL_error(L, "out of memory for a demand");
    return d;
}

static int demand_gc(lua_State *L)
{
    struct demand *h = luaL_checkudata(L, 1, DEMAND_CLASS);

    taut_demand_destroy(h->d);
    h->d = NULL;
    return 0;
}

int taut_demand_lua_new(lua_State *L)
{
    lua_Integer places = luaL_checkinteger(L, 1);

    luaL_argcheck(L, places >= 1 && places <= TAUT_GRAPH_MAX_ROUTERS, 1,
                  "places");
    struct demand *h = lua_newuserdatauv(L, sizeof(*h), 0);
    h->d = NULL;
    luaL_setmetatable(L, DEMAND_CLASS);
    h->d = taut_demand_create((uint32_t)places);
    return h->d != NULL ? 1 : taut_fail_errno(L, "cannot keep a demand");
}

static int added(lua_State *L, int rc)
{
    if (rc < 0)
        return errno == EOVERFLOW
                   ? taut_fail(L, "more than %zu pairs of places have traffic: no room "
                                  "for them; fewer ranks or partners",
                               TAUT_DEMAND_MAX_PAIRS)
                   : taut_fail_errno(L, "cannot keep a demand");
    lua_settop(L, 1);
    return 1;
}

static uint32_t check_place(lua_State *L, int arg, const struct taut_demand *d)
{
    lua_Integer v = luaL_checkinteger(L, arg);

    if (v < 0 || v >= (lua_Integer)d->places)
        luaL_error(L, "place %I is not within 0 to %I", (LUAI_UACINT)v,
                   (LUAI_UACINT)d->places - 1);
    return (uint32_t)v;
}

static double check_bytes(lua_State *L, int arg)
{
    double v = luaL_checknumber(L, arg);

    if (!(v >= 0) || !isfinite(v))
        luaL_error(L, "%f bytes", v);
    return v;
}

/* d:add(from, to, bytes, messages or 1) → d | nil, err */
static int demand_add(lua_State *L)
{
    struct taut_demand *d = check_open(L, 1);
    uint32_t from = check_place(L, 2, d), to = check_place(L, 3, d);
    double bytes = check_bytes(L, 4), messages = luaL_optnumber(L, 5, 1);

    return added(L, taut_demand_add(d, from, to, bytes, messages));
}

/* Places of ranks in the field 'place' of table 2, left as a buffer. */
static uint32_t *read_places(lua_State *L, const struct taut_demand *d,
                             uint32_t ranks)
{
    uint32_t *place = taut_lua_buffer(L, ranks, sizeof(*place));

    lua_getfield(L, 2, "place");
    luaL_checktype(L, -1, LUA_TTABLE);
    for (uint32_t i = 0; i < ranks; i++) {
        lua_rawgeti(L, -1, (lua_Integer)i + 1);
        place[i] = check_place(L, -1, d);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return place;
}

static uint32_t read_grid(lua_State *L, struct taut_stencil *s)
{
    uint64_t ranks = 1;

    lua_getfield(L, 2, "grid");
    luaL_checktype(L, -1, LUA_TTABLE);
    s->dims = (uint32_t)lua_rawlen(L, -1);
    luaL_argcheck(L, s->dims >= 1 && s->dims <= TAUT_STENCIL_MAX_DIMS, 2,
                  "grid");
    for (uint32_t k = 0; k < s->dims; k++) {
        lua_rawgeti(L, -1, (lua_Integer)k + 1);
        lua_Integer v = luaL_checkinteger(L, -1);
        luaL_argcheck(L, v >= 1 && v <= MOST_RANKS, 2, "grid");
        s->length[k] = (uint32_t)v;
        ranks *= (uint64_t)v;
        luaL_argcheck(L, ranks <= MOST_RANKS, 2, "too many ranks");
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return (uint32_t)ranks;
}

static void read_offsets(lua_State *L, struct taut_stencil *s)
{
    lua_getfield(L, 2, "bytes");
    lua_getfield(L, 2, "offsets");
    int bytes = lua_gettop(L) - 1, offsets = bytes + 1;
    lua_Integer n = luaL_len(L, offsets);
    luaL_argcheck(L, n >= 0 && n <= MOST_OFFSETS, 2, "too many offsets");
    s->offsets = (uint32_t)n;
    int *offset = taut_lua_buffer(L, (size_t)n * s->dims, sizeof(*offset));
    double *each = taut_lua_buffer(L, (size_t)n, sizeof(*each));
    for (uint32_t i = 0; i < s->offsets; i++) {
        lua_rawgeti(L, bytes, (lua_Integer)i + 1);
        each[i] = check_bytes(L, -1);
        lua_rawgeti(L, offsets, (lua_Integer)i + 1);
        luaL_checktype(L, -1, LUA_TTABLE);
        for (uint32_t k = 0; k < s->dims; k++) {
            lua_rawgeti(L, -1, (lua_Integer)k + 1);
            lua_Integer v = luaL_checkinteger(L, -1);
            luaL_argcheck(L, v >= -MOST_RANKS && v <= MOST_RANKS, 2, "offset");
            offset[(size_t)i * s->dims + k] = (int)v;
            lua_pop(L, 1);
        }
        lua_pop(L, 2);
    }
    s->offset = offset;
    s->bytes = each;
}

/* d:stencil { grid = lengths, offsets = { { … }, … }, bytes = { … } one for
 * each offset, periodic =, place = { of each rank } } → d | nil, err */
static int demand_stencil(lua_State *L)
{
    struct taut_demand *d = check_open(L, 1);
    struct taut_stencil s = {0};

    luaL_checktype(L, 2, LUA_TTABLE);
    uint32_t ranks = read_grid(L, &s);
    lua_getfield(L, 2, "periodic");
    s.periodic = lua_toboolean(L, -1);
    read_offsets(L, &s);
    s.place = read_places(L, d, ranks);
    return added(L, taut_demand_stencil(d, &s));
}

/* d:all { place = { of each rank }, bytes = of each message } → d | nil, err */
static int demand_all(lua_State *L)
{
    struct taut_demand *d = check_open(L, 1);

    luaL_checktype(L, 2, LUA_TTABLE);
    lua_getfield(L, 2, "bytes");
    double bytes = check_bytes(L, -1);
    lua_getfield(L, 2, "place");
    lua_Integer n = luaL_len(L, -1);
    luaL_argcheck(L, n >= 0 && n <= MOST_RANKS, 2, "too many ranks");
    const uint32_t *place = read_places(L, d, (uint32_t)n);
    uint32_t *ranks = taut_lua_buffer(L, d->places, sizeof(*ranks));
    for (uint32_t i = 0; i < (uint32_t)n; i++)
        ranks[place[i]]++;
    return added(L, taut_demand_all(d, ranks, bytes));
}

/* d:pairs { src = { rank, … }, dst =, bytes = number or one for each, place =
 * { of each rank }, times = } → d | nil, err; ranks count from 1 */
static int demand_pairs(lua_State *L)
{
    struct taut_demand *d = check_open(L, 1);
    int rc = 0;

    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    lua_getfield(L, 2, "place");
    lua_Integer ranks = luaL_len(L, -1);
    luaL_argcheck(L, ranks >= 0 && ranks <= MOST_RANKS, 2, "too many ranks");
    const uint32_t *place = read_places(L, d, (uint32_t)ranks);
    lua_getfield(L, 2, "times");
    double times = luaL_optnumber(L, -1, 1);
    int src = lua_gettop(L) + 1;
    lua_getfield(L, 2, "src");
    lua_getfield(L, 2, "dst");
    bool each = lua_getfield(L, 2, "bytes") == LUA_TTABLE;
    lua_Integer n = luaL_len(L, src);
    for (lua_Integer i = 1; i <= n && rc == 0; i++) {
        lua_rawgeti(L, src, i);
        lua_rawgeti(L, src + 1, i);
        if (each)
            lua_rawgeti(L, src + 2, i);
        else
            lua_pushvalue(L, src + 2);
        lua_Integer a = luaL_checkinteger(L, -3), b = luaL_checkinteger(L, -2);
        luaL_argcheck(L, a >= 1 && a <= ranks && b >= 1 && b <= ranks, 2,
                      "rank");
        rc = taut_demand_add(d, place[a - 1], place[b - 1],
                             times * check_bytes(L, -1), times);
        lua_pop(L, 3);
    }
    return added(L, rc);
}

/* d:totals() → { bytes, messages, inside_bytes, inside_messages, pairs } */
static int demand_totals(lua_State *L)
{
    const struct taut_demand *d = taut_check_demand(L, 1);
    const struct {
        const char *name;
        double value;
    } field[] = {{"bytes", d->bytes},
                 {"messages", d->messages},
                 {"inside_bytes", d->inside_bytes},
                 {"inside_messages", d->inside_messages},
                 {"pairs", (double)d->n}};

    lua_createtable(L, 0, 5);
    for (size_t i = 0; i < sizeof(field) / sizeof(field[0]); i++) {
        lua_pushnumber(L, field[i].value);
        lua_setfield(L, -2, field[i].name);
    }
    return 1;
}

/* d:busiest() → bytes that one place sends to others or gets, at most */
static int demand_busiest(lua_State *L)
{
    double bytes;

    if (taut_demand_busiest(taut_check_demand(L, 1), &bytes) < 0)
        return taut_fail_errno(L, "cannot add up a demand");
    lua_pushnumber(L, bytes);
    return 1;
}

void taut_demand_lua_class(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"add", demand_add},
        {"busiest", demand_busiest},
        {"all", demand_all},
        {"pairs", demand_pairs},
        {"stencil", demand_stencil},
        {"totals", demand_totals},
        {NULL, NULL},
    };

    taut_class(L, DEMAND_CLASS, methods, demand_gc);
}
