/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/bindings/json/encode.h"
#include "advisor/bindings/json/text.h"

#define INDENT_MAX 31
#define FEW 24 /* members of nearly all objects */

struct member {
    const char *key; /* of the table that is being written */
    size_t length;
};

struct encoder {
    lua_State *L;
    struct taut_json_text text;
    const char *why; /* it failed */
    char why_text[60];
    int indent; /* blanks a level; 0: all in one line */
};

/* Only the raw API is used until a text is done; but Lua's collector may run in
 * between, and with it finalizers, which must leave the table alone. */
static bool encode_value(struct encoder *e, int depth);

static bool encode_fail(struct encoder *e, const char *why)
{
    if (e->why == NULL)
        e->why = why;
    return false;
}

static void new_line(struct encoder *e, int depth)
{
    if (e->indent == 0)
        return;
    taut_json_text_add_char(&e->text, '\n');
    for (int i = 0; i < depth * e->indent; i++)
        taut_json_text_add_char(&e->text, ' ');
}

static bool encode_number(struct encoder *e)
{
    if (lua_isinteger(e->L, -1)) {
        taut_json_text_add_integer(&e->text, lua_tointeger(e->L, -1));
        return true;
    }
    double value = lua_tonumber(e->L, -1);
    if (!isfinite(value))
        return encode_fail(e, "a number is not finite");
    taut_json_text_add_real(&e->text, value);
    return true;
}

static bool encode_string(struct encoder *e)
{
    size_t n;
    const char *bytes = lua_tolstring(e->L, -1, &n);

    return taut_json_text_add_string(&e->text, bytes, n) ||
           encode_fail(e, "a string is not UTF-8");
}

/* ---- tables: each is at the top of the stack, and stays there ---- */

static bool is_marked(lua_State *L)
{
    if (!lua_getmetatable(L, -1))
        return false;
    luaL_getmetatable(L, TAUT_JSON_ARRAY_CLASS);
    bool same = lua_rawequal(L, -1, -2);
    lua_pop(L, 2);
    return same;
}

/* Every key of an array is a whole number from 1 to its length. */
static bool keys_are_indices(lua_State *L)
{
    lua_Integer n = (lua_Integer)lua_rawlen(L, -1);

    lua_pushnil(L);
    while (lua_next(L, -2)) {
        lua_pop(L, 1);
        lua_Integer key = lua_isinteger(L, -1) ? lua_tointeger(L, -1) : 0;
        if (key < 1 || key > n) {
            lua_pop(L, 1);
            return false;
        }
    }
    return true;
}

static bool encode_array(struct encoder *e, int depth)
{
    lua_Integer n = (lua_Integer)lua_rawlen(e->L, -1);

    taut_json_text_add_char(&e->text, '[');
    for (lua_Integer i = 1; i <= n; i++) {
        if (i > 1)
            taut_json_text_add_char(&e->text, ',');
        new_line(e, depth);
        lua_rawgeti(e->L, -1, i);
        bool ok = encode_value(e, depth);
        lua_pop(e->L, 1);
        if (!ok)
            return false;
    }
    if (n > 0)
        new_line(e, depth - 1);
    taut_json_text_add_char(&e->text, ']');
    return true;
}

/* The key at the top, if it can be one. */
static bool take_key(struct encoder *e, struct member *m)
{
    if (lua_type(e->L, -1) != LUA_TSTRING)
        return encode_fail(e, "a table has keys that are neither all strings "
                              "nor 1, 2, 3 …");
    m->key = lua_tolstring(e->L, -1, &m->length);
    return strlen(m->key) == m->length ||
           encode_fail(e, "a key has a NUL inside");
}

/* The keys of the table, at most 'most'; returns how many there are, or -1. */
static int keys_of(struct encoder *e, struct member *list, int most)
{
    struct member m;
    int n = 0;

    lua_pushnil(e->L);
    while (lua_next(e->L, -2)) {
        lua_pop(e->L, 1);
        if (!take_key(e, &m)) {
            lua_pop(e->L, 1);
            return -1;
        }
        if (n < most)
            list[n] = m;
        n++;
    }
    return n;
}

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct member *)a)->key,
                  ((const struct member *)b)->key);
}

static bool encode_member(struct encoder *e, const struct member *m, int depth)
{
    new_line(e, depth);
    if (!taut_json_text_add_string(&e->text, m->key, m->length))
        return encode_fail(e, "a key is not UTF-8");
    taut_json_text_add(&e->text, ": ", e->indent > 0 ? 2 : 1);
    lua_pushlstring(e->L, m->key, m->length);
    lua_rawget(e->L, -2);
    bool ok = encode_value(e, depth);
    lua_pop(e->L, 1);
    return ok;
}

static bool encode_members(struct encoder *e, struct member *list, int n,
                           int depth)
{
    qsort(list, (size_t)n, sizeof(*list), by_key);
    taut_json_text_add_char(&e->text, '{');
    for (int i = 0; i < n; i++) {
        if (i > 0)
            taut_json_text_add_char(&e->text, ',');
        if (!encode_member(e, &list[i], depth))
            return false;
    }
    if (n > 0)
        new_line(e, depth - 1);
    taut_json_text_add_char(&e->text, '}');
    return true;
}

static bool encode_object(struct encoder *e, int depth)
{
    struct member few[FEW];
    int n = keys_of(e, few, FEW);

    if (n <= FEW)
        return n >= 0 && encode_members(e, few, n, depth);
    /* memory of Lua's, below the table: it goes whatever happens */
    struct member *all =
        lua_newuserdatauv(e->L, (size_t)n * sizeof(*all), 0);
    lua_insert(e->L, -2);
    keys_of(e, all, n);
    bool ok = encode_members(e, all, n, depth);
    lua_remove(e->L, -2);
    return ok;
}

static bool encode_table(struct encoder *e, int depth)
{
    if (depth >= TAUT_JSON_DEPTH_MAX || !lua_checkstack(e->L, 8))
        return encode_fail(e, "tables are nested too deep, or in a circle");
    if (is_marked(e->L)) {
        if (!keys_are_indices(e->L))
            return encode_fail(e, "an array has keys besides 1, 2, 3 …");
        return encode_array(e, depth + 1);
    }
    if (lua_rawlen(e->L, -1) > 0 && keys_are_indices(e->L))
        return encode_array(e, depth + 1);
    return encode_object(e, depth + 1);
}

static bool encode_word(struct encoder *e, const char *word)
{
    taut_json_text_add(&e->text, word, strlen(word));
    return true;
}

/* The value at the top of the stack, which stays there. */
static bool encode_value(struct encoder *e, int depth)
{
    switch (lua_type(e->L, -1)) {
    case LUA_TNIL:
        return encode_word(e, "null");
    case LUA_TBOOLEAN:
        return encode_word(e, lua_toboolean(e->L, -1) ? "true" : "false");
    case LUA_TNUMBER:
        return encode_number(e);
    case LUA_TSTRING:
        return encode_string(e);
    case LUA_TTABLE:
        return encode_table(e, depth);
    case LUA_TLIGHTUSERDATA:
        if (lua_touserdata(e->L, -1) == NULL)
            return encode_word(e, "null");
        break;
    default:
        break;
    }
    snprintf(e->why_text, sizeof(e->why_text),
             "a %s cannot be written as JSON", luaL_typename(e->L, -1));
    return encode_fail(e, e->why_text);
}

int taut_json_encode(lua_State *L)
{
    lua_Integer indent = luaL_optinteger(L, 2, 0);

    luaL_checkany(L, 1);
    luaL_argcheck(L, indent >= 0 && indent <= INDENT_MAX, 2,
                  "not within 0 to 31");
    lua_settop(L, 1);
    struct encoder e = {.L = L, .indent = (int)indent};
    e.text = taut_json_text_take();
    bool ok = encode_value(&e, 0);
    if (ok && e.text.failed)
        ok = encode_fail(&e, "out of memory");
    if (ok)
        lua_pushlstring(L, e.text.at, e.text.used);
    taut_json_text_give(&e.text);
    return ok ? 1 : taut_fail(L, "%s", e.why);
}
