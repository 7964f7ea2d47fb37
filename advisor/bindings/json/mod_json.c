/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.json: jansson for Lua.  doc/internals/bindings.md has the description. */
#include <config.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "advisor/bindings/host.h"
#include "advisor/bindings/json/memory.h"

#define DEPTH_MAX 128 /* tables in tables; ends a cycle too */
#define ARRAY_CLASS "taut.json.array"
#define HOLDER_CLASS "taut.json.holder"

/* Encoding walks a table with the raw API only, so that no Lua error can
 * jump over the tree being built. */
struct encoder {
    lua_State *L;
    char why[200];
    bool long_reals; /* some real needs all 17 digits */
};

static json_t *encode_value(struct encoder *e, int index, int depth);

static json_t *encode_fail(struct encoder *e, const char *why)
{
    if (e->why[0] == '\0')
        snprintf(e->why, sizeof(e->why), "%s", why);
    return NULL;
}

static json_t *encode_number(struct encoder *e, int index)
{
    if (lua_isinteger(e->L, index))
        return json_integer(lua_tointeger(e->L, index));
    double value = lua_tonumber(e->L, index);
    if (!isfinite(value))
        return encode_fail(e, "a number is not finite");
    char text[40];
    if (!e->long_reals) {
        snprintf(text, sizeof(text), "%.15g", value);
        e->long_reals = strtod(text, NULL) != value;
    }
    return json_real(value);
}

static json_t *encode_string(struct encoder *e, int index)
{
    size_t n;
    const char *text = lua_tolstring(e->L, index, &n);
    json_t *value = json_stringn(text, n);

    return value != NULL ? value : encode_fail(e, "a string is not UTF-8");
}

static bool is_marked(lua_State *L, int index)
{
    if (!lua_getmetatable(L, index))
        return false;
    luaL_getmetatable(L, ARRAY_CLASS);
    bool same = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
    return same;
}

static json_t *encode_array(struct encoder *e, int index, int depth)
{
    json_t *array = json_array();
    lua_Integer n = (lua_Integer)lua_rawlen(e->L, index);

    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(e->L, index, i);
        json_t *item = encode_value(e, lua_gettop(e->L), depth);
        lua_pop(e->L, 1);
        if (item == NULL || json_array_append_new(array, item) != 0) {
            json_decref(array);
            return encode_fail(e, "out of memory");
        }
    }
    return array;
}

/* Every key of an array is a whole number from 1 to its length. */
static bool keys_are_indices(lua_State *L, int index)
{
    lua_Integer n = (lua_Integer)lua_rawlen(L, index);

    lua_pushnil(L);
    while (lua_next(L, index)) {
        lua_pop(L, 1);
        lua_Integer key = lua_isinteger(L, -1) ? lua_tointeger(L, -1) : 0;
        if (key < 1 || key > n) {
            lua_pop(L, 1);
            return false;
        }
    }
    return true;
}

static int encode_member(struct encoder *e, json_t *object, int depth)
{
    int top = lua_gettop(e->L); /* key at top - 1, value at top */
    size_t n;

    if (lua_type(e->L, top - 1) != LUA_TSTRING) {
        encode_fail(e, "a table has keys that are neither all strings nor "
                       "1, 2, 3 …");
        return -1;
    }
    const char *key = lua_tolstring(e->L, top - 1, &n);
    if (strlen(key) != n) {
        encode_fail(e, "a key has a NUL inside");
        return -1;
    }
    json_t *value = encode_value(e, top, depth);
    if (value == NULL)
        return -1;
    if (json_object_set_new(object, key, value) != 0) {
        encode_fail(e, "a key is not UTF-8");
        return -1;
    }
    return 0;
}

static json_t *encode_object(struct encoder *e, int index, int depth)
{
    json_t *object = json_object();

    lua_pushnil(e->L);
    while (lua_next(e->L, index)) {
        if (encode_member(e, object, depth) != 0) {
            lua_pop(e->L, 2);
            json_decref(object);
            return NULL;
        }
        lua_pop(e->L, 1);
    }
    return object;
}

static json_t *encode_table(struct encoder *e, int index, int depth)
{
    if (depth >= DEPTH_MAX || !lua_checkstack(e->L, 8))
        return encode_fail(e, "tables are nested too deep, or in a circle");
    if (is_marked(e->L, index)) {
        if (!keys_are_indices(e->L, index))
            return encode_fail(e, "an array has keys besides 1, 2, 3 …");
        return encode_array(e, index, depth + 1);
    }
    if (lua_rawlen(e->L, index) > 0 && keys_are_indices(e->L, index))
        return encode_array(e, index, depth + 1);
    return encode_object(e, index, depth + 1);
}

static json_t *encode_value(struct encoder *e, int index, int depth)
{
    switch (lua_type(e->L, index)) {
    case LUA_TNIL:
        return json_null();
    case LUA_TBOOLEAN:
        return json_boolean(lua_toboolean(e->L, index));
    case LUA_TNUMBER:
        return encode_number(e, index);
    case LUA_TSTRING:
        return encode_string(e, index);
    case LUA_TTABLE:
        return encode_table(e, index, depth);
    case LUA_TLIGHTUSERDATA:
        if (lua_touserdata(e->L, index) == NULL)
            return json_null();
        break;
    default:
        break;
    }
    snprintf(e->why, sizeof(e->why), "a %s cannot be written as JSON",
             luaL_typename(e->L, index));
    return NULL;
}

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

static int collect(const char *text, size_t n, void *data)
{
    luaL_addlstring(data, text, n);
    return 0;
}

static int json_encode(lua_State *L)
{
    struct encoder e = {.L = L};
    lua_Integer indent = luaL_optinteger(L, 2, 0);

    luaL_checkany(L, 1);
    luaL_argcheck(L, indent >= 0 && indent <= 31, 2, "not within 0 to 31");
    lua_settop(L, 1);
    struct taut_json_memory *memory = holder_new(L);
    taut_json_memory_use(memory);
    json_t *tree = encode_value(&e, 1, 0);
    if (tree == NULL)
        return give_up(L, memory, e.why);

    size_t flags = JSON_ENCODE_ANY | JSON_SORT_KEYS;
    flags |= indent > 0 ? JSON_INDENT((size_t)indent) : JSON_COMPACT;
    if (!e.long_reals)
        flags |= JSON_REAL_PRECISION(15);
    luaL_Buffer text;
    luaL_buffinit(L, &text);
    if (json_dump_callback(tree, collect, &text, flags) != 0)
        return give_up(L, memory, "out of memory");
    luaL_pushresult(&text);
    taut_json_memory_free(memory);
    return 1;
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
    luaL_setmetatable(L, ARRAY_CLASS);
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
    if (depth > DEPTH_MAX)
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
                 DEPTH_MAX);
        return give_up(L, memory, why);
    }
    taut_json_memory_free(memory);
    return 1;
}

static int json_mark(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    luaL_setmetatable(L, ARRAY_CLASS);
    return 1;
}

int luaopen_taut_json(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"array", json_mark},
        {"decode", json_decode},
        {"encode", json_encode},
        {NULL, NULL},
    };
    static const luaL_Reg none[] = {{NULL, NULL}};

    taut_json_memory_init();
    luaL_newmetatable(L, ARRAY_CLASS);
    lua_pop(L, 1);
    taut_class(L, HOLDER_CLASS, none, holder_gc);
    luaL_newlib(L, functions);
    lua_pushlightuserdata(L, NULL);
    lua_setfield(L, -2, "null");
    return 1;
}
