/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.wire: the protocol's numbers for Lua, as wire/protocol.h has them. */
#include <config.h>

#include "advisor/bindings/host.h"
#include "wire/hostlist.h"
#include "wire/protocol.h"

static const struct number {
    const char *name;
    lua_Integer value;
} numbers[] = {
    {"VERSION", TAUT_PROTOCOL_VERSION},
    {"OLDEST", TAUT_PROTOCOL_OLDEST},
    {"SURVEY_OLDEST", TAUT_PROTOCOL_SURVEY},
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
    {"COUNTERS_MAX", TAUT_COUNTER_MAX}, /* numbers of a reading … */
    {"TEXTS_MAX", TAUT_COUNTER_TEXTS},  /* … and its texts */
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

int luaopen_taut_wire(lua_State *L)
{
    lua_newtable(L);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        taut_set_integer(L, numbers[i].name, numbers[i].value);
    push_purposes(L);
    lua_setfield(L, -2, "purposes");
    return 1;
}
