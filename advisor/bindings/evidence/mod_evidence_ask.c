/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.evidence: questions about single components, and changes to them. */
#include <config.h>

#include <math.h>

#include "advisor/bindings/graph/mod_graph.h"
#include "advisor/bindings/evidence/mod_evidence.h"

/* ---- the case against a component ---- */

/* Is there a run of c? */
static bool has_run(const struct taut_evidence *e, uint32_t c)
{
    uint32_t n;

    return taut_evidence_run(e, c, &n) != NULL;
}

/* e:case(c [, without]) → what the run of c amounts to, or nil without one:
 * { score, newest, best, is_any, first, last, low, at, spells, events,
 *   confirmed, far, senders, receivers }; newest: what its newest spell adds
 * to the score; is_any: it is low at any level, and best is the mean */
static int ask_case(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    uint32_t c = taut_evidence_component(L, 2, e);
    uint32_t without = lua_isnoneornil(L, 3) ? TAUT_GRAPH_NONE
                                             : taut_evidence_component(L, 3, e);
    struct taut_case whole, k;

    if (!has_run(e, c))
        return 0;
    taut_evidence_judge(e, c, &whole);
    k = whole;
    if (without != TAUT_GRAPH_NONE)
        taut_evidence_without(e, c, &whole, without, &k);
    struct taut_reporters who = taut_evidence_reporters(e, c, &k);
    lua_createtable(L, 0, 16);
    taut_set_number(L, "score", k.score);
    taut_set_number(L, "newest", k.newest);
    taut_set_number(L, "best", k.best >= 0 ? k.best : k.mean);
    taut_set_flag(L, "is_any", k.best < 0);
    taut_set_number(L, "first", k.first);
    taut_set_number(L, "last", k.last);
    taut_set_integer(L, "low", k.low);
    taut_set_integer(L, "at", k.at);
    taut_set_integer(L, "spells", k.spells);
    taut_set_integer(L, "events", k.events);
    taut_set_integer(L, "confirmed", k.confirmed);
    taut_set_integer(L, "far", who.far);
    taut_set_integer(L, "senders", who.senders);
    taut_set_integer(L, "receivers", who.receivers);
    return 1;
}

/* e:changed(c, since, weight, least, share) → { component, tested, low } of a
 * class that has changed everywhere, or nothing; see evidence.h */
static int ask_changed(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    uint32_t c = taut_evidence_component(L, 2, e);
    lua_Integer least = luaL_checkinteger(L, 5);
    struct taut_change t;

    luaL_argcheck(L, least >= 0 && least <= UINT32_MAX, 5, "a count");
    if (!taut_evidence_changed(e, c, luaL_checknumber(L, 3),
                               luaL_checknumber(L, 4), (uint32_t)least,
                               luaL_checknumber(L, 6), &t))
        return 0;
    lua_createtable(L, 0, 3);
    taut_set_integer(L, "component", t.c + 1);
    taut_set_integer(L, "tested", t.tested);
    taut_set_integer(L, "low", t.low);
    return 1;
}

/* e:class(c) → number of its class, or nothing */
static int ask_class(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    uint32_t class = taut_evidence_class(e, taut_evidence_component(L, 2, e));

    if (class == TAUT_GRAPH_NONE)
        return 0;
    lua_pushinteger(L, (lua_Integer)class + 1);
    return 1;
}

/* e:alike(c, since, near) → number of components, see evidence.h */
static int ask_alike(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    uint32_t c = taut_evidence_component(L, 2, e);

    lua_pushinteger(L, taut_evidence_alike(e, c, luaL_checknumber(L, 3),
                                           luaL_checknumber(L, 4)));
    return 1;
}

/* e:company(c, spells) → { router, is_out, low, beside, tested }, see evidence.h */
static int ask_company(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    uint32_t c = taut_evidence_component(L, 2, e);
    lua_Integer spells = luaL_checkinteger(L, 3);

    luaL_argcheck(L, spells >= 1 && spells <= UINT32_MAX, 3, "a count");
    struct taut_company y = taut_evidence_company(e, c, (uint32_t)spells);
    lua_createtable(L, 0, 4);
    taut_set_integer(L, "router", y.router);
    taut_set_flag(L, "is_out", y.is_out);
    taut_set_integer(L, "low", y.low);
    taut_set_integer(L, "beside", y.beside);
    taut_set_integer(L, "tested", y.tested);
    return 1;
}

/* e:score(c) → log odds, 0 without a run */
static int ask_score(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    struct taut_case k;

    lua_pushnumber(
        L, taut_evidence_judge(e, taut_evidence_component(L, 2, e), &k));
    return 1;
}

/* ---- rivals ---- */

static void push_rival(lua_State *L, const struct taut_rival *r)
{
    lua_createtable(L, 0, 7);
    taut_set_integer(L, "component", (lua_Integer)r->c + 1);
    taut_set_number(L, "rest", r->rest);
    if (r->is_chance) {
        lua_pushboolean(L, true);
        lua_setfield(L, -2, "chance");
    }
    taut_set_number(L, "score", r->score);
    taut_set_number(L, "same", r->same);
    if (isfinite(r->cleared_at)) {
        taut_set_number(L, "cleared_at", r->cleared_at);
        taut_set_integer(L, "cleared_by", r->cleared_by);
    }
}

static int push_rivals(lua_State *L, const struct taut_rival *list, uint32_t n)
{
    lua_createtable(L, (int)n, 0);
    for (uint32_t i = 0; i < n; i++) {
        push_rival(L, &list[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

/* e:rivals(c, enough) → array of { component, rest, chance, score, same }:
 * others that explain so much of c's run that less than 'enough' log odds are
 * left ('rest') without them, or what may be chance (one spell; nil: no);
 * score: their own; same: share of the tests that crossed them.  Where none does alone, those that do together. */
static int ask_rivals(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    uint32_t c = taut_evidence_component(L, 2, e), n;
    const struct taut_rival *list =
        taut_evidence_rivals(e, c, luaL_checknumber(L, 3), &n);

    return push_rivals(L, list, n);
}

/* e:alternatives(c, most) → what else was on the ways of c's tests, most of
 * them first: { component, same, cleared_at, cleared_by, rest, chance };
 * cleared: by a later test, where there was one; the others as above */
static int ask_alternatives(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    uint32_t c = taut_evidence_component(L, 2, e), n;
    lua_Integer most = luaL_checkinteger(L, 3);

    most = most < 0 ? 0 : most > UINT32_MAX ? UINT32_MAX : most;
    const struct taut_rival *list =
        taut_evidence_alternatives(e, c, (uint32_t)most, &n);
    return push_rivals(L, list, n);
}

/* ---- what was seen ---- */

/* e:seen(c) → { tests, good, cleared_at, cleared_by, last, reach, left, most,
 * most_at, low, low_of }; most: the best of tests that were neither low nor
 * clearing; low, low_of: low tests since it was cleared, of how many */
static int ask_seen(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    struct taut_seen seen =
        taut_evidence_seen(e, taut_evidence_component(L, 2, e));

    lua_createtable(L, 0, 11);
    taut_set_integer(L, "tests", seen.tests);
    taut_set_integer(L, "low", seen.low);
    taut_set_integer(L, "low_of", seen.low_of);
    taut_set_integer(L, "good", seen.good);
    taut_set_number(L, "cleared_at", seen.cleared_at);
    taut_set_number(L, "last", seen.last);
    taut_set_number(L, "reach", seen.reach);
    taut_set_number(L, "left", seen.left);
    taut_set_number(L, "most", seen.most);
    taut_set_number(L, "most_at", seen.most_at);
    if (isfinite(seen.cleared_at)) {
        taut_set_integer(L, "cleared_by", seen.cleared_by);
    }
    return 1;
}

static int push_time(lua_State *L,
                     double time_of(const struct taut_evidence *e, uint32_t c))
{
    struct taut_evidence *e = taut_self_evidence(L);

    lua_pushnumber(L, time_of(e, taut_evidence_component(L, 2, e)));
    return 1;
}

/* e:tested(c), e:cleared(c) → time, -inf: never */
static int ask_tested(lua_State *L)
{
    return push_time(L, taut_evidence_tested);
}

static int ask_cleared(lua_State *L)
{
    return push_time(L, taut_evidence_cleared);
}

/* e:cleared_count() → how many components a test ever cleared */
static int ask_cleared_count(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    uint32_t all = taut_evidence_graph(e)->components, n = 0;

    for (uint32_t c = 0; c < all; c++)
        n += isfinite(taut_evidence_cleared(e, c)) != 0;
    lua_pushinteger(L, n);
    return 1;
}

/* e:stalest({ components }) → the one that no test surely crossed for the
 * longest time, the first of several; nothing where there are none */
static int ask_stalest(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    uint32_t best = TAUT_GRAPH_NONE;

    luaL_checktype(L, 2, LUA_TTABLE);
    for (lua_Integer i = 1, n = (lua_Integer)lua_rawlen(L, 2); i <= n; i++) {
        lua_rawgeti(L, 2, i);
        uint32_t c = taut_evidence_component(L, -1, e);
        lua_pop(L, 1);
        if (best == TAUT_GRAPH_NONE ||
            taut_evidence_tested(e, c) < taut_evidence_tested(e, best))
            best = c;
    }
    if (best == TAUT_GRAPH_NONE)
        return 0;
    lua_pushinteger(L, (lua_Integer)best + 1);
    return 1;
}

/* e:open(least) → components with a run of at least so many tests */
static int ask_open(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    uint32_t all = taut_evidence_graph(e)->components, low;
    lua_Integer least = luaL_optinteger(L, 2, 1), n = 0;

    lua_newtable(L);
    for (uint32_t c = 0; c < all; c++)
        if (taut_evidence_run(e, c, &low) != NULL && low >= least) {
            lua_pushinteger(L, (lua_Integer)c + 1);
            lua_rawseti(L, -2, ++n);
        }
    return 1;
}

#define LONGEST_MOST 64

/* e:longest(most) → of the components accused last those that are not watched,
 * the longest runs first */
static int ask_longest(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    lua_Integer most = luaL_checkinteger(L, 2);
    uint32_t list[LONGEST_MOST];

    luaL_argcheck(L, most >= 1 && most <= LONGEST_MOST, 2, "from 1 to 64");
    uint32_t n = taut_evidence_longest(e, list, (uint32_t)most);
    taut_push_ids(L, list, n);
    return 1;
}

/* e:touched() → set of the components whose run the last event began, changed
 * or ended */
static int ask_touched(lua_State *L)
{
    uint32_t n;
    const uint32_t *touched = taut_evidence_touched(taut_self_evidence(L), &n);

    lua_createtable(L, 0, (int)n);
    for (uint32_t i = 0; i < n; i++) {
        lua_pushboolean(L, true);
        lua_rawseti(L, -2, (lua_Integer)touched[i] + 1);
    }
    return 1;
}

/* e:serial() → events taken so far */
static int ask_serial(lua_State *L)
{
    lua_pushinteger(L, taut_evidence_serial(taut_self_evidence(L)));
    return 1;
}

/* e:size() → low tests held, components with a run */
static int ask_size(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);

    lua_pushinteger(L, (lua_Integer)taut_evidence_lows(e));
    lua_pushinteger(L, taut_evidence_runs(e));
    return 2;
}

/* ---- changes ---- */

/* e:unknown(c, yes): it is not known what c carries; or it is known now */
static int set_unknown(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);

    taut_evidence_unknown(e, taut_evidence_component(L, 2, e),
                          lua_toboolean(L, 3));
    return 0;
}

/* e:watch(c, yes): c is reported whenever it is touched */
static int set_watch(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);

    taut_evidence_watch(e, taut_evidence_component(L, 2, e),
                        lua_toboolean(L, 3));
    return 0;
}

/* e:name(c, left): c has so much left and explains its run; 1: it is well */
static int set_name(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    uint32_t c = taut_evidence_component(L, 2, e);
    double left = luaL_checknumber(L, 3);

    luaL_argcheck(L, left >= 0 && left <= 1, 3, "not within 0 to 1");
    taut_evidence_name(e, c, left);
    uint32_t n;
    const uint32_t *list = taut_evidence_explained(e, &n);
    taut_push_ids(L, list, n);
    return 1;
}

/* e:forget(c) */
static int forget(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);

    taut_evidence_forget(e, taut_evidence_component(L, 2, e));
    return 0;
}

/* e:reroute(): routes have changed */
static int reroute(lua_State *L)
{
    taut_evidence_reroute(taut_self_evidence(L));
    return 0;
}

/* e:void() */
static int make_void(lua_State *L)
{
    taut_evidence_void(taut_self_evidence(L));
    return 0;
}

const luaL_Reg taut_evidence_questions[] = {
    {"alternatives", ask_alternatives},
    {"case", ask_case},
    {"changed", ask_changed},
    {"alike", ask_alike},
    {"class", ask_class},
    {"company", ask_company},
    {"cleared", ask_cleared},
    {"cleared_count", ask_cleared_count},
    {"forget", forget},
    {"longest", ask_longest},
    {"name", set_name},
    {"open", ask_open},
    {"rivals", ask_rivals},
    {"reroute", reroute},
    {"score", ask_score},
    {"seen", ask_seen},
    {"serial", ask_serial},
    {"size", ask_size},
    {"stalest", ask_stalest},
    {"tested", ask_tested},
    {"touched", ask_touched},
    {"unknown", set_unknown},
    {"void", make_void},
    {"watch", set_watch},
    {NULL, NULL},
};
