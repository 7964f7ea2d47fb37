/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.loop.listen: the TCP server that nodes call. */
#include <config.h>

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "advisor/bindings/loop/frames.h"
#include "advisor/lib/os/tcp_port.h"
#include "wire/frame.h"

#define LISTENER_CLASS "taut.loop.listener"
#define BACKLOG 65535     /* a large job's nodes call at once */
#define ADMIT_MOST 32     /* in a row, before what they bring is done */
#define REST_EVERY 1024   /* callers, for a millisecond */
#define SPEAKING_MOST 256 /* with MUNGE; others wait until it has some */
#define CALLER_MS 400     /* of a node's second: then it is refused */
#define DEFAULT_MAX_HELD (256 << 20)

/* Callers whom the thread had to refuse, by address. */
static void tell_refused(struct taut_listener *l)
{
    struct taut_callers_refused r = taut_callers_refused(l->callers);
    char why[96], peer[TAUT_CALLERS_HOST + 4];

    if (r.error != 0)
        taut_listener_refuse(l, strerror(r.error), "?", 1);
    snprintf(why, sizeof(why),
             "called when too many did: no time for it in %d ms", CALLER_MS);
    for (int i = 0; i < r.hosts; i++) {
        snprintf(peer, sizeof(peer), "%s:?", r.host[i].address);
        taut_listener_refuse(l, why, peer, r.host[i].count);
    }
    if (r.others > 0)
        taut_listener_refuse(l, why, "other addresses", r.others);
}

/* Take in some that wait: others when what these bring has been done, or when
 * MUNGE has an answer for some that speak. */
static void on_admit(evutil_socket_t fd, short what, void *arg)
{
    struct taut_listener *l = arg;
    lua_State *L = l->loop->L;
    struct timeval soon = taut_timeval(1);
    struct taut_caller caller;

    (void)fd;
    (void)what;
    taut_ref_push(L, l->self); /* keeps l through its callbacks */
    tell_refused(l);
    for (int n = 0; n < ADMIT_MOST && l->callers != NULL; n++) {
        /* what else can wait has its turn now and then */
        bool rests = ++l->admitted % REST_EVERY == 0;

        if (rests || l->newcomers.speaking >= SPEAKING_MOST) {
            event_del(l->admit);
            event_add(l->again, &soon);
            break;
        }
        if (!taut_callers_take(l->callers, &caller))
            break;
        taut_listener_admit(l, &caller);
    }
    lua_pop(L, 1);
}

static void on_again(evutil_socket_t fd, short what, void *arg)
{
    struct taut_listener *l = arg;

    (void)fd;
    (void)what;
    event_add(l->admit, NULL);
}

static void free_event(struct event **event)
{
    if (*event != NULL)
        event_free(*event);
    *event = NULL;
}

static int listener_close(lua_State *L)
{
    struct taut_listener *l = luaL_checkudata(L, 1, LISTENER_CLASS);

    free_event(&l->admit);
    free_event(&l->again);
    taut_callers_destroy(l->callers);
    l->callers = NULL;
    taut_ref_drop(L, &l->self);
    return 0;
}

/* Its connections go on after a close(), so its callbacks stay until here. */
static int listener_gc(lua_State *L)
{
    struct taut_listener *l = luaL_checkudata(L, 1, LISTENER_CLASS);

    listener_close(L);
    taut_ref_drop(L, &l->on_frame);
    taut_ref_drop(L, &l->on_close);
    taut_ref_drop(L, &l->on_refused);
    taut_ref_drop(L, &l->on_sent);
    return 0;
}

/* The port it listens on; asked for with port 0, the system chooses. */
static int listener_port(lua_State *L)
{
    struct taut_listener *l = luaL_checkudata(L, 1, LISTENER_CLASS);
    struct sockaddr_storage ss;
    socklen_t length = sizeof(ss);

    if (l->callers == NULL)
        return taut_fail(L, "closed");
    if (getsockname(taut_callers_socket(l->callers), (struct sockaddr *)&ss,
                    &length) != 0)
        return taut_fail_errno(L, "listener");
    if (ss.ss_family == AF_INET6)
        lua_pushinteger(L, ntohs(((struct sockaddr_in6 *)&ss)->sin6_port));
    else
        lua_pushinteger(L, ntohs(((struct sockaddr_in *)&ss)->sin_port));
    return 1;
}

static struct taut_listener *listener_new(lua_State *L)
{
    struct taut_loop *loop = taut_loop_get(L);
    struct taut_listener *l = lua_newuserdatauv(L, sizeof(*l), 0);

    *l = (struct taut_listener){.loop = loop,
                                .self = LUA_NOREF,
                                .on_frame = LUA_NOREF,
                                .on_close = LUA_NOREF,
                                .on_refused = LUA_NOREF,
                                .on_sent = LUA_NOREF};
    luaL_setmetatable(L, LISTENER_CLASS);
    l->on_frame = taut_ref_field(L, 1, "on_frame", true);
    l->on_close = taut_ref_field(L, 1, "on_close", false);
    l->on_refused = taut_ref_field(L, 1, "on_refused", false);
    l->on_sent = taut_ref_field(L, 1, "on_sent", false);
    l->max_frame = (size_t)taut_opt_integer(L, 1, "max_frame", TAUT_FRAME_MAX,
                                            1, TAUT_FRAME_MAX);
    l->max_held = (size_t)taut_opt_integer(L, 1, "max_held", DEFAULT_MAX_HELD,
                                           1, (lua_Integer)1 << 40);
    l->max_conns = taut_opt_integer(L, 1, "max_conns", 1024, 1, 1 << 20);
    l->max_unknown =
        taut_opt_integer(L, 1, "max_unknown", l->max_conns, 1, 1 << 20);
    taut_newcomers_init(&l->newcomers);
    l->timeout =
        taut_timeval(taut_opt_integer(L, 1, "timeout_ms", 10000, 1, 3600000));
    lua_Integer hello_ms = taut_opt_integer(L, 1, "hello_ms", 0, 0, 3600000);
    l->hello = hello_ms > 0 ? taut_timeval(hello_ms) : l->timeout;
    return l;
}

/* Returns 0, or -1 with errno; 'fd' is closed then. */
static int listener_open(struct taut_listener *l, int fd)
{
    if (evutil_make_socket_nonblocking(fd) == 0 && listen(fd, BACKLOG) == 0)
        l->callers = taut_callers_create(fd, CALLER_MS);
    if (l->callers == NULL) {
        int saved = errno;
        close(fd);
        errno = saved;
        return -1;
    }
    l->admit = event_new(l->loop->base, taut_callers_fd(l->callers),
                         EV_READ | EV_PERSIST, on_admit, l);
    l->again = event_new(l->loop->base, -1, 0, on_again, l);
    if (l->admit == NULL || l->again == NULL)
        return -1;
    event_priority_set(l->admit, TAUT_PRIORITY_CALLERS);
    return event_add(l->admit, NULL);
}

int taut_loop_listen(lua_State *L)
{
    struct taut_error err = {""};

    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    struct taut_listener *l = listener_new(L);
    const char *host = taut_opt_string(L, 1, "host", NULL);
    int port = (int)taut_opt_integer(L, 1, "port", TAUT_DEFAULT_PORT, 0, 65535);
    int fd = taut_port_open(host, port, &err);
    if (fd < 0)
        return taut_fail(L, "%s", err.text);
    if (listener_open(l, fd) != 0) {
        int saved = errno;
        listener_close(L);
        errno = saved;
        return taut_fail_errno(L, "listen");
    }
    lua_pushvalue(L, 2);
    l->self = luaL_ref(L, LUA_REGISTRYINDEX);
    return 1;
}

void taut_loop_frames_classes(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"close", listener_close},
        {"port", listener_port},
        {NULL, NULL},
    };

    taut_class(L, LISTENER_CLASS, methods, listener_gc);
    taut_conn_class(L);
}
