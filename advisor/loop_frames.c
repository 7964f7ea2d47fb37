/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.loop.listen: the TCP server that nodes call.
 *
 * Whoever reaches the port can connect, so everything is bounded: the
 * number of connections, the size of a frame (read only as far as it is
 * allowed to be), and the time in which a whole frame has to come. */
#include <config.h>

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/bufferevent.h>
#include <event2/listener.h>

#include "advisor/loop.h"
#include "advisor/tcp_port.h"
#include "wire/frame.h"

#define LISTENER_CLASS "taut.loop.listener"
#define CONN_CLASS "taut.loop.conn"
#define BACKLOG 4096        /* a large job's nodes call at once */
#define ACCEPT_PAUSE_MS 100 /* when descriptors have run out */
#define DEFAULT_MAX_HELD (256 << 20)

struct listener {
    struct taut_loop *loop;
    struct evconnlistener *ev; /* NULL once closed */
    struct event *resume;      /* after ACCEPT_PAUSE_MS */
    int self;
    int on_frame, on_close, on_refused;
    size_t max_frame;
    struct timeval timeout;
    lua_Integer max_conns, conns;
    size_t max_held, held; /* bytes of all frames not yet whole */
};

struct conn {
    struct listener *listener;
    struct bufferevent *bev; /* NULL once ended */
    struct event *timer;
    int self;
    int listener_ref; /* keeps 'listener' */
    bool closing;     /* by Lua, once all is sent */
    size_t held;      /* its part of listener->held */
    char peer[80];
};

/* Free what the connection holds; harmless when repeated. */
static void conn_release(lua_State *L, struct conn *c)
{
    if (c->bev != NULL) {
        bufferevent_free(c->bev);
        c->listener->conns--;
        c->listener->held -= c->held;
    }
    c->bev = NULL;
    if (c->timer != NULL)
        event_free(c->timer);
    c->timer = NULL;
    taut_ref_drop(L, &c->self);
    taut_ref_drop(L, &c->listener_ref);
}

static int conn_gc(lua_State *L)
{
    conn_release(L, luaL_checkudata(L, 1, CONN_CLASS));
    return 0;
}

/* The connection is over: release it, then tell Lua. */
static void conn_end(struct conn *c, const char *why)
{
    struct listener *l = c->listener;
    lua_State *L = l->loop->L;

    if (c->bev == NULL)
        return;
    taut_ref_push(L, c->listener_ref);
    taut_ref_push(L, c->self);
    int self = lua_gettop(L);
    conn_release(L, c);
    if (taut_ref_push(L, l->on_close)) {
        lua_pushvalue(L, self);
        lua_pushstring(L, why);
        taut_call(L, 2);
    }
    lua_settop(L, self - 2);
}

static void refuse(struct listener *l, const char *why, const char *peer)
{
    lua_State *L = l->loop->L;

    if (taut_ref_push(L, l->on_refused)) {
        lua_pushstring(L, why);
        lua_pushstring(L, peer);
        taut_call(L, 2);
    }
}

static void call_on_frame(struct conn *c, const struct taut_frame *frame,
                          const unsigned char *payload)
{
    lua_State *L = c->listener->loop->L;

    taut_ref_push(L, c->listener->on_frame);
    taut_ref_push(L, c->self);
    lua_pushinteger(L, frame->type);
    lua_pushlstring(L, (const char *)payload, frame->length);
    taut_call(L, 3);
}

/* Hand one whole frame to Lua.  Returns true when there may be another. */
static bool take_frame(struct conn *c)
{
    struct evbuffer *in = bufferevent_get_input(c->bev);
    unsigned char head[TAUT_FRAME_HEAD];
    struct taut_frame frame;
    struct taut_error err = {""};

    if (evbuffer_copyout(in, head, sizeof(head)) < (ssize_t)sizeof(head))
        return false;
    if (taut_frame_decode(&frame, head, c->listener->max_frame, &err) != 0) {
        refuse(c->listener, err.text, c->peer);
        conn_end(c, err.text);
        return false;
    }
    size_t whole = sizeof(head) + frame.length;
    if (evbuffer_get_length(in) < whole)
        return false;
    event_add(c->timer, &c->listener->timeout);
    call_on_frame(c, &frame,
                  evbuffer_pullup(in, (ssize_t)whole) + sizeof(head));
    if (c->bev != NULL)
        evbuffer_drain(in, whole);
    return c->bev != NULL && !c->closing;
}

/* Count what waits in parts of frames, and refuse the connection that makes
 * it too much for all together. */
static void count_held(struct conn *c)
{
    struct listener *l = c->listener;
    size_t now = evbuffer_get_length(bufferevent_get_input(c->bev));
    char why[80];

    l->held += now - c->held;
    c->held = now;
    if (l->held <= l->max_held)
        return;
    snprintf(why, sizeof(why), "%zu bytes in unfinished frames, limit %zu",
             l->held, l->max_held);
    refuse(l, why, c->peer);
    conn_end(c, why);
}

static void on_readable(struct bufferevent *bev, void *arg)
{
    struct conn *c = arg;
    lua_State *L = c->listener->loop->L;

    (void)bev;
    taut_ref_push(L, c->self); /* keeps c through its callbacks */
    while (!c->closing && take_frame(c))
        continue;
    if (c->bev != NULL)
        count_held(c);
    lua_pop(L, 1);
}

static void on_written(struct bufferevent *bev, void *arg)
{
    struct conn *c = arg;

    (void)bev;
    if (c->closing)
        conn_end(c, "closed");
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
    struct conn *c = arg;
    bool part = evbuffer_get_length(bufferevent_get_input(bev)) > 0;

    if (what & BEV_EVENT_ERROR)
        conn_end(c, strerror(EVUTIL_SOCKET_ERROR()));
    else if (what & BEV_EVENT_EOF)
        conn_end(c, part ? "closed by peer inside a frame" : "closed by peer");
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
    struct conn *c = arg;

    (void)fd;
    (void)what;
    conn_end(c, c->closing ? "closed" : "no whole frame in time");
}

/* Push a new connection around 'fd', which it then owns.  Returns NULL, with
 * nothing pushed and 'fd' closed, when memory is short. */
static struct conn *conn_new(struct listener *l, evutil_socket_t fd)
{
    lua_State *L = l->loop->L;
    struct conn *c = lua_newuserdatauv(L, sizeof(*c), 0);

    *c = (struct conn){
        .listener = l, .self = LUA_NOREF, .listener_ref = LUA_NOREF};
    luaL_setmetatable(L, CONN_CLASS);
    c->bev = bufferevent_socket_new(l->loop->base, fd, BEV_OPT_CLOSE_ON_FREE);
    if (c->bev == NULL) {
        close(fd);
    } else {
        l->conns++;
        c->timer = event_new(l->loop->base, -1, 0, on_timer, c);
    }
    if (c->timer == NULL) {
        conn_release(L, c);
        lua_pop(L, 1);
        return NULL;
    }
    lua_pushvalue(L, -1);
    c->self = luaL_ref(L, LUA_REGISTRYINDEX);
    taut_ref_push(L, l->self);
    c->listener_ref = luaL_ref(L, LUA_REGISTRYINDEX);
    return c;
}

/* Take in a new connection, or refuse it. */
static void admit(struct listener *l, evutil_socket_t fd, const char *peer)
{
    char why[64];
    int one = 1;

    if (l->conns >= l->max_conns) {
        close(fd);
        snprintf(why, sizeof(why), "more than %lld connections",
                 (long long)l->max_conns);
        refuse(l, why, peer);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    struct conn *c = conn_new(l, fd);
    if (c == NULL) {
        refuse(l, "out of memory", peer);
        return;
    }
    snprintf(c->peer, sizeof(c->peer), "%s", peer);
    bufferevent_setcb(c->bev, on_readable, on_written, on_event, c);
    /* Never read further ahead than one frame may be long. */
    bufferevent_setwatermark(c->bev, EV_READ, TAUT_FRAME_HEAD,
                             l->max_frame + TAUT_FRAME_HEAD);
    event_add(c->timer, &l->timeout);
    bufferevent_enable(c->bev, EV_READ | EV_WRITE);
    lua_pop(l->loop->L, 1);
}

static void on_accept(struct evconnlistener *ev, evutil_socket_t fd,
                      struct sockaddr *sa, int length, void *arg)
{
    struct listener *l = arg;
    char peer[80];

    (void)ev;
    taut_port_peer(peer, sizeof(peer), sa, (socklen_t)length);
    taut_ref_push(l->loop->L, l->self); /* keeps l through its callbacks */
    admit(l, fd, peer);
    lua_pop(l->loop->L, 1);
}

static void on_accept_error(struct evconnlistener *ev, void *arg)
{
    struct listener *l = arg;
    lua_State *L = l->loop->L;
    struct timeval pause = taut_timeval(ACCEPT_PAUSE_MS);

    evconnlistener_disable(ev);
    event_add(l->resume, &pause);
    taut_ref_push(L, l->self);
    refuse(l, strerror(EVUTIL_SOCKET_ERROR()), "?");
    lua_pop(L, 1);
}

static void on_resume(evutil_socket_t fd, short what, void *arg)
{
    struct listener *l = arg;

    (void)fd;
    (void)what;
    if (l->ev != NULL)
        evconnlistener_enable(l->ev);
}

static int conn_send(lua_State *L)
{
    struct conn *c = luaL_checkudata(L, 1, CONN_CLASS);
    lua_Integer type = luaL_checkinteger(L, 2);
    unsigned char head[TAUT_FRAME_HEAD];
    size_t n;
    const char *payload = luaL_checklstring(L, 3, &n);

    luaL_argcheck(L, type >= TAUT_FRAME_HELLO && type <= TAUT_FRAME_RESULT, 2,
                  "no such frame type");
    if (c->bev == NULL || c->closing)
        return taut_fail(L, "closed");
    if (taut_frame_encode(head, (enum taut_frame_type)type, n) != 0)
        return taut_fail(L, "%zu bytes are more than a frame holds", n);
    if (bufferevent_write(c->bev, head, sizeof(head)) != 0 ||
        bufferevent_write(c->bev, payload, n) != 0)
        return taut_fail(L, "out of memory");
    lua_pushboolean(L, 1);
    return 1;
}

/* Ends later, from the loop: a callback that closes its own connection goes
 * on with a valid object, and on_close never runs inside another callback. */
static int conn_close(lua_State *L)
{
    struct conn *c = luaL_checkudata(L, 1, CONN_CLASS);

    if (c->bev == NULL || c->closing)
        return 0;
    c->closing = true;
    bufferevent_disable(c->bev, EV_READ);
    if (evbuffer_get_length(bufferevent_get_output(c->bev)) == 0)
        event_active(c->timer, EV_TIMEOUT, 0);
    return 0;
}

static int conn_peer(lua_State *L)
{
    struct conn *c = luaL_checkudata(L, 1, CONN_CLASS);

    lua_pushstring(L, c->peer);
    return 1;
}

static int listener_close(lua_State *L)
{
    struct listener *l = luaL_checkudata(L, 1, LISTENER_CLASS);

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
    struct listener *l = luaL_checkudata(L, 1, LISTENER_CLASS);

    listener_close(L);
    taut_ref_drop(L, &l->on_frame);
    taut_ref_drop(L, &l->on_close);
    taut_ref_drop(L, &l->on_refused);
    return 0;
}

/* The port it listens on; asked for with port 0, the system chooses. */
static int listener_port(lua_State *L)
{
    struct listener *l = luaL_checkudata(L, 1, LISTENER_CLASS);
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

static struct listener *listener_new(lua_State *L)
{
    struct taut_loop *loop = taut_loop_get(L);
    struct listener *l = lua_newuserdatauv(L, sizeof(*l), 0);

    *l = (struct listener){.loop = loop,
                           .self = LUA_NOREF,
                           .on_frame = LUA_NOREF,
                           .on_close = LUA_NOREF,
                           .on_refused = LUA_NOREF};
    luaL_setmetatable(L, LISTENER_CLASS);
    l->on_frame = taut_ref_field(L, 1, "on_frame", true);
    l->on_close = taut_ref_field(L, 1, "on_close", false);
    l->on_refused = taut_ref_field(L, 1, "on_refused", false);
    l->max_frame = (size_t)taut_opt_integer(L, 1, "max_frame", TAUT_FRAME_MAX,
                                            1, TAUT_FRAME_MAX);
    l->max_held = (size_t)taut_opt_integer(L, 1, "max_held", DEFAULT_MAX_HELD,
                                           1, (lua_Integer)1 << 40);
    l->max_conns = taut_opt_integer(L, 1, "max_conns", 1024, 1, 1 << 20);
    l->timeout =
        taut_timeval(taut_opt_integer(L, 1, "timeout_ms", 10000, 1, 3600000));
    return l;
}

int taut_loop_listen(lua_State *L)
{
    struct taut_error err = {""};

    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    struct listener *l = listener_new(L);
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
    static const luaL_Reg conn_methods[] = {
        {"close", conn_close},
        {"peer", conn_peer},
        {"send", conn_send},
        {NULL, NULL},
    };
    static const luaL_Reg listener_methods[] = {
        {"close", listener_close},
        {"port", listener_port},
        {NULL, NULL},
    };

    taut_class(L, CONN_CLASS, conn_methods, conn_gc);
    taut_class(L, LISTENER_CLASS, listener_methods, listener_gc);
}
