/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.loop.http: answers to GET, for a monitoring system or a browser, by
 * libevent's HTTP server, on a TCP port or a UNIX socket.
 *
 * Clients are not trusted.  A connection carries one request and ends after
 * 'timeout_ms' whatever it does.  If there are 'max_conns', one without a
 * request gives way to the next: the oldest of the user (on a UNIX socket) or
 * address that has most.  While all of them have requests, others wait in the
 * system's queue.  Headers are at most HEADERS_MAX, a body is refused, and what
 * a client sends meanwhile waits in its socket.
 *
 * evhttp (2.1) has no callback for a connection that comes or goes before there
 * is a request.  So each one's bufferevent is made here and kept with our own
 * reference. evhttp removes its callbacks when it drops one.  A timer, which
 * runs only while there are connections, looks for that and for those whose
 * time is over. */
#include <config.h>

#include <errno.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include <event2/bufferevent.h>
#include <event2/http.h>
#include <event2/listener.h>

#include "advisor/bindings/loop/loop.h"
#include "advisor/lib/os/tcp_port.h"
#include "advisor/lib/os/unix_port.h"

#define HTTP_CLASS "taut.loop.http"
#define HEADERS_MAX 8192
#define READ_MAX 16384 /* bytes of a client that are held at once */
#define BACKLOG 64
#define SWEEP_MS 20

/* One connection. */
struct slot {
    struct slot *next;
    struct bufferevent *conn; /* a reference of ours */
    struct timespec since;
    bool has_asked; /* a request came */
    bool is_ended;  /* by us; evhttp has not given it up yet */
};

struct taut_http {
    struct taut_loop *loop;
    struct evhttp *server;           /* NULL once closed */
    struct evconnlistener *listener; /* the server's */
    struct event *sweep;
    struct slot *slots;
    struct taut_unix_port unix_port;
    int self, on_get;
    lua_Integer max_conns, conns, timeout_ms;
    lua_Integer ended; /* of conns: those that are on their way out */
};

static int64_t age_ms(const struct slot *s)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)(now.tv_sec - s->since.tv_sec) * 1000 +
           (now.tv_nsec - s->since.tv_nsec) / 1000000;
}

static bool is_given_up(const struct slot *s)
{
    bufferevent_event_cb on_event;

    bufferevent_getcb(s->conn, NULL, NULL, &on_event, NULL);
    return on_event == NULL;
}

static void end_slot(struct taut_http *h, struct slot *s)
{
    shutdown(bufferevent_getfd(s->conn), SHUT_RDWR);
    h->ended += !s->is_ended;
    s->is_ended = true;
}

/* Whose it is: a number for the user of a UNIX socket's other end, or for an
 * address.  Two owners may have one number, and share places then. */
static uint64_t owner_of(const struct slot *s)
{
    int fd = bufferevent_getfd(s->conn);
    struct sockaddr_storage ss = {0};
    const struct sockaddr *sa = (const struct sockaddr *)&ss;
    socklen_t length = sizeof(ss);
    uint64_t half[2];
    uid_t uid;

    if (taut_unix_port_peer(fd, &uid) == 0)
        return uid;
    if (getpeername(fd, (struct sockaddr *)&ss, &length) != 0)
        return UINT64_MAX;
    if (sa->sa_family == AF_INET)
        return ((const struct sockaddr_in *)&ss)->sin_addr.s_addr;
    memcpy(half, &((const struct sockaddr_in6 *)&ss)->sin6_addr, sizeof(half));
    return half[0] ^ half[1];
}

static int count_of(const struct taut_http *h, uint64_t owner)
{
    int n = 0;

    for (const struct slot *s = h->slots; s != NULL; s = s->next)
        n += !s->is_ended && owner_of(s) == owner;
    return n;
}

/* Somebody comes, and there are as many as there may be: one that has asked
 * nothing yet goes.  Returns false where all have. */
static bool make_room(struct taut_http *h)
{
    struct slot *goes = NULL;
    int most = 0;

    /* the newest are the first: of equal ones the last is the oldest */
    for (struct slot *s = h->slots; s != NULL; s = s->next) {
        int n = s->has_asked || s->is_ended ? 0 : count_of(h, owner_of(s));

        if (n > 0 && n >= most) {
            goes = s;
            most = n;
        }
    }
    if (goes != NULL)
        end_slot(h, goes);
    return goes != NULL;
}

static void slot_free(struct slot *s)
{
    bufferevent_decref(s->conn);
    free(s);
}

/* Let connections go that evhttp has given up, and end those whose time is
 * over: it gives them up then. */
static void sweep_slots(struct taut_http *h)
{
    struct slot **at = &h->slots;

    while (*at != NULL) {
        struct slot *s = *at;
        if (!is_given_up(s)) {
            if (age_ms(s) > h->timeout_ms)
                end_slot(h, s);
            at = &s->next;
            continue;
        }
        *at = s->next;
        h->conns--;
        h->ended -= s->is_ended;
        slot_free(s);
    }
}

static void arm_sweep(struct taut_http *h)
{
    struct timeval after = taut_timeval(SWEEP_MS);

    if (!event_pending(h->sweep, EV_TIMEOUT, NULL))
        event_add(h->sweep, &after);
}

static void on_sweep(evutil_socket_t fd, short what, void *arg)
{
    struct taut_http *h = arg;

    (void)fd;
    (void)what;
    sweep_slots(h);
    if (h->conns - h->ended < h->max_conns && h->conns < 2 * h->max_conns)
        evconnlistener_enable(h->listener);
    if (h->slots != NULL)
        arm_sweep(h);
}

/* What evhttp is to read a new connection by.  Without memory it makes one of
 * its own, which has its own timeout. */
static struct bufferevent *new_connection(struct event_base *base, void *arg)
{
    struct taut_http *h = arg;
    struct slot *s = calloc(1, sizeof(*s));
    struct bufferevent *conn =
        bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);

    if (s == NULL || conn == NULL) {
        free(s);
        return conn;
    }
    clock_gettime(CLOCK_MONOTONIC, &s->since);
    bufferevent_priority_set(conn, TAUT_PRIORITY_LAST);
    bufferevent_setwatermark(conn, EV_READ, 0, READ_MAX);
    bufferevent_incref(conn);
    s->conn = conn;
    s->next = h->slots;
    h->slots = s;
    h->conns++;
    if ((h->conns - h->ended > h->max_conns && !make_room(h)) ||
        h->conns >= 2 * h->max_conns)
        evconnlistener_disable(h->listener);
    arm_sweep(h);
    return conn;
}

/* A field "name" with an end of a connection as "1.2.3.4:567"; none where it
 * is not an address. */
static void set_address(lua_State *L, const char *name, int fd,
                        int (*get)(int, struct sockaddr *, socklen_t *))
{
    struct sockaddr_storage ss;
    struct sockaddr *sa = (struct sockaddr *)&ss;
    socklen_t length = sizeof(ss);
    char text[96];

    if (get(fd, sa, &length) != 0 || sa->sa_family == AF_UNIX)
        return;
    taut_port_peer(text, sizeof(text), sa, length);
    lua_pushstring(L, text);
    lua_setfield(L, -2, name);
}

static int get_peer(int fd, struct sockaddr *sa, socklen_t *length)
{
    return getpeername(fd, sa, length);
}

static int get_own(int fd, struct sockaddr *sa, socklen_t *length)
{
    return getsockname(fd, sa, length);
}

/* Who asks: { host = the header of that name, uid = of a UNIX socket's other
 * end, peer, own = the addresses of a TCP connection }. */
static void push_asker(lua_State *L, struct evhttp_request *request)
{
    struct evhttp_connection *conn = evhttp_request_get_connection(request);
    int fd = bufferevent_getfd(evhttp_connection_get_bufferevent(conn));
    const char *host =
        evhttp_find_header(evhttp_request_get_input_headers(request), "Host");
    uid_t uid;

    lua_createtable(L, 0, 4);
    lua_pushstring(L, host);
    lua_setfield(L, -2, "host");
    if (taut_unix_port_peer(fd, &uid) == 0) {
        lua_pushinteger(L, uid);
        lua_setfield(L, -2, "uid");
    }
    set_address(L, "peer", fd, get_peer);
    set_address(L, "own", fd, get_own);
}

/* on_get(path, asker) → status, content type, body, headers; the four are
 * pushed.  Returns false when it went wrong, with nothing pushed. */
static bool ask_lua(struct taut_http *h, const char *path,
                    struct evhttp_request *request)
{
    lua_State *L = h->loop->L;
    int base = lua_gettop(L);

    lua_pushcfunction(L, taut_traceback);
    if (!taut_ref_push(L, h->on_get)) {
        lua_settop(L, base);
        return false;
    }
    lua_pushstring(L, path);
    push_asker(L, request);
    if (taut_turn_call(L, 2, 4, base + 1) == LUA_OK && lua_isinteger(L, -4) &&
        lua_isstring(L, -3) && lua_isstring(L, -2)) {
        lua_remove(L, base + 1);
        return true;
    }
    taut_host_log(L, LOG_ERR, "error in an HTTP callback: %s",
                  luaL_tolstring(L, -1, NULL));
    lua_settop(L, base);
    return false;
}

/* Headers of the table at the top, name → value, both text. */
static void add_headers(lua_State *L, struct evkeyvalq *headers)
{
    if (!lua_istable(L, -1))
        return;
    lua_pushnil(L);
    while (lua_next(L, -2) != 0) {
        if (lua_type(L, -2) == LUA_TSTRING && lua_type(L, -1) == LUA_TSTRING)
            evhttp_add_header(headers, lua_tostring(L, -2),
                              lua_tostring(L, -1));
        lua_pop(L, 1);
    }
}

static void send_reply(struct evhttp_request *request, int status,
                       const char *type, const char *body, size_t n)
{
    struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
    struct evbuffer *out = evhttp_request_get_output_buffer(request);

    evhttp_add_header(headers, "Content-Type", type);
    evhttp_add_header(headers, "Connection", "close");
    if (evhttp_request_get_command(request) != EVHTTP_REQ_HEAD)
        evbuffer_add(out, body, n);
    evhttp_send_reply(request, status, NULL, NULL);
}

/* It has asked, and keeps its place until it is answered. */
static void note_asked(struct taut_http *h, struct evhttp_request *request)
{
    const struct bufferevent *conn = evhttp_connection_get_bufferevent(
        evhttp_request_get_connection(request));

    for (struct slot *s = h->slots; s != NULL; s = s->next)
        s->has_asked = s->has_asked || s->conn == conn;
}

static void on_request(struct evhttp_request *request, void *arg)
{
    struct taut_http *h = arg;
    lua_State *L = h->loop->L;
    const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
    const char *path = uri != NULL ? evhttp_uri_get_path(uri) : NULL;
    size_t n;

    note_asked(h, request);
    taut_ref_push(L, h->self); /* keeps h through its callback */
    if (ask_lua(h, path != NULL ? path : "", request)) {
        const char *body = lua_tolstring(L, -2, &n);
        add_headers(L, evhttp_request_get_output_headers(request));
        send_reply(request, (int)lua_tointeger(L, -4), lua_tostring(L, -3),
                   body, n);
        lua_pop(L, 4);
    } else {
        static const char text[] = "internal error\n";
        send_reply(request, HTTP_INTERNAL, "text/plain", text,
                   sizeof(text) - 1);
    }
    lua_pop(L, 1);
}

static int http_close(lua_State *L)
{
    struct taut_http *h = luaL_checkudata(L, 1, HTTP_CLASS);

    h->listener = NULL;
    taut_unix_port_remove(&h->unix_port);
    if (h->server != NULL)
        evhttp_free(h->server);
    h->server = NULL;
    while (h->slots != NULL) {
        struct slot *s = h->slots;
        h->slots = s->next;
        slot_free(s);
    }
    h->conns = 0;
    if (h->sweep != NULL)
        event_free(h->sweep);
    h->sweep = NULL;
    taut_ref_drop(L, &h->on_get);
    taut_ref_drop(L, &h->self);
    return 0;
}

static int http_port(lua_State *L)
{
    struct taut_http *h = luaL_checkudata(L, 1, HTTP_CLASS);
    struct sockaddr_storage ss;
    socklen_t length = sizeof(ss);

    if (h->listener == NULL)
        return taut_fail(L, "closed");
    if (getsockname(evconnlistener_get_fd(h->listener), (struct sockaddr *)&ss,
                    &length) != 0)
        return taut_fail_errno(L, "http");
    lua_pushinteger(L, ss.ss_family == AF_INET6
                           ? ntohs(((struct sockaddr_in6 *)&ss)->sin6_port)
                           : ntohs(((struct sockaddr_in *)&ss)->sin_port));
    return 1;
}

/* How many connections there are, but for those that are on their way out. */
static int http_conns(lua_State *L)
{
    struct taut_http *h = luaL_checkudata(L, 1, HTTP_CLASS);

    lua_pushinteger(L, h->conns - h->ended);
    return 1;
}

static struct taut_http *http_new(lua_State *L)
{
    struct taut_loop *loop = taut_loop_get(L);
    struct taut_http *h = lua_newuserdatauv(L, sizeof(*h), 0);

    *h = (struct taut_http){
        .loop = loop, .self = LUA_NOREF, .on_get = LUA_NOREF};
    luaL_setmetatable(L, HTTP_CLASS);
    h->on_get = taut_ref_field(L, 1, "on_get", true);
    h->max_conns = taut_opt_integer(L, 1, "max_conns", 16, 1, 1024);
    h->timeout_ms = taut_opt_integer(L, 1, "timeout_ms", 5000, 1, 3600000);
    return h;
}

/* Returns 0, or -1 with errno; 'fd' is owned from here on. */
static int start_server(struct taut_http *h, int fd)
{
    struct event_base *base = h->loop->base;
    struct timeval timeout = taut_timeval(h->timeout_ms);

    h->server = evhttp_new(base);
    h->sweep = event_new(base, -1, 0, on_sweep, h);
    h->listener = evconnlistener_new(
        base, NULL, NULL, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC,
        BACKLOG, fd);
    if (h->listener == NULL) {
        int saved = errno;
        close(fd);
        errno = saved;
        return -1;
    }
    if (h->server == NULL || h->sweep == NULL ||
        evhttp_bind_listener(h->server, h->listener) == NULL) {
        evconnlistener_free(h->listener);
        h->listener = NULL;
        errno = ENOMEM;
        return -1;
    }
    evhttp_set_allowed_methods(h->server, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
    evhttp_set_max_headers_size(h->server, HEADERS_MAX);
    evhttp_set_max_body_size(h->server, 0);
    evhttp_set_timeout_tv(h->server, &timeout);
    evhttp_set_bevcb(h->server, new_connection, h);
    evhttp_set_gencb(h->server, on_request, h);
    return 0;
}

/* The descriptor of the UNIX socket 'path' or of the TCP port that 'options'
 * name; -1 with 'err'. */
static int open_port(lua_State *L, struct taut_http *h, struct taut_error *err)
{
    const char *path = taut_opt_string(L, 1, "path", NULL);
    const char *host = taut_opt_string(L, 1, "host", "127.0.0.1");
    int port = (int)taut_opt_integer(L, 1, "port", 0, 0, 65535);
    mode_t mode = (mode_t)taut_opt_integer(L, 1, "mode", 0600, 0, 0777);

    return path != NULL ? taut_unix_port_open(&h->unix_port, path, mode, err)
                        : taut_port_open(host, port, err);
}

/* http{ path, mode | host, port, on_get, max_conns, timeout_ms } → server, or
 * nil, text. */
int taut_loop_http(lua_State *L)
{
    struct taut_error err = {""};

    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    struct taut_http *h = http_new(L);
    int fd = open_port(L, h, &err);
    if (fd < 0)
        return taut_fail(L, "%s", err.text);
    if (start_server(h, fd) != 0) {
        int saved = errno;
        http_close(L);
        errno = saved;
        return taut_fail_errno(L, "http");
    }
    lua_pushvalue(L, 2);
    h->self = luaL_ref(L, LUA_REGISTRYINDEX);
    return 1;
}

void taut_loop_http_class(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"close", http_close},
        {"conns", http_conns},
        {"port", http_port},
        {NULL, NULL},
    };

    taut_class(L, HTTP_CLASS, methods, http_close);
}
