/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.tests: what is done with all tests of a plan, one after the other. */
#include <config.h>

#include <math.h>

#include "advisor/bindings/mod_coverage.h"
#include "advisor/bindings/test/mod_test.h"

#define CLASS lua_upvalueindex(1)

static struct taut_lua_test *check_test(lua_State *L, int index)
{
    struct taut_lua_test *t = taut_test_at(L, index, CLASS);

    if (t == NULL)
        luaL_typeerror(L, index, TAUT_TEST_CLASS);
    return t;
}

/* ---- ways ---- */

/* Every component of a way: 'is_sure' where the test surely crosses it, else it
 * is one of a set. */
typedef void (*visit_f)(void *arg, uint32_t c, bool is_sure);

static void visit_graph(const struct taut_graph *g, const struct taut_route *r,
                        visit_f visit, void *arg)
{
    uint32_t entry = 0;

    for (uint32_t i = 0; i < r->stages; i++) {
        bool is_sure = taut_route_is_sure(r, i);
        uint32_t end = r->has_sets ? r->end[i] : i + 1;
        for (; entry < end; entry++)
            visit(arg, taut_graph_link(g, r->link[entry]), is_sure);
    }
}

/* A stage of a way that was set, on the top: a component, or a set of them. */
static void visit_stage(lua_State *L, visit_f visit, void *arg)
{
    if (lua_isinteger(L, -1)) {
        visit(arg, (uint32_t)lua_tointeger(L, -1) - 1, true);
        return;
    }
    for (lua_Integer i = 1, n = (lua_Integer)lua_rawlen(L, -1); i <= n; i++) {
        lua_rawgeti(L, -1, i);
        visit(arg, (uint32_t)lua_tointeger(L, -1) - 1, false);
        lua_pop(L, 1);
    }
}

/* Visit the way of a test: the graph's, unless another one was set.  Returns
 * how many stages it has, the two ends among them. */
static uint32_t visit_way(lua_State *L, int index,
                          const struct taut_lua_test *t, visit_f visit,
                          void *arg)
{
    struct taut_lua_graph *h = t->graph;

    if (h == NULL || !h->is_ready)
        luaL_error(L, "test that was given back, or whose graph was closed");
    if (t->is_own_route) {
        lua_getfield(L, index, "route");
        uint32_t n = (uint32_t)lua_rawlen(L, -1);
        for (uint32_t i = 1; i <= n; i++) {
            lua_rawgeti(L, -1, i);
            visit_stage(L, visit, arg);
            lua_pop(L, 1);
        }
        lua_pop(L, 1);
        return n;
    }
    const struct taut_graph *g = h->graph;
    int rc = taut_graph_route(g, g->at[t->a], g->at[t->b], t->b, &h->route);
    if (rc == TAUT_ROUTE_NO_MEMORY)
        luaL_error(L, "out of memory while looking for a route");
    if (rc != 0)
        return 0;
    visit(arg, taut_graph_tx(t->a), true);
    visit_graph(g, &h->route, visit, arg);
    visit(arg, taut_graph_rx(t->b), true);
    return h->route.stages + 2;
}

/* ---- planning ---- */

struct reserve {
    struct taut_coverage *times;
    double seconds, now, until;
};

static void reserve(void *arg, uint32_t c, bool is_sure)
{
    const struct reserve *r = arg;

    (void)is_sure;
    if (c >= r->times->n)
        return;
    taut_coverage_spend(r->times, c, r->seconds, r->now);
    taut_coverage_hold(r->times, c, r->until);
}

static void push_ms(lua_State *L, double ms)
{
    lua_Integer n;

    if (lua_numbertointeger(ms, &n) && (double)n == ms)
        lua_pushinteger(L, n);
    else
        lua_pushnumber(L, ms);
}

/* tests.schedule(phases, times, next_id, now, lead_ms, test_ms, gap_ms): number
 * tests, give each its time, and reserve what it may cross
 *   phases  array of arrays of tests; next_id() returns a new number
 * → array of all, milliseconds until the last ends and a gap */
static int tests_schedule(lua_State *L)
{
    struct reserve r = {.times = taut_check_coverage(L, 2),
                        .now = luaL_checknumber(L, 4)};
    double at = luaL_checknumber(L, 5), test_ms = luaL_checknumber(L, 6),
           gap_ms = luaL_checknumber(L, 7);
    lua_Integer n = 0;

    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 7);
    lua_newtable(L);
    r.seconds = test_ms / 1000;
    for (lua_Integer p = 1; lua_rawgeti(L, 1, p) == LUA_TTABLE; p++) {
        r.until = r.now + (at + test_ms) / 1000;
        for (lua_Integer i = 1; lua_rawgeti(L, 9, i) != LUA_TNIL; i++) {
            struct taut_lua_test *t = check_test(L, 10);
            lua_pushvalue(L, 3);
            lua_call(L, 0, 1);
            t->id = luaL_checkinteger(L, -1);
            lua_pop(L, 1);
            t->phase = (uint16_t)p;
            t->start_ms = at;
            t->dur_ms = test_ms;
            visit_way(L, 10, t, reserve, &r);
            lua_rawseti(L, 8, ++n);
        }
        lua_settop(L, 8);
        at += test_ms + gap_ms;
    }
    lua_settop(L, 8);
    push_ms(L, at);
    return 2;
}

/* ---- what came of them ---- */

/* tests.stamp(list, event, time, job): all are of this event */
static int tests_stamp(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    int64_t event = luaL_checkinteger(L, 2), job = luaL_checkinteger(L, 4);
    double time = luaL_checknumber(L, 3);

    for (lua_Integer i = 1; lua_rawgeti(L, 1, i) != LUA_TNIL; i++) {
        struct taut_lua_test *t = check_test(L, -1);
        t->event = event;
        t->time = time;
        t->job = job;
        lua_pop(L, 1);
    }
    return 0;
}

struct touch {
    struct taut_coverage *times;
    double time;
};

static void touch(void *arg, uint32_t c, bool is_sure)
{
    const struct touch *to = arg;

    if (is_sure && to->times != NULL && c < to->times->n)
        to->times->tested[c] = to->time;
}

/* tests.touch(t, times): unless t is void, what it surely crossed was tested
 * when it was made → stages of its way */
static int tests_touch(lua_State *L)
{
    const struct taut_lua_test *t = check_test(L, 1);
    struct touch to = {.times = taut_check_coverage(L, 2), .time = t->time};

    if (t->class == TAUT_TEST_VOID || isnan(t->time))
        to.times = NULL;
    lua_pushinteger(L, (lua_Integer)visit_way(L, 1, t, touch, &to));
    return 1;
}

/* tests.give_back(list, spare, most): tests that are over and judged join those
 * that later plans use again, but for those asked for */
static int tests_give_back(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_Integer most = luaL_checkinteger(L, 3);
    lua_Integer n = (lua_Integer)lua_rawlen(L, 2);

    for (lua_Integer i = 1; lua_rawgeti(L, 1, i) != LUA_TNIL && n < most; i++) {
        struct taut_lua_test *t = check_test(L, -1);
        if (t->graph != NULL && t->class != TAUT_TEST_NOT_JUDGED &&
            t->confirms == 0 && t->streams == 1) {
            taut_test_end(L, t);
            lua_rawseti(L, 2, ++n);
        } else {
            lua_pop(L, 1);
        }
    }
    return 0;
}

/* ---- what they can reach ---- */

struct least {
    const struct taut_graph *g;
    uint32_t senders; /* at once over each link that is sure */
    double Bps;
};

static void least(void *arg, uint32_t c, bool is_sure)
{
    struct least *l = arg;

    if (c < l->g->components)
        l->Bps = fmin(l->Bps, taut_graph_share(l->g, c, is_sure, l->senders));
}

bool taut_test_is_odd(lua_State *L, int index, const struct taut_lua_test *t)
{
    static const char *const names[] = {"mode", "planned_Bps", "shares"};
    bool is_any = t->is_own_route && t->senders > 1;

    for (size_t i = 0; t->has_odd && i < sizeof(names) / sizeof(*names); i++) {
        is_any |= taut_test_push_odd(L, index, t, names[i]) != LUA_TNIL;
        lua_pop(L, 1);
    }
    return is_any;
}

double taut_test_expectation(lua_State *L, int index,
                             const struct taut_lua_test *t)
{
    struct least l = {.g = t->graph->graph,
                      .senders = t->senders,
                      .Bps = HUGE_VAL};

    visit_way(L, index, t, least, &l);
    return l.Bps;
}

struct spread {
    const struct taut_graph *g;
    double sure_Bps; /* smallest capacity certainly crossed */
    double most_Bps; /* largest that may be crossed */
};

static void spread(void *arg, uint32_t c, bool is_sure)
{
    struct spread *s = arg;

    if (c < s->g->components && is_sure)
        s->sure_Bps = fmin(s->sure_Bps, s->g->capacity[c]);
    else if (c < s->g->components)
        s->most_Bps = fmax(s->most_Bps, s->g->capacity[c]);
}

/* May more be expected of t once it is known which members of its sets it
 * took, since others of them carry less? */
static bool may_expect_more(lua_State *L, const struct taut_lua_test *t,
                            double least_Bps)
{
    struct spread s = {.g = t->graph->graph, .sure_Bps = HUGE_VAL};

    visit_way(L, 1, t, spread, &s);
    return fmin(s.sure_Bps, s.most_Bps) > least_Bps;
}

/* tests.enough(t, share): bytes per second at which t may end early, that share
 * of what its way carries.  nil for a test that has to go on to its end: one
 * that confirms, of several streams, during which others share its way, or of
 * which more may be expected than at first. */
static int tests_enough(lua_State *L)
{
    const struct taut_lua_test *t = check_test(L, 1);
    double share = luaL_checknumber(L, 2), least_Bps = HUGE_VAL;

    if (t->graph != NULL && t->confirms == 0 && t->group == 0 &&
        t->streams <= 1 && t->senders <= 1 && !taut_test_is_odd(L, 1, t))
        least_Bps = taut_test_expectation(L, 1, t);
    if (least_Bps < HUGE_VAL && share * least_Bps >= 1 &&
        !may_expect_more(L, t, least_Bps))
        lua_pushinteger(L, (lua_Integer)ceil(share * least_Bps));
    else
        lua_pushnil(L);
    return 1;
}

const luaL_Reg taut_test_functions[] = {
    {"enough", tests_enough},
    {"give_back", tests_give_back},
    {"schedule", tests_schedule},
    {"stamp", tests_stamp},
    {"touch", tests_touch},
    {NULL, NULL},
};
