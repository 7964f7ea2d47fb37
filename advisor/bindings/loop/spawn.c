/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.loop.spawn: a helper process that speaks lines.
 *
 * Its stdin ends when tautd does, whatever the reason, which is how a helper
 * learns of it.  on_exit comes once, after the last line. */
#include <config.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "advisor/bindings/loop/loop.h"
#include "advisor/lib/os/child_start.h"

#define PROC_CLASS "taut.loop.proc"
#define DEFAULT_MAX_LINE (16 << 20)
#define READ_BYTES (256 << 10)

struct taut_proc {
    struct taut_loop *loop;
    struct taut_proc *next; /* in loop->procs, until reaped */
    pid_t pid;              /* -1 once reaped */
    int in, out;            /* its stdin, its stdout; or -1 */
    struct event *in_event, *out_event;
    struct evbuffer *queue, *lines;
    size_t scanned, max_line;
    int self, on_line, on_exit;
    bool group;    /* leads a group of its own, which is killed whole */
    bool closing;  /* stdin, once the queue is empty */
    bool overflow; /* a line was too long */
};

static void free_event(struct event **event)
{
    if (*event != NULL)
        event_free(*event);
    *event = NULL;
}

static void free_buffer(struct evbuffer **buffer)
{
    if (*buffer != NULL)
        evbuffer_free(*buffer);
    *buffer = NULL;
}

static void close_stdin(struct taut_proc *p)
{
    free_event(&p->in_event);
    taut_child_close(&p->in);
    if (p->queue != NULL)
        evbuffer_drain(p->queue, evbuffer_get_length(p->queue));
}

static void close_stdout(struct taut_proc *p)
{
    free_event(&p->out_event);
    taut_child_close(&p->out);
}

static void unlink_proc(struct taut_proc *p)
{
    struct taut_proc **at = &p->loop->procs;

    while (*at != NULL && *at != p)
        at = &(*at)->next;
    if (*at == p)
        *at = p->next;
}

static void proc_release(lua_State *L, struct taut_proc *p)
{
    close_stdin(p);
    close_stdout(p);
    free_buffer(&p->queue);
    free_buffer(&p->lines);
    unlink_proc(p);
    taut_ref_drop(L, &p->on_line);
    taut_ref_drop(L, &p->on_exit);
    taut_ref_drop(L, &p->self);
}

static int proc_gc(lua_State *L)
{
    proc_release(L, luaL_checkudata(L, 1, PROC_CLASS));
    return 0;
}

static void send_signal(const struct taut_proc *p, int number)
{
    if (p->pid > 0)
        kill(p->group ? -p->pid : p->pid, number);
}

/* Hand the lines that are complete to Lua. */
static void give_lines(struct taut_proc *p)
{
    lua_State *L = p->loop->L;
    size_t n;
    char *line;

    while ((line = taut_line_take(p->lines, &p->scanned, p->max_line, &n)) !=
           NULL) {
        if (taut_ref_push(L, p->on_line)) {
            lua_pushlstring(L, line, n);
            taut_call(L, 1);
        }
        free(line);
    }
    if (errno == EMSGSIZE) {
        p->overflow = true;
        evbuffer_drain(p->lines, evbuffer_get_length(p->lines));
        p->scanned = 0;
        close_stdout(p);
        send_signal(p, SIGKILL);
    }
}

static void on_readable(evutil_socket_t fd, short what, void *arg)
{
    struct taut_proc *p = arg;
    lua_State *L = p->loop->L;

    (void)what;
    int n = evbuffer_read(p->lines, fd, READ_BYTES);
    taut_ref_push(L, p->self); /* keeps p through its callbacks */
    if (n > 0)
        give_lines(p);
    else if (n == 0 || (errno != EAGAIN && errno != EINTR))
        close_stdout(p);
    lua_pop(L, 1);
}

static void on_writable(evutil_socket_t fd, short what, void *arg)
{
    struct taut_proc *p = arg;

    (void)what;
    int n = evbuffer_write(p->queue, fd);
    if (n < 0 && errno != EAGAIN && errno != EINTR)
        close_stdin(p); /* it is gone, or will be soon */
    else if (evbuffer_get_length(p->queue) > 0)
        event_add(p->in_event, NULL);
    else if (p->closing)
        close_stdin(p);
}

static void describe_exit(char *out, size_t size, const struct taut_proc *p,
                          int status)
{
    if (p->overflow)
        snprintf(out, size, "a line of more than %zu bytes", p->max_line);
    else if (WIFSIGNALED(status))
        snprintf(out, size, "signal %d", WTERMSIG(status));
    else
        snprintf(out, size, "exit %d", WEXITSTATUS(status));
}

/* The process has ended: read what it left, then tell Lua. */
static void proc_ended(struct taut_proc *p, int status)
{
    lua_State *L = p->loop->L;
    char what[80];

    taut_ref_push(L, p->self);
    int top = lua_gettop(L);
    p->pid = -1;
    close_stdin(p);
    while (p->out >= 0 && evbuffer_read(p->lines, p->out, READ_BYTES) > 0)
        give_lines(p);
    describe_exit(what, sizeof(what), p, status);
    bool by_itself = !p->overflow && !WIFSIGNALED(status);
    bool wanted = taut_ref_push(L, p->on_exit);
    proc_release(L, p);
    if (wanted) {
        lua_pushstring(L, what);
        if (by_itself)
            lua_pushinteger(L, WEXITSTATUS(status));
        else
            lua_pushnil(L);
        taut_call(L, 2);
    }
    lua_settop(L, top - 1);
}

static void on_child(evutil_socket_t fd, short what, void *arg)
{
    struct taut_loop *loop = arg;
    struct taut_proc *p = loop->procs;
    int status;

    (void)fd;
    (void)what;
    while (p != NULL) {
        if (waitpid(p->pid, &status, WNOHANG) != p->pid) {
            p = p->next;
            continue;
        }
        unlink_proc(p);
        proc_ended(p, status);
        p = loop->procs; /* Lua may have changed the list */
    }
}

static int watch_children(struct taut_loop *loop)
{
    if (loop->child_signal != NULL)
        return 0;
    loop->child_signal = evsignal_new(loop->base, SIGCHLD, on_child, loop);
    if (loop->child_signal == NULL)
        return -1;
    return event_add(loop->child_signal, NULL);
}

static int proc_send(lua_State *L)
{
    struct taut_proc *p = luaL_checkudata(L, 1, PROC_CLASS);
    size_t n;
    const char *line = luaL_checklstring(L, 2, &n);

    if (p->in < 0 || p->closing)
        return taut_fail(L, "closed");
    if (evbuffer_add(p->queue, line, n) != 0 ||
        evbuffer_add(p->queue, "\n", 1) != 0)
        return taut_fail(L, "out of memory");
    event_add(p->in_event, NULL);
    lua_pushboolean(L, 1);
    return 1;
}

static int proc_close(lua_State *L)
{
    struct taut_proc *p = luaL_checkudata(L, 1, PROC_CLASS);

    p->closing = true;
    if (p->in >= 0 && evbuffer_get_length(p->queue) == 0)
        close_stdin(p);
    return 0;
}

/* kill([name]): SIGKILL, or what may end it cleanly. */
static int proc_kill(lua_State *L)
{
    static const char *const names[] = {"KILL", "INT", "TERM", NULL};
    static const int numbers[] = {SIGKILL, SIGINT, SIGTERM};
    struct taut_proc *p = luaL_checkudata(L, 1, PROC_CLASS);
    int number = numbers[luaL_checkoption(L, 2, "KILL", names)];

    send_signal(p, number);
    return 0;
}

static int proc_pid(lua_State *L)
{
    struct taut_proc *p = luaL_checkudata(L, 1, PROC_CLASS);

    if (p->pid <= 0)
        return taut_fail(L, "closed");
    lua_pushinteger(L, p->pid);
    return 1;
}

static int proc_queued(lua_State *L)
{
    struct taut_proc *p = luaL_checkudata(L, 1, PROC_CLASS);
    size_t n = p->queue != NULL ? evbuffer_get_length(p->queue) : 0;

    lua_pushinteger(L, (lua_Integer)n);
    return 1;
}

/* What a helper says may be long, as all of Slurm's nodes are: between two
 * pieces of it new callers are let in. */
static int add_events(struct taut_proc *p)
{
    struct event_base *base = p->loop->base;

    p->in_event = event_new(base, p->in, EV_WRITE, on_writable, p);
    p->out_event =
        event_new(base, p->out, EV_READ | EV_PERSIST, on_readable, p);
    if (p->in_event == NULL || p->out_event == NULL)
        return -1;
    event_priority_set(p->out_event, TAUT_PRIORITY_CALLERS);
    return event_add(p->out_event, NULL);
}

/* The argument vector out of the table on the top; its strings stay in the
 * table, the vector itself is a userdata pushed above it. */
static char **push_argv(lua_State *L)
{
    lua_Integer n = luaL_len(L, -1);
    int table = lua_gettop(L);

    if (n < 1 || n > 1000)
        luaL_error(L, "field 'argv': 1 to 1000 strings expected");
    char **argv = lua_newuserdatauv(L, ((size_t)n + 1) * sizeof(*argv), 0);
    for (lua_Integer i = 0; i < n; i++) {
        if (lua_rawgeti(L, table, i + 1) != LUA_TSTRING)
            luaL_error(L, "field 'argv': strings expected");
        /* exec() wants char *, and changes nothing. */
        argv[i] = (char *)(uintptr_t)lua_tostring(L, -1);
        lua_pop(L, 1);
    }
    argv[n] = NULL;
    return argv;
}

/* Options of a program that is not ours: `foreign` puts it into a session of
 * its own, without our environment and output; uid and gid make it somebody
 * else. */
static bool read_how(lua_State *L, struct taut_child_how *how)
{
    lua_Integer uid = taut_opt_integer(L, 1, "uid", -1, -1, UINT32_MAX - 1LL);
    lua_Integer gid = taut_opt_integer(L, 1, "gid", -1, -1, UINT32_MAX - 1LL);

    lua_getfield(L, 1, "foreign");
    bool foreign = lua_toboolean(L, -1);
    lua_pop(L, 1);
    *how = (struct taut_child_how){.session = foreign,
                                   .quiet = foreign,
                                   .has_user = uid >= 0 && gid >= 0,
                                   .uid = (uid_t)uid,
                                   .gid = (gid_t)gid};
    return foreign;
}

static struct taut_proc *proc_new(lua_State *L)
{
    struct taut_loop *loop = taut_loop_get(L);
    struct taut_proc *p = lua_newuserdatauv(L, sizeof(*p), 0);

    *p = (struct taut_proc){.loop = loop,
                            .pid = -1,
                            .in = -1,
                            .out = -1,
                            .self = LUA_NOREF,
                            .on_line = LUA_NOREF,
                            .on_exit = LUA_NOREF};
    luaL_setmetatable(L, PROC_CLASS);
    p->on_line = taut_ref_field(L, 1, "on_line", false);
    p->on_exit = taut_ref_field(L, 1, "on_exit", false);
    p->max_line = (size_t)taut_opt_integer(L, 1, "max_line", DEFAULT_MAX_LINE,
                                           1, 1 << 30);
    p->queue = evbuffer_new();
    p->lines = evbuffer_new();
    if (p->queue == NULL || p->lines == NULL)
        luaL_error(L, "out of memory");
    return p;
}

int taut_loop_spawn(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    struct taut_child_how how;
    struct taut_proc *p = proc_new(L);
    p->group = read_how(L, &how);
    if (lua_getfield(L, 1, "argv") != LUA_TTABLE)
        return luaL_error(L, "field 'argv': table expected");
    char **argv = push_argv(L);

    if (watch_children(p->loop) == 0)
        p->pid =
            taut_child_start(argv, p->group ? &how : NULL, &p->in, &p->out);
    if (p->pid < 0) {
        int saved = errno;
        proc_release(L, p);
        errno = saved;
        return taut_fail_errno(L, "%s", argv[0]);
    }
    p->next = p->loop->procs;
    p->loop->procs = p;
    lua_pushvalue(L, 2);
    p->self = luaL_ref(L, LUA_REGISTRYINDEX);
    if (add_events(p) != 0) { /* on_exit will come */
        kill(p->pid, SIGKILL);
        close_stdin(p);
    }
    lua_settop(L, 2);
    return 1;
}

void taut_loop_spawn_classes(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"close", proc_close},   {"kill", proc_kill}, {"pid", proc_pid},
        {"queued", proc_queued}, {"send", proc_send}, {NULL, NULL},
    };

    taut_class(L, PROC_CLASS, methods, proc_gc);
}
