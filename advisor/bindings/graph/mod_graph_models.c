/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "advisor/bindings/graph/mod_graph_models.h"
#include "advisor/lib/graph/dragonfly/dragonfly.h"
#include "advisor/lib/graph/hyperx/hyperx.h"
#include "advisor/lib/graph/joined/joined.h"
#include "advisor/lib/graph/tables/tables.h"
#include "advisor/lib/graph/updown/updown.h"

#define PARAMETERS 3
#define KEPT 2 /* user value of a graph: see mod_graph.h */

/* n whole numbers of field 'name' of the table at 'index', which the stack
 * goes on holding; NULL where there is no such field and it 'may_lack'. */
static const uint32_t *numbers_of(lua_State *L, int index, const char *name,
                                  uint32_t n, bool may_lack)
{
    if (lua_getfield(L, index, name) == LUA_TNIL && may_lack) {
        lua_pop(L, 1);
        return NULL;
    }
    if (!lua_istable(L, -1))
        luaL_error(L, "field '%s': table expected", name);
    uint32_t *out = taut_lua_buffer(L, n, sizeof(*out));
    for (uint32_t i = 0; i < n; i++) {
        int is_number;
        lua_rawgeti(L, -2, (lua_Integer)i + 1);
        lua_Integer v = lua_tointegerx(L, -1, &is_number);
        if (!is_number || v < 0 || v > UINT32_MAX)
            luaL_error(L, "field '%s', entry %I: whole number expected", name,
                       (LUAI_UACINT)i + 1);
        out[i] = (uint32_t)v;
        lua_pop(L, 1);
    }
    return out;
}

static const uint32_t *numbers(lua_State *L, const char *name, uint32_t n,
                               bool may_lack)
{
    return numbers_of(L, PARAMETERS, name, n, may_lack);
}

static double share(lua_State *L, const char *name)
{
    lua_getfield(L, PARAMETERS, name);
    double v = luaL_optnumber(L, -1, 0);
    lua_pop(L, 1);
    return v;
}

int taut_lua_updown(lua_State *L, struct taut_graph *g, struct taut_error *err)
{
    struct taut_updown_conf conf = {.rank = NULL};

    conf.rank = numbers(L, "rank", g->routers, true);
    conf.stride = numbers(L, "stride", g->routers, true);
    conf.key = numbers(L, "key", g->endpoints, true);
    return taut_updown_create(g, &conf, err);
}

int taut_lua_hyperx(lua_State *L, struct taut_graph *g, struct taut_error *err)
{
    struct taut_hyperx_conf conf = {.dims = 0};

    lua_getfield(L, PARAMETERS, "dims");
    luaL_checktype(L, -1, LUA_TTABLE);
    lua_Integer dims = (lua_Integer)lua_rawlen(L, -1);
    for (lua_Integer d = 0; d < dims && d < TAUT_HYPERX_MAX_DIMS; d++) {
        lua_rawgeti(L, -1, d + 1);
        conf.length[d] = (uint32_t)luaL_checkinteger(L, -1);
        lua_pop(L, 1);
    }
    conf.dims = (uint32_t)dims;
    conf.place = numbers(L, "place", g->routers, false);
    lua_getfield(L, PARAMETERS, "adaptive");
    conf.adaptive = lua_toboolean(L, -1);
    conf.misrouted = share(L, "misrouted");
    return taut_hyperx_create(g, &conf, err);
}

int taut_lua_dragonfly(lua_State *L, struct taut_graph *g,
                       struct taut_error *err)
{
    static const char *const modes[] = {"none", "minimal", "adaptive",
                                        "valiant", NULL};
    struct taut_dragonfly_conf conf = {.group = NULL};

    conf.group = numbers(L, "group", g->routers, false);
    lua_getfield(L, PARAMETERS, "mode");
    conf.mode =
        (enum taut_dragonfly_mode)luaL_checkoption(L, -1, "minimal", modes);
    conf.misrouted = share(L, "misrouted");
    return taut_dragonfly_create(g, &conf, err);
}

/* Number, among the links that leave r, of a component; or NONE for false. */
static uint16_t out_number(lua_State *L, const struct taut_graph *g, uint32_t r,
                           lua_Integer i)
{
    int type = lua_rawgeti(L, -1, i);
    lua_Integer c = type == LUA_TBOOLEAN ? 0 : luaL_checkinteger(L, -1);
    uint16_t n = TAUT_TABLES_NONE;

    lua_pop(L, 1);
    for (uint32_t k = g->out_first[r]; k < g->out_first[r + 1]; k++)
        if ((lua_Integer)taut_graph_link(g, g->out[k]) + 1 == c)
            n = (uint16_t)(k - g->out_first[r]);
    if (c != 0 && n == TAUT_TABLES_NONE)
        luaL_error(L, "component %I does not leave router %d", (LUAI_UACINT)c,
                   (int)r);
    return n;
}

int taut_lua_tables(lua_State *L, struct taut_graph *g, struct taut_error *err)
{
    uint32_t columns = g->endpoints + g->routers;
    uint16_t *next = taut_lua_buffer(L, columns, sizeof(*next));

    lua_getfield(L, PARAMETERS, "row");
    luaL_checktype(L, -1, LUA_TFUNCTION);
    if (taut_tables_create(g, err) < 0)
        return -1;
    for (uint32_t r = 0; r < g->routers; r++) {
        lua_pushvalue(L, -1);
        lua_pushinteger(L, r);
        lua_call(L, 1, 1);
        luaL_checktype(L, -1, LUA_TTABLE);
        for (uint32_t i = 0; i < columns; i++)
            next[i] = out_number(L, g, r, (lua_Integer)i + 1);
        lua_pop(L, 1);
        if (taut_tables_set(g, r, next, err) < 0)
            return -1;
    }
    return 0;
}

int taut_lua_joined(lua_State *L, struct taut_graph *g, struct taut_error *err)
{
    lua_getfield(L, PARAMETERS, "parts");
    luaL_checktype(L, -1, LUA_TTABLE);
    int list = lua_gettop(L);
    uint32_t n = (uint32_t)lua_rawlen(L, list);
    luaL_argcheck(L, n >= 1 && n <= g->rails, PARAMETERS,
                  "as many parts as there are rails at most");
    struct taut_joined_part *part = taut_lua_buffer(L, n, sizeof(*part));
    luaL_checkstack(L, 4 * (int)n, "parts");
    for (uint32_t i = 0; i < n; i++) {
        lua_rawgeti(L, list, (lua_Integer)i + 1);
        luaL_checktype(L, -1, LUA_TTABLE);
        int at = lua_gettop(L);
        lua_getfield(L, at, "graph");
        part[i].graph = taut_check_ready(L, -1)->graph;
        part[i].node =
            numbers_of(L, at, "nodes", part[i].graph->nodes, false);
    }
    lua_pushvalue(L, PARAMETERS);
    lua_setiuservalue(L, 1, KEPT);
    return taut_joined_create(g, part, n, err);
}
