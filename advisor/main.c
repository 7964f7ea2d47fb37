/* SPDX-License-Identifier: GPL-2.0-or-later */
/* tautd and taut: one program that embeds Lua.
 *
 * - tautd …: the daemon, require("taut.core.daemon").main(arg);
 * - taut …: the command line, require("taut.cli").main(arg);
 * - taut --daemon …: as tautd, where only one name is installed;
 * - taut --lua FILE …: runs FILE with all C modules in place (tests).
 *
 * Everything that decides is in Lua; this file only sets the stage. */
#include <config.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include <lualib.h>

#include "advisor/bindings/host.h"

enum role {
    ROLE_NONE = 0,
    ROLE_CLI,
    ROLE_DAEMON,
    ROLE_SCRIPT,
};

struct start {
    enum role role;
    const char *name; /* for the log */
    int argc;
    char **argv; /* [0] is the name, then arguments */
    int status;
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL ? slash + 1 : path;
}

static void choose_role(struct start *s, int argc, char **argv)
{
    s->name = argc > 0 ? base_name(argv[0]) : "taut";
    s->role = strcmp(s->name, "tautd") == 0 ? ROLE_DAEMON : ROLE_CLI;
    s->argc = argc;
    s->argv = argv;
    if (argc > 1 && strcmp(argv[1], "--daemon") == 0) {
        s->role = ROLE_DAEMON;
        s->name = "tautd";
    } else if (argc > 2 && strcmp(argv[1], "--lua") == 0) {
        s->role = ROLE_SCRIPT;
    } else {
        return;
    }
    argv[1] = argv[0]; /* the option is not Lua's business */
    s->argc--;
    s->argv++;
}

static bool wants_traceback(const struct start *s)
{
    for (int i = 1; i < s->argc; i++)
        if (strcmp(s->argv[i], "--debug") == 0)
            return true;
    return s->role != ROLE_CLI;
}

/* Only what Taut and its libraries use; site files get none of it, see
 * sandbox.c. */
static void open_libraries(lua_State *L, bool use_environment)
{
    static const luaL_Reg libraries[] = {
        {LUA_GNAME, luaopen_base},
        {LUA_LOADLIBNAME, luaopen_package},
        {LUA_COLIBNAME, luaopen_coroutine},
        {LUA_DBLIBNAME, luaopen_debug},
        {LUA_IOLIBNAME, luaopen_io},
        {LUA_MATHLIBNAME, luaopen_math},
        {LUA_OSLIBNAME, luaopen_os},
        {LUA_STRLIBNAME, luaopen_string},
        {LUA_TABLIBNAME, luaopen_table},
        {LUA_UTF8LIBNAME, luaopen_utf8},
        {NULL, NULL},
    };

    if (!use_environment) { /* LUA_PATH of whoever starts us */
        lua_pushboolean(L, 1);
        lua_setfield(L, LUA_REGISTRYINDEX, "LUA_NOENV");
    }
    for (const luaL_Reg *lib = libraries; lib->func != NULL; lib++) {
        luaL_requiref(L, lib->name, lib->func, 1);
        lua_pop(L, 1);
    }
}

static void preload_modules(lua_State *L)
{
    static const luaL_Reg modules[] = {
        {"taut.board", luaopen_taut_board},
        {"taut.dial", luaopen_taut_dial},
        {"taut.evidence", luaopen_taut_evidence},
        {"taut.boxes", luaopen_taut_boxes},
        {"taut.flow", luaopen_taut_flow},
        {"taut.graph", luaopen_taut_graph},
        {"taut.hostlist", luaopen_taut_hostlist},
        {"taut.json", luaopen_taut_json},
        {"taut.keep", luaopen_taut_keep},
        {"taut.loop", luaopen_taut_loop},
        {"taut.munge", luaopen_taut_munge},
        {"taut.sandbox", luaopen_taut_sandbox},
        {"taut.readings", luaopen_taut_readings},
        {"taut.seal", luaopen_taut_seal},
        {"taut.sets", luaopen_taut_sets},
        {"taut.study", luaopen_taut_study},
        {"taut.sys", luaopen_taut_sys},
        {"taut.tests", luaopen_taut_tests},
        {"taut.times", luaopen_taut_times},
        {"taut.wire", luaopen_taut_wire},
        {NULL, NULL},
    };

    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    luaL_setfuncs(L, modules, 0);
    lua_pop(L, 1);
}

/* Append the entries of a search path that are absolute: a daemon of root
 * must not load what lies in the folder it was started in. */
static void add_absolute(luaL_Buffer *out, const char *path)
{
    while (*path != '\0') {
        size_t n = strcspn(path, ";");
        if (path[0] == '/') {
            if (luaL_bufflen(out) > 0)
                luaL_addchar(out, ';');
            luaL_addlstring(out, path, n);
        }
        path += n + (path[n] == ';');
    }
}

/* package.NAME = first, then what the distribution's Lua had, taken from
 * the stack's top together with the package table below it. */
static void set_search_path(lua_State *L, const char *name, const char *first)
{
    luaL_Buffer out;

    lua_getfield(L, -1, name);
    char *old = strdup(luaL_checkstring(L, -1));
    lua_pop(L, 1);
    luaL_buffinit(L, &out);
    luaL_addstring(&out, first);
    if (old != NULL)
        add_absolute(&out, old);
    free(old);
    luaL_pushresult(&out);
    lua_setfield(L, -2, name);
}

static void set_paths(lua_State *L)
{
    const char *dir = taut_host_luadir(L);

    lua_getglobal(L, LUA_LOADLIBNAME);
    const char *first = lua_pushfstring(L, "%s/?.lua;%s/?/init.lua", dir, dir);
    lua_insert(L, -2);
    set_search_path(L, "path", first);
    set_search_path(L, "cpath", "");
    lua_pop(L, 2);
}

/* A script has the paths of an interpreter, and ours behind them. */
static void append_path(lua_State *L)
{
    const char *dir = taut_host_luadir(L);

    lua_getglobal(L, LUA_LOADLIBNAME);
    lua_getfield(L, -1, "path");
    lua_pushfstring(L, "%s;%s/?.lua;%s/?/init.lua", lua_tostring(L, -1), dir,
                    dir);
    lua_setfield(L, -3, "path");
    lua_pop(L, 2);
}

static void set_arg(lua_State *L, const struct start *s)
{
    int first = s->role == ROLE_SCRIPT ? 1 : 0; /* what arg[0] is */

    lua_newtable(L);
    for (int i = first; i < s->argc; i++) {
        lua_pushstring(L, s->argv[i]);
        lua_rawseti(L, -2, i - first);
    }
    lua_setglobal(L, "arg");
}

/* Push the function that is the program, and its arguments.
 * Returns how many arguments. */
static int push_program(lua_State *L, const struct start *s)
{
    if (s->role == ROLE_SCRIPT) {
        if (luaL_loadfile(L, s->argv[1]) != LUA_OK)
            lua_error(L);
        luaL_checkstack(L, s->argc, "too many arguments");
        for (int i = 2; i < s->argc; i++)
            lua_pushstring(L, s->argv[i]);
        return s->argc - 2;
    }
    lua_getglobal(L, "require");
    lua_pushstring(L, s->role == ROLE_DAEMON ? "taut.core.daemon" : "taut.cli");
    lua_call(L, 1, 1);
    lua_getfield(L, -1, "main");
    lua_getglobal(L, "arg");
    return 1;
}

static int exit_status(lua_State *L, int index)
{
    if (lua_isboolean(L, index))
        return lua_toboolean(L, index) ? 0 : 1;
    return lua_isinteger(L, index) ? (int)lua_tointeger(L, index) : 0;
}

static int protected_main(lua_State *L)
{
    struct start *s = lua_touserdata(L, 1);

    luaL_checkversion(L);
    open_libraries(L, s->role == ROLE_SCRIPT);
    preload_modules(L);
    if (s->role == ROLE_SCRIPT)
        append_path(L);
    else
        set_paths(L);
    set_arg(L, s);
    lua_call(L, push_program(L, s), 1);
    s->status = exit_status(L, -1);
    return 0;
}

static int plain_message(lua_State *L)
{
    luaL_tolstring(L, 1, NULL);
    return 1;
}

static const char *lua_dir(void)
{
    const char *dir = secure_getenv("TAUT_LUA_DIR");

    if (dir != NULL && dir[0] != '\0' && getuid() == geteuid())
        return dir;
    return TAUT_LUADIR;
}

/* A daemon under a service manager logs to syslog; everybody else has
 * somebody who reads stderr. */
static bool is_service(const struct start *s)
{
    return s->role == ROLE_DAEMON && getenv("NOTIFY_SOCKET") != NULL;
}

static int run(lua_State *L, struct start *s)
{
    lua_pushcfunction(L, wants_traceback(s) ? taut_traceback : plain_message);
    lua_pushcfunction(L, protected_main);
    lua_pushlightuserdata(L, s);
    if (lua_pcall(L, 1, 0, -3) == LUA_OK)
        return s->status;
    taut_host_log(L, LOG_ERR, "%s", lua_tostring(L, -1));
    return EXIT_FAILURE;
}

/* A large job's nodes all call at once; the usual soft limit is 1024. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* What was printed must have arrived, however the program ends: a full disk is
 * an error; a reader that has seen enough is not one. */
static void check_output(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO};

    if (fflush(stdout) == 0 && !ferror(stdout))
        return;
    if (errno == EPIPE || (poll(&out, 1, 0) > 0 && (out.revents & POLLERR)))
        return;
    fprintf(stderr, "taut: cannot write the output: %s\n",
            errno != 0 ? strerror(errno) : "write error");
    _exit(EXIT_FAILURE);
}

int main(int argc, char **argv)
{
    struct start s = {.role = ROLE_NONE};
    lua_State *L = luaL_newstate();

    choose_role(&s, argc, argv);
    if (L == NULL) {
        fprintf(stderr, "%s: out of memory\n", s.name);
        return EXIT_FAILURE;
    }
    signal(SIGPIPE, SIG_IGN);
    if (s.role == ROLE_DAEMON)
        raise_descriptor_limit();
    else
        atexit(check_output);
    if (s.argc > 1 && (strcmp(s.argv[1], "--store") == 0 ||
                       strcmp(s.argv[1], "--db") == 0))
        umask(027); /* the database tells of users and their jobs */
    taut_host_init(L, s.name, lua_dir(), !is_service(&s));
    int status = run(L, &s);
    lua_close(L);
    return status;
}
