/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.wire: the protocol's numbers for Lua, as wire/protocol.h has them, and
 * a look at what messages bring. */
#include <config.h>

#include <fcntl.h>
#include <unistd.h>

#include "advisor/bindings/host.h"
#include "wire/hostlist.h"
#include "wire/protocol.h"
#include "wire/root_port.h"

static const struct number {
    const char *name;
    lua_Integer value;
} numbers[] = {
    {"VERSION", TAUT_PROTOCOL_VERSION},
    {"OLDEST", TAUT_PROTOCOL_OLDEST},
    {"REQUEST_VERSION", TAUT_PROTOCOL_REQUEST},
    {"ANY_VERSION", TAUT_PROTOCOL_ANY},
    {"PORT", TAUT_DEFAULT_PORT},
    {"USER_PORT", TAUT_USER_PORT},

    {"FRAME_MAX", TAUT_FRAME_MAX}, /* bytes */
    {"HELLO", TAUT_FRAME_HELLO},
    {"PLAN", TAUT_FRAME_PLAN},
    {"RESULT", TAUT_FRAME_RESULT},
    {"REPORT", TAUT_FRAME_REPORT},
    {"STOP", TAUT_FRAME_STOP},
    {"ASK", TAUT_FRAME_ASK},
    {"ANSWER", TAUT_FRAME_ANSWER},
    {"ELSEWHERE", TAUT_FRAME_ELSEWHERE},
    {"REFUSED", TAUT_FRAME_REFUSED},
    {"REFUSED_WHY_MAX", TAUT_REFUSED_WHY - 1}, /* bytes */
    {"ASK_MAX", TAUT_ASK_MAX},
    {"ANSWER_MAX", TAUT_ANSWER_MAX},

    {"KEY_BYTES", TAUT_SEAL_KEY},
    {"TOKEN_BYTES", TAUT_TOKEN},

    {"NAME_MAX", TAUT_HOSTNAME_MAX}, /* bytes of a node's name */
    {"NODES_MAX", TAUT_NODES_MAX},
    {"BUDGET_MAX_MS", TAUT_BUDGET_MAX_MS},
    {"RAILS_MAX", TAUT_PLAN_RAILS},
    {"HOPS_MAX", TAUT_PLAN_HOPS},
    {"ENDPOINT_MAX", TAUT_ENDPOINT_TEXT - 1}, /* bytes */
    {"INTERFACE_MAX", TAUT_INTERFACE_TEXT - 1},

    {"READINGS_MAX", TAUT_READINGS_MAX},
    {"COUNTER_NAME_MAX", TAUT_COUNTER_NAME - 1},
    {"COUNTER_TEXT_MAX", TAUT_COUNTER_TEXT - 1},

    {"TESTS_MAX", TAUT_PLAN_TESTS}, /* of a plan */
    {"NOTE_MAX", TAUT_PLAN_NOTE - 1},
    {"START_MAX_MS", TAUT_PLAN_START_MS},
    {"STREAMS_MAX", TAUT_PLAN_STREAMS}, /* of a test */
    {"TEST_MIN_MS", TAUT_TEST_MIN_MS},
    {"TEST_MAX_MS", TAUT_TEST_MAX_MS},
};

/* wire.purposes: name → is it a survey's? */
static void push_purposes(lua_State *L)
{
    lua_newtable(L);
    for (int i = TAUT_PURPOSE_NONE + 1; i <= TAUT_PURPOSE_LAST; i++) {
        lua_pushboolean(L, taut_purpose_is_survey(i));
        lua_setfield(L, -2, taut_purpose_name(i));
    }
}

/* Is the value at the top a whole number, 0 or more, of a field whose key is
 * below it and that `names`, at index 2, has? */
static bool is_plain(lua_State *L)
{
    if (!lua_isinteger(L, -1) || lua_tointeger(L, -1) < 0)
        return false;
    lua_pushvalue(L, -2);
    bool is_known = lua_rawget(L, 2) != LUA_TNIL;
    lua_pop(L, 1);
    return is_known;
}

/* wire.odd(t, names): keys of those fields of t that are no whole number, 0 or
 * more, or that the set `names` does not have, as an array, nil without any;
 * how many fields t has.  Messages have hundreds of such numbers. */
static int odd(lua_State *L)
{
    lua_Integer fields = 0, found = 0;
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 3);
    for (lua_pushnil(L); lua_next(L, 1) != 0; fields++) {
        if (!is_plain(L)) {
            if (found == 0) {
                lua_newtable(L);
                lua_replace(L, 3);
            }
            lua_pushvalue(L, -2);
            lua_rawseti(L, 3, ++found);
        }
        lua_pop(L, 1);
    }
    lua_pushinteger(L, fields);
    return 2;
}

/* wire.user_port(): the first port that users of this host may call from,
 * wire.USER_PORT where all below it are root's. */
static int user_port(lua_State *L)
{
    int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

    lua_pushinteger(L, taut_user_port(root_fd));
    if (root_fd >= 0)
        close(root_fd);
    return 1;
}

int luaopen_taut_wire(lua_State *L)
{
    lua_newtable(L);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        taut_set_integer(L, numbers[i].name, numbers[i].value);
    push_purposes(L);
    lua_setfield(L, -2, "purposes");
    lua_pushcfunction(L, odd);
    lua_setfield(L, -2, "odd");
    lua_pushcfunction(L, user_port);
    lua_setfield(L, -2, "user_port");
    return 1;
}
