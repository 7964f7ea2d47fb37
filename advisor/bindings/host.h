/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the C modules share: the log, calls into Lua, and the "nil, text"
 * way to fail.  Everything hangs on the Lua state; nothing is global. */
#ifndef TAUT_ADVISOR_BINDINGS_HOST_H
#define TAUT_ADVISOR_BINDINGS_HOST_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <lauxlib.h>
#include <lua.h>

#include "advisor/lib/os/logger.h"

/* Set up the shared part of a fresh state.
 *   name    of the program, for the log; kept, not copied
 *   luadir  where our Lua modules are; kept, not copied
 *   to_stderr  log there instead of to syslog */
void taut_host_init(lua_State *L, const char *name, const char *luadir,
                    bool to_stderr);

const char *taut_host_luadir(lua_State *L);

/* What nobody should see of others' text on a terminal or in a log, in place:
 * control characters, U+0080 to U+009F and bytes that are no UTF-8 become '?',
 * ends of lines and tabs blanks. */
void taut_host_plain(char *text);

/* Log one line.  'priority' is LOG_ERR … LOG_DEBUG of <syslog.h>. */
void taut_host_log(lua_State *L, int priority, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Where the log goes and what of it; the program may change it. */
struct taut_logger *taut_host_logger(lua_State *L);

/* Push nil and a text; for "return taut_fail(L, …)" in a C function.
 * Returns 2. */
int taut_fail(lua_State *L, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The same with errno's text behind "fmt: ". */
int taut_fail_errno(lua_State *L, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The state that callbacks run on: the main one, not the coroutine that
 * happened to register them. */
lua_State *taut_main_state(lua_State *L);

/* Message handler for lua_pcall: the error with a traceback. */
int taut_traceback(lua_State *L);

/* A turn of the loop: a callback into Lua, with all that it calls. */
#define TAUT_DOING_MAX 80
struct taut_turn {
    int64_t ns;
    char doing[TAUT_DOING_MAX]; /* what it said it does, or its place */
};

/* lua_pcall as one turn, unless one is under way; 'handler' is the stack
 * index of the message handler, right below the function. */
int taut_turn_call(lua_State *L, int nargs, int nresults, int handler);

/* Name what this turn does. */
void taut_turn_doing(lua_State *L, const char *what);

/* The longest turn since this was asked last. */
struct taut_turn taut_turn_longest(lua_State *L);

/* Call the function below 'nargs' arguments, discarding results.  An error
 * is logged with its traceback.  Returns true when there was none. */
bool taut_call(lua_State *L, int nargs);

/* References to Lua values held by C objects; LUA_NOREF holds nothing. */
int taut_ref_function(lua_State *L, int index); /* function, or raises */
int taut_ref_field(lua_State *L, int table, const char *name, bool needed);
void taut_ref_drop(lua_State *L, int *ref);
bool taut_ref_push(lua_State *L, int ref); /* pushes only if true */

/* Fields of an option table; a wrong type raises an error. */
lua_Integer taut_opt_integer(lua_State *L, int table, const char *name,
                             lua_Integer fallback, lua_Integer min,
                             lua_Integer max);
lua_Number taut_opt_number(lua_State *L, int table, const char *name,
                           lua_Number fallback);
bool taut_opt_flag(lua_State *L, int table, const char *name); /* any type */
const char *taut_opt_string(lua_State *L, int table, const char *name,
                            const char *fallback);

/* Fields of the table on the top; a number that is not finite is left out, but
 * by taut_set_any. */
void taut_set_integer(lua_State *L, const char *name, lua_Integer v);
void taut_set_number(lua_State *L, const char *name, lua_Number v);
void taut_set_any(lua_State *L, const char *name, lua_Number v);
void taut_set_flag(lua_State *L, const char *name, bool v);
void taut_set_text(lua_State *L, const char *name, const char *v);

/* Push an array of C's numbers as Lua counts: from 1 on. */
void taut_push_ids(lua_State *L, const uint32_t *list, uint32_t n);

/* Register a metatable 'name' with its methods; 'gc' is also __close. */
void taut_class(lua_State *L, const char *name, const luaL_Reg *methods,
                lua_CFunction gc);

int luaopen_taut_board(lua_State *L);
int luaopen_taut_dial(lua_State *L);
int luaopen_taut_evidence(lua_State *L);
int luaopen_taut_boxes(lua_State *L);
int luaopen_taut_flow(lua_State *L);
int luaopen_taut_graph(lua_State *L);
int luaopen_taut_hostlist(lua_State *L);
int luaopen_taut_json(lua_State *L);
int luaopen_taut_keep(lua_State *L);
int luaopen_taut_loop(lua_State *L);
int luaopen_taut_munge(lua_State *L);
int luaopen_taut_sandbox(lua_State *L);
int luaopen_taut_readings(lua_State *L);
int luaopen_taut_seal(lua_State *L);
int luaopen_taut_sets(lua_State *L);
int luaopen_taut_study(lua_State *L);
int luaopen_taut_sys(lua_State *L);
int luaopen_taut_tests(lua_State *L);
int luaopen_taut_times(lua_State *L);
int luaopen_taut_wire(lua_State *L);

#endif
