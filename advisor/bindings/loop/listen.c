/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.loop.listen: the TCP server that nodes call. */
#include <config.h>

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/listener.h>

#include "advisor/bindings/loop/frames.h"
#include "advisor/lib/os/tcp_port.h"
#include "wire/frame.h"

#define LISTENER_CLASS "taut.loop.listener"
#define BACKLOG 4096        /* a large job's nodes call at once */
#define ACCEPT_PAUSE_MS 100 /* when descriptors have run out */
#define DEFAULT_MAX_HELD (256 << 20)

static void on_accept(struct evconnlistener *ev, evutil_socket_t fd,
                      struct sockaddr *sa, int length, void *arg)
{
    struct taut_listener *l = arg;
    char peer[80];

    (void)ev;
    taut_port_peer(peer, sizeof(peer), sa, (socklen_t)length);
    taut_ref_push(l->loop->L, l->self); /* keeps l through its callbacks */
    taut_listener_admit(l, fd, peer);
    lua_pop(l->loop->L, 1);
}

static void on_accept_error(struct evconnlistener *ev, void *arg)
{
    struct taut_listener *l = arg;
    lua_State *L = l->loop->L;
    struct timeval pause = taut_timeval(ACCEPT_PAUSE_MS);

    evconnlistener_disable(ev);
    event_add(l->resume, &pause);
    taut_ref_push(L, l->self);
    taut_listener_refuse(l, strerror(EVUTIL_SOCKET_ERROR()), "?");
    lua_pop(L, 1);
}

static void on_resume(evutil_socket_t fd, short what, void *arg)
{
    struct taut_listener *l = arg;

    (void)fd;
    (void)what;
    if (l->ev != NULL)
        evconnlistener_enable(l->ev);
}

static int listener_close(lua_State *L)
{
    struct taut_listener *l = luaL_checkudata(L, 1, LISTENER_CLASS);

    if (l->ev != NULL)
        evconnlistener_free(l->ev);
    l->ev = NULL;
    if (l->resume != NULL)
        event_free(l->resume);
    l->resume = NULL;
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

    if (l->ev == NULL)
        return taut_fail(L, "closed");
    if (getsockname(evconnlistener_get_fd(l->ev), (struct sockaddr *)&ss,
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
    TAILQ_INIT(&l->newcomers);
    l->timeout =
        taut_timeval(taut_opt_integer(L, 1, "timeout_ms", 10000, 1, 3600000));
    lua_Integer hello_ms = taut_opt_integer(L, 1, "hello_ms", 0, 0, 3600000);
    l->hello = hello_ms > 0 ? taut_timeval(hello_ms) : l->timeout;
    return l;
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
    l->resume = event_new(l->loop->base, -1, 0, on_resume, l);
    l->ev = evconnlistener_new(l->loop->base, on_accept, l,
                               LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC,
                               BACKLOG, fd);
    if (l->ev == NULL || l->resume == NULL) {
        int saved = errno;
        if (l->ev == NULL)
            close(fd);
        listener_close(L);
        errno = saved;
        return taut_fail_errno(L, "listen");
    }
    evconnlistener_set_error_cb(l->ev, on_accept_error);
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
