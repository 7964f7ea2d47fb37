/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A connection of taut.loop.listen: frames in, frames out.
 *
 * Any host that reaches the port can connect, so everything is bounded: the
 * number of connections, the size of a frame (read only as far as allowed), the
 * memory of all unfinished frames together, and the time for a whole frame.
 * Until Lua says that a peer is known, its connection gives way to newer ones
 * (newcomers.h). */
#include <config.h>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <event2/bufferevent.h>

#include "advisor/bindings/loop/frames.h"
#include "advisor/lib/os/blocking.h"
#include "advisor/lib/os/tcp_port.h"
#include "wire/frame.h"

#define CONN_CLASS "taut.loop.conn"
#define PEER_TEXT 80 /* "address:port" */

struct conn {
    struct taut_listener *listener;
    struct bufferevent *bev; /* NULL once ended */
    struct event *timer;
    int self;
    int listener_ref;       /* keeps 'listener' */
    struct timeval timeout; /* for the next whole frame */
    bool closing;           /* by Lua, once all is sent */
    size_t held;            /* its part of listener->held */
    struct taut_newcomer newcomer;
    int64_t since_ms; /* it was accepted */
    char peer[PEER_TEXT];
};

/* Free what the connection holds; harmless when repeated. */
static void conn_release(lua_State *L, struct conn *c)
{
    if (c->bev != NULL) {
        bufferevent_free(c->bev);
        c->listener->conns--;
        c->listener->held -= c->held;
        taut_newcomers_drop(&c->listener->newcomers, &c->newcomer);
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
    struct taut_listener *l = c->listener;
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

void taut_listener_refuse(struct taut_listener *l, const char *why,
                          const char *peer, long count)
{
    lua_State *L = l->loop->L;

    if (taut_ref_push(L, l->on_refused)) {
        lua_pushstring(L, why);
        lua_pushstring(L, peer);
        lua_pushinteger(L, count);
        taut_call(L, 3);
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
        taut_listener_refuse(c->listener, err.text, c->peer, 1);
        conn_end(c, err.text);
        return false;
    }
    size_t whole = sizeof(head) + frame.length;
    if (evbuffer_get_length(in) < whole)
        return false;
    taut_newcomers_spoke(&c->listener->newcomers, &c->newcomer);
    event_add(c->timer, &c->timeout);
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
    struct taut_listener *l = c->listener;
    size_t now = evbuffer_get_length(bufferevent_get_input(c->bev));
    char why[80];

    l->held += now - c->held;
    c->held = now;
    if (l->held <= l->max_held)
        return;
    snprintf(why, sizeof(why), "%zu bytes in unfinished frames, limit %zu",
             l->held, l->max_held);
    taut_listener_refuse(l, why, c->peer, 1);
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
    lua_State *L = c->listener->loop->L;

    (void)bev;
    if (c->closing)
        conn_end(c, "closed");
    else if (taut_ref_push(L, c->listener->on_sent)) {
        taut_ref_push(L, c->self); /* keeps c through its callback */
        taut_call(L, 1);
    }
}

/* Whoever hangs up in the middle of his first frame has cost what others do
 * who are refused. */
static void on_event(struct bufferevent *bev, short what, void *arg)
{
    struct conn *c = arg;
    bool part = evbuffer_get_length(bufferevent_get_input(bev)) > 0;

    if (part && c->newcomer.from != NULL && !c->closing)
        taut_listener_refuse(c->listener, "hung up inside a frame", c->peer, 1);
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
    if (!c->closing && c->newcomer.from != NULL)
        taut_listener_refuse(c->listener, "no whole frame in time", c->peer, 1);
    conn_end(c, c->closing ? "closed" : "no whole frame in time");
}

/* Push a new connection around 'fd', which it then owns.  Returns NULL, with
 * nothing pushed and 'fd' closed, when memory is short. */
static struct conn *conn_new(struct taut_listener *l, evutil_socket_t fd)
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

/* Somebody new comes: end a connection that has to go for it. */
static void make_room(struct taut_listener *l, const char *peer)
{
    struct taut_newcomer *s = taut_newcomers_to_go(
        &l->newcomers, peer, l->max_unknown, l->conns >= l->max_conns);

    if (s == NULL)
        return;
    struct conn *c =
        (struct conn *)((char *)s - offsetof(struct conn, newcomer));
    taut_listener_refuse(l, "gave way to a newer connection", c->peer, 1);
    conn_end(c, "gave way to a newer connection");
}

void taut_listener_admit(struct taut_listener *l,
                         const struct taut_caller *caller)
{
    int fd = caller->fd, one = 1;
    char peer[PEER_TEXT], why[64];

    taut_port_peer(peer, sizeof(peer), (const struct sockaddr *)&caller->sa,
                   caller->length);
    make_room(l, peer);

    if (l->conns >= l->max_conns) {
        close(fd);
        snprintf(why, sizeof(why), "more than %lld connections",
                 (long long)l->max_conns);
        taut_listener_refuse(l, why, peer, 1);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    struct conn *c = conn_new(l, fd);
    if (c == NULL) {
        taut_listener_refuse(l, "out of memory", peer, 1);
        return;
    }
    if (taut_newcomers_add(&l->newcomers, &c->newcomer, peer) != 0) {
        taut_listener_refuse(l, "out of memory", peer, 1);
        conn_release(l->loop->L, c);
        lua_pop(l->loop->L, 1);
        return;
    }
    snprintf(c->peer, sizeof(c->peer), "%s", peer);
    c->since_ms = caller->since_ms;
    bufferevent_setcb(c->bev, on_readable, on_written, on_event, c);
    /* Never read further ahead than one frame may be long. */
    bufferevent_setwatermark(c->bev, EV_READ, TAUT_FRAME_HEAD,
                             l->max_frame + TAUT_FRAME_HEAD);
    c->timeout = l->timeout;
    event_add(c->timer, &l->hello);
    bufferevent_enable(c->bev, EV_READ); /* writing is, where there is what */
    lua_pop(l->loop->L, 1);
}

/* Give the system what it takes of a frame without waiting.  Returns bytes. */
static size_t send_now(struct conn *c, void *head, const char *payload,
                       size_t n)
{
    struct iovec parts[2] = {{head, TAUT_FRAME_HEAD}, {(char *)payload, n}};
    struct msghdr msg = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t sent;

    if (evbuffer_get_length(bufferevent_get_output(c->bev)) > 0)
        return 0;
    sent =
        sendmsg(bufferevent_getfd(c->bev), &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
    return sent > 0 ? (size_t)sent : 0; /* errors show when it is tried again */
}

/* What the system did not take, from byte 'done' of the frame on. */
static int send_later(struct conn *c, const unsigned char *head,
                      const char *payload, size_t n, size_t done)
{
    if (done < TAUT_FRAME_HEAD &&
        bufferevent_write(c->bev, head + done, TAUT_FRAME_HEAD - done) != 0)
        return -1;
    done = done > TAUT_FRAME_HEAD ? done - TAUT_FRAME_HEAD : 0;
    return done < n ? bufferevent_write(c->bev, payload + done, n - done) : 0;
}

/* send(type, payload[, now]): with 'now' the frame leaves before anything else
 * is done, where the socket has room, and on_sent does not tell of it. */
static int conn_send(lua_State *L)
{
    struct conn *c = luaL_checkudata(L, 1, CONN_CLASS);
    lua_Integer type = luaL_checkinteger(L, 2);
    unsigned char head[TAUT_FRAME_HEAD];
    size_t n, done = 0;
    const char *payload = luaL_checklstring(L, 3, &n);

    luaL_argcheck(L, type >= TAUT_FRAME_HELLO && type <= TAUT_FRAME_LAST, 2,
                  "no such frame type");
    if (c->bev == NULL || c->closing)
        return taut_fail(L, "closed");
    if (taut_frame_encode(head, (enum taut_frame_type)type, n) != 0)
        return taut_fail(L, "%zu bytes are more than a frame holds", n);
    if (lua_toboolean(L, 4))
        done = send_now(c, head, payload, n);
    if (send_later(c, head, payload, n, done) != 0)
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
    event_add(c->timer, &c->listener->timeout);
    bufferevent_disable(c->bev, EV_READ);
    if (evbuffer_get_length(bufferevent_get_output(c->bev)) == 0)
        event_active(c->timer, EV_TIMEOUT, 0);
    return 0;
}

/* A peer that has said who it is may be given more time between frames. */
static int conn_timeout(lua_State *L)
{
    struct conn *c = luaL_checkudata(L, 1, CONN_CLASS);
    lua_Integer ms = luaL_checkinteger(L, 2);

    luaL_argcheck(L, ms >= 1 && ms <= 86400000, 2, "not within 1 to 86400000");
    if (c->bev == NULL || c->closing)
        return 0;
    c->timeout = taut_timeval(ms);
    event_add(c->timer, &c->timeout);
    return 0;
}

/* The peer is known: from now on no other connection takes its place. */
static int conn_known(lua_State *L)
{
    struct conn *c = luaL_checkudata(L, 1, CONN_CLASS);

    taut_newcomers_drop(&c->listener->newcomers, &c->newcomer);
    return 0;
}

/* Seconds since it was accepted. */
static int conn_waited(lua_State *L)
{
    struct conn *c = luaL_checkudata(L, 1, CONN_CLASS);

    lua_pushnumber(L, (double)(taut_blocking_now_ms() - c->since_ms) / 1e3);
    return 1;
}

static int conn_peer(lua_State *L)
{
    struct conn *c = luaL_checkudata(L, 1, CONN_CLASS);

    lua_pushstring(L, c->peer);
    return 1;
}

void taut_conn_class(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"close", conn_close},
        {"known", conn_known},
        {"peer", conn_peer},
        {"send", conn_send},
        {"timeout", conn_timeout},
        {"waited", conn_waited},
        {NULL, NULL},
    };

    taut_class(L, CONN_CLASS, methods, conn_gc);
}
