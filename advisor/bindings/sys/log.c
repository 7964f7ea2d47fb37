/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The part of taut.sys that logs. */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>

#include "advisor/bindings/host.h"
#include "advisor/bindings/sys/log.h"

/* The value on the top as it may be logged; the table at 'plain' keeps it. */
static const char *plain_value(lua_State *L, int plain)
{
    char *copy = strdup(luaL_tolstring(L, -1, NULL));

    lua_pop(L, 1);
    if (copy == NULL)
        return "";
    taut_host_plain(copy);
    lua_pushstring(L, copy);
    free(copy);
    const char *value = lua_tostring(L, -1);
    lua_rawseti(L, plain, (lua_Integer)lua_rawlen(L, plain) + 1);
    return value;
}

/* sys.log(level, text [, fields]): fields of journald beside it, such as
 * { TAUT_NODE = "n5" }; names are A-Z and '_' */
int taut_sys_log(lua_State *L)
{
    static const char *const names[] = {"err",  "warning", "notice",
                                        "info", "debug",   NULL};
    int priority = LOG_ERR + luaL_checkoption(L, 1, NULL, names);
    char *text = strdup(luaL_checkstring(L, 2));
    struct taut_logger_field fields[TAUT_LOGGER_FIELDS_MAX];
    size_t n = 0;

    if (text == NULL)
        return 0;
    lua_settop(L, 3);
    lua_newtable(L);
    for (lua_pushnil(L); lua_istable(L, 3) && lua_next(L, 3) != 0;
         lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING || n == TAUT_LOGGER_FIELDS_MAX)
            continue;
        fields[n].name = lua_tostring(L, -2);
        fields[n++].value = plain_value(L, 4);
    }
    taut_host_plain(text);
    taut_logger_write(taut_host_logger(L), priority, text, fields, n);
    free(text);
    return 0;
}

int taut_sys_log_to_stderr(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TBOOLEAN);
    taut_host_logger(L)->to_stderr = lua_toboolean(L, 1);
    return 0;
}

/* sys.log_as(level, form): from now on, of this process and of those that it
 * starts; level "err" … "debug", form "text" or "json" */
int taut_sys_log_as(lua_State *L)
{
    static const char *const forms[] = {"text", "json", NULL};
    const char *level = luaL_checkstring(L, 1);
    int form = luaL_checkoption(L, 2, "text", forms);
    struct taut_logger *log = taut_host_logger(L);
    int n = taut_logger_level(level);
    char text[40];

    luaL_argcheck(L, n >= LOG_ERR, 1, "no level");
    log->level = n;
    log->form = form == 1 ? TAUT_LOGGER_JSON : TAUT_LOGGER_TEXT;
    snprintf(text, sizeof(text), "%.15s %s", level, forms[form]);
    if (setenv("TAUT_LOG", text, 1) != 0)
        return taut_fail_errno(L, "TAUT_LOG");
    lua_pushboolean(L, 1);
    return 1;
}
