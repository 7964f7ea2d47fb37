/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.evidence: which component loses a share of its packets. */
#include <config.h>

#include <math.h>

#include "advisor/bindings/evidence/mod_evidence.h"
#include "advisor/bindings/graph/mod_graph.h"
#include "advisor/lib/evidence/loss/loss.h"

/* ---- questions ---- */

/* e:loss_case(c) → what the loss run of c amounts to, or nil without one:
 * { score, share, first, last, tests, at, spells, events, segments, lost, rate,
 *   recent, far, senders, receivers }, as in loss.h */
static int ask_loss_case(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    uint32_t c = taut_evidence_component(L, 2, e), n;
    struct taut_loss_case k;

    if (taut_loss_run(e, c, &n) == NULL)
        return 0;
    taut_loss_judge(e, c, &k);
    struct taut_reporters who = taut_loss_reporters(e, c, &k);
    lua_createtable(L, 0, 15);
    taut_set_number(L, "score", k.score);
    taut_set_number(L, "share", k.share);
    taut_set_number(L, "first", k.first);
    taut_set_number(L, "last", k.last);
    taut_set_integer(L, "tests", k.tests);
    taut_set_integer(L, "at", k.at);
    taut_set_integer(L, "spells", k.spells);
    taut_set_integer(L, "events", k.events);
    taut_set_number(L, "segments", k.segments);
    taut_set_number(L, "lost", k.lost);
    taut_set_number(L, "rate", k.rate);
    taut_set_integer(L, "recent", k.recent);
    taut_set_integer(L, "far", who.far);
    taut_set_integer(L, "senders", who.senders);
    taut_set_integer(L, "receivers", who.receivers);
    return 1;
}

/* e:loss_rivals(c, enough, near) → array of { component, rest, score, same }: others
 * that may be what loses, see loss.h */
static int ask_loss_rivals(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    uint32_t c = taut_evidence_component(L, 2, e), n = 0;
    double enough = luaL_checknumber(L, 3), near = luaL_checknumber(L, 4);
    const struct taut_rival *list = NULL;

    if (taut_loss_run(e, c, &n) != NULL)
        list = taut_loss_rivals(e, c, enough, near, &n);
    lua_createtable(L, (int)n, 0);
    for (uint32_t i = 0; i < n; i++) {
        lua_createtable(L, 0, 4);
        taut_set_integer(L, "component", (lua_Integer)list[i].c + 1);
        taut_set_number(L, "rest", list[i].rest);
        taut_set_number(L, "score", list[i].score);
        taut_set_number(L, "same", list[i].same);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

/* e:loss_good(c) → tests without its share since the last that had it */
static int ask_loss_good(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);

    lua_pushinteger(L, taut_loss_good(e, taut_evidence_component(L, 2, e)));
    return 1;
}

/* ---- the tests of a run ---- */

static void push_test(lua_State *L, const struct taut_evidence *e,
                      const struct taut_loss_test *t)
{
    const struct taut_graph *g = taut_evidence_graph(e);

    lua_createtable(L, 0, 15);
    taut_set_integer(L, "id", t->id);
    taut_set_integer(L, "event", t->event);
    taut_set_integer(L, "job", t->job);
    taut_set_integer(L, "serial", t->serial);
    taut_set_number(L, "time", t->time);
    taut_set_integer(L, "src", t->src % g->nodes + 1);
    taut_set_integer(L, "dst", t->dst % g->nodes + 1);
    taut_set_integer(L, "rail", t->src / g->nodes + 1);
    taut_set_number(L, "segments", (double)t->segments);
    taut_set_number(L, "lost", (double)t->lost);
    taut_set_number(L, "rate", (double)t->rate);
    taut_set_number(L, "single", (double)t->single);
    taut_set_integer(L, "links", t->links);
    taut_push_ids(L, t->on, t->n);
    lua_setfield(L, -2, "on");
}

/* e:loss_run(c) → array of the tests of its loss run, oldest first: { id,
 * event, job, serial, time, src, dst, rail, segments, lost, rate,
 * single, links, on = array of
 * the components that it crossed, is_at = it lost the share of the case } */
static int ask_loss_run(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    uint32_t c = taut_evidence_component(L, 2, e), n;
    struct taut_loss_test *const *list = taut_loss_run(e, c, &n);
    struct taut_loss_case k;

    taut_loss_judge(e, c, &k);
    lua_createtable(L, (int)n, 0);
    for (uint32_t i = 0; i < n; i++) {
        push_test(L, e, list[i]);
        taut_set_flag(L, "is_at", taut_loss_is_at(e, c, &k, list[i]));
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

#define ON_MOST 256 /* components on one way */
#define SINGLE_MOST 4.0 /* log odds that a kept test may claim */

/* An endpoint of the test at 2: field 'name' is its node. */
static uint32_t read_endpoint(lua_State *L, const struct taut_graph *g,
                              const char *name)
{
    double node = taut_opt_number(L, 2, name, 0);
    double rail = taut_opt_number(L, 2, "rail", 1);

    luaL_argcheck(L,
                  node >= 1 && node <= g->nodes && rail >= 1 &&
                      rail <= g->rails,
                  2, "a test between nodes of the machine");
    return g->nodes * ((uint32_t)rail - 1) + (uint32_t)node - 1;
}

/* e:restore_loss(test, runs): a test as loss_run gave it goes back into the
 * runs of components
 *   runs  set of the components in whose run it stood */
static int restore_loss(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    const struct taut_graph *g = taut_evidence_graph(e);
    uint32_t on[ON_MOST], n = 0;
    bool in_run[ON_MOST];

    luaL_checktype(L, 2, LUA_TTABLE);
    luaL_checktype(L, 3, LUA_TTABLE);
    struct taut_loss_test head = {
        .time = taut_opt_number(L, 2, "time", 0),
        .id = (int64_t)taut_opt_number(L, 2, "id", 0),
        .event = (int64_t)taut_opt_number(L, 2, "event", 0),
        .job = (int64_t)taut_opt_number(L, 2, "job", 0),
        .serial = (uint32_t)taut_opt_number(L, 2, "serial", 0),
        .src = read_endpoint(L, g, "src"),
        .dst = read_endpoint(L, g, "dst"),
        .segments = (float)taut_opt_number(L, 2, "segments", 0),
        .lost = (float)taut_opt_number(L, 2, "lost", 0),
        .rate = (float)taut_opt_number(L, 2, "rate", 1),
        .single = (float)fmax(-SINGLE_MOST, fmin(SINGLE_MOST,
                                taut_opt_number(L, 2, "single", 0))),
        .links = (uint16_t)taut_opt_number(L, 2, "links", 0),
    };
    luaL_argcheck(L, head.segments >= 1 && head.lost >= 0, 2,
                  "a test whose losses were counted");
    lua_getfield(L, 2, "on");
    luaL_checktype(L, -1, LUA_TTABLE);
    for (lua_Integer i = 1, all = (lua_Integer)lua_rawlen(L, -1);
         i <= all && n < ON_MOST; i++, n++) {
        lua_rawgeti(L, -1, i);
        on[n] = taut_evidence_component(L, -1, e);
        lua_pop(L, 1);
        lua_rawgeti(L, 3, (lua_Integer)on[n] + 1);
        in_run[n] = lua_toboolean(L, -1);
        lua_pop(L, 1);
    }
    if (taut_loss_restore(e, &head, on, n, in_run) < 0)
        return luaL_error(L, "out of memory for evidence of losses");
    return 0;
}

/* ---- changes ---- */

/* e:name_loss(c, share): c loses this share and explains the losses over it;
 * 0: it loses nothing */
static int name_loss(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    uint32_t c = taut_evidence_component(L, 2, e);
    double share = luaL_checknumber(L, 3);

    luaL_argcheck(L, share >= 0 && share <= 1, 3, "not within 0 to 1");
    taut_loss_name(e, c, share);
    return 0;
}

/* e:forget_loss(c): as if no test of c had lost anything */
static int forget_loss(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);

    taut_loss_forget(e, taut_evidence_component(L, 2, e));
    return 0;
}

const luaL_Reg taut_evidence_loss_methods[] = {
    {"forget_loss", forget_loss},
    {"loss_case", ask_loss_case},
    {"loss_good", ask_loss_good},
    {"loss_rivals", ask_loss_rivals},
    {"loss_run", ask_loss_run},
    {"name_loss", name_loss},
    {"restore_loss", restore_loss},
    {NULL, NULL},
};
