/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.hostlist: Slurm's host list expressions for Lua. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/bindings/host.h"
#include "wire/hostlist.h"

#define HOLDER_CLASS "taut.hostlist.holder"

/* What one call holds while it may raise a Lua error. */
struct holder {
    struct taut_hostlist *list;
    const char **names;
    char *text;
};

static struct holder *holder_new(lua_State *L)
{
    struct holder *h = lua_newuserdatauv(L, sizeof(*h), 0);

    memset(h, 0, sizeof(*h));
    luaL_setmetatable(L, HOLDER_CLASS);
    return h;
}

static int holder_gc(lua_State *L)
{
    struct holder *h = luaL_checkudata(L, 1, HOLDER_CLASS);

    taut_hostlist_destroy(h->list);
    free(h->names);
    free(h->text);
    memset(h, 0, sizeof(*h));
    return 0;
}

static int hostlist_expand(lua_State *L)
{
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    lua_Integer max = luaL_optinteger(L, 2, TAUT_HOSTLIST_MAX);
    struct taut_error err = {""};

    luaL_argcheck(L, max >= 1 && max <= TAUT_HOSTLIST_MAX, 2,
                  "not within 1 to 1048576");
    if (strlen(text) != length)
        return taut_fail(L, "host list has a NUL inside");
    struct holder *h = holder_new(L);
    h->list = taut_hostlist_parse(text, (size_t)max, &err);
    if (h->list == NULL)
        return taut_fail(L, "%s", err.text[0] ? err.text : strerror(errno));

    size_t n = taut_hostlist_count(h->list);
    lua_createtable(L, (int)n, 0);
    for (size_t i = 0; i < n; i++) {
        lua_pushstring(L, taut_hostlist_name(h->list, i));
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

static int hostlist_compress(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    size_t n = lua_rawlen(L, 1);
    struct holder *h = holder_new(L);

    h->names = calloc(n + 1, sizeof(*h->names));
    if (h->names == NULL)
        return taut_fail(L, "out of memory");
    for (size_t i = 0; i < n; i++) {
        if (lua_rawgeti(L, 1, (lua_Integer)i + 1) != LUA_TSTRING)
            return luaL_argerror(L, 1, "names must be strings");
        h->names[i] = lua_tostring(L, -1);
        lua_pop(L, 1); /* the table goes on holding it */
    }
    h->text = taut_hostlist_format(h->names, n);
    if (h->text == NULL)
        return taut_fail_errno(L, "cannot compress %zu names", n);
    lua_pushstring(L, h->text);
    return 1;
}

int luaopen_taut_hostlist(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"compress", hostlist_compress},
        {"expand", hostlist_expand},
        {NULL, NULL},
    };
    static const luaL_Reg none[] = {{NULL, NULL}};

    taut_class(L, HOLDER_CLASS, none, holder_gc);
    luaL_newlib(L, functions);
    return 1;
}
