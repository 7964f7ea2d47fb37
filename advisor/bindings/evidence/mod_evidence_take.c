/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.evidence: the tests of an event, as judge.lua left them: those of a plan
 * (taut.tests), and tables of surveys. */
#include <config.h>

#include <math.h>

#include "advisor/bindings/evidence/mod_evidence_take.h"
#include "advisor/bindings/test/mod_test.h"

/* ---- tests of plans ---- */

/* Why the test of a plan is left out, or NULL. */
static const char *plan_refused(struct taut_evidence *e,
                                const struct taut_take_limits *limits,
                                const struct taut_lua_test *p,
                                struct taut_measured *t)
{
    const struct taut_graph *g = taut_evidence_graph(e);

    if (p->graph == NULL || p->graph->graph != g)
        return "of unknown nodes"; /* of another machine */
    t->src = p->a;
    t->dst = p->b;
    t->confirms = p->confirms > 0 ? p->confirms - 1 : TAUT_GRAPH_NONE;
    if (p->time > limits->latest)
        return "from the future";
    if (p->time < limits->oldest)
        return "too old";
    t->id = p->id;
    return p->id == TAUT_TEST_NO_INTEGER || taut_evidence_note_id(e, p->id)
               ? NULL
               : "twice";
}

/* Is it one stream alone that took an unknown link of a set? */
static bool is_lone_plan_flow(lua_State *L, const struct taut_lua_test *p)
{
    bool is_lone = p->streams == 1 && p->senders <= 1 && p->group == 0 &&
                   !p->by_loss;

    if (is_lone && p->has_odd) {
        taut_test_push_odd(L, -1, p, "is_traced");
        is_lone = !lua_toboolean(L, -1);
        lua_pop(L, 1);
    }
    return is_lone;
}

/* What was judged of the test of a plan on the top. */
static void read_plan_judged(lua_State *L, const struct taut_graph *g,
                             const struct taut_lua_test *p,
                             struct taut_measured *t)
{
    const struct taut_test_figures *f = &p->figures;
    bool is_good = p->class == TAUT_TEST_GOOD;

    t->is_low = p->class == TAUT_TEST_LOW;
    t->bw_Bps = (t->is_low || is_good) && f->bw_Bps >= 0 && !isinf(f->bw_Bps)
                    ? f->bw_Bps
                    : -1;
    if (!t->is_low && !is_good) {
        taut_test_push_odd(L, -1, p, "port");
        taut_take_pop_port(L, g, t);
    }
    t->expected_Bps = isnan(f->expected_Bps) ? HUGE_VAL : f->expected_Bps;
    t->by_loss = p->by_loss;
    t->segments = isnan(f->segments) ? 0 : f->segments;
    t->lost = isnan(f->lost) ? -1 : f->lost;
    t->segment_bytes = isnan(f->segment_bytes) ? 0 : f->segment_bytes;
    t->min_rtt_ns = isnan(f->min_rtt_ns) ? 0 : f->min_rtt_ns;
}

/* Several send at once over the links of the test of a plan, which is on the top
 * and was added last. */
static void share_links(lua_State *L, struct taut_evidence *e,
                        const struct taut_lua_test *p)
{
    const struct taut_graph *g = taut_evidence_graph(e);

    if (p->has_odd || taut_evidence_is_over_sets(e)) {
        lua_getfield(L, -1, "through");
        taut_take_pop_through(L, e);
        return;
    }
    for (uint32_t i = 0; p->senders > 1 && i < taut_evidence_stages(e); i++)
        if (taut_evidence_stage(e, i) >= 2 * g->endpoints)
            taut_evidence_share_stage(e, i, p->senders);
}

/* Take the test of a plan, on the top, in.  Returns whether it is a flow to be
 * counted. */
static bool take_plan_test(lua_State *L, struct taut_evidence *e,
                           const struct taut_lua_test *p,
                           struct taut_measured *t)
{
    uint32_t way[TAUT_TAKE_WAY];
    bool is_added;

    t->job = p->job != TAUT_TEST_NO_INTEGER ? p->job : 0;
    t->streams = p->streams;
    if (p->has_odd) {
        taut_test_push_odd(L, -1, p, "way");
        taut_take_pop_way(L, way, t);
        taut_test_push_odd(L, -1, p, "part_Bps");
        taut_take_pop_part(L, t);
    }
    read_plan_judged(L, taut_evidence_graph(e), p, t);
    bool is_flow = taut_take_add(L, e, t, &is_added);
    if (is_added)
        share_links(L, e, p);
    return is_flow && is_lone_plan_flow(L, p);
}

/* ---- an event ---- */

#define CLASS lua_upvalueindex(1) /* the metatable of tests */

/* On the stack of evidence_take. */
enum { TESTS = 2, TAKEN, FLOWS, REFUSED, CONFIRMING };

/* Count the test on the top, which is test i, as left out.  From the first one
 * on those that are taken are a list of their own. */
static void leave_out(lua_State *L, lua_Integer i, const char *why)
{
    if (lua_isnil(L, REFUSED)) {
        lua_newtable(L);
        lua_replace(L, REFUSED);
        lua_newtable(L);
        lua_replace(L, TAKEN);
        for (lua_Integer k = 1; k < i; k++) {
            lua_rawgeti(L, TESTS, k);
            lua_rawseti(L, TAKEN, k);
        }
    }
    lua_getfield(L, REFUSED, why);
    lua_pushinteger(L, lua_tointeger(L, -1) + 1);
    lua_setfield(L, REFUSED, why);
    lua_pop(L, 1);
}

/* e:take(tests, oldest, latest): an event begins
 *   tests   of a plan, or tables { src =, dst =, rail =, id =, job =, time =,
 *           confirms =, streams =, senders =, group =, way =, is_traced = },
 *           and class, bw_Bps, expected_Bps, part_Bps, port and through, as judge.lua
 *           leaves them
 *   oldest, latest  that their time may be, in seconds
 * → those that are taken, the same table where all are; of these the lone flows
 *   over sets, unless what they surely cross has low tests; why others were
 *   left out → how many, or nil; those that are taken and have 'confirms' */
static int evidence_take(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    struct taut_take_limits limits = {luaL_checknumber(L, 3),
                                      luaL_checknumber(L, 4)};
    lua_Integer flows = 0, taken = 0, confirming = 0;

    luaL_checktype(L, TESTS, LUA_TTABLE);
    lua_settop(L, TESTS);
    lua_pushvalue(L, TESTS);
    lua_newtable(L);
    lua_pushnil(L);
    lua_newtable(L);
    taut_evidence_begin(e);
    for (lua_Integer i = 1, n = (lua_Integer)lua_rawlen(L, 2); i <= n; i++) {
        struct taut_measured t = {.flows = 1};
        lua_rawgeti(L, TESTS, i);
        const struct taut_lua_test *p = taut_test_at(L, -1, CLASS);
        const char *why = p != NULL
                              ? plan_refused(e, &limits, p, &t)
                              : taut_take_table_refused(L, e, &limits, &t);
        if (why != NULL) {
            leave_out(L, i, why);
            lua_pop(L, 1);
            continue;
        }
        taken++;
        if (p != NULL ? take_plan_test(L, e, p, &t)
                      : taut_take_table(L, e, &t)) {
            lua_pushvalue(L, -1);
            lua_rawseti(L, FLOWS, ++flows);
        }
        if (t.confirms != TAUT_GRAPH_NONE) {
            lua_pushvalue(L, -1);
            lua_rawseti(L, CONFIRMING, ++confirming);
        }
        if (lua_isnil(L, REFUSED))
            lua_pop(L, 1);
        else
            lua_rawseti(L, TAKEN, taken);
    }
    return 4;
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

/* e:observe(time, event): the event is taken in
 * → components to look at; tests that were good, low, void; and how many
 *   crossed sets
 * The components: whose run changed, and which are watched or whose run is
 * worth suspect_score. */
static int evidence_observe(lua_State *L)
{
    struct taut_lua_evidence *h = taut_check_evidence(L, 1);
    struct taut_evidence *e = h->evidence;
    double time = luaL_checknumber(L, 2);
    lua_Integer event = luaL_checkinteger(L, 3);
    struct taut_tally count;

    luaL_argcheck(L, isfinite(time), 2, "not a time");
    if (taut_evidence_commit(e, time, event, &count) < 0)
        return luaL_error(L, "out of memory for evidence");
    push_touched(L, h);
    lua_pushinteger(L, count.good);
    lua_pushinteger(L, count.low);
    lua_pushinteger(L, count.is_void);
    lua_pushinteger(L, count.by_sets);
    return 5;
}

/* The two methods into the table on the top. */
void taut_evidence_push_taking(lua_State *L)
{
    taut_test_push_class(L);
    lua_pushcclosure(L, evidence_take, 1 + taut_take_push_names(L));
    lua_setfield(L, -2, "take");
    lua_pushcfunction(L, evidence_observe);
    lua_setfield(L, -2, "observe");
}
