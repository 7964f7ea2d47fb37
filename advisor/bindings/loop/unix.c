/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.loop.serve: a UNIX socket for the command line: one request line,
 * one reply.
 *
 * Anybody on the machine may connect, so a user has so many clients at once,
 * some places are for administrators alone, and a request has to come whole
 * within 'request_ms'.  Nodes come first: who connects here is taken in when
 * nothing of theirs is due, or a few each 20 ms where something always is; and
 * an administrator's request is read at once then.
 *
 * A client is kept by the loop while its request comes in and while its
 * reply goes out; in between by Lua alone.  A client that Lua forgets is
 * closed by the collector. */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <event2/bufferevent.h>

#include "advisor/bindings/loop/loop.h"
#include "advisor/lib/os/unix_port.h"

#define SERVER_CLASS "taut.loop.server"
#define CLIENT_CLASS "taut.loop.client"
#define CLIENTS_MAX 256
#define KEPT 32    /* of these, for administrators */
#define OF_USER 32 /* who is none */
#define REFUSED_MOST 16 /* in a row */
#define TAKEN_MOST 4
#define REST_MS 20 /* until the next ones, while nodes call */
#define REQUEST_MS 2000
#define REPLY_MS 10000

struct server {
    struct taut_loop *loop;
    struct event *ev;   /* somebody connects; NULL once closed */
    struct event *idle; /* nothing else is due, and 'ev' waits for that */
    struct event *rest; /* … or for so long */
    int fd;           /* that listens */
    int self;
    int on_line, on_refused, is_admin;
    size_t max_line;
    struct timeval request;
    LIST_HEAD(, client) clients;
    struct taut_unix_port port;
};

struct client {
    LIST_ENTRY(client) link; /* in server->clients, until closed */
    struct server *server;
    struct bufferevent *bev; /* NULL once closed */
    struct event *late;      /* until the request is there */
    int self;
    int server_ref; /* keeps 'server' */
    size_t scanned;
    bool replied, admin;
    uid_t uid;
    gid_t gid;
};

static void client_release(lua_State *L, struct client *c)
{
    if (c->bev != NULL) {
        bufferevent_free(c->bev);
        LIST_REMOVE(c, link);
    }
    c->bev = NULL;
    if (c->late != NULL)
        event_free(c->late);
    c->late = NULL;
    taut_ref_drop(L, &c->self);
    taut_ref_drop(L, &c->server_ref);
}

static int client_gc(lua_State *L)
{
    client_release(L, luaL_checkudata(L, 1, CLIENT_CLASS));
    return 0;
}

static int client_reply(lua_State *L)
{
    struct client *c = luaL_checkudata(L, 1, CLIENT_CLASS);
    size_t n;
    const char *text = luaL_checklstring(L, 2, &n);

    if (c->bev == NULL || c->replied)
        return taut_fail(L, "closed");
    if (bufferevent_write(c->bev, text, n) != 0 ||
        bufferevent_write(c->bev, "\n", 1) != 0)
        return taut_fail(L, "out of memory");
    c->replied = true;
    struct timeval timeout = taut_timeval(REPLY_MS);
    bufferevent_set_timeouts(c->bev, NULL, &timeout);
    bufferevent_enable(c->bev, EV_WRITE);
    if (c->self == LUA_NOREF) {
        lua_pushvalue(L, 1);
        c->self = luaL_ref(L, LUA_REGISTRYINDEX);
    }
    lua_pushboolean(L, 1);
    return 1;
}

static void call_on_line(struct client *c, const char *line, size_t n)
{
    lua_State *L = c->server->loop->L;

    bufferevent_disable(c->bev, EV_READ);
    event_del(c->late);
    taut_ref_push(L, c->server->on_line);
    taut_ref_push(L, c->self);
    lua_pushlstring(L, line, n);
    lua_pushinteger(L, c->uid);
    lua_pushinteger(L, c->gid);
    taut_ref_drop(L, &c->self); /* from here on it is Lua's */
    taut_call(L, 4);
}

static void on_readable(struct bufferevent *bev, void *arg)
{
    struct client *c = arg;
    lua_State *L = c->server->loop->L;
    size_t n;

    taut_ref_push(L, c->self); /* keeps c through its callback */
    char *line = taut_line_take(bufferevent_get_input(bev), &c->scanned,
                                c->server->max_line, &n);
    if (line != NULL)
        call_on_line(c, line, n);
    else if (errno != 0)
        client_release(L, c);
    free(line);
    lua_pop(L, 1);
}

static void on_written(struct bufferevent *bev, void *arg)
{
    struct client *c = arg;

    (void)bev;
    if (c->replied)
        client_release(c->server->loop->L, c);
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
    struct client *c = arg;

    (void)bev;
    (void)what;
    client_release(c->server->loop->L, c);
}

static void on_late(evutil_socket_t fd, short what, void *arg)
{
    struct client *c = arg;

    (void)fd;
    (void)what;
    client_release(c->server->loop->L, c);
}

/* Lua's answer about a uid; if it fails, the user is not an administrator. */
static bool is_admin(struct server *s, uid_t uid)
{
    lua_State *L = s->loop->L;
    bool yes = false;

    if (!taut_ref_push(L, s->is_admin))
        return uid == 0;
    lua_pushinteger(L, uid);
    if (lua_pcall(L, 1, 1, 0) == LUA_OK)
        yes = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return yes;
}

/* Somebody finds no place: on_refused(uid, why). */
static void tell_refused(struct server *s, uid_t uid)
{
    lua_State *L = s->loop->L;

    if (taut_ref_push(L, s->on_refused)) {
        lua_pushinteger(L, uid);
        lua_pushstring(L, "too many questions of this user, or of all users, "
                          "at once");
        taut_call(L, 2);
    }
}

/* Is there a place for this client? */
static bool has_place(struct server *s, struct client *c)
{
    const struct client *other;
    int all = 0, of_users = 0, of_user = 0;

    c->admin = is_admin(s, c->uid);
    LIST_FOREACH(other, &s->clients, link)
    {
        all++;
        of_users += !other->admin;
        of_user += !other->admin && other->uid == c->uid;
    }
    if (c->admin)
        return all < CLIENTS_MAX;
    return of_users < CLIENTS_MAX - KEPT && of_user < OF_USER;
}

static int set_credentials(struct client *c, evutil_socket_t fd)
{
    struct ucred cred;
    socklen_t length = sizeof(cred);

    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &length) != 0)
        return -1;
    c->uid = cred.uid;
    c->gid = cred.gid;
    return 0;
}

/* Returns false where there is no place for it. */
static bool client_new(struct server *s, evutil_socket_t fd)
{
    lua_State *L = s->loop->L;
    struct client *c = lua_newuserdatauv(L, sizeof(*c), 0);

    *c = (struct client){
        .server = s, .self = LUA_NOREF, .server_ref = LUA_NOREF};
    luaL_setmetatable(L, CLIENT_CLASS);
    bool is_known = set_credentials(c, fd) == 0;
    if (is_known && has_place(s, c))
        c->late = event_new(s->loop->base, -1, 0, on_late, c);
    else if (is_known)
        tell_refused(s, c->uid);
    if (c->late != NULL)
        c->bev =
            bufferevent_socket_new(s->loop->base, fd, BEV_OPT_CLOSE_ON_FREE);
    if (c->bev == NULL) {
        close(fd); /* the client says "no reply" */
        client_release(L, c);
        lua_pop(L, 1);
        return false;
    }
    LIST_INSERT_HEAD(&s->clients, c, link);
    taut_ref_push(L, s->self);
    c->server_ref = luaL_ref(L, LUA_REGISTRYINDEX);
    c->self = luaL_ref(L, LUA_REGISTRYINDEX);
    if (!c->admin)
        bufferevent_priority_set(c->bev, TAUT_PRIORITY_CALLERS);
    bufferevent_setcb(c->bev, on_readable, on_written, on_event, c);
    bufferevent_setwatermark(c->bev, EV_READ, 0, s->max_line + 1);
    event_add(c->late, &s->request);
    bufferevent_enable(c->bev, EV_READ);
    return true;
}

static void on_rested(evutil_socket_t fd, short what, void *arg)
{
    struct server *s = arg;

    (void)fd;
    (void)what;
    event_del(s->idle);
    event_del(s->rest);
    event_add(s->ev, NULL);
}

/* The next ones are taken in when nothing of a node's is due, or a little
 * later. */
static void rest(struct server *s)
{
    struct timeval after = taut_timeval(REST_MS);

    event_del(s->ev);
    event_add(s->rest, &after);
    event_active(s->idle, EV_TIMEOUT, 0);
}

/* A few at a time: those who call again and again take turns with nodes.
 * Nobody waits behind those for whom there is no place. */
static void on_accept(evutil_socket_t fd, short what, void *arg)
{
    struct server *s = arg;
    int taken = 0;

    (void)what;
    taut_ref_push(s->loop->L, s->self); /* keeps s through its callbacks */
    for (int n = 0; n < REFUSED_MOST && s->ev != NULL && taken < TAKEN_MOST;
         n++) {
        int client = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (client < 0)
            break;
        taken += client_new(s, client);
    }
    if (s->ev != NULL)
        rest(s);
    lua_pop(s->loop->L, 1);
}

static void free_events(struct server *s)
{
    struct event **all[] = {&s->ev, &s->idle, &s->rest};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (*all[i] != NULL)
            event_free(*all[i]);
        *all[i] = NULL;
    }
}

static int server_close(lua_State *L)
{
    struct server *s = luaL_checkudata(L, 1, SERVER_CLASS);

    if (s->ev != NULL) {
        taut_unix_port_remove(&s->port);
        free_events(s);
        close(s->fd);
    }
    taut_ref_drop(L, &s->self);
    return 0;
}

static int server_gc(lua_State *L)
{
    struct server *s = luaL_checkudata(L, 1, SERVER_CLASS);

    server_close(L);
    taut_ref_drop(L, &s->on_line);
    taut_ref_drop(L, &s->on_refused);
    taut_ref_drop(L, &s->is_admin);
    return 0;
}

static struct server *server_new(lua_State *L)
{
    struct taut_loop *loop = taut_loop_get(L);
    struct server *s = lua_newuserdatauv(L, sizeof(*s), 0);

    *s = (struct server){.loop = loop,
                         .self = LUA_NOREF,
                         .on_line = LUA_NOREF,
                         .on_refused = LUA_NOREF,
                         .is_admin = LUA_NOREF};
    LIST_INIT(&s->clients);
    luaL_setmetatable(L, SERVER_CLASS);
    s->on_line = taut_ref_field(L, 1, "on_line", true);
    s->on_refused = taut_ref_field(L, 1, "on_refused", false);
    s->is_admin = taut_ref_field(L, 1, "is_admin", false);
    s->request = taut_timeval(
        taut_opt_integer(L, 1, "request_ms", REQUEST_MS, 1, 3600000));
    s->max_line =
        (size_t)taut_opt_integer(L, 1, "max_line", 1 << 16, 1, 1 << 28);
    return s;
}

static int server_watch(struct server *s)
{
    struct event_base *base = s->loop->base;

    s->ev = event_new(base, s->fd, EV_READ | EV_PERSIST, on_accept, s);
    s->idle = event_new(base, -1, 0, on_rested, s);
    s->rest = event_new(base, -1, 0, on_rested, s);
    if (s->ev != NULL && s->idle != NULL && s->rest != NULL &&
        event_priority_set(s->idle, TAUT_PRIORITY_CALLERS) == 0 &&
        event_add(s->ev, NULL) == 0)
        return 0;
    free_events(s);
    return -1;
}

int taut_loop_serve(lua_State *L)
{
    struct taut_error err = {""};

    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    struct server *s = server_new(L);
    const char *path = taut_opt_string(L, 1, "path", NULL);
    if (path == NULL)
        return luaL_error(L, "field 'path': string expected");
    mode_t mode = (mode_t)taut_opt_integer(L, 1, "mode", 0666, 0, 0777);
    int fd = taut_unix_port_open(&s->port, path, mode, &err);
    if (fd < 0)
        return taut_fail(L, "%s", err.text);
    s->fd = fd;
    if (server_watch(s) != 0) {
        taut_unix_port_remove(&s->port);
        close(fd);
        return taut_fail(L, "%s: out of memory", path);
    }
    lua_pushvalue(L, 2);
    s->self = luaL_ref(L, LUA_REGISTRYINDEX);
    return 1;
}

void taut_loop_unix_classes(lua_State *L)
{
    static const luaL_Reg client_methods[] = {
        {"reply", client_reply},
        {NULL, NULL},
    };
    static const luaL_Reg server_methods[] = {
        {"close", server_close},
        {NULL, NULL},
    };

    taut_class(L, CLIENT_CLASS, client_methods, client_gc);
    taut_class(L, SERVER_CLASS, server_methods, server_gc);
}
