/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.tests: what is done with all tests of a plan, one after the other. */
#include <config.h>

#include <math.h>

#include "advisor/bindings/mod_coverage.h"
#include "advisor/bindings/test/mod_test.h"

#define CLASS lua_upvalueindex(1)
#define TAIL 2 /* segments lost at the end of a stream, which no receiver sees */

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

/* ---- what needs no second look ---- */

static double number_of(lua_State *L, int table, const char *name,
                        double fallback)
{
    int is_number;

    lua_getfield(L, table, name);
    double v = lua_tonumberx(L, -1, &is_number);
    lua_pop(L, 1);
    return is_number ? v : fallback;
}

static bool is_set(lua_State *L, int table, const char *name)
{
    lua_getfield(L, table, name);
    bool yes = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return yes;
}

static double rate(double bytes, double window_ns)
{
    return window_ns > 0 ? bytes * 1e9 / window_ns : 0;
}

static double larger(lua_State *L, const char *name)
{
    return fmax(number_of(L, 2, name, 0), number_of(L, 3, name, 0));
}

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

/* The best of what the receiver's sub-intervals reached, bytes per second; NAN
 * without any.  *n of them. */
static double best_part(lua_State *L, double window_ns, lua_Integer *n)
{
    double best = NAN;

    *n = 0;
    if (lua_getfield(L, 3, "sub_bytes") == LUA_TTABLE) {
        *n = (lua_Integer)lua_rawlen(L, -1);
        for (lua_Integer i = 1; i <= *n; i++) {
            lua_rawgeti(L, -1, i);
            best = fmax(best, rate(lua_tonumber(L, -1),
                                   window_ns / (double)*n));
            lua_pop(L, 1);
        }
    }
    lua_pop(L, 1);
    return best;
}

/* Is what is expected of t more, or less, than capacities say? */
static bool is_odd(lua_State *L, const struct taut_lua_test *t)
{
    static const char *const names[] = {"mode", "planned_Bps", "shares"};
    bool is_any = t->is_own_route && t->senders > 1;

    for (size_t i = 0; t->has_odd && i < sizeof(names) / sizeof(*names); i++) {
        is_any |= taut_test_push_odd(L, 1, t, names[i]) != LUA_TNIL;
        lua_pop(L, 1);
    }
    return is_any;
}

/* What t can reach. */
static double expectation_of(lua_State *L, const struct taut_lua_test *t)
{
    struct least l = {.g = t->graph->graph,
                      .senders = t->senders,
                      .Bps = HUGE_VAL};

    visit_way(L, 1, t, least, &l);
    return l.Bps;
}

struct spread {
    const struct taut_graph *g;
    double sure_Bps; /* least of what is surely crossed */
    double most_Bps; /* most of what may be */
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
        t->streams <= 1 && t->senders <= 1 && !is_odd(L, t))
        least_Bps = expectation_of(L, t);
    if (least_Bps < HUGE_VAL && share * least_Bps >= 1 &&
        !may_expect_more(L, t, least_Bps))
        lua_pushinteger(L, (lua_Integer)ceil(share * least_Bps));
    else
        lua_pushnil(L);
    return 1;
}

/* ---- losses ---- */

/* What both ends say of a stream's losses. */
struct losses {
    double segments; /* sent, those sent again included */
    double lost;     /* of them */
    double segment_bytes; /* what each of those that a TCP stream sent again
                             carried; NAN: none was, or ports counted */
};

/* Are two counts of the same losses about the same?  What was under way at the
 * end may not have arrived before the receiver stopped counting. */
static bool is_agreed(double again, double missing, double unacked)
{
    double differ = missing - again;

    return fabs(differ) <= fmax(TAIL, fmax(again, missing) / 2) ||
           (differ > 0 && differ <= unacked);
}

/* Over TCP there are two counts: the sender's, of what it sent again but for
 * what it sent again in vain; and what it sent less what arrived.  Where they
 * differ much one end is wrong.  Where they differ little, or by what was under
 * way at the end, the lesser counts: the reset that ends a stream may overtake
 * its last segments, and what the sender's own queue did not take never left.
 * What neither arrived nor was sent again was not sent, for all that is known.
 * Losses that no gap at the receiver bears out, or for which it had no memory, are
 * nobody's either. */
static bool read_tcp_losses(lua_State *L, int send, int recv, struct losses *l)
{
    double sent = number_of(L, send, "segments", -1);
    double again = number_of(L, send, "resent", -1) -
                   number_of(L, send, "spurious", 0);
    double missing = sent - number_of(L, recv, "segments", HUGE_VAL);

    if (sent < 1 || again < 0 || !(missing > -HUGE_VAL) ||
        !is_agreed(again, fmax(0, missing), number_of(L, send, "unacked", 0)))
        return false;
    l->segments = fmin(sent, sent - missing + again + TAIL);
    l->lost = fmin(again, fmax(0, missing));
    l->segment_bytes = number_of(L, send, "resent_bytes", NAN) /
                       number_of(L, send, "resent", NAN);
    return l->lost <= TAIL || (number_of(L, recv, "disordered", 0) > 0 &&
                               number_of(L, recv, "pruned", 0) == 0);
}

/* Over RDMA: what the adapters of both ends counted in the window. */
static bool read_port_losses(lua_State *L, int send, int recv, struct losses *l)
{
    l->segments = number_of(L, recv, "port_packets", -1);
    l->lost = fmin(number_of(L, recv, "port_lost", -1),
                   number_of(L, send, "port_lost", -1));
    l->segment_bytes = NAN;
    return l->segments >= 1 && l->lost >= 0 && l->lost <= l->segments;
}

/* tests.losses(send, recv): what the two nodes of a test reported of its losses
 * → segments sent, those sent again included; of them those that were lost;
 * bytes that one of those carried, nil where ports counted; nil
 * where the ends do not agree, or one of them did not count */
static int tests_losses(lua_State *L)
{
    struct losses l;

    lua_settop(L, 2);
    if (!lua_istable(L, 1) || !lua_istable(L, 2) ||
        !(read_tcp_losses(L, 1, 2, &l) || read_port_losses(L, 1, 2, &l)))
        return 0;
    lua_pushnumber(L, l.segments);
    lua_pushnumber(L, l.lost);
    if (!(l.segment_bytes > 0))
        return 2;
    lua_pushnumber(L, l.segment_bytes);
    return 3;
}

/* ---- the quick way ---- */

/* May others have sent so much beside t that judge.test has to look?  There it
 * is what ports carried at that rate in all of the test; here each count, of
 * which some need not be, is stretched so. */
static bool may_have_met_others(lua_State *L, const struct taut_lua_test *t,
                                double expected_Bps)
{
    static const char *const names[] = {"foreign_bytes", "port_with_bytes",
                                        "port_back_bytes"};
    double most = number_of(L, 4, "void_foreign", HUGE_VAL) * expected_Bps *
                  t->dur_ms / 1e3;

    for (int r = 2; r <= 3; r++) {
        double ns = number_of(L, r, "port_ns", 0);
        double longer = ns > 0 ? fmax(1, t->dur_ms * 1e6 / ns) : 1;
        for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
            if (number_of(L, r, names[i], 0) * longer > most)
                return true;
    }
    return false;
}

/* tests.is_plainly_good(t, send, recv, s): the quick way through judge.test
 *   send, recv  what the two nodes reported; s: good, void_disagree, void_looks,
 *               void_foreign
 * → true where both ends agree that t reached what is good, and all fields are
 * as judge.test would have set them; false: it has to look, nothing is changed.
 * Not for topologies of which anything is still to be learned. */
static int tests_is_plainly_good(lua_State *L)
{
    struct taut_lua_test *t = taut_test_at(L, 1, CLASS);

    lua_settop(L, 4);
    lua_pushboolean(L, 0);
    if (t == NULL || t->graph == NULL || !lua_istable(L, 2) ||
        !lua_istable(L, 3) || is_odd(L, t) || is_set(L, 2, "error") ||
        is_set(L, 3, "error"))
        return 1;
    double window_ns = number_of(L, 3, "window_ns", 0);
    double bw_Bps = rate(number_of(L, 3, "bytes", 0), window_ns);
    double sender_Bps = rate(number_of(L, 2, "bytes", 0),
                             number_of(L, 2, "window_ns", 0));
    lua_Integer parts;
    double best = best_part(L, window_ns, &parts);
    if (parts > 0 &&
        number_of(L, 3, "looks", HUGE_VAL) <
            fmin(number_of(L, 4, "void_looks", 0), (double)parts))
        return 1;
    double expected_Bps = expectation_of(L, t);
    double good = number_of(L, 4, "good", 1);
    if (!(expected_Bps < HUGE_VAL) || !(bw_Bps / expected_Bps >= good) ||
        bw_Bps / expected_Bps > TAUT_TEST_BEYOND)
        return 1;
    bool differ = fabs(bw_Bps - sender_Bps) >
                  number_of(L, 4, "void_disagree", 0) * expected_Bps;
    if (differ &&
        !(!isnan(t->enough_Bps) && sender_Bps / expected_Bps >= good))
        return 1;
    if (may_have_met_others(L, t, expected_Bps))
        return 1;
    t->expected_Bps = expected_Bps;
    t->bw_Bps = bw_Bps;
    t->sender_Bps = sender_Bps;
    t->ratio = bw_Bps / expected_Bps;
    t->peak = best / expected_Bps;
    t->rtt_ns = number_of(L, 2, "rtt_ns", NAN);
    t->min_rtt_ns = number_of(L, 2, "min_rtt_ns", NAN);
    t->delay_ns = larger(L, "delay_ns");
    t->foreign_bytes = larger(L, "foreign_bytes");
    t->figure = !differ;
    struct losses l;
    if (read_tcp_losses(L, 2, 3, &l) || read_port_losses(L, 2, 3, &l)) {
        t->segments = l.segments;
        t->lost = l.lost;
        t->segment_bytes = l.segment_bytes;
    }
    t->class = TAUT_TEST_GOOD;
    lua_pushboolean(L, 1);
    return 1;
}

const luaL_Reg taut_test_functions[] = {
    {"enough", tests_enough},
    {"give_back", tests_give_back},
    {"losses", tests_losses},
    {"is_plainly_good", tests_is_plainly_good},
    {"schedule", tests_schedule},
    {"stamp", tests_stamp},
    {"touch", tests_touch},
    {NULL, NULL},
};
