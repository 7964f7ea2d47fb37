/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.evidence: what comes and goes. */
#include <config.h>

#include <math.h>

#include "advisor/bindings/evidence/mod_evidence.h"
#include "advisor/bindings/graph/mod_graph.h"
#include "advisor/lib/evidence/bouts/bouts.h"

/* e:recurrence(c) → what the bouts of c amount to, or nil where no ceiling came
 * back: { score, share, first, last, is_fair, is_any, bouts, wide, all, spells, since, far,
 *   senders, receivers }, as in bouts.h */
static int ask_recurrence(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    uint32_t c = taut_evidence_component(L, 2, e);
    struct taut_recurrence k;

    if (taut_recurrence_judge(e, c, &k) <= 0)
        return 0;
    struct taut_reporters who = taut_recurrence_reporters(e, c, &k);
    lua_createtable(L, 0, 14);
    taut_set_number(L, "score", k.score);
    taut_set_number(L, "share", k.share);
    taut_set_number(L, "first", k.first);
    taut_set_number(L, "last", k.last);
    taut_set_flag(L, "is_fair", k.is_fair);
    taut_set_flag(L, "is_any", k.is_any);
    taut_set_integer(L, "bouts", k.bouts);
    taut_set_integer(L, "wide", k.wide);
    taut_set_integer(L, "all", k.all);
    taut_set_integer(L, "spells", k.spells);
    taut_set_integer(L, "since", k.since);
    taut_set_integer(L, "far", who.far);
    taut_set_integer(L, "senders", who.senders);
    taut_set_integer(L, "receivers", who.receivers);
    return 1;
}

/* e:recurrence_rival(c, near, enough) → another component that may have made the
 * bouts of c, see bouts.h; or nil */
static int ask_rival(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    uint32_t c = taut_evidence_component(L, 2, e);
    struct taut_recurrence k;

    if (taut_recurrence_judge(e, c, &k) <= 0)
        return 0;
    uint32_t other = taut_recurrence_rival(e, c, &k, luaL_checknumber(L, 3),
                                           luaL_checknumber(L, 4));
    if (other == TAUT_GRAPH_NONE)
        return 0;
    lua_pushinteger(L, (lua_Integer)other + 1);
    return 1;
}

/* e:bouts(c) → array of { began, time, share, ratio, tested, src, dst,
 * first_src, first_dst, rail, links, is_single,
 * is_wide, has_grown, low_spells, wide_spells }, oldest first; spells in which c was tested; since when
 * it was never whole, or nil; nil where there are none */
static int ask_bouts(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    const struct taut_graph *g = taut_evidence_graph(e);
    struct taut_bouts_kept kept =
        taut_bouts_of(e, taut_evidence_component(L, 2, e));
    const struct taut_bout *list = kept.list;

    if (kept.n == 0)
        return 0;
    lua_createtable(L, (int)kept.n, 0);
    for (uint32_t i = 0; i < kept.n; i++) {
        lua_createtable(L, 0, 16);
        taut_set_number(L, "began", list[i].began);
        taut_set_number(L, "time", list[i].time);
        taut_set_number(L, "share", (double)list[i].share);
        taut_set_number(L, "ratio", (double)list[i].ratio);
        taut_set_integer(L, "tested", list[i].tested);
        taut_set_integer(L, "src", list[i].src % g->nodes + 1);
        taut_set_integer(L, "dst", list[i].dst % g->nodes + 1);
        taut_set_integer(L, "first_src", list[i].first_src % g->nodes + 1);
        taut_set_integer(L, "first_dst", list[i].first_dst % g->nodes + 1);
        taut_set_integer(L, "rail", list[i].src / g->nodes + 1);
        taut_set_integer(L, "links", list[i].links);
        taut_set_flag(L, "is_single", list[i].is_single);
        taut_set_flag(L, "is_wide", list[i].is_wide);
        taut_set_integer(L, "low_spells", list[i].low_spells);
        taut_set_integer(L, "wide_spells", list[i].wide_spells);
        taut_set_flag(L, "has_grown", list[i].has_grown);
        taut_set_flag(L, "is_counted", list[i].is_counted);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_pushinteger(L, kept.tested);
    if (kept.chain >= HUGE_VAL)
        return 2;
    lua_pushnumber(L, kept.chain);
    return 3;
}

/* An endpoint of the bout on the top: field 'name' is its node. */
static uint32_t read_endpoint(lua_State *L, const struct taut_graph *g,
                              const char *name)
{
    double node = taut_opt_number(L, -1, name, 0);
    double rail = taut_opt_number(L, -1, "rail", 1);

    luaL_argcheck(L,
                  node >= 1 && node <= g->nodes && rail >= 1 &&
                      rail <= g->rails,
                  3, "bouts between nodes of the machine");
    return g->nodes * ((uint32_t)rail - 1) + (uint32_t)node - 1;
}

static bool read_flag(lua_State *L, const char *name)
{
    lua_getfield(L, -1, name);
    bool is_set = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return is_set;
}

/* e:restore_bouts(c, list, tested, chain): as bouts gave them */
static int restore_bouts(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    const struct taut_graph *g = taut_evidence_graph(e);
    uint32_t c = taut_evidence_component(L, 2, e), n = 0;
    struct taut_bout list[TAUT_BOUTS_MAX];

    luaL_checktype(L, 3, LUA_TTABLE);
    for (lua_Integer i = 1, all = (lua_Integer)lua_rawlen(L, 3);
         i <= all && n < TAUT_BOUTS_MAX; i++, n++) {
        lua_rawgeti(L, 3, i);
        luaL_checktype(L, -1, LUA_TTABLE);
        list[n] = (struct taut_bout){
            .began = taut_opt_number(L, -1, "began", 0),
            .time = taut_opt_number(L, -1, "time", 0),
            .share = (float)taut_opt_number(L, -1, "share", 0),
            .ratio = (float)taut_opt_number(L, -1, "ratio", 0),
            .tested = (uint32_t)taut_opt_number(L, -1, "tested", 0),
            .src = read_endpoint(L, g, "src"),
            .dst = read_endpoint(L, g, "dst"),
            .first_src = read_endpoint(L, g, "first_src"),
            .first_dst = read_endpoint(L, g, "first_dst"),
            .links = (uint16_t)taut_opt_number(L, -1, "links", 0),
            .low_spells = (uint16_t)taut_opt_number(L, -1, "low_spells", 1),
            .wide_spells = (uint16_t)taut_opt_number(L, -1, "wide_spells", 0),
            .is_single = read_flag(L, "is_single"),
            .is_wide = read_flag(L, "is_wide"),
            .has_grown = read_flag(L, "has_grown"),
            .is_counted = read_flag(L, "is_counted"),
        };
        lua_pop(L, 1);
    }
    struct taut_bouts_kept kept = {
        .list = list,
        .n = n,
        .tested = (uint32_t)luaL_checkinteger(L, 4),
        .chain = luaL_optnumber(L, 5, HUGE_VAL)};
    if (taut_bouts_restore(e, c, &kept) < 0)
        return luaL_error(L, "out of memory for evidence of bouts");
    return 0;
}

/* e:forget_bouts(c) */
static int forget_bouts(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);

    taut_bouts_forget(e, taut_evidence_component(L, 2, e));
    return 0;
}

/* e:name_recurring(c, yes): c comes and goes, or does so no more */
static int name_recurring(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);

    taut_recurrence_name(e, taut_evidence_component(L, 2, e),
                         lua_toboolean(L, 3));
    return 0;
}

/* e:explain_bouts(c): c was named; bouts of others that it explains are theirs no
 * more */
static int explain_bouts(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);

    taut_recurrence_explain(e, taut_evidence_component(L, 2, e));
    return 0;
}

/* e:twin(c) → the component that comes and goes, and makes c's case; or nil */
static int ask_twin(lua_State *L)
{
    struct taut_evidence *e = taut_self_evidence(L);
    uint32_t c = taut_evidence_component(L, 2, e);
    struct taut_case k;

    if (!(taut_evidence_judge(e, c, &k) > 0))
        return 0;
    uint32_t o = taut_recurrence_twin(e, c, &k);
    if (o == TAUT_GRAPH_NONE)
        return 0;
    lua_pushinteger(L, (lua_Integer)o + 1);
    return 1;
}

const luaL_Reg taut_evidence_bout_methods[] = {
    {"bouts", ask_bouts},
    {"explain_bouts", explain_bouts},
    {"forget_bouts", forget_bouts},
    {"name_recurring", name_recurring},
    {"recurrence", ask_recurrence},
    {"recurrence_rival", ask_rival},
    {"restore_bouts", restore_bouts},
    {"twin", ask_twin},
    {NULL, NULL},
};
