/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.munge: credentials are decoded by the pool's threads, and their
 * results come back to Lua from the loop. */
#include <config.h>

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "advisor/bindings/loop/loop.h"
#include "advisor/lib/os/munge_pool.h"

#define MUNGE_CLASS "taut.munge"
#define DEFAULT_WORKERS 4

struct munge {
    struct taut_loop *loop;
    struct taut_munge_pool *pool;
    struct event *event;
};

static const char munge_key; /* its address names the registry slot */

static int munge_gc(lua_State *L)
{
    struct munge *m = luaL_checkudata(L, 1, MUNGE_CLASS);

    if (m->event != NULL)
        event_free(m->event);
    m->event = NULL;
    taut_munge_pool_destroy(m->pool);
    m->pool = NULL;
    return 0;
}

/* Call the function that waited for this result: its reference is the
 * result's id. */
static void give_result(lua_State *L, const struct taut_munge_result *r)
{
    int fn = r->id;

    taut_ref_push(L, fn);
    taut_ref_drop(L, &fn);
    if (r->payload != NULL) {
        lua_pushlstring(L, r->payload, r->length);
        lua_pushinteger(L, r->uid);
        lua_pushinteger(L, r->gid);
        lua_pushinteger(L, r->age_s);
        taut_call(L, 4);
    } else {
        luaL_pushfail(L);
        lua_pushstring(L, r->error);
        if (r->is_late)
            lua_pushinteger(L, r->age_s);
        else
            lua_pushnil(L);
        lua_pushboolean(L, r->is_away);
        taut_call(L, 4);
    }
}

static void on_finished(evutil_socket_t fd, short what, void *arg)
{
    struct munge *m = arg;
    struct taut_munge_result result;
    uint64_t count;

    (void)what;
    while (read(fd, &count, sizeof(count)) < 0 && errno == EINTR)
        continue;
    while (taut_munge_pool_take(m->pool, &result)) {
        give_result(m->loop->L, &result);
        free(result.payload);
    }
}

static struct munge *munge_get(lua_State *L)
{
    lua_rawgetp(L, LUA_REGISTRYINDEX, &munge_key);
    struct munge *m = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return m;
}

static void munge_create(lua_State *L)
{
    struct taut_loop *loop = taut_loop_get(L);
    struct munge *m = lua_newuserdatauv(L, sizeof(*m), 0);

    *m = (struct munge){.loop = loop};
    luaL_setmetatable(L, MUNGE_CLASS);
    m->pool = taut_munge_pool_create(DEFAULT_WORKERS);
    if (m->pool != NULL)
        m->event = event_new(loop->base, taut_munge_pool_fd(m->pool),
                             EV_READ | EV_PERSIST, on_finished, m);
    if (m->event == NULL || event_add(m->event, NULL) != 0)
        luaL_error(L, "cannot make the pool: %s", strerror(errno));
    lua_rawsetp(L, LUA_REGISTRYINDEX, &munge_key);
}

static int munge_decode_later(lua_State *L)
{
    size_t n;
    const char *cred = luaL_checklstring(L, 1, &n);

    luaL_checktype(L, 2, LUA_TFUNCTION);
    /* Bytes behind a NUL are not part of a credential; "" is refused like any
     * other bad text. */
    if (strlen(cred) != n)
        cred = "";
    int fn = taut_ref_function(L, 2);
    if (taut_munge_pool_submit(munge_get(L)->pool, fn, cred) != 0) {
        taut_ref_drop(L, &fn);
        return luaL_error(L, "out of memory");
    }
    return 0;
}

static int munge_socket(lua_State *L)
{
    if (taut_munge_pool_socket(munge_get(L)->pool,
                               luaL_optstring(L, 1, NULL)) != 0)
        return taut_fail_errno(L, "MUNGE socket");
    lua_pushboolean(L, 1);
    return 1;
}

static int munge_pending(lua_State *L)
{
    size_t n = taut_munge_pool_pending(munge_get(L)->pool);

    lua_pushinteger(L, (lua_Integer)n);
    return 1;
}

int luaopen_taut_munge(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"decode", munge_decode_later},
        {"pending", munge_pending},
        {"socket", munge_socket},
        {NULL, NULL},
    };
    static const luaL_Reg none[] = {{NULL, NULL}};

    /* The loop's own class, if it was not used yet. */
    luaL_requiref(L, "taut.loop", luaopen_taut_loop, 0);
    lua_pop(L, 1);
    taut_class(L, MUNGE_CLASS, none, munge_gc);
    munge_create(L);
    luaL_newlib(L, functions);
    return 1;
}
