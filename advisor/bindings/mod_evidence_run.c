/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.evidence: the low tests of a run, to a store and back. */
#include <config.h>

#include <math.h>
#include <string.h>

#include "advisor/bindings/graph/mod_graph.h"
#include "advisor/bindings/mod_evidence.h"

/* ---- out ---- */

static void set_node(lua_State *L, const struct taut_graph *g, const char *name,
                     uint32_t endpoint)
{
    taut_set_integer(L, name, endpoint % g->nodes + 1);
}

static void push_on(lua_State *L, const struct taut_low *low)
{
    lua_createtable(L, 0, low->n);
    for (uint32_t i = 0; i < low->n; i++) {
        lua_pushnumber(L, (double)low->on[i].share);
        lua_rawseti(L, -2, (lua_Integer)low->on[i].c + 1);
    }
    lua_setfield(L, -2, "on");
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

/* The components of the test at 2 from its 'on'; *n: how many.  NULL where one
 * is none of the machine's. */
static struct taut_shown *read_on(lua_State *L, const struct taut_graph *g,
                                  bool by_ack, uint32_t *n)
{
    uint32_t all = 0;

    if (lua_getfield(L, 2, "on") != LUA_TTABLE)
        luaL_error(L, "field 'on': table expected");
    for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1))
        all++;
    luaL_argcheck(L, all < 4096, 2, "too many components");
    struct taut_shown *on = taut_lua_buffer(L, all, sizeof(*on));
    lua_insert(L, -2);
    *n = 0;
    for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1)) {
        lua_Integer c = lua_tointeger(L, -2);
        double share = lua_tonumber(L, -1);
        if (c < 1 || c > g->components || !(share >= 0))
            return NULL;
        on[(*n)++] = (struct taut_shown){(uint32_t)c - 1, (float)share, by_ack};
    }
    return on;
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
    lua_getfield(L, 2, "port");
    const char *port = lua_tostring(L, -1);
    low->port = port == NULL               ? TAUT_GRAPH_NONE
                : strcmp(port, "src") == 0 ? taut_graph_tx(low->src)
                                           : taut_graph_rx(low->dst);
    lua_pop(L, 2);
}

/* e:restore(test): put a test of e:run back into the runs of the components
 * in its 'on', but for those that were cleared later.  Tests of one event
 * have the same 'serial', above 0. */
static int restore(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    const struct taut_graph *g = taut_evidence_graph(e);
    struct taut_low head = {.confirms = TAUT_GRAPH_NONE};
    uint32_t n;

    luaL_checktype(L, 2, LUA_TTABLE);
    restore_fields(L, g, &head);
    const struct taut_shown *on =
        read_on(L, g, taut_opt_flag(L, 2, "by_ack"), &n);
    lua_pushboolean(L,
                    on != NULL && taut_evidence_restore(e, &head, on, n) == 0);
    return 1;
}

/* e:restore_seen(c, { cleared_at, last, tests, good }) */
static int restore_seen(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    uint32_t c = taut_evidence_component(L, 2, e);

    luaL_checktype(L, 3, LUA_TTABLE);
    struct taut_seen seen = {
        .cleared_at = taut_opt_number(L, 3, "cleared_at", -HUGE_VAL),
        .last = taut_opt_number(L, 3, "last", -HUGE_VAL),
        .tests = (uint32_t)taut_opt_number(L, 3, "tests", 0),
        .good = (uint32_t)taut_opt_number(L, 3, "good", 0),
    };
    taut_evidence_restore_seen(e, c, &seen);
    return 0;
}

const luaL_Reg taut_evidence_run_methods[] = {
    {"best", ask_best},     {"low", ask_low},
    {"newest", ask_newest}, {"nodes", ask_nodes},
    {"restore", restore},   {"restore_seen", restore_seen},
    {"run", ask_run},       {NULL, NULL},
};
