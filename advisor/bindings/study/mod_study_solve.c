/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.study: solving, and what comes of it. */
#include <config.h>

#include <math.h>
#include <stdlib.h>

#include "advisor/bindings/graph/mod_graph.h"
#include "advisor/bindings/study/mod_study.h"

#define MOST_CELLS 100000 /* of one batch */

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
    taut_set_any(L, "mean_s", r->mean_s);
    taut_set_any(L, "mean_bytes_s", r->mean_bytes_s);
    taut_set_any(L, "all_s", r->all_s);
    taut_set_any(L, "most_s", r->most_s);
    taut_set_any(L, "hottest_s", r->hottest_s);
    taut_set_any(L, "p50_s", r->quantile_s[0]);
    taut_set_any(L, "p90_s", r->quantile_s[1]);
    taut_set_any(L, "p99_s", r->quantile_s[2]);
    taut_set_any(L, "link_s", r->link_s);
    taut_set_any(L, "link_mean_s", r->link_mean_s);
    taut_set_any(L, "direct", r->direct);
    taut_set_any(L, "hops", r->hops);
    taut_set_any(L, "carried", r->carried);
    taut_set_any(L, "lost_bytes", r->lost_bytes);
    taut_set_any(L, "lost_messages", r->lost_messages);
    lua_pushinteger(L, (lua_Integer)r->lost_pairs);
    lua_setfield(L, -2, "lost_pairs");
    push_lost(L, r);
    lua_setfield(L, -2, "lost");
}

int taut_study_lua_solve(lua_State *L)
{
    const struct taut_study *s = taut_check_study(L, 1);
    const struct taut_demand *d = taut_check_demand(L, 2);
    const struct taut_overlay *o = taut_check_overlay(L, 3);
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

int taut_study_lua_batch(lua_State *L)
{
    const struct taut_study *s = taut_check_study(L, 1);
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
        cell[i].overlay = taut_check_overlay(L, at + 2);
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
