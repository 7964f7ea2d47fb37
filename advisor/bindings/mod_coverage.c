/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.times: arrays of times per component, for taut.plan.coverage and for
 * the modules in C that read and write them in bulk. */
#include <config.h>

#include <math.h>

#include "advisor/bindings/host.h"
#include "advisor/bindings/mod_coverage.h"
#include "advisor/bindings/evidence/mod_evidence.h"

struct taut_coverage *taut_check_coverage(lua_State *L, int index)
{
    struct taut_coverage **v = luaL_checkudata(L, index, TAUT_COVERAGE_CLASS);

    luaL_argcheck(L, *v != NULL, index, "times that were closed");
    return *v;
}

static uint32_t check_component(lua_State *L, int arg,
                                const struct taut_coverage *v)
{
    lua_Integer c = luaL_checkinteger(L, arg);

    if (c < 1 || c > (lua_Integer)v->n)
        return (uint32_t)luaL_error(L, "component %I is not within 1 to %I",
                                    (LUAI_UACINT)c, (LUAI_UACINT)v->n);
    return (uint32_t)c - 1;
}

/* times.new(n) */
static int times_new(lua_State *L)
{
    lua_Integer n = luaL_checkinteger(L, 1);

    luaL_argcheck(L, n >= 0 && n < UINT32_MAX / 8, 1,
                  "not a number of components");
    struct taut_coverage **v = lua_newuserdatauv(L, sizeof(void *), 1);
    *v = NULL;
    luaL_setmetatable(L, TAUT_COVERAGE_CLASS);
    *v = taut_coverage_create((uint32_t)n);
    if (*v == NULL)
        return luaL_error(L, "no memory for the times of %I components",
                          (LUAI_UACINT)n);
    return 1;
}

static int times_gc(lua_State *L)
{
    struct taut_coverage **v = luaL_checkudata(L, 1, TAUT_COVERAGE_CLASS);

    taut_coverage_destroy(*v);
    *v = NULL;
    return 0;
}

/* t:limit(share): 0 or false for no limit */
static int times_limit(lua_State *L)
{
    struct taut_coverage *v = taut_check_coverage(L, 1);

    v->link_time = lua_toboolean(L, 2) ? luaL_checknumber(L, 2) : 0;
    return 0;
}

static int times_left(lua_State *L)
{
    struct taut_coverage *v = taut_check_coverage(L, 1);

    lua_pushnumber(L, taut_coverage_left(v, check_component(L, 2, v),
                                         luaL_checknumber(L, 3)));
    return 1;
}

/* t:allows(c, seconds, now, urgent) */
static int times_allows(lua_State *L)
{
    struct taut_coverage *v = taut_check_coverage(L, 1);

    lua_pushboolean(L, taut_coverage_allows(
                           v, check_component(L, 2, v), luaL_checknumber(L, 3),
                           luaL_checknumber(L, 4), lua_toboolean(L, 5)));
    return 1;
}

/* t:reserve(c, seconds, now, until_s) */
static int times_reserve(lua_State *L)
{
    struct taut_coverage *v = taut_check_coverage(L, 1);
    uint32_t c = check_component(L, 2, v);
    double now = luaL_checknumber(L, 4);

    taut_coverage_spend(v, c, luaL_checknumber(L, 3), now);
    taut_coverage_hold(v, c, luaL_checknumber(L, 5));
    return 0;
}

/* t:hold(c, until_s) */
static int times_hold(lua_State *L)
{
    struct taut_coverage *v = taut_check_coverage(L, 1);

    taut_coverage_hold(v, check_component(L, 2, v), luaL_checknumber(L, 3));
    return 0;
}

/* t:let_go(c, was, now): c was held until 'was', by no one else */
static int times_let_go(lua_State *L)
{
    struct taut_coverage *v = taut_check_coverage(L, 1);
    uint32_t c = check_component(L, 2, v);

    if (v->busy_until[c] == luaL_checknumber(L, 3))
        v->busy_until[c] = luaL_checknumber(L, 4);
    return 0;
}

/* t:follow(evidence or nil): it knows when each was last seen well */
static int times_follow(lua_State *L)
{
    struct taut_coverage *v = taut_check_coverage(L, 1);

    v->cleared = NULL;
    if (!lua_isnoneornil(L, 2)) {
        const struct taut_evidence *e = taut_check_evidence(L, 2)->evidence;
        luaL_argcheck(L, taut_evidence_graph(e)->components >= v->n, 2,
                      "evidence on another machine");
        v->cleared = taut_evidence_clearings(e);
    }
    lua_settop(L, 2);
    lua_setiuservalue(L, 1, 1);
    return 0;
}

/* t:grow(n) */
static int times_grow(lua_State *L)
{
    struct taut_coverage *v = taut_check_coverage(L, 1);
    lua_Integer n = luaL_checkinteger(L, 2);

    luaL_argcheck(L, n >= 0 && n < UINT32_MAX / 8, 2,
                  "not a number of components");
    luaL_argcheck(L, v->cleared == NULL || n <= (lua_Integer)v->n, 2,
                  "more components than the evidence followed has");
    if (taut_coverage_grow(v, (uint32_t)n) < 0)
        return luaL_error(L, "no memory for the times of %I components",
                          (LUAI_UACINT)n);
    return 0;
}

static int push_time(lua_State *L, double t)
{
    lua_pushnumber(L, t == TAUT_COVERAGE_NEVER ? 0 : t);
    return 1;
}

static int times_busy_until(lua_State *L)
{
    struct taut_coverage *v = taut_check_coverage(L, 1);

    return push_time(L, v->busy_until[check_component(L, 2, v)]);
}

/* t:touch(c, now) */
static int times_touch(lua_State *L)
{
    struct taut_coverage *v = taut_check_coverage(L, 1);
    uint32_t c = check_component(L, 2, v);

    v->tested[c] = luaL_checknumber(L, 3);
    return 0;
}

/* t:tested(c), t:last(c): 0 = never */
static int times_tested(lua_State *L)
{
    struct taut_coverage *v = taut_check_coverage(L, 1);

    return push_time(L, v->tested[check_component(L, 2, v)]);
}

static int times_last(lua_State *L)
{
    struct taut_coverage *v = taut_check_coverage(L, 1);

    return push_time(L, taut_coverage_last(v, check_component(L, 2, v)));
}

/* t:share(n, since): share of the components 1 … n tested since then */
static int times_share(lua_State *L)
{
    struct taut_coverage *v = taut_check_coverage(L, 1);
    lua_Integer n = luaL_checkinteger(L, 2), fresh = 0;
    double since = luaL_checknumber(L, 3);

    luaL_argcheck(L, n > 0 && n <= (lua_Integer)v->n, 2, "not within 1 to all");
    for (lua_Integer c = 0; c < n; c++)
        fresh += v->tested[c] >= since;
    lua_pushnumber(L, (double)fresh / (double)n);
    return 1;
}

/* t:stale(before, from, most) → components from 'from' on that nothing
 * tested or asked for since, at most so many */
static int times_stale(lua_State *L)
{
    struct taut_coverage *v = taut_check_coverage(L, 1);
    double before = luaL_checknumber(L, 2);
    lua_Integer from = luaL_checkinteger(L, 3), n = 0;
    lua_Integer most = luaL_checkinteger(L, 4);

    lua_newtable(L);
    for (lua_Integer c = from < 1 ? 1 : from;
         c <= (lua_Integer)v->n && n < most; c++) {
        if (taut_coverage_last(v, (uint32_t)c - 1) >= before)
            continue;
        lua_pushinteger(L, c);
        lua_rawseti(L, -2, ++n);
    }
    return 1;
}

int luaopen_taut_times(lua_State *L)
{
    static const luaL_Reg functions[] = {{"new", times_new}, {NULL, NULL}};
    static const luaL_Reg methods[] = {
        {"allows", times_allows},
        {"busy_until", times_busy_until},
        {"follow", times_follow},
        {"grow", times_grow},
        {"hold", times_hold},
        {"let_go", times_let_go},
        {"last", times_last},
        {"left", times_left},
        {"limit", times_limit},
        {"reserve", times_reserve},
        {"share", times_share},
        {"stale", times_stale},
        {"tested", times_tested},
        {"touch", times_touch},
        {NULL, NULL},
    };

    taut_class(L, TAUT_COVERAGE_CLASS, methods, times_gc);
    luaL_newlib(L, functions);
    return 1;
}
