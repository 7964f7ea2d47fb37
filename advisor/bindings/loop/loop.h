/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The event loop (libevent) behind taut.loop, one per Lua state.
 *
 * Objects of the loop (timers, connections, processes …) are userdata that
 * keep a reference to themselves as long as events may arrive for them, so
 * Lua may drop them; closing one drops that reference and all its
 * callbacks.  A callback may close the object that called it: the object's
 * memory lives on until the callback's C function has returned, because its
 * userdata is on the stack of the main state. */
#ifndef TAUT_ADVISOR_BINDINGS_LOOP_LOOP_H
#define TAUT_ADVISOR_BINDINGS_LOOP_LOOP_H

#include <stdbool.h>

#include <event2/buffer.h>
#include <event2/event.h>

#include "advisor/bindings/host.h"

/* Events have the middle one of these priorities unless they are given another:
 * those of nodes whose connections were taken, timers.  New callers, and what
 * helpers say, wait until none of these is due, what else can wait until no caller is left;
 * of both one callback at a time is made. */
#define TAUT_PRIORITY_CALLERS 3
#define TAUT_PRIORITY_LAST 4

struct taut_proc;

struct taut_loop {
    lua_State *L; /* callbacks run here */
    struct event_base *base;
    struct event *child_signal; /* SIGCHLD, once something was spawned */
    struct taut_proc *procs;    /* not yet reaped */
};

/* The loop of this state, made at first use; raises an error if it cannot
 * be. */
struct taut_loop *taut_loop_get(lua_State *L);

/* Milliseconds as libevent wants them. */
struct timeval taut_timeval(lua_Integer ms);

/* Take one line out of 'buf'.
 *   scanned  how far it was searched in vain; the caller keeps it for the
 *            next call, 0 at the start
 *   n        set to the line's length
 * Returns the line without newline, to free(), or NULL when there is none;
 * errno is then EMSGSIZE if more than 'max' bytes wait without newline,
 * ENOMEM, or 0. */
char *taut_line_take(struct evbuffer *buf, size_t *scanned, size_t max,
                     size_t *n);

/* The functions of taut.loop besides those of mod_loop.c. */
int taut_loop_http(lua_State *L);   /* http.c */
int taut_loop_listen(lua_State *L); /* listen.c */
int taut_loop_serve(lua_State *L);  /* unix.c */
int taut_loop_spawn(lua_State *L);  /* spawn.c */

/* Their metatables. */
void taut_loop_frames_classes(lua_State *L);
void taut_loop_http_class(lua_State *L);
void taut_loop_unix_classes(lua_State *L);
void taut_loop_spawn_classes(lua_State *L);

#endif
