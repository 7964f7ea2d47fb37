/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.tests: a test of a plan, as C keeps it and Lua sees it.
 *
 * There are a hundred of them in a check and most are good, so a test is one
 * piece of memory and no table.  Lua reads and writes its fields as if it were
 * one: what each test has lies in the struct, anything else in a table that
 * only odd tests have.  Numbers of components and nodes count from 1, as in
 * Lua, and 0 says that there is none. */
#ifndef TAUT_ADVISOR_BINDINGS_TEST_MOD_TEST_H
#define TAUT_ADVISOR_BINDINGS_TEST_MOD_TEST_H

#include "advisor/bindings/graph/mod_graph.h"

#define TAUT_TEST_CLASS "taut.test"
#define TAUT_TEST_NO_INTEGER INT64_MIN
#define TAUT_TEST_TOKEN 32 /* characters */

enum taut_test_class {
    TAUT_TEST_NOT_JUDGED,
    TAUT_TEST_GOOD,
    TAUT_TEST_LOW,
    TAUT_TEST_VOID,
    TAUT_TEST_CLASSES
};

/* What its two nodes reported, as judge.lua documents it.  NAN: not known. */
struct taut_test_figures {
    double expected_Bps, bw_Bps, sender_Bps;
    double ratio; /* bw_Bps / expected_Bps */
    double peak;  /* of the best part of its window, in the same unit */
    double rtt_ns, min_rtt_ns;      /* the sender's */
    double delay_ns, foreign_bytes; /* of the end that has more */
    double segments, lost; /* as both ends agree; NAN: nobody counted, they do
                              not, or others were beside it */
    double segment_bytes;  /* what a segment that its TCP stream sent again
                              carried; NAN: not known */
};

/* Its user values: 1 the board it was planned on, 2 the table of odd fields, 3
 * its route as a table, or one to be used again. */
struct taut_lua_test {
    struct taut_lua_graph *graph; /* the board's; NULL: it is over, and
                                     nobody's */
    const void *board;
    uint32_t a, b; /* endpoints: it is sent, received */
    uint32_t confirms;
    uint32_t group; /* the first of several senders */
    uint32_t epoch; /* of the topology when it was planned */
    uint16_t phase, flows, streams, senders;
    uint8_t kind;  /* enum taut_plan_kind */
    uint8_t class; /* enum taut_test_class */
    bool figure;   /* both ends agree on bw_Bps */
    bool by_loss;  /* low, and its own losses explain that */
    bool has_odd;
    bool has_route;    /* user value 3 is it */
    bool is_own_route; /* … and was set, being another than the graph's */
    int64_t id, event, job; /* TAUT_TEST_NO_INTEGER: not known */
    double time, start_ms, dur_ms; /* NAN: not known; so are the others */
    double enough_Bps;             /* it may end early at; NAN: it may not */
    double stalls;
    struct taut_test_figures figures;
    char token[TAUT_TEST_TOKEN + 1];
};

/* A test at more than so many times what its way carries shows nothing; `BEYOND'
 * of the module, for judge.lua. */
#define TAUT_TEST_BEYOND 2

/* Push the metatable of tests; made once. */
void taut_test_push_class(lua_State *L);

/* The test at an index, or NULL for anything else.
 *   class  index of their metatable, an upvalue or on the stack */
struct taut_lua_test *taut_test_at(lua_State *L, int index, int class);

/* Push a new test without any field, of the board at an index. */
struct taut_lua_test *taut_test_push(lua_State *L, int board, int class);

/* The test t on the top is over: it holds on to nothing any more, and has no
 * fields until it begins anew. */
void taut_test_end(lua_State *L, struct taut_lua_test *t);

/* Such a test begins anew, without any field, of the board at an index. */
void taut_test_begin(lua_State *L, struct taut_lua_test *t, int board);

/* Push odd field 'name' of test t at an index; returns its type. */
int taut_test_push_odd(lua_State *L, int index, const struct taut_lua_test *t,
                       const char *name);

/* What test t at an index can reach, by the capacities on its way; HUGE_VAL:
 * nothing limits it. */
double taut_test_expectation(lua_State *L, int index,
                             const struct taut_lua_test *t);

/* Is more, or less, expected of test t at an index than capacities say? */
bool taut_test_is_odd(lua_State *L, int index, const struct taut_lua_test *t);

/* Set the figures of the test at an index, which may be a table. */
void taut_test_set_figures(lua_State *L, int index, int class,
                           const struct taut_test_figures *f);

/* What is done with all tests of a plan, and what their nodes reported, as
 * functions of the module. */
extern const luaL_Reg taut_test_functions[], taut_test_figure_functions[];

#endif
