/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The board on which a plan is laid out: the nodes that take part, the phases,
 * and what each phase already uses.  taut.plan says what to look for; here is
 * where pairs of nodes are found and packed.
 *
 * Between begin and end a plan is under way.  Numbers count from 0, as in
 * graph.h; a node of the plan is one of its endpoints once rails are known. */
#ifndef TAUT_ADVISOR_LIB_PLAN_BOARD_H
#define TAUT_ADVISOR_LIB_PLAN_BOARD_H

#include "advisor/lib/graph/engine.h"
#include "advisor/lib/plan/coverage.h"

#define TAUT_PLAN_MAX_PHASES 64
#define TAUT_PLAN_MAX_SENDERS 8

enum taut_plan_kind {
    TAUT_PLAN_NONE,
    TAUT_PLAN_ANCHOR,
    TAUT_PLAN_NEIGHBOUR,
    TAUT_PLAN_REACH,
    TAUT_PLAN_CONFIRM,
    TAUT_PLAN_WATCH,
    TAUT_PLAN_SURROUND,
    TAUT_PLAN_KINDS
};

struct taut_plan_rules {
    uint32_t phases;  /* 0..TAUT_PLAN_MAX_PHASES */
    uint32_t wide;    /* phases that one with several streams at once costs
                         besides itself */
    uint32_t senders; /* deliberate ones over one link, 1: never shared */
    bool duplex;      /* a node may send and receive in one phase */
    bool first_only;  /* one test is enough */
    uint32_t longest; /* links of a way: over more, somebody is nearly always
                         met; 0: no limit */
    double good;      /* share of a component's capacity that clears it */
    double test_s;    /* of one test */
    double now;
    double fresh_s; /* what was tested within it needs no routine test */
    double retry_s; /* a test that cleared nothing is not tried again sooner */
    uint64_t seed;
};

struct taut_plan_test {
    uint32_t src, dst; /* endpoints */
    uint32_t confirms; /* component, or TAUT_GRAPH_NONE */
    uint8_t phase;
    uint8_t kind; /* enum taut_plan_kind */
    uint8_t flows;
    uint8_t streams;
    uint8_t senders; /* tests of this group, this one among them */
    uint32_t group;  /* source of the first of them */
};

struct taut_board;

/* A board for a graph; both belong to the caller and must outlive it.
 *   direction  [links] what way each leaves its router (a small number per
 *              kind of port), for straight lines; NULL: there are none
 * Returns it, or NULL with errno ENOMEM. */
struct taut_board *taut_board_create(const struct taut_graph *g,
                                     struct taut_coverage *cov,
                                     const uint32_t *direction);
void taut_board_destroy(struct taut_board *b);

/* Begin a plan for these nodes, ascending, each once; 'node' is copied.
 * Returns 0, or -1 with ENOMEM or EINVAL (a node that is not there, or out of
 * order; phases beyond the limit). */
int taut_board_begin(struct taut_board *b, const uint32_t *node, uint32_t n,
                     const struct taut_plan_rules *r);

/* Set up another rail.  Returns 0, or -1 with ENOMEM. */
int taut_board_rail(struct taut_board *b, uint32_t rail);

/* Forget the plan; what it marked as asked for stays. */
void taut_board_end(struct taut_board *b);

/* Routine tests of what is due, the stalest first: neighbours, anchors for
 * nodes that they do not show or did not show well, and what else the routes
 * of the nodes reach, in phases 0 … phases - 1.
 *   flows  measured per test over a set of links
 * Returns how many tests were laid out, or -1 with ENOMEM. */
int taut_board_routine(struct taut_board *b, uint32_t phases, uint32_t flows);

/* How often a node was a far end of tests of the component already. */
struct taut_plan_seen {
    uint32_t node;
    uint32_t times;
};

/* Tests that decide about component c. */
struct taut_plan_want {
    uint32_t c;
    uint32_t pairs;   /* wanted */
    uint32_t streams; /* when > 1, each pair is tested again with so many at
                         once */
    uint32_t flows;
    uint32_t around; /* tests over other links of each router on the way, per
                        pair */
    enum taut_plan_kind kind;
    const uint32_t *rival; /* [n_rivals] components the tests ought to tell
                              apart from c */
    uint32_t n_rivals;
    const struct taut_plan_seen *seen; /* [n_seen] */
    uint32_t n_seen;
};

/* Returns how many pairs were laid out, or -1 with ENOMEM. */
int taut_board_confirm(struct taut_board *b, const struct taut_plan_want *w);

/* Components that other tests had better avoid, the weightiest first; they
 * take the place of those named before.  Returns 0, or -1 with ENOMEM. */
int taut_board_suspect(struct taut_board *b, const uint32_t *c, uint32_t n);

/* Those named, *n of them; valid until others are. */
const uint32_t *taut_board_suspects(const struct taut_board *b, uint32_t *n);

/* Can the nodes of the plan test component c? */
bool taut_board_reaches(struct taut_board *b, uint32_t c);

/* Nodes of the plan that tests of c want, the most useful first: up to 'most'
 * of them into node[].  Returns how many; 0: none can test it. */
uint32_t taut_board_helpers(struct taut_board *b, uint32_t c, uint32_t *node,
                            uint32_t most);

/* The graph's health has changed: forget which routers can test what. */
void taut_board_forget(struct taut_board *b);

const struct taut_graph *taut_board_graph(const struct taut_board *b);

/* Tests laid out so far. */
uint32_t taut_board_count(const struct taut_board *b);

/* The plan as it is: its tests by phase, phases without gaps, into list[],
 * which has room for all of them; the plan ends.  Returns how many. */
uint32_t taut_board_finish(struct taut_board *b, struct taut_plan_test *list);

#endif
