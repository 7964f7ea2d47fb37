/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.loop: the loop itself, timers and signals. */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "advisor/bindings/loop/loop.h"

#define LOOP_CLASS "taut.loop"
#define TIMER_CLASS "taut.loop.timer"
#define TIMER_MAX_MS (366LL * 24 * 3600 * 1000)

/* A timer or a signal's handler. */
struct timer {
    struct taut_loop *loop;
    struct event *event; /* NULL once cancelled */
    int fn;
    int self;
    bool once;
    bool last; /* when nothing else is due */
};

static const char loop_key; /* its address names the registry slot */

static int loop_gc(lua_State *L)
{
    struct taut_loop *loop = luaL_checkudata(L, 1, LOOP_CLASS);

    if (loop->child_signal != NULL)
        event_free(loop->child_signal);
    loop->child_signal = NULL;
    if (loop->base != NULL)
        event_base_free(loop->base);
    loop->base = NULL;
    return 0;
}

static struct event_base *new_base(void)
{
    struct event_config *config = event_config_new();
    struct event_base *base = NULL;

    if (config != NULL && event_config_set_max_dispatch_interval(
                              config, NULL, 1, TAUT_PRIORITY_CALLERS) == 0)
        base = event_base_new_with_config(config);
    if (config != NULL)
        event_config_free(config);
    return base;
}

struct taut_loop *taut_loop_get(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &loop_key);
    struct taut_loop *loop = lua_touserdata(L, -1);
    lua_pop(L, 1);
    if (loop != NULL)
        return loop;

    loop = lua_newuserdatauv(L, sizeof(*loop), 0);
    *loop = (struct taut_loop){.L = taut_main_state(L)};
    luaL_setmetatable(L, LOOP_CLASS);
    loop->base = new_base();
    if (loop->base == NULL ||
        event_base_priority_init(loop->base, TAUT_PRIORITY_LAST + 1) != 0)
        luaL_error(L, "cannot make an event loop: %s", strerror(errno));
    lua_rawsetp(L, LUA_REGISTRYINDEX, &loop_key);
    return loop;
}

struct timeval taut_timeval(lua_Integer ms)
{
    return (struct timeval){.tv_sec = (time_t)(ms / 1000),
                            .tv_usec = (suseconds_t)(ms % 1000 * 1000)};
}

char *taut_line_take(struct evbuffer *buf, size_t *scanned, size_t max,
                     size_t *n)
{
    struct evbuffer_ptr from, end;

    errno = 0;
    if (evbuffer_get_length(buf) == 0 ||
        evbuffer_ptr_set(buf, &from, *scanned, EVBUFFER_PTR_SET) != 0)
        return NULL;
    end = evbuffer_search(buf, "\n", 1, &from);
    if (end.pos < 0) {
        *scanned = evbuffer_get_length(buf);
        errno = *scanned > max ? EMSGSIZE : 0;
        return NULL;
    }
    if ((size_t)end.pos > max) {
        errno = EMSGSIZE;
        return NULL;
    }
    char *line = malloc((size_t)end.pos + 1);
    if (line == NULL)
        return NULL;
    evbuffer_remove(buf, line, (size_t)end.pos + 1);
    line[end.pos] = '\0';
    *n = (size_t)end.pos;
    *scanned = 0;
    return line;
}

static void timer_stop(lua_State *L, struct timer *t)
{
    if (t->event != NULL)
        event_free(t->event);
    t->event = NULL;
    taut_ref_drop(L, &t->fn);
    taut_ref_drop(L, &t->self);
}

static void timer_fired(evutil_socket_t fd, short what, void *arg)
{
    struct timer *t = arg;
    lua_State *L = t->loop->L;

    (void)fd;
    (void)what;
    taut_ref_push(L, t->self); /* keeps t while the function runs */
    taut_ref_push(L, t->fn);
    if (t->once)
        timer_stop(L, t);
    taut_call(L, 0);
    lua_pop(L, 1);
}

static int timer_cancel(lua_State *L)
{
    timer_stop(L, luaL_checkudata(L, 1, TIMER_CLASS));
    return 0;
}

/* Push a new timer, not yet armed, calling the function at 'fn_index'. */
static struct timer *timer_new(lua_State *L, int fn_index, bool once)
{
    struct taut_loop *loop = taut_loop_get(L);
    struct timer *t = lua_newuserdatauv(L, sizeof(*t), 0);

    *t = (struct timer){
        .loop = loop, .fn = LUA_NOREF, .self = LUA_NOREF, .once = once};
    luaL_setmetatable(L, TIMER_CLASS);
    t->fn = taut_ref_function(L, fn_index);
    return t;
}

/* Arm the timer on the top of the stack, and leave it there. */
static int timer_start(lua_State *L, struct timer *t, evutil_socket_t fd,
                       short what, const struct timeval *after)
{
    t->event = event_new(t->loop->base, fd, what, timer_fired, t);
    if (t->event != NULL && t->last)
        event_priority_set(t->event, TAUT_PRIORITY_LAST);
    if (t->event == NULL || event_add(t->event, after) != 0) {
        timer_stop(L, t);
        return luaL_error(L, "cannot add an event: %s", strerror(errno));
    }
    lua_pushvalue(L, -1);
    t->self = luaL_ref(L, LUA_REGISTRYINDEX);
    return 1;
}

static int start_ms_timer(lua_State *L, bool once)
{
    lua_Number ms = luaL_checknumber(L, 1);

    luaL_checktype(L, 2, LUA_TFUNCTION);
    luaL_argcheck(L, ms >= (once ? 0 : 1) && ms <= (lua_Number)TIMER_MAX_MS, 1,
                  "not a time in milliseconds");
    struct timer *t = timer_new(L, 2, once);
    struct timeval after = taut_timeval((lua_Integer)ms);
    return timer_start(L, t, -1, once ? 0 : EV_PERSIST, &after);
}

static int loop_timer(lua_State *L)
{
    return start_ms_timer(L, true);
}

static int loop_every(lua_State *L)
{
    return start_ms_timer(L, false);
}

/* later(fn): fn() once, when nothing else is due */
static int loop_later(lua_State *L)
{
    struct timeval now = {0};

    luaL_checktype(L, 1, LUA_TFUNCTION);
    struct timer *t = timer_new(L, 1, true);
    t->last = true;
    return timer_start(L, t, -1, 0, &now);
}

static int loop_signal(lua_State *L)
{
    static const char *const names[] = {"HUP", "TERM", "INT", "USR1", NULL};
    static const int numbers[] = {SIGHUP, SIGTERM, SIGINT, SIGUSR1};
    int number = numbers[luaL_checkoption(L, 1, NULL, names)];

    luaL_checktype(L, 2, LUA_TFUNCTION);
    struct timer *t = timer_new(L, 2, false);
    return timer_start(L, t, number, EV_SIGNAL | EV_PERSIST, NULL);
}

static int loop_now_ns(lua_State *L)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    lua_pushinteger(L, (lua_Integer)ts.tv_sec * 1000000000 + ts.tv_nsec);
    return 1;
}

static double seconds_of(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/* When the host booted, in seconds since 1970, as its wall clock said when this
 * process asked first, or as it was told since. */
static double booted_at(double shift)
{
    static double at;

    if (at == 0)
        at = seconds_of(CLOCK_REALTIME) - seconds_of(CLOCK_BOOTTIME);
    at += shift;
    return at;
}

/* time() → seconds since 1970, which no setting of the wall clock changes */
static int loop_time(lua_State *L)
{
    lua_pushnumber(L, booted_at(0) + seconds_of(CLOCK_BOOTTIME));
    return 1;
}

/* shift(seconds): time() goes on from so much later */
static int loop_shift(lua_State *L)
{
    booted_at(luaL_checknumber(L, 1));
    return 0;
}

/* ahead() → seconds by which the wall clock is ahead of time(); less than a
 * hundredth is none */
static int loop_ahead(lua_State *L)
{
    double s =
        seconds_of(CLOCK_REALTIME) - booted_at(0) - seconds_of(CLOCK_BOOTTIME);

    lua_pushnumber(L, fabs(s) < 0.01 ? 0 : s);
    return 1;
}

/* up() → seconds since the host booted */
static int loop_up(lua_State *L)
{
    lua_pushnumber(L, seconds_of(CLOCK_BOOTTIME));
    return 1;
}

/* longest() → seconds, text: the longest turn since this was asked last. */
static int loop_longest(lua_State *L)
{
    struct taut_turn t = taut_turn_longest(L);

    lua_pushnumber(L, (lua_Number)t.ns / 1e9);
    lua_pushstring(L, t.doing);
    return 2;
}

/* doing(text): what this turn does, for longest(). */
static int loop_doing(lua_State *L)
{
    taut_turn_doing(L, luaL_checkstring(L, 1));
    return 0;
}

static int loop_run(lua_State *L)
{
    event_base_dispatch(taut_loop_get(L)->base);
    return 0;
}

static int loop_stop(lua_State *L)
{
    event_base_loopbreak(taut_loop_get(L)->base);
    return 0;
}

int luaopen_taut_loop(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"ahead", loop_ahead},
        {"doing", loop_doing},
        {"every", loop_every},
        {"http", taut_loop_http},
        {"later", loop_later},
        {"listen", taut_loop_listen},
        {"longest", loop_longest},
        {"now_ns", loop_now_ns},
        {"run", loop_run},
        {"serve", taut_loop_serve},
        {"shift", loop_shift},
        {"signal", loop_signal},
        {"spawn", taut_loop_spawn},
        {"stop", loop_stop},
        {"time", loop_time},
        {"timer", loop_timer},
        {"up", loop_up},
        {NULL, NULL},
    };
    static const luaL_Reg none[] = {{NULL, NULL}};
    static const luaL_Reg timer_methods[] = {
        {"cancel", timer_cancel},
        {NULL, NULL},
    };

    taut_class(L, LOOP_CLASS, none, loop_gc);
    taut_class(L, TIMER_CLASS, timer_methods, timer_cancel);
    taut_loop_frames_classes(L);
    taut_loop_http_class(L);
    taut_loop_unix_classes(L);
    taut_loop_spawn_classes(L);
    taut_loop_get(L); /* first made, so last collected */
    luaL_newlib(L, functions);
    return 1;
}
