/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The board inside, for the files that lay tests out on it. */
#ifndef TAUT_ADVISOR_LIB_PLAN_INSIDE_H
#define TAUT_ADVISOR_LIB_PLAN_INSIDE_H

#include <math.h>

#include "advisor/lib/plan/board.h"

#define TAUT_PLAN_UNSURE (UINT32_C(1) << 31) /* on a component in 'way' */
#define TAUT_PLAN_SEEN_MAX 200 /* times a node was used that are counted */

enum taut_plan_mark {
    TAUT_PLAN_SUSPECT = 1, /* avoid it where another way does as well */
    TAUT_PLAN_RIVAL = 2,   /* a test over it cannot tell the two apart */
};

/* What a route uses, tx first, rx last; members of a set carry UNSURE. */
struct taut_plan_way {
    uint32_t *c;
    uint32_t n, max;
    uint32_t stages; /* what a test crosses of it: one of each set, and ends */
    bool has_sets;
};

#define TAUT_PLAN_ENDS_KEPT 8192 /* components whose ends are remembered */

/* Where a component's tests may start and end: routers, nearest first.  Those
 * up of it are looked for when somebody asks: most plans have none of those
 * down of it, and that is enough to know. */
struct taut_plan_ends {
    uint32_t *up, n_up; /* NULL: not looked for yet */
    uint32_t n_down;
    uint32_t down[];
};

/* Links that follow each other in one direction, for so long at least, and a
 * last one without a link. */
#define TAUT_PLAN_LINE_MOST 32
struct taut_plan_step {
    uint32_t link, to; /* to: the router that it comes to */
};

struct taut_board {
    struct taut_arena memory;
    const struct taut_graph *g;
    struct taut_coverage *cov;
    struct taut_plan_rules r;
    struct taut_route route;
    struct taut_plan_way way, back;
    struct taut_plan_kept *kept; /* ways.c */
    bool has_kept;

    uint32_t n_nodes;
    uint32_t *node;   /* [n_nodes] of the plan */
    uint8_t *is_here; /* [nodes] */

    /* of one rail: routers of the plan and their endpoints */
    uint32_t rail; /* NONE: not set up yet */
    uint32_t n_routers;
    uint32_t *router; /* [n_routers] */
    uint32_t *local;  /* [routers] number in 'router' + 1; 0: not here */
    uint64_t *is_local; /* [routers] bits: here */
    uint32_t *first;  /* [n_routers + 1] into 'ep' */
    uint32_t *ep;     /* [n_nodes] */

    uint8_t *users[TAUT_PLAN_MAX_PHASES]; /* [components]; ACK for the way of
                                             acknowledgements */
    uint8_t *busy[TAUT_PLAN_MAX_PHASES];  /* [nodes] enum taut_plan_role */
    uint8_t *role[TAUT_PLAN_MAX_PHASES];  /* [routers] likewise */

    uint64_t *used; /* [n_used] phases << 32, and what they use, to wipe it */
    size_t n_used, max_used;
    bool has_more; /* there was no room for all */

    uint64_t wide; /* bit p: phase p has several streams at once */
    uint32_t top;  /* the last phase used, and one */

    uint32_t n_tests, max_tests;
    struct taut_plan_test *tests;

    uint32_t n_suspects;
    uint32_t *suspect; /* what is asked about, the weightiest first */
    uint8_t *mark;     /* [components] enum taut_plan_mark */
    uint8_t *seen;     /* [nodes] far ends used already */
    uint32_t *line;    /* [links] where each stands in 'step' */
    struct taut_plan_step *step;
    uint8_t *leg;      /* [links] of routes, engine.h; NULL: they have none */
    struct taut_plan_ends **ends; /* [components] known ones */
    uint32_t *with_ends; /* [TAUT_PLAN_ENDS_KEPT] numbers of these + 1, a ring;
                            0: nothing is kept here */
    uint32_t n_ends;     /* counts up */
    uint32_t *visited, stamp; /* [routers] */
    uint64_t random;
};

/* fmin is a call, and no time or capacity is NaN. */
static inline double taut_board_least(double a, double b)
{
    return a < b ? a : b;
}

/* What one of n senders gets of part i of b->way. */
static inline double taut_board_share(const struct taut_board *b, uint32_t i,
                                      uint32_t n)
{
    uint32_t c = b->way.c[i];

    return taut_graph_share(b->g, c & ~TAUT_PLAN_UNSURE,
                            (c & TAUT_PLAN_UNSURE) == 0, n);
}

/* What one of n senders can reach on b->way: the smallest share. */
static inline double taut_board_expectation(const struct taut_board *b,
                                            uint32_t n)
{
    double least = HUGE_VAL;

    for (uint32_t i = 0; i < b->way.n; i++)
        least = taut_board_least(least, taut_board_share(b, i, n));
    return least;
}

/* What a test from src to dst uses; b->way.  false: there is no route. */
bool taut_board_way(struct taut_board *b, uint32_t src, uint32_t dst,
                    struct taut_plan_way *way);

/* Room for ways that are kept (false: no memory); routes are others now. */
bool taut_board_keep_ways(struct taut_board *b);
void taut_board_drop_ways(struct taut_board *b);

/* Lines of the graph, and legs: 'direction' of each link, or NULL (board.h).
 * false: no memory. */
bool taut_board_find_lines(struct taut_board *b, const uint32_t *direction);

/* The line that begins with link l, and the link that follows l, or NONE. */
static inline const struct taut_plan_step *
taut_board_line(const struct taut_board *b, uint32_t l)
{
    return &b->step[b->line[l]];
}

static inline uint32_t taut_board_next(const struct taut_board *b, uint32_t l)
{
    return taut_board_line(b, l)[1].link;
}

/* Do routes turn from link l into link m?  Those that avoid what has failed
 * may, where others do not; no code searches them. */
static inline bool taut_board_turns(const struct taut_board *b, uint32_t l,
                                    uint32_t m)
{
    return b->leg == NULL || b->leg[m] > b->leg[l];
}

/* The nearest router of the plan straight on over link l, of so few links, by
 * its number in b->router; or NONE. */
uint32_t taut_board_over(const struct taut_board *b, uint32_t most, uint32_t l);

/* Does router r take part in the plan? */
static inline bool taut_board_is_local(const struct taut_board *b, uint32_t r)
{
    return (b->is_local[r / 64] >> (r % 64) & 1) != 0;
}

/* Going round routers: begin, and is r met for the first time since? */
void taut_board_new_visit(struct taut_board *b);
static inline bool taut_board_visit(struct taut_board *b, uint32_t r)
{
    bool is_new = b->visited[r] != b->stamp;

    b->visited[r] = b->stamp;
    return is_new;
}

/* Is b->way longer than a test's ought to be? */
static inline bool taut_board_is_long(const struct taut_board *b)
{
    return b->r.longest > 0 && b->way.stages > b->r.longest + 2;
}

/* Lay a test out in the first phase from 'from' on that takes it.
 * Returns the phase, or -1: none does, or there is no route. */
int taut_board_place(struct taut_board *b, const struct taut_plan_test *t,
                     uint32_t from, bool urgent);

/* The same for a group of senders that share their links in one phase. */
int taut_board_place_group(struct taut_board *b, const struct taut_plan_test *t,
                           uint32_t n, uint32_t from, bool urgent);

/* The parts of it. Find the ways of a test, b->way and b->back, or only what
 * b->way lacks (false: no route, or a part of it is reserved or has had its
 * time). Check whether it fits into phase p. Put it there, as one of n senders,
 * of which 'group' is the first. */
bool taut_board_ways(struct taut_board *b, const struct taut_plan_test *t,
                     bool urgent);
bool taut_board_is_open(struct taut_board *b, const struct taut_plan_test *t,
                        bool urgent);
bool taut_board_fits(const struct taut_board *b, const struct taut_plan_test *t,
                     uint32_t p);
void taut_board_put(struct taut_board *b, const struct taut_plan_test *t,
                    uint32_t p, uint32_t n, uint32_t group);

/* Enter a test in its phase once more. */
void taut_board_use(struct taut_board *b, const struct taut_plan_test *t);

/* Nothing is in use any more, in any phase. */
void taut_board_wipe_used(struct taut_board *b);

/* Take the last n tests off the board; what they marked as asked stays. */
void taut_board_take_back(struct taut_board *b, uint32_t n);

/* What a node, or a router, does in a phase. */
enum taut_plan_role { TAUT_PLAN_SENDS = 1, TAUT_PLAN_RECEIVES = 2 };

/* Is an end of the test free in phase p? */
static inline bool taut_board_is_free(const struct taut_board *b, uint32_t p,
                                      uint32_t e, enum taut_plan_role role)
{
    uint8_t use = b->busy[p][e % b->g->nodes];

    return b->r.duplex ? (use & role) == 0 : use == 0;
}

/* How many senders at once show a component that a test from src to dst
 * crosses, given the way in b->way; 1 where one does or none can. */
uint32_t taut_board_senders(const struct taut_board *b, uint32_t src,
                            uint32_t dst, uint32_t c);

/* Where tests of link c may start and end, on the whole machine; kept until
 * others are asked for, those of suspects longest, and until the graph's
 * health changes (taut_board_forget).  NULL: no memory.  The second one finds
 * those up of it, too: false: no memory. */
struct taut_plan_ends *taut_board_ends(struct taut_board *b, uint32_t c);
bool taut_board_ends_up(struct taut_board *b, uint32_t c,
                        struct taut_plan_ends *e);
void taut_board_forget_ends(struct taut_board *b, uint32_t c);

/* The same on the routers of the plan, by their numbers in b->router, the
 * nearest of them; false where the plan cannot test c.  Of a tx or rx only the
 * answer is given. */
#define TAUT_PLAN_PICK 12
struct taut_plan_pick {
    uint32_t n_up, n_down;
    uint32_t up[TAUT_PLAN_PICK], down[TAUT_PLAN_PICK];
};
bool taut_board_pick_ends(struct taut_board *b, uint32_t c,
                          struct taut_plan_pick *p);

/* Whether it finds any: the same, sooner. */
bool taut_board_has_ends(struct taut_board *b, uint32_t c);

/* Tests that leave the routers on the way from src to dst by other links, up
 * to w->around each.  Returns how many were laid out. */
uint32_t taut_board_around(struct taut_board *b, uint32_t src, uint32_t dst,
                           const struct taut_plan_want *w);

uint32_t taut_board_random(struct taut_board *b, uint32_t n); /* 0 … n - 1 */

#endif
