/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.evidence: what tests say about components, for taut.diagnose;
 * doc/internals/bindings.md lists the functions. */
#include <config.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/bindings/graph/mod_graph.h"
#include "advisor/bindings/mod_evidence.h"

struct taut_lua_evidence *taut_check_evidence(lua_State *L, int index)
{
    struct taut_lua_evidence *h =
        luaL_checkudata(L, index, TAUT_EVIDENCE_CLASS);

    luaL_argcheck(L, h->evidence != NULL, index, "evidence that was closed");
    return h;
}

struct taut_evidence *taut_self_evidence(lua_State *L)
{
    return taut_check_evidence(L, 1)->evidence;
}

uint32_t taut_evidence_component(lua_State *L, int arg,
                                 const struct taut_evidence *e)
{
    return taut_check_component(L, arg, taut_evidence_graph(e));
}

/* ---- building ---- */

static double rule(lua_State *L, int table, const char *name)
{
    int is_number;

    lua_getfield(L, table, name);
    double v = lua_tonumberx(L, -1, &is_number);
    if (!is_number)
        luaL_error(L, "field '%s': number expected", name);
    lua_pop(L, 1);
    return v;
}

static void read_rules(lua_State *L, int table, struct taut_lua_evidence *h,
                       struct taut_evidence_rules *r)
{
    luaL_checktype(L, table, LUA_TTABLE);
    r->good = rule(L, table, "good");
    r->clear_most = rule(L, table, "clear_most");
    r->ceiling = rule(L, table, "ceiling");
    r->spell_s = rule(L, table, "spell_s");
    r->busy_share = rule(L, table, "busy_share");
    r->busy_h = rule(L, table, "busy_h");
    r->contended = rule(L, table, "contended");
    r->steady = rule(L, table, "steady");
    r->grows = rule(L, table, "grows");
    r->at_level = rule(L, table, "at_level");
    r->at_fair = rule(L, table, "at_fair");
    r->floor = rule(L, table, "contention_floor");
    r->event_most = rule(L, table, "event_most");
    r->spell_most = rule(L, table, "spell_most");
    r->miss = rule(L, table, "miss");
    r->ack = rule(L, table, "ack");
    h->report = rule(L, table, "suspect_score");
}

/* Numbers from 1 by component, false where there is none; *groups: the
 * largest. */
static uint32_t *read_groups(lua_State *L, int index,
                             const struct taut_graph *g, uint32_t *groups)
{
    *groups = 0;
    if (lua_isnoneornil(L, index))
        return NULL;
    luaL_checktype(L, index, LUA_TTABLE);
    uint32_t *group = taut_lua_buffer(L, g->components, sizeof(*group));
    for (uint32_t c = 0; c < g->components; c++) {
        group[c] = TAUT_GRAPH_NONE;
        if (lua_rawgeti(L, index, (lua_Integer)c + 1) == LUA_TNUMBER) {
            lua_Integer v = lua_tointeger(L, -1);
            luaL_argcheck(L, v >= 1 && v <= g->components, index, "group");
            group[c] = (uint32_t)v - 1;
            if (group[c] >= *groups)
                *groups = group[c] + 1;
        }
        lua_pop(L, 1);
    }
    return group;
}

/* new(graph, rules [, classes]) → evidence
 *   classes  by component the number of its class */
static int evidence_new(lua_State *L)
{
    struct taut_lua_graph *gr = taut_check_ready(L, 1);
    struct taut_evidence_rules rules;
    uint32_t classes;

    lua_settop(L, 3);
    struct taut_lua_evidence *h = lua_newuserdatauv(L, sizeof(*h), 1);
    *h = (struct taut_lua_evidence){.evidence = NULL};
    luaL_setmetatable(L, TAUT_EVIDENCE_CLASS);
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 1);
    read_rules(L, 2, h, &rules);
    uint32_t *class = read_groups(L, 3, gr->graph, &classes);
    h->evidence = taut_evidence_create(gr->graph, &rules);
    if (h->evidence == NULL ||
        (class != NULL && taut_evidence_classes(h->evidence, class, classes)))
        return luaL_error(L, "out of memory for evidence");
    lua_settop(L, 4);
    return 1;
}

static int evidence_gc(lua_State *L)
{
    struct taut_lua_evidence *h = luaL_checkudata(L, 1, TAUT_EVIDENCE_CLASS);

    taut_evidence_destroy(h->evidence);
    h->evidence = NULL;
    return 0;
}

/* e:rules(rules): from now on */
static int evidence_rules(lua_State *L)
{
    struct taut_lua_evidence *h = taut_check_evidence(L, 1);
    struct taut_evidence_rules rules;

    read_rules(L, 2, h, &rules);
    taut_evidence_set_rules(h->evidence, &rules);
    return 0;
}

/* ---- taking tests ---- */

/* Fields of tests; their names are upvalues of evidence_observe, since they are
 * asked for of each test. */
enum field {
    F_BPS = 1,
    F_BW_BPS,
    F_CLASS,
    F_COMPONENT,
    F_CONFIRMS,
    F_DST,
    F_EXPECTED_BPS,
    F_ID,
    F_IS_LOW,
    F_JOB,
    F_PORT,
    F_RAIL,
    F_SRC,
    F_STREAMS,
    F_THROUGH,
    F_WAY,
    FIELDS,
};

static const char *const field_names[FIELDS] = {
    [F_BPS] = "Bps",
    [F_BW_BPS] = "bw_Bps",
    [F_CLASS] = "class",
    [F_COMPONENT] = "component",
    [F_CONFIRMS] = "confirms",
    [F_DST] = "dst",
    [F_EXPECTED_BPS] = "expected_Bps",
    [F_ID] = "id",
    [F_IS_LOW] = "is_low",
    [F_JOB] = "job",
    [F_PORT] = "port",
    [F_RAIL] = "rail",
    [F_SRC] = "src",
    [F_STREAMS] = "streams",
    [F_THROUGH] = "through",
    [F_WAY] = "way",
};

/* Push field f of the table on the top; returns its type. */
static int push_field(lua_State *L, enum field f)
{
    lua_pushvalue(L, lua_upvalueindex((int)f));
    return lua_rawget(L, -2);
}

/* Field f of the table on the top as a number, or the fallback. */
static lua_Integer whole(lua_State *L, enum field f, lua_Integer fallback)
{
    int is_number;

    push_field(L, f);
    lua_Integer v = lua_tointegerx(L, -1, &is_number);
    lua_pop(L, 1);
    return is_number ? v : fallback;
}

static double number(lua_State *L, enum field f, double fallback)
{
    int is_number;

    push_field(L, f);
    double v = lua_tonumberx(L, -1, &is_number);
    lua_pop(L, 1);
    return is_number ? v : fallback;
}

/* The ends of the test on the top; false where the machine has no such. */
static bool read_ends(lua_State *L, const struct taut_graph *g,
                      struct taut_measured *t)
{
    lua_Integer src = whole(L, F_SRC, 0), dst = whole(L, F_DST, 0);
    lua_Integer rail = g->rails > 1 ? whole(L, F_RAIL, 1) : 1;

    if (src < 1 || src > g->nodes || dst < 1 || dst > g->nodes || src == dst ||
        rail < 1 || rail > g->rails)
        return false;
    t->src = g->nodes * (uint32_t)(rail - 1) + (uint32_t)src - 1;
    t->dst = g->nodes * (uint32_t)(rail - 1) + (uint32_t)dst - 1;
    return true;
}

static void read_test(lua_State *L, const struct taut_graph *g,
                      struct taut_measured *t)
{
    lua_Integer confirms = whole(L, F_CONFIRMS, 0);

    t->id = whole(L, F_ID, 0);
    t->job = whole(L, F_JOB, 0);
    t->flows = 1;
    t->streams = (uint16_t)whole(L, F_STREAMS, 1);
    t->confirms = TAUT_GRAPH_NONE;
    if (confirms >= 1 && confirms <= g->components)
        t->confirms = (uint32_t)confirms - 1;
}

/* What the port of a loaded end carried in the void test on the top. */
static void read_port(lua_State *L, const struct taut_graph *g,
                      struct taut_measured *t)
{
    if (push_field(L, F_PORT) == LUA_TTABLE) {
        lua_Integer c = whole(L, F_COMPONENT, 0);
        double bw_Bps = number(L, F_BPS, -1);
        if (c >= 1 && c <= g->components && bw_Bps >= 0 && isfinite(bw_Bps)) {
            push_field(L, F_IS_LOW);
            t->is_low = lua_toboolean(L, -1);
            lua_pop(L, 1);
            t->by_port = true;
            t->port = (uint32_t)c - 1;
            t->bw_Bps = bw_Bps;
        }
    }
    lua_pop(L, 1);
}

/* What judge.lua made of the test on the top. */
static void read_judged(lua_State *L, const struct taut_graph *g,
                        struct taut_measured *t)
{
    push_field(L, F_CLASS);
    const char *class = lua_tostring(L, -1);
    t->is_low = class != NULL && strcmp(class, "low") == 0;
    bool is_good = class != NULL && strcmp(class, "good") == 0;
    lua_pop(L, 1);
    t->bw_Bps = t->is_low || is_good ? number(L, F_BW_BPS, -1) : -1;
    if (!(t->bw_Bps >= 0) || isinf(t->bw_Bps))
        t->bw_Bps = -1;
    if (!t->is_low && !is_good)
        read_port(L, g, t);
    t->expected_Bps = number(L, F_EXPECTED_BPS, HUGE_VAL);
}

/* 'through' of the judged test on the top: component → streams.  It may be
 * that of a whole phase, so only what is on the test's way is looked up. */
static void read_through(lua_State *L, struct taut_evidence *e)
{
    uint32_t stages = taut_evidence_stages(e);

    if (push_field(L, F_THROUGH) == LUA_TTABLE)
        for (uint32_t i = 0; i < stages; i++) {
            int has_n;
            lua_rawgeti(L, -1, (lua_Integer)taut_evidence_stage(e, i) + 1);
            lua_Number n = lua_tonumberx(L, -1, &has_n);
            if (has_n && n >= 1)
                taut_evidence_share_stage(
                    e, i,
                    (uint16_t)(n < TAUT_EVIDENCE_STREAMS
                                   ? n + 0.5
                                   : TAUT_EVIDENCE_STREAMS));
            lua_pop(L, 1);
        }
    lua_pop(L, 1);
}

#define WAY_MOST 64 /* stages of a way that was asked for */

/* 'way' of the test on the top: by stage of its route the component it took,
 * the ends among them, or false. */
static void read_way(lua_State *L, uint32_t *way, struct taut_measured *t)
{
    if (push_field(L, F_WAY) == LUA_TTABLE) {
        uint32_t n = (uint32_t)lua_rawlen(L, -1);
        n = n < 2 ? 0 : n - 2 < WAY_MOST ? n - 2 : WAY_MOST;
        for (uint32_t i = 0; i < n; i++) {
            lua_rawgeti(L, -1, (lua_Integer)i + 2);
            lua_Integer c = lua_tointeger(L, -1);
            way[i] =
                c >= 1 && c <= UINT32_MAX ? (uint32_t)c - 1 : TAUT_GRAPH_NONE;
            lua_pop(L, 1);
        }
        t->way = way;
        t->n_way = n;
    }
    lua_pop(L, 1);
}

/* Number i of the tests at 2.  Returns whether it was taken. */
static bool add_test(lua_State *L, struct taut_evidence *e, lua_Integer i)
{
    const struct taut_graph *g = taut_evidence_graph(e);
    struct taut_measured t = {.flows = 1};
    uint32_t way[WAY_MOST];

    if (lua_rawgeti(L, 2, i) != LUA_TTABLE || !read_ends(L, g, &t)) {
        lua_pop(L, 1);
        return false;
    }
    read_test(L, g, &t);
    read_way(L, way, &t);
    read_judged(L, g, &t);
    int rc = taut_evidence_add(e, &t);
    if (rc == TAUT_ROUTE_NO_MEMORY)
        return luaL_error(L, "out of memory for tests");
    if (rc == 0)
        read_through(L, e);
    lua_pop(L, 1);
    return rc == 0;
}

/* { c1, … } of those that were touched and have something to say. */
static void push_touched(lua_State *L, const struct taut_lua_evidence *h)
{
    uint32_t touched;
    const uint32_t *list = taut_evidence_touched(h->evidence, &touched);
    lua_Integer n = 0;

    lua_newtable(L);
    for (uint32_t i = 0; i < touched; i++) {
        if (!taut_evidence_is_news(h->evidence, list[i], h->report))
            continue;
        lua_pushinteger(L, (lua_Integer)list[i] + 1);
        lua_rawseti(L, -2, ++n);
    }
}

/* e:observe(tests, time, event)
 *   tests   { src =, dst =, rail =, id =, job =, confirms =, streams =, way =
 * }, and class, bw_Bps, expected_Bps, port and through, as judge.lua leaves
 * them → components to look at, tests that were good, low, void, not taken, and
 *   how many crossed sets
 * The components: whose run changed, and which are watched or whose run is
 * worth suspect_score. */
static int evidence_observe(lua_State *L)
{
    struct taut_lua_evidence *h = taut_check_evidence(L, 1);
    struct taut_evidence *e = h->evidence;
    double time = luaL_checknumber(L, 3);
    lua_Integer event = luaL_checkinteger(L, 4), lost = 0;
    struct taut_tally count;

    luaL_checktype(L, 2, LUA_TTABLE);
    luaL_argcheck(L, isfinite(time), 3, "not a time");
    lua_settop(L, 4);
    taut_evidence_begin(e);
    for (lua_Integer i = 1, n = (lua_Integer)lua_rawlen(L, 2); i <= n; i++)
        lost += !add_test(L, e, i);
    if (taut_evidence_commit(e, time, event, &count) < 0)
        return luaL_error(L, "out of memory for evidence");
    push_touched(L, h);
    lua_pushinteger(L, count.good);
    lua_pushinteger(L, count.low);
    lua_pushinteger(L, count.is_void);
    lua_pushinteger(L, lost);
    lua_pushinteger(L, count.by_sets);
    return 6;
}

int luaopen_taut_evidence(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"new", evidence_new},
        {NULL, NULL},
    };
    static const luaL_Reg methods[] = {
        {"rules", evidence_rules},
        {NULL, NULL},
    };

    taut_class(L, TAUT_EVIDENCE_CLASS, methods, evidence_gc);
    luaL_getmetatable(L, TAUT_EVIDENCE_CLASS);
    lua_getfield(L, -1, "__index");
    luaL_setfuncs(L, taut_evidence_questions, 0);
    luaL_setfuncs(L, taut_evidence_run_methods, 0);
    for (int f = 1; f < FIELDS; f++)
        lua_pushstring(L, field_names[f]);
    lua_pushcclosure(L, evidence_observe, FIELDS - 1);
    lua_setfield(L, -2, "observe");
    lua_pop(L, 2);
    luaL_newlib(L, functions);
    taut_set_integer(L, "OPEN", TAUT_EVIDENCE_OPEN);
    return 1;
}
