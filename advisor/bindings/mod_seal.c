/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.seal: sealing of frames for Lua. */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "advisor/bindings/host.h"
#include "wire/seal.h"

#define RANDOM_MAX 4096 /* bytes; far more than any key needs */

static const unsigned char *check_key(lua_State *L, int arg)
{
    size_t n;
    const char *key = luaL_checklstring(L, arg, &n);

    luaL_argcheck(L, n == TAUT_SEAL_KEY, arg, "a key has 32 bytes");
    return (const unsigned char *)key;
}

static enum taut_frame_type check_type(lua_State *L, int arg)
{
    lua_Integer type = luaL_checkinteger(L, arg);

    luaL_argcheck(L, type >= TAUT_FRAME_HELLO && type <= TAUT_FRAME_LAST, arg,
                  "no such frame type");
    return (enum taut_frame_type)type;
}

/* The frame's number; without one it is the first of its side. */
static uint64_t check_seq(lua_State *L, int arg)
{
    lua_Integer seq = luaL_optinteger(L, arg, 0);

    luaL_argcheck(L, seq >= 0, arg, "a sequence number is not negative");
    return (uint64_t)seq;
}

/* The protocol's version, one that is to come included; without one the
 * newest. */
static int check_version(lua_State *L, int arg)
{
    lua_Integer version = luaL_optinteger(L, arg, TAUT_PROTOCOL_VERSION);

    luaL_argcheck(L,
                  version >= TAUT_PROTOCOL_ANY && version <= TAUT_PROTOCOL_LAST,
                  arg, "no such protocol version");
    return (int)version;
}

static int seal_seal(lua_State *L)
{
    const unsigned char *key = check_key(L, 1);
    enum taut_frame_type type = check_type(L, 2);
    size_t n;
    const char *text = luaL_checklstring(L, 3, &n);
    uint64_t seq = check_seq(L, 4);
    int version = check_version(L, 5);
    luaL_Buffer out;

    unsigned char *bytes =
        (unsigned char *)luaL_buffinitsize(L, &out, n + TAUT_SEAL_OVERHEAD);
    luaL_pushresultsize(&out,
                        taut_seal(bytes, key, version, type, seq, text, n));
    return 1;
}

static int seal_open(lua_State *L)
{
    const unsigned char *key = check_key(L, 1);
    enum taut_frame_type type = check_type(L, 2);
    size_t n;
    const char *sealed = luaL_checklstring(L, 3, &n);
    uint64_t seq = check_seq(L, 4);
    int version = check_version(L, 5);
    luaL_Buffer out;

    char *text = luaL_buffinitsize(L, &out, n);
    long got = taut_seal_open(text, key, version, type, seq,
                              (const unsigned char *)sealed, n);
    if (got < 0)
        return taut_fail(L, "not sealed with this key as frame %lld of type %d",
                         (long long)seq, (int)type);
    luaL_pushresultsize(&out, (size_t)got);
    return 1;
}

static int seal_random(lua_State *L)
{
    lua_Integer n = luaL_checkinteger(L, 1);
    luaL_Buffer out;

    luaL_argcheck(L, n >= 0 && n <= RANDOM_MAX, 1, "not within 0 to 4096");
    taut_seal_random(luaL_buffinitsize(L, &out, (size_t)n), (size_t)n);
    luaL_pushresultsize(&out, (size_t)n);
    return 1;
}

static int seal_hex(lua_State *L)
{
    size_t n;
    const char *bytes = luaL_checklstring(L, 1, &n);
    luaL_Buffer out;

    taut_hex(luaL_buffinitsize(L, &out, 2 * n + 1), bytes, n);
    luaL_pushresultsize(&out, 2 * n);
    return 1;
}

static int seal_unhex(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);
    luaL_Buffer out;

    /* A NUL inside ends the text early for taut_unhex, which then finds too
     * few digits. */
    char *bytes = luaL_buffinitsize(L, &out, n / 2 + 1);
    if (n % 2 != 0 || taut_unhex(bytes, n / 2, text) != 0)
        return taut_fail(L, "not hex digits in pairs");
    luaL_pushresultsize(&out, n / 2);
    return 1;
}

int luaopen_taut_seal(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"hex", seal_hex},   {"open", seal_open},   {"random", seal_random},
        {"seal", seal_seal}, {"unhex", seal_unhex}, {NULL, NULL},
    };

    if (taut_seal_init() != 0)
        return luaL_error(L, "libsodium does not start: %s", strerror(errno));
    luaL_newlib(L, functions);
    return 1;
}
