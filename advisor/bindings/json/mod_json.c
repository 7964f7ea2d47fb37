/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.json: jansson reads, encode.c writes.  doc/internals/bindings.md has the
 * description. */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "advisor/bindings/json/encode.h"
#include "advisor/bindings/json/memory.h"

#define HOLDER_CLASS "taut.json.holder"

/* A tree's memory, which outlives a Lua error: the holder's __gc frees it. */
static struct taut_json_memory *holder_new(lua_State *L)
{
    struct taut_json_memory *holder = lua_newuserdatauv(L, sizeof(*holder), 0);

    *holder = (struct taut_json_memory){NULL};
    luaL_setmetatable(L, HOLDER_CLASS);
    return holder;
}

static int holder_gc(lua_State *L)
{
    taut_json_memory_free(luaL_checkudata(L, 1, HOLDER_CLASS));
    return 0;
}

/* nil and why, when nothing more is wanted of the tree. */
static int give_up(lua_State *L, struct taut_json_memory *memory,
                   const char *why)
{
    lua_pushnil(L);
    lua_pushstring(L, why);
    taut_json_memory_free(memory);
    return 2;
}

static bool push_value(lua_State *L, const json_t *value, int depth);

static bool push_array(lua_State *L, const json_t *array, int depth)
{
    size_t n = json_array_size(array);

    lua_createtable(L, n < INT32_MAX ? (int)n : 0, 0);
    for (size_t i = 0; i < n; i++) {
        if (!push_value(L, json_array_get(array, i), depth))
            return false;
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    luaL_setmetatable(L, TAUT_JSON_ARRAY_CLASS);
    return true;
}

static bool push_object(lua_State *L, const json_t *object, int depth)
{
    const char *key;
    json_t *value;
    size_t n = json_object_size(object);

    lua_createtable(L, 0, n < INT32_MAX ? (int)n : 0);
    /* The macro wants a non-const tree, but changes nothing. */
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        lua_pushstring(L, key);
        if (!push_value(L, value, depth))
            return false;
        lua_rawset(L, -3);
    }
    return true;
}

/* Returns false, with anything pushed, where it is nested too deep. */
static bool push_value(lua_State *L, const json_t *value, int depth)
{
    if (depth > TAUT_JSON_DEPTH_MAX)
        return false;
    luaL_checkstack(L, 4, "JSON is nested too deep");
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return push_object(L, value, depth + 1);
    case JSON_ARRAY:
        return push_array(L, value, depth + 1);
    case JSON_STRING:
        lua_pushlstring(L, json_string_value(value), json_string_length(value));
        break;
    case JSON_INTEGER:
        lua_pushinteger(L, json_integer_value(value));
        break;
    case JSON_REAL:
        lua_pushnumber(L, json_real_value(value));
        break;
    case JSON_TRUE:
    case JSON_FALSE:
        lua_pushboolean(L, json_is_true(value));
        break;
    default:
        lua_pushlightuserdata(L, NULL);
        break;
    }
    return true;
}

static int json_decode(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);
    struct taut_json_memory *memory = holder_new(L);
    json_error_t error;
    char why[JSON_ERROR_TEXT_LENGTH + 60];

    taut_json_memory_use(memory);
    json_t *tree = json_loadb(
        text, n, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL,
        &error);
    if (tree == NULL) {
        snprintf(why, sizeof(why), "line %d column %d: %s", error.line,
                 error.column, error.text);
        return give_up(L, memory, why);
    }
    if (!push_value(L, tree, 0)) {
        snprintf(why, sizeof(why), "line 1 column 1: nested deeper than %d",
                 TAUT_JSON_DEPTH_MAX);
        return give_up(L, memory, why);
    }
    taut_json_memory_free(memory);
    return 1;
}

static int json_mark(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    luaL_setmetatable(L, TAUT_JSON_ARRAY_CLASS);
    return 1;
}

int luaopen_taut_json(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"array", json_mark},
        {"decode", json_decode},
        {"encode", taut_json_encode},
        {NULL, NULL},
    };
    static const luaL_Reg none[] = {{NULL, NULL}};

    taut_json_memory_init();
    luaL_newmetatable(L, TAUT_JSON_ARRAY_CLASS);
    lua_pop(L, 1);
    taut_class(L, HOLDER_CLASS, none, holder_gc);
    luaL_newlib(L, functions);
    lua_pushlightuserdata(L, NULL);
    lua_setfield(L, -2, "null");
    return 1;
}
