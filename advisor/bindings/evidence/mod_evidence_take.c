/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.evidence: the tests of an event, as judge.lua left them. */
#include <config.h>

#include <math.h>
#include <string.h>

#include "advisor/bindings/graph/mod_graph.h"
#include "advisor/bindings/evidence/mod_evidence.h"

/* ---- fields ---- */

/* Fields of tests; their names are upvalues of evidence_take, since they are
 * asked for of each test. */
enum field {
    F_BPS = 1,
    F_BW_BPS,
    F_CLASS,
    F_COMPONENT,
    F_CONFIRMS,
    F_DST,
    F_EXPECTED_BPS,
    F_GROUP,
    F_ID,
    F_IS_LOW,
    F_IS_TRACED,
    F_JOB,
    F_PORT,
    F_RAIL,
    F_SENDERS,
    F_SRC,
    F_STREAMS,
    F_THROUGH,
    F_TIME,
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
    [F_GROUP] = "group",
    [F_ID] = "id",
    [F_IS_LOW] = "is_low",
    [F_IS_TRACED] = "is_traced",
    [F_JOB] = "job",
    [F_PORT] = "port",
    [F_RAIL] = "rail",
    [F_SENDERS] = "senders",
    [F_SRC] = "src",
    [F_STREAMS] = "streams",
    [F_THROUGH] = "through",
    [F_TIME] = "time",
    [F_WAY] = "way",
};

/* Push field f of the table on the top; returns its type. */
static int push_field(lua_State *L, enum field f)
{
    lua_pushvalue(L, lua_upvalueindex((int)f));
    return lua_rawget(L, -2);
}

/* Field f of the table on the top where it is a whole number, or the fallback.
 */
static lua_Integer whole(lua_State *L, enum field f, lua_Integer fallback)
{
    push_field(L, f);
    lua_Integer v = lua_isinteger(L, -1) ? lua_tointeger(L, -1) : fallback;
    lua_pop(L, 1);
    return v;
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

static void read_test(lua_State *L, struct taut_measured *t)
{
    t->job = whole(L, F_JOB, 0);
    t->flows = 1;
    t->streams = (uint16_t)whole(L, F_STREAMS, 1);
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

/* ---- may it speak ---- */

/* What a test has to be: evidence of now. */
struct limits {
    double oldest, latest; /* seconds */
};

static const char *time_wrong(lua_State *L, const struct limits *limits)
{
    const char *why = NULL;
    int type = push_field(L, F_TIME), is_number;
    double at = lua_tonumberx(L, -1, &is_number);

    if (type == LUA_TNIL)
        why = NULL;
    else if (type != LUA_TNUMBER || !(at < 1e15 && at > -1e15))
        why = "without a time";
    else if (at > limits->latest)
        why = "from the future";
    else if (at < limits->oldest)
        why = "too old";
    lua_pop(L, 1);
    return why;
}

/* Nothing counts twice. */
static const char *id_wrong(lua_State *L, struct taut_evidence *e,
                            struct taut_measured *t)
{
    int type = push_field(L, F_ID), is_new = 0;

    if (lua_isinteger(L, -1)) {
        t->id = lua_tointeger(L, -1);
        is_new = taut_evidence_note_id(e, t->id);
    }
    lua_pop(L, 1);
    return type == LUA_TNIL || is_new ? NULL : "twice";
}

static const char *confirms_wrong(lua_State *L, const struct taut_graph *g,
                                  struct taut_measured *t)
{
    int type = push_field(L, F_CONFIRMS);
    lua_Integer c = lua_isinteger(L, -1) ? lua_tointeger(L, -1) : 0;

    lua_pop(L, 1);
    t->confirms = TAUT_GRAPH_NONE;
    if (type == LUA_TNIL)
        return NULL;
    if (c < 1 || c > g->components)
        return "of unknown components";
    t->confirms = (uint32_t)c - 1;
    return NULL;
}

/* Why the test on the top is left out, or NULL. */
static const char *refused(lua_State *L, struct taut_evidence *e,
                           const struct limits *limits, struct taut_measured *t)
{
    const struct taut_graph *g = taut_evidence_graph(e);

    if (!lua_istable(L, -1) || !read_ends(L, g, t))
        return "of unknown nodes";
    const char *why = confirms_wrong(L, g, t);
    if (why == NULL)
        why = time_wrong(L, limits);
    return why != NULL ? why : id_wrong(L, e, t);
}

/* ---- taking ---- */

/* Is this field of the test on the top set to something? */
static bool has(lua_State *L, enum field f)
{
    push_field(L, f);
    bool is_true = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return is_true;
}

/* Is the test on the top one stream alone, of which nobody knows which link of
 * a set it took? */
static bool is_lone_flow(lua_State *L, const struct taut_measured *t)
{
    return t->streams == 1 && whole(L, F_SENDERS, 1) == 1 &&
           !has(L, F_IS_TRACED) && !has(L, F_GROUP);
}

/* Take the test on the top in.  Returns whether it is a flow over sets that
 * may be counted: nothing that it surely crosses has low tests. */
static bool take_test(lua_State *L, struct taut_evidence *e,
                      struct taut_measured *t)
{
    uint32_t way[WAY_MOST];

    read_test(L, t);
    read_way(L, way, t);
    read_judged(L, taut_evidence_graph(e), t);
    int rc = taut_evidence_add(e, t);
    if (rc == TAUT_ROUTE_NO_MEMORY)
        luaL_error(L, "out of memory for tests");
    if (rc != 0)
        return false; /* it has no route */
    read_through(L, e);
    return taut_evidence_is_over_sets(e) && is_lone_flow(L, t) &&
           !taut_evidence_is_doubted(e);
}

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
 *   tests   { src =, dst =, rail =, id =, job =, time =, confirms =, streams =,
 *           senders =, group =, way =, is_traced = }, and class, bw_Bps,
 *           expected_Bps, port and through, as judge.lua leaves them
 *   oldest, latest  that their time may be, in seconds
 * → those that are taken, the same table where all are; of these the lone flows
 *   over sets, unless what they surely cross has low tests; why others were
 *   left out → how many, or nil; those that are taken and have 'confirms' */
static int evidence_take(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    struct limits limits = {luaL_checknumber(L, 3), luaL_checknumber(L, 4)};
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
        const char *why = refused(L, e, &limits, &t);
        if (why != NULL) {
            leave_out(L, i, why);
            lua_pop(L, 1);
            continue;
        }
        taken++;
        if (take_test(L, e, &t)) {
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
    for (int f = 1; f < FIELDS; f++)
        lua_pushstring(L, field_names[f]);
    lua_pushcclosure(L, evidence_take, FIELDS - 1);
    lua_setfield(L, -2, "take");
    lua_pushcfunction(L, evidence_observe);
    lua_setfield(L, -2, "observe");
}
