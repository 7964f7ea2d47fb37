/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.graph: the routing engines' parameters, as Lua gives them. */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "advisor/bindings/graph/mod_graph_models.h"
#include "advisor/lib/graph/torus/torus.h"

/* Arguments of an engine are on the stack: 1 the graph, 3 the table. */
struct row {
    const char *name;
    int (*create)(lua_State *L, struct taut_graph *g, struct taut_error *err);
};

/* Element i (from 1) of the array in field 'name' of the parameters. */
static lua_Integer array_integer(lua_State *L, const char *name, int i,
                                 lua_Integer fallback)
{
    lua_Integer v = fallback;

    if (lua_getfield(L, 3, name) == LUA_TTABLE) {
        lua_rawgeti(L, -1, i);
        v = luaL_optinteger(L, -1, fallback);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return v;
}

static bool array_flag(lua_State *L, const char *name, int i)
{
    bool v = false;

    if (lua_getfield(L, 3, name) == LUA_TTABLE) {
        lua_rawgeti(L, -1, i);
        v = lua_toboolean(L, -1);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return v;
}

/* A number per link in field 'name'; the stack goes on holding it. */
static uint32_t *link_numbers(lua_State *L, const struct taut_graph *g,
                              const char *name)
{
    uint32_t *out = taut_lua_buffer(L, g->links, sizeof(*out));

    lua_getfield(L, 3, name);
    luaL_argcheck(L, lua_istable(L, -1), 3, "a number per link is missing");
    for (uint32_t l = 0; l < g->links; l++) {
        lua_rawgeti(L, -1, (lua_Integer)l + 1);
        out[l] = (uint32_t)luaL_checkinteger(L, -1);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return out;
}

/* { dims = {…}, wraps = {true, …}, tie_minus = {…}, order = { 0, 1, 2 },
 *   no_retry = false, port = { per link } } */
static int torus(lua_State *L, struct taut_graph *g, struct taut_error *err)
{
    struct taut_torus_conf conf = {.dims = 0};

    for (int d = 0; d < TAUT_TORUS_MAX_DIMS; d++) {
        lua_Integer len = array_integer(L, "dims", d + 1, 0);
        if (len == 0)
            break;
        conf.dims++;
        conf.length[d] = (uint32_t)len;
        conf.wraps[d] = array_flag(L, "wraps", d + 1);
        conf.tie_minus[d] = array_flag(L, "tie_minus", d + 1);
        conf.order[d] = (uint32_t)array_integer(L, "order", d + 1, d);
    }
    conf.no_retry = taut_opt_flag(L, 3, "no_retry");
    conf.port = link_numbers(L, g, "port");
    return taut_torus_create(g, &conf, err);
}

static const struct row rows[] = {
    {"dragonfly", taut_lua_dragonfly}, {"hyperx", taut_lua_hyperx},
    {"joined", taut_lua_joined},       {"tables", taut_lua_tables},
    {"torus", torus},                  {"updown", taut_lua_updown},
};

int taut_graph_lua_engine(lua_State *L)
{
    struct taut_lua_graph *h = taut_check_graph(L, 1);
    const char *name = luaL_checkstring(L, 2);
    struct taut_error err = {""};

    luaL_checktype(L, 3, LUA_TTABLE);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(rows[i].name, name) != 0)
            continue;
        if (rows[i].create(L, h->graph, &err) < 0)
            return err.text[0] ? taut_fail(L, "%s", err.text)
                               : taut_fail_errno(L, "engine '%s'", name);
        lua_settop(L, 3);
        lua_pushboolean(L, 1);
        return 1;
    }
    return luaL_argerror(L, 2, "no such routing engine");
}
