/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.sandbox: site configuration as Lua text, in an environment of its
 * own.  A user who can write the file controls tautd, so a file that others
 * than root or the caller can write is refused. */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "advisor/bindings/host.h"

#define INSTRUCTIONS_MAX 10000000
#define MEMORY_MAX_BYTES ((size_t)512 << 20)
#define FILE_MAX_BYTES (64 << 20) /* a description of a large machine */
/* Stands for the path in Lua's messages, which cut long chunk names. */
#define CHUNK_NAME "\001"

static const char *trouble_with(const struct stat *st)
{
    if (st->st_uid != 0 && st->st_uid != geteuid())
        return "belongs to somebody else than root or the caller";
    if (st->st_mode & (S_IWGRP | S_IWOTH))
        return "is writable by others than its owner";
    return NULL;
}

/* Returns 0, or 2 with "nil, text" pushed. */
static int check_folder(lua_State *L, const char *path)
{
    char *copy = strdup(path);
    struct stat st;

    if (copy == NULL)
        return taut_fail(L, "%s: out of memory", path);
    int rc = stat(dirname(copy), &st);
    free(copy);
    if (rc != 0)
        return taut_fail_errno(L, "%s: its folder", path);
    const char *why = trouble_with(&st);
    return why == NULL ? 0 : taut_fail(L, "%s: its folder %s", path, why);
}

static int check_file(lua_State *L, const char *path, int fd, size_t *size)
{
    struct stat st;

    if (fstat(fd, &st) != 0)
        return taut_fail_errno(L, "%s", path);
    if (!S_ISREG(st.st_mode))
        return taut_fail(L, "%s: not a regular file", path);
    const char *why = trouble_with(&st);
    if (why != NULL)
        return taut_fail(L, "%s: %s", path, why);
    if (st.st_size > FILE_MAX_BYTES)
        return taut_fail(L, "%s: %lld bytes are more than %d", path,
                         (long long)st.st_size, FILE_MAX_BYTES);
    *size = (size_t)st.st_size;
    return 0;
}

/* Read up to 'size' bytes.  Returns how many there were, or -1. */
static ssize_t read_all(int fd, char *buf, size_t size)
{
    size_t have = 0;

    while (have < size) {
        ssize_t n = read(fd, buf + have, size - have);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return -1;
        if (n == 0)
            break;
        have += (size_t)n;
    }
    return (ssize_t)have;
}

/* Push nil and a message that names the path, whether or not Lua could say
 * where in it. */
static int fail_with(lua_State *L, const char *path, const char *message)
{
    luaL_pushfail(L);
    if (message[0] == CHUNK_NAME[0])
        luaL_gsub(L, message, CHUNK_NAME, path);
    else
        lua_pushfstring(L, "%s: %s", path, message);
    return 2;
}

/* Compile what is open at 'fd' and leave the function on the stack of 'co'.
 * Returns 0, or 2 with "nil, text" pushed on L. */
static int compile(lua_State *L, lua_State *co, const char *path, int fd)
{
    size_t size = 0;
    int failed = check_file(L, path, fd, &size);

    if (failed)
        return failed;
    char *text = malloc(size + 1);
    if (text == NULL)
        return taut_fail(L, "%s: out of memory", path);
    ssize_t n = read_all(fd, text, size);
    if (n < 0) {
        int saved = errno;
        free(text);
        errno = saved;
        return taut_fail_errno(L, "%s", path);
    }
    int rc = luaL_loadbufferx(co, text, (size_t)n, "=" CHUNK_NAME, "t");
    free(text);
    return rc == LUA_OK ? 0 : fail_with(L, path, lua_tostring(co, -1));
}

static void out_of_instructions(lua_State *L, lua_Debug *ar)
{
    (void)ar;
    /* From here on every instruction fails, so that a pcall in the file
     * cannot go on. */
    lua_sethook(L, out_of_instructions, LUA_MASKCOUNT, 1);
    luaL_where(L, 0); /* a hook is not a level of its own */
    lua_pushfstring(L, "more than %d instructions", INSTRUCTIONS_MAX);
    lua_concat(L, 2);
    lua_error(L);
}

/* What a file may have while it runs, beside what there was before. */
struct purse {
    lua_Alloc alloc;
    void *ud;
    size_t left;
};

static void *pay(void *ud, void *ptr, size_t old, size_t size)
{
    struct purse *p = ud;
    size_t had = ptr != NULL ? old : 0;

    if (size > had && size - had > p->left)
        return NULL;
    void *got = p->alloc(p->ud, ptr, old, size);
    if (got != NULL || size == 0)
        p->left += had - size;
    return got;
}

static int run(lua_State *L, lua_State *co, const char *path)
{
    struct purse p = {.left = MEMORY_MAX_BYTES};

    lua_pushvalue(L, 2);
    lua_xmove(L, co, 1);
    lua_setupvalue(co, -2, 1); /* the chunk's _ENV */
    lua_sethook(co, out_of_instructions, LUA_MASKCOUNT, INSTRUCTIONS_MAX);
    p.alloc = lua_getallocf(L, &p.ud);
    lua_setallocf(L, pay, &p);
    int rc = lua_pcall(co, 0, 0, 0);
    lua_setallocf(L, p.alloc, p.ud);
    lua_sethook(co, NULL, 0, 0);
    if (rc == LUA_OK) {
        lua_pushboolean(L, 1);
        return 1;
    }
    if (rc == LUA_ERRMEM)
        return fail_with(L, path, "more than 512 MiB of memory");
    return fail_with(L, path, luaL_tolstring(co, -1, NULL));
}

static int sandbox_load(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);

    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    int failed = check_folder(L, path);
    if (failed)
        return failed;
    lua_State *co = lua_newthread(L);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (fd < 0)
        return taut_fail_errno(L, "%s", path);
    failed = compile(L, co, path, fd);
    close(fd);
    return failed ? failed : run(L, co, path);
}

int luaopen_taut_sandbox(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"load", sandbox_load},
        {NULL, NULL},
    };

    luaL_newlib(L, functions);
    return 1;
}
