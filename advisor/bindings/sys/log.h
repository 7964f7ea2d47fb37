/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.sys: the log. */
#ifndef TAUT_ADVISOR_BINDINGS_SYS_LOG_H
#define TAUT_ADVISOR_BINDINGS_SYS_LOG_H

#include <lua.h>

int taut_sys_log(lua_State *L);
int taut_sys_log_as(lua_State *L);
int taut_sys_log_to_stderr(lua_State *L);

#endif
