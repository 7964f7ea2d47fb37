/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What Lua asks of the file system besides reading and writing. */
#ifndef TAUT_ADVISOR_BINDINGS_SYS_FILES_H
#define TAUT_ADVISOR_BINDINGS_SYS_FILES_H

#include <lua.h>

/* stat(path) → { dev, inode, size, mtime (seconds, float), regular }, links
 * followed; or nil and why not. */
int taut_sys_stat(lua_State *L);

/* names(folder) → array of the names in it, in any order, without "." and
 * ".."; or nil and why not. */
int taut_sys_names(lua_State *L);

#endif
