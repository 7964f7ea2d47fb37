/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What Lua asks of the file system besides reading and writing. */
#ifndef TAUT_ADVISOR_BINDINGS_SYS_FILES_H
#define TAUT_ADVISOR_BINDINGS_SYS_FILES_H

#include <lua.h>

/* stat(path) → { dev, inode, size, mtime (seconds, float), regular }, links
 * followed; or nil and why not. */
int taut_sys_chmod(lua_State *L);
int taut_sys_space(lua_State *L);
int taut_sys_stat(lua_State *L);

/* names(folder) → array of the names in it, in any order, without "." and
 * ".."; or nil and why not. */
int taut_sys_names(lua_State *L);

/* write_durably(path, text) → true when the text is on disk under that name,
 * whatever happens to the machine now; or nil and why not: then the old file
 * is there, or (its folder could not be synced) either of them.  One writer at
 * a time. */
int taut_sys_write_durably(lua_State *L);

/* write_whole(path, text) → the same, but that the disk may have it later: true
 * when whoever reads has all of it. */
int taut_sys_write_whole(lua_State *L);

/* append(path, text, durable) → true when all of the text is at the end of the
 * file, which is made where it is not there (mode 0600), and, if 'durable', on
 * disk; or nil and why not: then nothing of it is there.  A link is not
 * followed. */
int taut_sys_append(lua_State *L);

/* lock(path) → true: this process has it until it ends, its children have not;
 * or nil, why not and, when another process has it, that one's pid (0 where
 * that is not known). */
int taut_sys_lock(lua_State *L);

#endif
