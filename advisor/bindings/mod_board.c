/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.board: a plan under way, for taut.plan. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "advisor/bindings/mod_board.h"
#include "advisor/bindings/mod_coverage.h"
#include "advisor/bindings/test/mod_test.h"

#define BOARD_CLASS "taut.board"

static const char *const kinds[TAUT_PLAN_KINDS] = {
    [TAUT_PLAN_NONE] = "none",           [TAUT_PLAN_ANCHOR] = "anchor",
    [TAUT_PLAN_NEIGHBOUR] = "neighbour", [TAUT_PLAN_REACH] = "reach",
    [TAUT_PLAN_CONFIRM] = "confirm",     [TAUT_PLAN_WATCH] = "watch",
    [TAUT_PLAN_SURROUND] = "surround",
};

const char *taut_board_kind(int kind)
{
    return kinds[kind];
}

static struct taut_lua_board *check_lua_board(lua_State *L)
{
    struct taut_lua_board *b = luaL_checkudata(L, 1, BOARD_CLASS);

    luaL_argcheck(L, b->board != NULL, 1, "board that was closed");
    return b;
}

static struct taut_board *check_board(lua_State *L)
{
    return check_lua_board(L)->board;
}

/* Keep the argument as a user value of what is on the top. */
static void keep(lua_State *L, int arg, int value)
{
    lua_pushvalue(L, arg);
    lua_setiuservalue(L, -2, value);
}

/* board.new(graph, times [, { direction of each link } [, { names of nodes }
 * [, epoch of the topology ]]]) */
static int board_new(lua_State *L)
{
    struct taut_lua_graph *h = taut_check_ready(L, 1);
    const struct taut_graph *g = h->graph;
    struct taut_coverage *v = taut_check_coverage(L, 2);
    lua_Integer epoch = luaL_optinteger(L, 5, 1);
    uint32_t *direction = NULL;

    luaL_argcheck(L, v->n >= g->components, 2, "times of another machine");
    luaL_argcheck(L, epoch >= 0 && epoch <= UINT32_MAX, 5, "not an epoch");
    lua_settop(L, 4);
    struct taut_lua_board *b =
        lua_newuserdatauv(L, sizeof(*b), TAUT_BOARD_NODES);
    *b = (struct taut_lua_board){.graph = h, .epoch = (uint32_t)epoch};
    luaL_setmetatable(L, BOARD_CLASS);
    keep(L, 1, TAUT_BOARD_GRAPH);
    keep(L, 2, TAUT_BOARD_TIMES);
    keep(L, 4, TAUT_BOARD_NODES);
    if (lua_istable(L, 3)) {
        direction = taut_lua_buffer(L, g->links, sizeof(*direction));
        for (uint32_t l = 0; l < g->links; l++) {
            lua_rawgeti(L, 3, (lua_Integer)l + 1);
            direction[l] = (uint32_t)luaL_checkinteger(L, -1);
            lua_pop(L, 1);
        }
    }
    b->board = taut_board_create(g, v, direction);
    if (b->board == NULL)
        return luaL_error(L, "no memory for plans");
    lua_settop(L, 5);
    return 1;
}

static int board_gc(lua_State *L)
{
    struct taut_lua_board *b = luaL_checkudata(L, 1, BOARD_CLASS);

    taut_board_destroy(b->board);
    b->board = NULL;
    return 0;
}

static struct taut_plan_rules check_rules(lua_State *L, int table)
{
    luaL_checktype(L, table, LUA_TTABLE);
    return (struct taut_plan_rules){
        .phases = (uint32_t)taut_opt_integer(L, table, "phases", 0, 0,
                                             TAUT_PLAN_MAX_PHASES),
        .wide = (uint32_t)taut_opt_integer(L, table, "wide", 0, 0,
                                           TAUT_PLAN_MAX_PHASES),
        .senders = (uint32_t)taut_opt_integer(L, table, "senders", 1, 1,
                                              TAUT_PLAN_MAX_SENDERS),
        .duplex = taut_opt_flag(L, table, "duplex"),
        .longest =
            (uint32_t)taut_opt_integer(L, table, "longest", 0, 0, UINT16_MAX),
        .first_only = taut_opt_flag(L, table, "first_only"),
        .good = taut_opt_number(L, table, "good", 0),
        .test_s = taut_opt_number(L, table, "test_s", 0),
        .now = taut_opt_number(L, table, "now", 0),
        .fresh_s = taut_opt_number(L, table, "fresh_s", 0),
        .retry_s = taut_opt_number(L, table, "retry_s", 0),
        .seed = (uint64_t)taut_opt_integer(L, table, "seed", 0, LUA_MININTEGER,
                                           LUA_MAXINTEGER),
    };
}

/* b:begin({ nodes, ascending }, rules) */
static int board_begin(lua_State *L)
{
    struct taut_board *b = check_board(L);
    const struct taut_graph *g = taut_board_graph(b);
    struct taut_plan_rules r = check_rules(L, 3);

    luaL_checktype(L, 2, LUA_TTABLE);
    uint32_t n = (uint32_t)lua_rawlen(L, 2);
    uint32_t *node = taut_lua_buffer(L, n, sizeof(*node));
    for (uint32_t i = 0; i < n; i++) {
        lua_rawgeti(L, 2, (lua_Integer)i + 1);
        node[i] = taut_check_node(L, -1, g);
        lua_pop(L, 1);
    }
    if (taut_board_begin(b, node, n, &r) == 0)
        return 0;
    return luaL_error(L, errno == ENOMEM
                             ? "no memory for a plan"
                             : "nodes of a plan must be ascending, each once");
}

/* b:routine(phases [, flows over a set]) → tests laid out */
static int board_routine(lua_State *L)
{
    struct taut_board *b = check_board(L);
    lua_Integer phases = luaL_checkinteger(L, 2);
    lua_Integer flows = luaL_optinteger(L, 3, 1);

    luaL_argcheck(L, phases >= 0, 2, "phases from 0");
    luaL_argcheck(L, flows >= 1 && flows <= 64, 3, "flows from 1 to 64");
    if (phases > TAUT_PLAN_MAX_PHASES)
        phases = TAUT_PLAN_MAX_PHASES;
    int n = taut_board_routine(b, (uint32_t)phases, (uint32_t)flows);
    if (n < 0)
        return luaL_error(L, "no memory for a plan");
    lua_pushinteger(L, n);
    return 1;
}

/* Components of the array at 'index', *n of them; nil will do. */
static uint32_t *read_components(lua_State *L, int index,
                                 const struct taut_graph *g, uint32_t *n)
{
    *n = lua_istable(L, index) ? (uint32_t)lua_rawlen(L, index) : 0;
    uint32_t *list = taut_lua_buffer(L, *n, sizeof(*list));
    for (uint32_t i = 0; i < *n; i++) {
        lua_rawgeti(L, index, (lua_Integer)i + 1);
        list[i] = taut_check_component(L, -1, g);
        lua_pop(L, 1);
    }
    return list;
}

/* b:suspects({ components }): those that other tests had better avoid */
static int board_suspects(lua_State *L)
{
    struct taut_board *b = check_board(L);
    uint32_t n;

    luaL_checktype(L, 2, LUA_TTABLE);
    const uint32_t *list = read_components(L, 2, taut_board_graph(b), &n);
    if (taut_board_suspect(b, list, n) < 0)
        return luaL_error(L, "no memory for %I suspects", (LUAI_UACINT)n);
    return 0;
}

/* b:reached() → which of the suspects, by their places in the list, the nodes
 * of the plan can test */
static int board_reached(lua_State *L)
{
    struct taut_board *b = check_board(L);
    uint32_t suspects;
    const uint32_t *list = taut_board_suspects(b, &suspects);
    lua_Integer n = 0;

    lua_newtable(L);
    for (uint32_t i = 0; i < suspects; i++) {
        if (!taut_board_reaches(b, list[i]))
            continue;
        lua_pushinteger(L, (lua_Integer)i + 1);
        lua_rawseti(L, -2, ++n);
    }
    return 1;
}

/* b:helpers(c, most) → nodes of the plan that tests of c want */
static int board_helpers(lua_State *L)
{
    uint32_t node[64];
    struct taut_board *b = check_board(L);
    uint32_t c = taut_check_component(L, 2, taut_board_graph(b));
    lua_Integer most = luaL_checkinteger(L, 3);

    luaL_argcheck(L, most >= 0 && most <= 64, 3, "from 0 to 64");
    uint32_t n = taut_board_helpers(b, c, node, (uint32_t)most);
    taut_push_ids(L, node, n);
    return 1;
}

/* The map node → times at 'index', *n nodes; nil will do. */
static struct taut_plan_seen *read_seen(lua_State *L, int index,
                                        const struct taut_graph *g, uint32_t *n)
{
    uint32_t all = 0;

    *n = 0;
    if (!lua_istable(L, index))
        return NULL;
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1))
        all++;
    struct taut_plan_seen *list = taut_lua_buffer(L, all, sizeof(*list));
    for (lua_pushnil(L); lua_next(L, index); lua_pop(L, 1)) {
        lua_Integer v = luaL_checkinteger(L, -1);
        list[(*n)++] = (struct taut_plan_seen){
            .node = taut_check_node(L, -2, g),
            .times = (uint32_t)(v < 0            ? 0
                                : v > UINT16_MAX ? UINT16_MAX
                                                 : v),
        };
    }
    return list;
}

static uint32_t count_arg(lua_State *L, int arg, uint32_t fallback,
                          uint32_t most)
{
    lua_Integer v = luaL_optinteger(L, arg, fallback);

    luaL_argcheck(L, v >= 0 && v <= (lua_Integer)most, arg, "out of range");
    return (uint32_t)v;
}

/* b:confirm(c, pairs, streams, flows, around, kind, rivals, seen) → pairs laid
 * out; where nodes were used for it, seen or not, is told by the tests */
static int board_confirm(lua_State *L)
{
    struct taut_board *b = check_board(L);
    const struct taut_graph *g = taut_board_graph(b);
    struct taut_plan_want w = {.c = taut_check_component(L, 2, g)};

    lua_settop(L, 9);
    w.pairs = count_arg(L, 3, 1, 64);
    w.streams = count_arg(L, 4, 1, 64);
    w.flows = count_arg(L, 5, 1, 64);
    w.around = count_arg(L, 6, 0, 64);
    w.kind = luaL_checkoption(L, 7, "confirm", kinds);
    w.rival = read_components(L, 8, g, &w.n_rivals);
    w.seen = read_seen(L, 9, g, &w.n_seen);
    lua_pushinteger(L, taut_board_confirm(b, &w));
    return 1;
}

static int board_count(lua_State *L)
{
    lua_pushinteger(L, taut_board_count(check_board(L)));
    return 1;
}

/* ---- the plan ---- */

/* On the stack of board_finish. */
enum { SPARE = 2, CLASS, PHASES };

/* Push a test without fields: one that is over, or a new one. */
static struct taut_lua_test *push_empty(lua_State *L, lua_Integer *spares)
{
    if (*spares == 0)
        return taut_test_push(L, 1, CLASS);
    lua_rawgeti(L, SPARE, *spares);
    struct taut_lua_test *t = taut_test_at(L, -1, CLASS);
    luaL_argcheck(L, t != NULL && t->graph == NULL, SPARE,
                  "not tests that are over");
    lua_pushnil(L);
    lua_rawseti(L, SPARE, (*spares)--);
    taut_test_begin(L, t, 1);
    return t;
}

static void push_test(lua_State *L, const struct taut_graph *g,
                      lua_Integer *spares, const struct taut_plan_test *t)
{
    struct taut_lua_test *u = push_empty(L, spares);

    u->a = t->src;
    u->b = t->dst;
    u->phase = (uint16_t)(t->phase + 1);
    u->flows = t->flows;
    u->streams = t->streams;
    u->kind = t->kind;
    u->confirms = t->confirms != TAUT_GRAPH_NONE ? t->confirms + 1 : 0;
    if (t->senders > 1) {
        u->senders = t->senders;
        u->group = t->group % g->nodes + 1;
    }
}

/* b:finish([{ tests that are over }]) → array of phases, none of them empty,
 * each an array of tests { src, dst, phase, flows, streams, kind, confirms,
 * rail, route; senders, group = the first sender, shares, through where several
 * send at once over one link }.  Those that are over are used again, the last
 * first, and taken out of their list: they must not be needed any more. */
static int board_finish(lua_State *L)
{
    struct taut_board *b = check_board(L);
    const struct taut_graph *g = taut_board_graph(b);

    lua_settop(L, SPARE);
    taut_test_push_class(L);
    lua_newtable(L);
    lua_Integer spares =
        lua_istable(L, SPARE) ? (lua_Integer)lua_rawlen(L, SPARE) : 0;
    struct taut_plan_test *list =
        taut_lua_buffer(L, taut_board_count(b), sizeof(*list));
    uint32_t n = taut_board_finish(b, list);
    for (uint32_t i = 0, first; i < n;) {
        first = i;
        while (i < n && list[i].phase == list[first].phase)
            i++;
        lua_createtable(L, (int)(i - first), 0);
        for (uint32_t k = first; k < i; k++) {
            push_test(L, g, &spares, &list[k]);
            lua_rawseti(L, -2, (lua_Integer)(k - first) + 1);
        }
        lua_rawseti(L, PHASES, list[first].phase + 1);
    }
    lua_pushvalue(L, PHASES);
    return 1;
}

static int board_forget(lua_State *L)
{
    taut_board_forget(check_board(L));
    return 0;
}

int luaopen_taut_board(lua_State *L)
{
    static const luaL_Reg functions[] = {{"new", board_new}, {NULL, NULL}};
    static const luaL_Reg methods[] = {
        {"begin", board_begin},
        {"confirm", board_confirm},
        {"count", board_count},
        {"finish", board_finish},
        {"forget", board_forget},
        {"helpers", board_helpers},
        {"reached", board_reached},
        {"routine", board_routine},
        {"suspects", board_suspects},
        {NULL, NULL},
    };

    taut_class(L, BOARD_CLASS, methods, board_gc);
    luaL_newlib(L, functions);
    taut_set_integer(L, "MOST_PHASES", TAUT_PLAN_MAX_PHASES);
    return 1;
}
