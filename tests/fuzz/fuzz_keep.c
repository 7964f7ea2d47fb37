/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.keep: what a store gives back is read whole or not at all.  The first
 * byte says whether the text gets the head that fits it, and how numbers of
 * components are mapped; the rest is the text. */
#include <config.h>

#include <string.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "tests/fuzz/fuzz.h"

#define COMPONENTS 100
#define HEAD 8

enum { WITH_HEAD = 1, WITH_MAP = 2, BACKWARDS = 4 };

int luaopen_taut_keep(lua_State *L);

/* Version and checksum, as advisor/bindings/mod_keep.c has them. */
static void put_head(char *text, size_t n)
{
    static const char alphabet[] = "0123456789abcdefghijklmnopqrstuv";
    uint32_t sum = 0x811c9dc5;

    for (size_t i = HEAD; i < n; i++)
        sum = (sum ^ (unsigned char)text[i]) * 0x01000193;
    text[0] = '1';
    for (int i = 1; i < HEAD; i++, sum >>= 5)
        text[i] = alphabet[sum & 31];
}

/* Which components of yesterday are which of today; some are none, or none
 * that there is. */
static void push_map(lua_State *L, int how)
{
    lua_createtable(L, COMPONENTS, 0);
    for (int c = 1; c <= COMPONENTS; c += 1 + c % 3) {
        lua_pushinteger(L, how & BACKWARDS ? COMPONENTS + 20 - c : c);
        lua_rawseti(L, -2, c);
    }
}

/* keep:read(text[, map]); returns how many components it took, -1 for none
 * since the text is damaged. */
static lua_Integer read_text(lua_State *L, const char *text, size_t n, int how)
{
    lua_getfield(L, 1, "read");
    lua_pushvalue(L, 1);
    lua_pushlstring(L, text, n);
    if (how & WITH_MAP)
        push_map(L, how);
    FUZZ_CHECK(lua_pcall(L, how & WITH_MAP ? 3 : 2, 2, 0) == LUA_OK);
    lua_Integer taken = lua_isinteger(L, -2) ? lua_tointeger(L, -2) : -1;
    FUZZ_CHECK(taken >= 0 || lua_isstring(L, -1));
    lua_pop(L, 2);
    return taken;
}

static int known(lua_State *L)
{
    int n = 0;

    for (int c = 0; c <= COMPONENTS + 1; c++) {
        lua_getfield(L, 1, "has");
        lua_pushvalue(L, 1);
        lua_pushinteger(L, c);
        FUZZ_CHECK(lua_pcall(L, 2, 1, 0) == LUA_OK);
        n += lua_toboolean(L, -1);
        lua_pop(L, 1);
    }
    return n;
}

static void check_text(const char *text, size_t n, int how)
{
    lua_State *L = luaL_newstate();

    FUZZ_CHECK(L != NULL);
    luaL_requiref(L, "taut.keep", luaopen_taut_keep, 0);
    lua_getfield(L, -1, "new");
    lua_pushinteger(L, COMPONENTS);
    FUZZ_CHECK(lua_pcall(L, 1, 1, 0) == LUA_OK);
    lua_replace(L, 1);
    lua_settop(L, 1);
    lua_Integer taken = read_text(L, text, n, how);
    int count = known(L);
    FUZZ_CHECK(taken >= 0 ? count <= taken : count == 0);
    FUZZ_CHECK((taken > 0) == (count > 0));
    /* and once more: it is the same */
    FUZZ_CHECK(read_text(L, text, n, how) == taken);
    FUZZ_CHECK(known(L) == count);
    lua_close(L);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    if (n == 0)
        return 0;
    int how = data[0];
    size_t head = how & WITH_HEAD ? HEAD : 0;
    char *text = malloc(head + n);

    FUZZ_CHECK(text != NULL);
    memcpy(text + head, data + 1, n - 1);
    if (head > 0)
        put_head(text, head + n - 1);
    check_text(text, head + n - 1, how);
    free(text);
    return 0;
}
