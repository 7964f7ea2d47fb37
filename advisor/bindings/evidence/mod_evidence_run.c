/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.evidence: the low tests of a run, to a store and back. */
#include <config.h>

#include <math.h>
#include <string.h>

#include "advisor/bindings/graph/mod_graph.h"
#include "advisor/bindings/evidence/mod_evidence.h"

/* ---- out ---- */

static void set_node(lua_State *L, const struct taut_graph *g, const char *name,
                     uint32_t endpoint)
{
    taut_set_integer(L, name, endpoint % g->nodes + 1);
}

static void push_on(lua_State *L, const struct taut_low *low)
{
    bool has_acks = false;

    lua_createtable(L, 0, low->n);
    for (uint32_t i = 0; i < low->n; i++) {
        lua_pushnumber(L, (double)low->on[i].share);
        lua_rawseti(L, -2, (lua_Integer)low->on[i].c + 1);
        has_acks = has_acks || low->on[i].by_ack;
    }
    lua_setfield(L, -2, "on");
    if (!has_acks)
        return;
    lua_newtable(L);
    for (uint32_t i = 0; i < low->n; i++)
        if (low->on[i].by_ack) {
            lua_pushboolean(L, true);
            lua_rawseti(L, -2, (lua_Integer)low->on[i].c + 1);
        }
    lua_setfield(L, -2, "acks");
}

static double ratio_of(const struct taut_low *low)
{
    double bw = (double)low->bw_Bps, expected = (double)low->expected_Bps;

    return expected > 0 ? bw / expected : 0;
}

static void push_low(lua_State *L, const struct taut_graph *g,
                     const struct taut_entry *x)
{
    const struct taut_low *low = x->low;

    lua_createtable(L, 0, 20);
    taut_set_integer(L, "id", low->id);
    taut_set_integer(L, "event", low->event);
    taut_set_integer(L, "job", low->job);
    taut_set_number(L, "time", low->time);
    set_node(L, g, "src", low->src);
    set_node(L, g, "dst", low->dst);
    taut_set_integer(L, "rail", low->src / g->nodes + 1);
    taut_set_number(L, "bw_Bps", (double)low->bw_Bps);
    taut_set_number(L, "expected_Bps", (double)low->expected_Bps);
    taut_set_number(L, "ratio", ratio_of(low));
    taut_set_number(L, "share", (double)x->share);
    taut_set_integer(L, "flows", low->flows);
    taut_set_integer(L, "streams", low->streams);
    taut_set_integer(L, "serial", low->serial);
    taut_set_integer(L, "links", low->links);
    taut_set_flag(L, "by_ack", x->by_ack);
    taut_set_flag(L, "is_counted", low->is_counted);
    if (low->confirms != TAUT_GRAPH_NONE)
        taut_set_integer(L, "confirms", low->confirms + 1);
    if (low->explained_by != TAUT_GRAPH_NONE)
        taut_set_integer(L, "explained_by", low->explained_by + 1);
    if (low->port != TAUT_GRAPH_NONE) {
        taut_set_text(L, "port",
                      low->port == taut_graph_tx(low->src) ? "src" : "dst");
    }
    push_on(L, low);
}

/* e:run(c) → array of low tests, oldest first */
static int ask_run(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    const struct taut_graph *g = taut_evidence_graph(e);
    uint32_t n;
    const struct taut_entry *entry =
        taut_evidence_run(e, taut_evidence_component(L, 2, e), &n);

    lua_createtable(L, (int)n, 0);
    for (uint32_t i = 0; i < n; i++) {
        push_low(L, g, &entry[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

/* e:newest(c) → src, dst of its newest low test, or nothing */
static int ask_newest(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    uint32_t nodes = taut_evidence_graph(e)->nodes, n;
    const struct taut_entry *entry =
        taut_evidence_run(e, taut_evidence_component(L, 2, e), &n);

    if (n == 0)
        return 0;
    lua_pushinteger(L, entry[n - 1].low->src % nodes + 1);
    lua_pushinteger(L, entry[n - 1].low->dst % nodes + 1);
    return 2;
}

/* e:best(c) → the most that a test of one stream in the run got of what was
 * expected; 0 where there is none */
static int ask_best(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    uint32_t n;
    const struct taut_entry *entry =
        taut_evidence_run(e, taut_evidence_component(L, 2, e), &n);
    double best = 0;

    for (uint32_t i = 0; i < n; i++)
        if (entry[i].low->streams == 1)
            best = fmax(best, ratio_of(entry[i].low));
    lua_pushnumber(L, best);
    return 1;
}

/* e:nodes(c) → map node → tests of the run it took part in */
static int ask_nodes(lua_State *L)
{
    struct taut_part_of list[2 * TAUT_EVIDENCE_RUN_MAX];
    struct taut_evidence *e = taut_self_evidence(L);
    uint32_t n = taut_evidence_nodes(e, taut_evidence_component(L, 2, e), list);

    lua_createtable(L, 0, (int)n);
    for (uint32_t i = 0; i < n; i++) {
        lua_pushinteger(L, list[i].tests);
        lua_rawseti(L, -2, (lua_Integer)list[i].node + 1);
    }
    return 1;
}

/* e:low(c, …) → number of tests in its run, or in those of several */
static int ask_low(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    lua_Integer all = 0;
    uint32_t n;

    for (int arg = 2, last = lua_gettop(L); arg <= last || arg == 2; arg++) {
        taut_evidence_run(e, taut_evidence_component(L, arg, e), &n);
        all += n;
    }
    lua_pushinteger(L, all);
    return 1;
}

/* ---- back from a store ---- */

static double need_number(lua_State *L, const char *name)
{
    int is_number;

    lua_getfield(L, 2, name);
    double v = lua_tonumberx(L, -1, &is_number);
    lua_pop(L, 1);
    if (!is_number || !isfinite(v))
        luaL_error(L, "field '%s': number expected", name);
    return v;
}

/* Is component c, from 1, in the set at an index?  'fallback' where that is
 * none. */
static bool is_in(lua_State *L, int set, lua_Integer c, bool fallback)
{
    if (!lua_istable(L, set))
        return fallback;
    bool yes = lua_rawgeti(L, set, c) != LUA_TNIL && lua_toboolean(L, -1);
    lua_pop(L, 1);
    return yes;
}

static uint32_t size_of(lua_State *L, int table)
{
    uint32_t n = 0;

    for (lua_pushnil(L); lua_next(L, table) != 0; lua_pop(L, 1))
        n++;
    return n;
}

/* What the test at 2 showed of components. */
struct restored {
    uint32_t n;
    struct taut_shown *on;
    bool *in_run;
};

/* From its 'on', 'acks' and 'runs', which are at 3, 4 and 5.  Returns false
 * where a component is not one of the machine's. */
static bool read_on(lua_State *L, const struct taut_graph *g,
                    struct restored *r)
{
    uint32_t all = size_of(L, 3);
    bool by_ack = taut_opt_flag(L, 2, "by_ack");

    luaL_argcheck(L, all < 4096, 2, "too many components");
    r->on = taut_lua_buffer(L, all, sizeof(*r->on));
    r->in_run = taut_lua_buffer(L, all, sizeof(*r->in_run));
    r->n = 0;
    for (lua_pushnil(L); lua_next(L, 3) != 0; lua_pop(L, 1)) {
        lua_Integer c = lua_tointeger(L, -2);
        double share = lua_tonumber(L, -1);
        if (c < 1 || c > g->components || !(share >= 0))
            return false;
        r->on[r->n] = (struct taut_shown){(uint32_t)c - 1, (float)share,
                                          is_in(L, 4, c, by_ack)};
        r->in_run[r->n++] = is_in(L, 5, c, true);
    }
    return true;
}

/* A field of the test at 2 that is a component's number, or NONE. */
static uint32_t component_field(lua_State *L, const struct taut_graph *g,
                                const char *name)
{
    lua_getfield(L, 2, name);
    lua_Integer c = lua_tointeger(L, -1);
    lua_pop(L, 1);
    return c >= 1 && c <= g->components ? (uint32_t)c - 1 : TAUT_GRAPH_NONE;
}

static void restore_fields(lua_State *L, const struct taut_graph *g,
                           struct taut_low *low)
{
    low->time = need_number(L, "time");
    low->id = (int64_t)need_number(L, "id");
    low->event = (int64_t)need_number(L, "event");
    low->job = (int64_t)need_number(L, "job");
    low->src = (uint32_t)need_number(L, "src") - 1;
    low->dst = (uint32_t)need_number(L, "dst") - 1;
    uint32_t rail = (uint32_t)need_number(L, "rail") - 1;
    low->src = (low->src + rail * g->nodes) % g->endpoints;
    low->dst = (low->dst + rail * g->nodes) % g->endpoints;
    low->bw_Bps = (float)need_number(L, "bw_Bps");
    low->expected_Bps = (float)need_number(L, "expected_Bps");
    low->flows = (uint16_t)need_number(L, "flows");
    low->streams = (uint16_t)need_number(L, "streams");
    low->serial = (uint32_t)need_number(L, "serial");
    lua_getfield(L, 2, "links");
    low->links = (uint16_t)luaL_optinteger(L, -1, 1);
    lua_getfield(L, 2, "is_counted");
    low->is_counted = lua_toboolean(L, -1);
    lua_getfield(L, 2, "port");
    const char *port = lua_tostring(L, -1);
    low->port = port == NULL               ? TAUT_GRAPH_NONE
                : strcmp(port, "src") == 0 ? taut_graph_tx(low->src)
                                           : taut_graph_rx(low->dst);
    lua_pop(L, 3);
    low->confirms = component_field(L, g, "confirms");
    low->explained_by = component_field(L, g, "explained_by");
}

/* e:restore(test): put a test of e:run back into the runs of the components
 * in its 'on' (of the set 'runs', where there is one), but for those that were
 * cleared later; 'acks': set of those of its way back.  Tests of one event have
 * the same 'serial', above 0. */
static int restore(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    const struct taut_graph *g = taut_evidence_graph(e);
    struct taut_low head = {.confirms = TAUT_GRAPH_NONE};
    struct restored r;

    luaL_checktype(L, 2, LUA_TTABLE);
    lua_settop(L, 2);
    restore_fields(L, g, &head);
    if (lua_getfield(L, 2, "on") != LUA_TTABLE)
        luaL_error(L, "field 'on': table expected");
    lua_getfield(L, 2, "acks");
    lua_getfield(L, 2, "runs");
    lua_pushboolean(L, read_on(L, g, &r) &&
                           taut_evidence_restore(e, &head, r.on, r.n,
                                                 r.in_run) == 0);
    return 1;
}

/* { share, time, share, time, … }, or nil where there are none. */
static int push_glimpses(lua_State *L, const struct taut_glimpse *list,
                         uint32_t n)
{
    if (n == 0)
        return 0;
    lua_createtable(L, 2 * (int)n, 0);
    for (uint32_t i = 0; i < n; i++) {
        lua_pushnumber(L, (double)list[i].share);
        lua_rawseti(L, -2, 2 * (lua_Integer)i + 1);
        lua_pushnumber(L, list[i].time);
        lua_rawseti(L, -2, 2 * (lua_Integer)i + 2);
    }
    return 1;
}

static const char *const kinds[] = {
    [TAUT_GLIMPSE_BEST] = "best",
    [TAUT_GLIMPSE_PART] = "part",
    [TAUT_GLIMPSE_WHOLE] = "whole",
    [TAUT_GLIMPSE_KINDS] = NULL,
};

/* e:glimpses(c, kind) → { share, time, share, time, … }: what tests let through since its
 * run began, nil where there are none.  kind: "best" of those that were neither low nor
 * clearing, "part" of uneven ones, "whole" of single streams that got all that they could */
static int ask_glimpses(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    uint32_t n, c = taut_evidence_component(L, 2, e);
    int kind = luaL_checkoption(L, 3, NULL, kinds);
    const struct taut_glimpse *list =
        taut_evidence_glimpses(e, c, (enum taut_glimpse_kind)kind, &n);

    return push_glimpses(L, list, n);
}

/* e:restore_glimpses(c, kind, what glimpses gave): into a run that was restored */
static int restore_glimpses(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    struct taut_glimpse list[TAUT_EVIDENCE_GLIMPSES];
    uint32_t n = 0, c = taut_evidence_component(L, 2, e);
    int kind = luaL_checkoption(L, 3, NULL, kinds);

    luaL_checktype(L, 4, LUA_TTABLE);
    for (lua_Integer i = 1, all = (lua_Integer)lua_rawlen(L, 4);
         i < all && n < TAUT_EVIDENCE_GLIMPSES; i += 2, n++) {
        lua_rawgeti(L, 4, i);
        lua_rawgeti(L, 4, i + 1);
        list[n] = (struct taut_glimpse){(float)luaL_checknumber(L, -2),
                                        luaL_checknumber(L, -1)};
        lua_pop(L, 2);
    }
    taut_evidence_restore_glimpses(e, c, (enum taut_glimpse_kind)kind, list, n);
    return 0;
}

/* e:restore_counts(c, low, low_of): of a run that was restored */
static int restore_counts(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    uint32_t c = taut_evidence_component(L, 2, e);

    taut_evidence_restore_counts(e, c, (uint32_t)luaL_checkinteger(L, 3),
                                 (uint32_t)luaL_checkinteger(L, 4));
    return 0;
}

/* e:restore_seen(c, { cleared_at, cleared_by, last, tests, good, reach }) */
static int restore_seen(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    uint32_t c = taut_evidence_component(L, 2, e);

    luaL_checktype(L, 3, LUA_TTABLE);
    struct taut_seen seen = {
        .cleared_at = taut_opt_number(L, 3, "cleared_at", -HUGE_VAL),
        .cleared_by = (int64_t)taut_opt_number(L, 3, "cleared_by", 0),
        .last = taut_opt_number(L, 3, "last", -HUGE_VAL),
        .reach = taut_opt_number(L, 3, "reach", 0),
        .tests = (uint32_t)taut_opt_number(L, 3, "tests", 0),
        .good = (uint32_t)taut_opt_number(L, 3, "good", 0),
    };
    taut_evidence_restore_seen(e, c, &seen);
    return 0;
}

const luaL_Reg taut_evidence_run_methods[] = {
    {"best", ask_best},
    {"glimpses", ask_glimpses},
    {"low", ask_low},
    {"newest", ask_newest},
    {"nodes", ask_nodes},
    {"restore", restore},
    {"restore_counts", restore_counts},
    {"restore_glimpses", restore_glimpses},
    {"restore_seen", restore_seen},
    {"run", ask_run},
    {NULL, NULL},
};
