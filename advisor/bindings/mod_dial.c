/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.dial: how the taut command reaches a tautd on another host. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "advisor/bindings/host.h"
#include "advisor/lib/os/dial.h"
#include "advisor/lib/os/munge_sign.h"
#include "wire/frame.h"

/* dial.sign(text, uid [, socket]) -> credential; or nil and why not */
static int dial_sign(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);
    uid_t uid = (uid_t)luaL_checkinteger(L, 2);
    const char *socket = luaL_optstring(L, 3, NULL);
    struct taut_error err = {""};

    if (n > TAUT_ASK_MAX)
        return taut_fail(L, "a request of %zu bytes, expected at most %u", n,
                         TAUT_ASK_MAX);
    char *cred = taut_munge_sign(text, n, uid, socket, &err);
    if (cred == NULL)
        return taut_fail(L, "%s", err.text);
    lua_pushstring(L, cred);
    free(cred);
    return 1;
}

/* Push { payload, … } of 'n' bytes that have to be whole frames of ANSWER.
 * Returns 0, or -1 with nothing pushed and 'err'. */
static int push_answers(lua_State *L, const char *bytes, size_t n,
                        struct taut_error *err)
{
    int top = lua_gettop(L);
    struct taut_frame frame;
    lua_Integer count = 0;

    lua_newtable(L);
    while (n >= TAUT_FRAME_HEAD) {
        if (taut_frame_decode(&frame, (const unsigned char *)bytes,
                              TAUT_FRAME_MAX, err) != 0)
            break;
        bytes += TAUT_FRAME_HEAD;
        n -= TAUT_FRAME_HEAD;
        if (frame.type == TAUT_FRAME_ELSEWHERE && frame.length <= n) {
            taut_error_set(err, "%.*s", (int)frame.length, bytes);
            break;
        }
        if (frame.type != TAUT_FRAME_ANSWER || frame.length > n)
            break;
        lua_pushlstring(L, bytes, frame.length);
        lua_rawseti(L, -2, ++count);
        bytes += frame.length;
        n -= frame.length;
    }
    if (n == 0)
        return 0;
    lua_settop(L, top);
    if (err->text[0] == '\0')
        taut_error_set(err, "an answer that is cut off, or none");
    return -1;
}

/* The whole frame, on the stack. */
static const char *push_ask(lua_State *L, const char *text, size_t n,
                            size_t *whole)
{
    unsigned char head[TAUT_FRAME_HEAD];

    if (taut_frame_encode(head, TAUT_FRAME_ASK, n) != 0)
        return NULL;
    lua_pushlstring(L, (const char *)head, sizeof(head));
    lua_pushlstring(L, text, n);
    lua_concat(L, 2);
    return lua_tolstring(L, -1, whole);
}

/* dial.ask(host, port, credential, timeout_ms) -> { sealed answer, … };
 * or nil and why not */
static int dial_ask(lua_State *L)
{
    const char *host = luaL_checkstring(L, 1);
    lua_Integer port = luaL_checkinteger(L, 2);
    size_t n, got;
    const char *cred = luaL_checklstring(L, 3, &n);
    lua_Integer timeout_ms = luaL_checkinteger(L, 4);
    struct taut_error err = {""};

    luaL_argcheck(L, port >= 1 && port <= 65535, 2, "not within 1 to 65535");
    luaL_argcheck(L, timeout_ms >= 1 && timeout_ms <= 3600000, 4,
                  "not within 1 to 3600000");
    const char *frame = push_ask(L, cred, n, &n);
    if (frame == NULL)
        return taut_fail(L, "%zu bytes are more than a frame holds", n);
    char *bytes = taut_dial(host, (int)port, frame, n, (int)timeout_ms,
                            TAUT_ANSWER_MAX, &got, &err);
    if (bytes == NULL)
        return taut_fail(L, "%s", err.text);
    int rc = push_answers(L, bytes, got, &err);
    free(bytes);
    return rc == 0 ? 1 : taut_fail(L, "%s port %d: %s", host, (int)port,
                                   err.text);
}

int luaopen_taut_dial(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"ask", dial_ask},
        {"sign", dial_sign},
        {NULL, NULL},
    };

    luaL_newlib(L, functions);
    return 1;
}
