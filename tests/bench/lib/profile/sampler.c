// SPDX-License-Identifier: GPL-2.0-or-later
/* Where the processor time of a program that embeds Lua goes, in Lua and in C,
 * in one stack.  Preloaded (LD_PRELOAD); each process, helpers too, writes at
 * its end a file "$TAUT_PROFILE.PID", a line "COUNT FRAME;FRAME;…" a stack,
 * callers first.  A frame of Lua is "L:source:name:line", one of C
 * "C:object:offset", for addr2line (flame.lua).
 *
 * A signal each millisecond of processor time, any thread's, notes the C that
 * runs.  What Lua runs is not looked at from a signal handler: it asks Lua for
 * a hook, as Lua's own interpreter does, and that is called before the next
 * instruction of the function which called the C.  C of the event loop that no
 * Lua called stays without. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <execinfo.h>
#include <lauxlib.h>
#include <lua.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { C_DEPTH = 32, LUA_DEPTH = 40, STACKS = 1 << 15, NAMES = 1 << 16, WAITING = 64 };

struct lua_frame {
    const char *source, *name; /* kept() */
    int line;
};

struct stack {
    uint64_t hash, count;
    uint32_t n_c, n_lua;
    void *c[C_DEPTH];
    struct lua_frame lua[LUA_DEPTH];
};

static struct stack *table;
static struct stack waiting[WAITING]; /* their Lua is not known yet */
static volatile sig_atomic_t n_waiting;
static atomic_flag is_busy = ATOMIC_FLAG_INIT;
static uint64_t lost;
static lua_State *main_lua;
static pthread_t main_thread;
static uintptr_t lua_from, lua_to;   /* addresses of Lua's library */
static uintptr_t loop_from, loop_to; /* and of the event loop's */

static uint64_t hash_of(const void *data, size_t n, uint64_t h)
{
    const unsigned char *p = data;

    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * 1099511628211u;
    return h;
}

/* Of one thread at a time; a signal that meets another is counted as lost. */
static void add(const struct stack *s)
{
    uint64_t h = hash_of(s->c, s->n_c * sizeof *s->c, 14695981039346656037u);

    h = hash_of(s->lua, s->n_lua * sizeof *s->lua, h);
    for (uint32_t i = 0; i < STACKS; i++) {
        struct stack *t = &table[(h + i) % STACKS];
        if (t->count == 0) {
            *t = *s;
            t->hash = h;
            t->count = 1;
            return;
        }
        if (t->hash == h) {
            t->count++;
            return;
        }
    }
    lost++;
}

/* One copy of a string for good: Lua's own may go. */
static const char *kept(const char *s)
{
    static char *string[NAMES];

    if (s == NULL)
        return "";
    for (uint64_t h = hash_of(s, strlen(s), 14695981039346656037u);; h++) {
        char **at = &string[h % NAMES];
        if (*at == NULL)
            *at = strdup(s);
        if (*at == NULL || strcmp(*at, s) == 0)
            return *at ? *at : "";
    }
}

static void on_instruction(lua_State *L, lua_Debug *ar)
{
    struct stack s = {.n_c = 0};
    sigset_t all, old;

    (void)ar;
    lua_sethook(L, NULL, 0, 0);
    for (int level = 0; s.n_lua < LUA_DEPTH; level++) {
        lua_Debug at = {.name = NULL};
        if (!lua_getstack(L, level, &at))
            break;
        lua_getinfo(L, "Sn", &at);
        if (strcmp(at.what, "C") != 0)
            s.lua[s.n_lua++] =
                (struct lua_frame){kept(at.source), kept(at.name), at.linedefined};
    }
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    while (atomic_flag_test_and_set(&is_busy))
        ;
    for (int i = 0; i < n_waiting; i++) {
        waiting[i].n_lua = s.n_lua;
        memcpy(waiting[i].lua, s.lua, sizeof s.lua);
        add(&waiting[i]);
    }
    n_waiting = 0;
    atomic_flag_clear(&is_busy);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static bool is_in(const void *p, uintptr_t from, uintptr_t to)
{
    return (uintptr_t)p >= from && (uintptr_t)p < to;
}

static void on_signal(int sig)
{
    void *frame[C_DEPTH + 8];
    struct stack s = {.n_c = 0};
    bool in_loop = false;
    int n = backtrace(frame, C_DEPTH + 8);

    (void)sig;
    /* 0 is this function, 1 what the kernel returns to */
    for (int i = 2; i < n && s.n_c < C_DEPTH; i++) {
        s.c[s.n_c++] = frame[i];
        if (is_in(frame[i], lua_from, lua_to))
            break;
        in_loop = in_loop || is_in(frame[i], loop_from, loop_to);
    }
    if (atomic_flag_test_and_set(&is_busy)) {
        lost++;
        return;
    }
    if (!pthread_equal(pthread_self(), main_thread) || in_loop)
        add(&s);
    else if (n_waiting < WAITING)
        waiting[n_waiting++] = s;
    else
        lost++;
    atomic_flag_clear(&is_busy);
    if (n_waiting > 0 && main_lua != NULL)
        lua_sethook(main_lua, on_instruction,
                    LUA_MASKCALL | LUA_MASKRET | LUA_MASKCOUNT, 1);
}

/* First and last address of a shared object that is mapped. */
static void find(const char *name, uintptr_t *from, uintptr_t *to)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[1024];
    unsigned long a, b;

    while (maps != NULL && fgets(line, sizeof line, maps) != NULL)
        if (strstr(line, name) != NULL &&
            sscanf(line, "%lx-%lx", &a, &b) == 2) {
            *from = *from == 0 ? a : *from;
            *to = b;
        }
    if (maps != NULL)
        fclose(maps);
}

static void put(FILE *out, const struct stack *s)
{
    Dl_info in;

    fprintf(out, "%llu ", (unsigned long long)s->count);
    for (uint32_t i = s->n_lua; i-- > 0;)
        fprintf(out, "L:%s:%s:%d;", s->lua[i].source,
                s->lua[i].name, s->lua[i].line);
    for (uint32_t i = s->n_c; i-- > 0;) {
        /* a caller's address is the one after the call */
        char *p = (char *)s->c[i] - (i > 0);
        if (i > 0 && is_in(p, lua_from, lua_to))
            continue; /* which called the C */
        if (dladdr(p, &in) != 0)
            fprintf(out, "C:%s:%zx;", in.dli_fname,
                    (size_t)(p - (char *)in.dli_fbase));
        else
            fprintf(out, "C:?:0;");
    }
    fputc('\n', out);
}

static void stop(void)
{
    struct itimerval off = {.it_value = {0, 0}};
    char path[4096];
    FILE *out;

    setitimer(ITIMER_PROF, &off, NULL);
    snprintf(path, sizeof path, "%s.%ld", getenv("TAUT_PROFILE"),
             (long)getpid());
    out = fopen(path, "we");
    if (out == NULL)
        return;
    for (uint32_t i = 0; i < STACKS; i++)
        if (table[i].count > 0)
            put(out, &table[i]);
    if (lost > 0)
        fprintf(out, "%llu lost;\n", (unsigned long long)lost);
    fclose(out);
}

static void start(lua_State *L)
{
    struct sigaction act = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    struct itimerval each = {.it_interval = {0, 1000}, .it_value = {0, 1000}};
    void *first;

    table = calloc(STACKS, sizeof *table);
    if (table == NULL)
        return;
    main_lua = L;
    main_thread = pthread_self();
    find("/liblua5.4", &lua_from, &lua_to);
    find("/libevent_core", &loop_from, &loop_to);
    backtrace(&first, 1); /* loads what it needs */
    atexit(stop);
    sigaction(SIGPROF, &act, NULL);
    setitimer(ITIMER_PROF, &each, NULL);
}

lua_State *luaL_newstate(void)
{
    lua_State *(*real)(void);
    lua_State *L;

    *(void **)&real = dlsym(RTLD_NEXT, "luaL_newstate");
    L = real();
    if (L != NULL && main_lua == NULL && getenv("TAUT_PROFILE") != NULL)
        start(L);
    return L;
}
