/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the listener (listen.c) and its connections (frames.c) of
 * taut.loop.listen know of each other. */
#ifndef TAUT_ADVISOR_BINDINGS_LOOP_FRAMES_H
#define TAUT_ADVISOR_BINDINGS_LOOP_FRAMES_H

#include "advisor/bindings/loop/loop.h"
#include "advisor/bindings/loop/newcomers.h"
#include "advisor/lib/os/callers.h"

struct taut_listener {
    struct taut_loop *loop;
    struct taut_callers *callers; /* NULL once closed */
    struct event *admit; /* somebody calls, and nothing else is to be done */
    struct event *again; /* when there is room */
    int self;
    int on_frame, on_close, on_refused, on_sent;
    size_t max_frame;
    struct timeval timeout, hello; /* for a whole frame; for the first one */
    lua_Integer max_conns, conns;
    unsigned long admitted; /* and tried, since the start */
    lua_Integer max_unknown; /* of one address */
    struct taut_newcomers newcomers;
    size_t max_held, held; /* bytes of all frames not yet whole */
};

/* Tell Lua of connections that were refused: on_refused(why, peer, count).
 *   peer   "address:port" of the last of them
 *   count  how many they were, all of that address */
void taut_listener_refuse(struct taut_listener *l, const char *why,
                          const char *peer, long count);

/* Take in a new connection, or refuse it; its descriptor is owned from here
 * on. */
void taut_listener_admit(struct taut_listener *l, const struct taut_caller *c);

/* The metatable of connections. */
void taut_conn_class(lua_State *L);

#endif
