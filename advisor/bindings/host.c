/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>

#include "advisor/bindings/host.h"
#include "advisor/bindings/utf8.h"

struct host {
    const char *luadir;
    struct taut_logger log;
    int depth; /* of callbacks in callbacks */
    char doing[TAUT_DOING_MAX];
    struct taut_turn longest;
};

static const char host_key; /* its address names the registry slot */

static struct host *host(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &host_key);
    struct host *h = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return h;
}

/* A helper process logs as the tautd does that started it: sys.log_as(). */
static void take_log_of_parent(struct taut_logger *log)
{
    const char *text = secure_getenv("TAUT_LOG");
    char level[16] = "", form[16] = "";

    if (text == NULL || sscanf(text, "%15s %15s", level, form) != 2)
        return;
    int n = taut_logger_level(level);
    log->level = n >= 0 ? n : log->level;
    log->form = strcmp(form, "json") == 0 ? TAUT_LOGGER_JSON : TAUT_LOGGER_TEXT;
}

void taut_host_init(lua_State *L, const char *name, const char *luadir,
                    bool to_stderr)
{
    struct host *h = lua_newuserdatauv(L, sizeof(*h), 0);

    *h = (struct host){
        .luadir = luadir,
        .log = {.name = name,
                .journal = TAUT_LOGGER_JOURNAL,
                .to_stderr = to_stderr,
                .level = LOG_DEBUG},
    };
    lua_rawsetp(L, LUA_REGISTRYINDEX, &host_key);
    take_log_of_parent(&h->log);
    openlog(name, LOG_PID | LOG_NDELAY, LOG_DAEMON);
}

const char *taut_host_luadir(lua_State *L)
{
    return host(L)->luadir;
}

/* Is it a control character, or one that is not seen and changes how what is
 * around it is shown: that makes words run backwards, breaks lines, hides, is
 * invisible?  (Unicode's categories Cc, Cf, Zl, Zp.) */
static bool is_hidden(unsigned code)
{
    static const unsigned ranges[][2] = {
        {0x80, 0x9f},     {0xad, 0xad},     {0x600, 0x605},   {0x61c, 0x61c},
        {0x6dd, 0x6dd},   {0x70f, 0x70f},   {0x180e, 0x180e}, {0x200b, 0x200f},
        {0x2028, 0x202e}, {0x2060, 0x206f}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb},
        {0xe0000, 0xe007f},
    };

    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        if (code >= ranges[i][0] && code <= ranges[i][1])
            return true;
    }
    return false;
}

void taut_host_plain(char *text)
{
    unsigned char *p = (unsigned char *)text, *end = p + strlen(text);

    while (p < end) {
        size_t n = taut_utf8_length(p, (size_t)(end - p));

        if (n > 1 && is_hidden(taut_utf8_code(p, n)))
            memset(p, '?', n);
        else if (n == 0 || *p < ' ' || *p == 0x7f)
            *p = *p == '\n' || *p == '\t' ? ' ' : '?';
        p += n > 0 ? n : 1;
    }
}

void taut_host_log(lua_State *L, int priority, const char *fmt, ...)
{
    char *text = NULL;
    va_list ap;

    va_start(ap, fmt);
    if (vasprintf(&text, fmt, ap) < 0)
        text = NULL;
    va_end(ap);
    if (text == NULL)
        return;
    taut_host_plain(text);
    taut_logger_write(&host(L)->log, priority, text, NULL, 0);
    free(text);
}

struct taut_logger *taut_host_logger(lua_State *L)
{
    return &host(L)->log;
}

static int fail(lua_State *L, int error, const char *fmt, va_list ap)
{
    char text[512];
    int n = vsnprintf(text, sizeof(text), fmt, ap);

    if (error != 0 && n >= 0 && (size_t)n < sizeof(text))
        snprintf(text + n, sizeof(text) - (size_t)n, ": %s", strerror(error));
    luaL_pushfail(L);
    lua_pushstring(L, text);
    return 2;
}

int taut_fail(lua_State *L, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    int n = fail(L, 0, fmt, ap);
    va_end(ap);
    return n;
}

int taut_fail_errno(lua_State *L, const char *fmt, ...)
{
    int error = errno;
    va_list ap;

    va_start(ap, fmt);
    int n = fail(L, error, fmt, ap);
    va_end(ap);
    return n;
}

lua_State *taut_main_state(lua_State *L)
{
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    lua_State *main_state = lua_tothread(L, -1);
    lua_pop(L, 1);
    return main_state;
}

int taut_traceback(lua_State *L)
{
    const char *text = luaL_tolstring(L, 1, NULL);

    luaL_traceback(L, L, text, 1);
    return 1;
}

static int64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

void taut_turn_doing(lua_State *L, const char *what)
{
    snprintf(host(L)->doing, TAUT_DOING_MAX, "%s", what);
}

struct taut_turn taut_turn_longest(lua_State *L)
{
    struct taut_turn longest = host(L)->longest;

    host(L)->longest = (struct taut_turn){0};
    return longest;
}

/* Where the function on the top, which is popped, stands in the sources. */
static void say_where(lua_State *L, char *text)
{
    lua_Debug where;

    lua_getinfo(L, ">S", &where);
    snprintf(text, TAUT_DOING_MAX, "%s:%d", where.short_src,
             where.linedefined);
}

static void end_turn(lua_State *L, struct host *h, int64_t took)
{
    if (took <= h->longest.ns) {
        lua_pop(L, 1);
        return;
    }
    h->longest.ns = took;
    say_where(L, h->longest.doing);
    if (h->doing[0] != '\0')
        memcpy(h->longest.doing, h->doing, TAUT_DOING_MAX);
}

int taut_turn_call(lua_State *L, int nargs, int nresults, int handler)
{
    struct host *h = host(L);
    bool outermost = h->depth++ == 0;
    int64_t began = 0;

    if (outermost) {
        h->doing[0] = '\0';
        lua_pushvalue(L, -nargs - 1);
        lua_insert(L, handler); /* below the handler, out of the way */
        handler++;
        began = now_ns();
    }
    int rc = lua_pcall(L, nargs, nresults, handler);
    h->depth--;
    if (outermost) {
        int64_t took = now_ns() - began;

        lua_pushvalue(L, handler - 1);
        lua_remove(L, handler - 1);
        end_turn(L, h, took);
    }
    return rc;
}

bool taut_call(lua_State *L, int nargs)
{
    int base = lua_gettop(L) - nargs; /* where the function is */

    lua_pushcfunction(L, taut_traceback);
    lua_insert(L, base);
    int rc = taut_turn_call(L, nargs, 0, base);
    if (rc != LUA_OK) {
        taut_host_log(L, LOG_ERR, "error in a callback: %s",
                      lua_tostring(L, -1));
        lua_pop(L, 1);
    }
    lua_remove(L, base);
    return rc == LUA_OK;
}

int taut_ref_function(lua_State *L, int index)
{
    luaL_checktype(L, index, LUA_TFUNCTION);
    lua_pushvalue(L, index);
    return luaL_ref(L, LUA_REGISTRYINDEX);
}

int taut_ref_field(lua_State *L, int table, const char *name, bool needed)
{
    int type = lua_getfield(L, table, name);

    if (type == LUA_TFUNCTION)
        return luaL_ref(L, LUA_REGISTRYINDEX);
    if (type != LUA_TNIL || needed)
        luaL_error(L, "field '%s': function expected, got %s", name,
                   lua_typename(L, type));
    lua_pop(L, 1);
    return LUA_NOREF;
}

void taut_ref_drop(lua_State *L, int *ref)
{
    luaL_unref(L, LUA_REGISTRYINDEX, *ref);
    *ref = LUA_NOREF;
}

bool taut_ref_push(lua_State *L, int ref)
{
    if (ref == LUA_NOREF)
        return false;
    lua_rawgeti(L, LUA_REGISTRYINDEX, ref);
    return true;
}

lua_Integer taut_opt_integer(lua_State *L, int table, const char *name,
                             lua_Integer fallback, lua_Integer min,
                             lua_Integer max)
{
    int is_integer = 1;
    lua_Integer value = fallback;

    if (lua_getfield(L, table, name) != LUA_TNIL)
        value = lua_tointegerx(L, -1, &is_integer);
    lua_pop(L, 1);
    if (!is_integer)
        return luaL_error(L, "field '%s': whole number expected", name);
    if (value < min || value > max)
        return luaL_error(L, "field '%s': %I is not within %I to %I", name,
                          (LUAI_UACINT)value, (LUAI_UACINT)min,
                          (LUAI_UACINT)max);
    return value;
}

lua_Number taut_opt_number(lua_State *L, int table, const char *name,
                           lua_Number fallback)
{
    lua_getfield(L, table, name);
    lua_Number v = luaL_optnumber(L, -1, fallback);
    lua_pop(L, 1);
    return v;
}

bool taut_opt_flag(lua_State *L, int table, const char *name)
{
    lua_getfield(L, table, name);
    bool v = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return v;
}

const char *taut_opt_string(lua_State *L, int table, const char *name,
                            const char *fallback)
{
    int type = lua_getfield(L, table, name);
    const char *text = fallback;

    if (type == LUA_TSTRING)
        text = lua_tostring(L, -1); /* the table goes on holding it */
    else if (type != LUA_TNIL)
        luaL_error(L, "field '%s': string expected, got %s", name,
                   lua_typename(L, type));
    lua_pop(L, 1);
    return text;
}

void taut_set_integer(lua_State *L, const char *name, lua_Integer v)
{
    lua_pushinteger(L, v);
    lua_setfield(L, -2, name);
}

void taut_set_any(lua_State *L, const char *name, lua_Number v)
{
    lua_pushnumber(L, v);
    lua_setfield(L, -2, name);
}

void taut_set_number(lua_State *L, const char *name, lua_Number v)
{
    if (isfinite(v))
        taut_set_any(L, name, v);
}

void taut_set_flag(lua_State *L, const char *name, bool v)
{
    lua_pushboolean(L, v);
    lua_setfield(L, -2, name);
}

void taut_set_text(lua_State *L, const char *name, const char *v)
{
    lua_pushstring(L, v);
    lua_setfield(L, -2, name);
}

void taut_push_ids(lua_State *L, const uint32_t *list, uint32_t n)
{
    lua_createtable(L, (int)n, 0);
    for (uint32_t i = 0; i < n; i++) {
        lua_pushinteger(L, (lua_Integer)list[i] + 1);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
}

void taut_class(lua_State *L, const char *name, const luaL_Reg *methods,
                lua_CFunction gc)
{
    luaL_newmetatable(L, name);
    lua_newtable(L);
    luaL_setfuncs(L, methods, 0);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, gc);
    lua_setfield(L, -2, "__gc");
    lua_pushcfunction(L, gc);
    lua_setfield(L, -2, "__close");
    lua_pushboolean(L, 0); /* hides the methods' table */
    lua_setfield(L, -2, "__metatable");
    lua_pop(L, 1);
}
