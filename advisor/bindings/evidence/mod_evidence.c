/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.evidence: what tests say about components, for taut.diagnose;
 * doc/internals/bindings.md lists the functions. */
#include <config.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/bindings/graph/mod_graph.h"
#include "advisor/bindings/evidence/mod_evidence.h"

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
    lua_getfield(L, table, "lossless");
    r->lossless = lua_toboolean(L, -1);
    lua_pop(L, 1);
    r->loss_floor = rule(L, table, "loss_floor");
    r->loss_queue = rule(L, table, "loss_queue");
    r->loss_contended = rule(L, table, "loss_contended");
    r->loss_rtt_least = rule(L, table, "loss_rtt_least_us") * 1e-6;
    r->loss_rtt_most = rule(L, table, "loss_rtt_us") * 1e-6;
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

/* e:know(older): what was taken there counts here no more */
static int evidence_know(lua_State *L)
{
    taut_evidence_copy_ids(taut_self_evidence(L),
                           taut_check_evidence(L, 2)->evidence);
    return 0;
}

int luaopen_taut_evidence(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"new", evidence_new},
        {NULL, NULL},
    };
    static const luaL_Reg methods[] = {
        {"know", evidence_know},
        {"rules", evidence_rules},
        {NULL, NULL},
    };

    taut_class(L, TAUT_EVIDENCE_CLASS, methods, evidence_gc);
    luaL_getmetatable(L, TAUT_EVIDENCE_CLASS);
    lua_getfield(L, -1, "__index");
    luaL_setfuncs(L, taut_evidence_questions, 0);
    luaL_setfuncs(L, taut_evidence_run_methods, 0);
    luaL_setfuncs(L, taut_evidence_loss_methods, 0);
    luaL_setfuncs(L, taut_evidence_bout_methods, 0);
    taut_evidence_push_taking(L);
    lua_pop(L, 2);
    luaL_newlib(L, functions);
    taut_set_integer(L, "OPEN", TAUT_EVIDENCE_OPEN);
    return 1;
}
