/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The board as a whole: made, begun, taken back, finished.
 *
 * A board lives as long as its graph and lays out one plan after the other.  A
 * plan uses few of a large machine's components, and must not cost as much as
 * the machine is large.  So the arrays of a phase are 0 between plans, and what
 * a plan sets in them is listed and wiped one by one:
 *
 *   users[p]  [components] tests of phase p on each, plus ACK (place.c)
 *   busy[p]   [nodes] what each does in phase p, enum taut_plan_role
 *   role[p]   [routers] the same of its nodes that test over links
 *   used      the entries of users[] that are not 0, phase << 32 | component
 *
 * users[], busy[] and role[] are made when a plan first has so many phases, and
 * stay. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/plan/inside.h"

/* ---- life ---- */

struct taut_board *taut_board_create(const struct taut_graph *g,
                                     struct taut_coverage *cov,
                                     const uint32_t *direction)
{
    struct taut_board *b = calloc(1, sizeof(*b));

    if (b == NULL)
        return NULL;
    b->g = g;
    b->cov = cov;
    b->rail = TAUT_GRAPH_NONE;
    TAUT_TAKE(&b->memory, b->node, (size_t)g->nodes + 1);
    TAUT_TAKE(&b->memory, b->is_here, g->nodes + 1);
    TAUT_TAKE(&b->memory, b->router, (size_t)g->routers + 1);
    TAUT_TAKE(&b->memory, b->local, (size_t)g->routers + 1);
    TAUT_TAKE(&b->memory, b->first, (size_t)g->routers + 2);
    TAUT_TAKE(&b->memory, b->ep, (size_t)g->nodes + 1);
    TAUT_TAKE(&b->memory, b->mark, (size_t)g->components + 1);
    TAUT_TAKE(&b->memory, b->seen, (size_t)g->nodes + 1);
    TAUT_TAKE(&b->memory, b->ends, (size_t)g->components + 1);
    TAUT_TAKE(&b->memory, b->with_ends, TAUT_PLAN_ENDS_KEPT);
    TAUT_TAKE(&b->memory, b->visited, (size_t)g->routers + 1);
    TAUT_TAKE(&b->memory, b->is_local, (size_t)g->routers / 64 + 1);
    if (taut_board_keep_ways(b) && !b->memory.is_short &&
        taut_board_find_lines(b, direction) &&
        taut_route_init(&b->route, g) == 0)
        return b;
    taut_board_destroy(b);
    errno = ENOMEM;
    return NULL;
}

void taut_board_forget(struct taut_board *b)
{
    for (uint32_t c = 0; b->ends != NULL && c < b->g->components; c++)
        taut_board_forget_ends(b, c);
    if (b->with_ends != NULL)
        memset(b->with_ends, 0, TAUT_PLAN_ENDS_KEPT * sizeof(*b->with_ends));
    taut_board_drop_ways(b);
}

void taut_board_destroy(struct taut_board *b)
{
    if (b == NULL)
        return;
    taut_board_forget(b);
    taut_route_fini(&b->route);
    for (int p = 0; p < TAUT_PLAN_MAX_PHASES; p++) {
        free(b->users[p]);
        free(b->busy[p]);
        free(b->role[p]);
    }
    taut_arena_free(&b->memory);
    free(b->suspect);
    free(b->way.c);
    free(b->back.c);
    free(b->tests);
    free(b->used);
    free(b);
}

/* ---- a plan ---- */

/* role[p] is made last: if it is there, all three of the phase are. */
static int phase_arrays(struct taut_board *b, uint32_t phases)
{
    const struct taut_graph *g = b->g;

    for (uint32_t p = 0; p < phases; p++) {
        if (b->role[p] != NULL)
            continue;
        if (b->users[p] == NULL)
            b->users[p] = calloc((size_t)g->components + 1, 1);
        if (b->busy[p] == NULL)
            b->busy[p] = calloc((size_t)g->nodes + 1, 1);
        if (b->users[p] != NULL && b->busy[p] != NULL)
            b->role[p] = calloc((size_t)g->routers + 1, 1);
        if (b->role[p] == NULL) {
            errno = ENOMEM;
            return -1;
        }
    }
    return 0;
}

/* The seed is multiplied by an odd number near 2^64 / 1.618, so that seeds that
 * follow each other begin far apart. */
int taut_board_begin(struct taut_board *b, const uint32_t *node, uint32_t n,
                     const struct taut_plan_rules *r)
{
    taut_board_end(b);
    for (uint32_t i = 0; i < n; i++)
        if (node[i] >= b->g->nodes || (i > 0 && node[i] <= node[i - 1])) {
            errno = EINVAL;
            return -1;
        }
    if (r->phases > TAUT_PLAN_MAX_PHASES ||
        r->senders > TAUT_PLAN_MAX_SENDERS || b->cov->n < b->g->components) {
        errno = EINVAL;
        return -1;
    }
    if (phase_arrays(b, r->phases) < 0)
        return -1;
    b->r = *r;
    b->wide = 0;
    b->top = 0;
    b->random = r->seed * 0x9e3779b97f4a7c15U + 0x2545f4914f6cdd1dU;
    b->n_nodes = n;
    for (uint32_t i = 0; i < n; i++) {
        b->node[i] = node[i];
        b->is_here[node[i]] = 1;
    }
    return taut_board_rail(b, 0);
}

static void forget_rail(struct taut_board *b)
{
    for (uint32_t i = 0; i < b->n_routers; i++) {
        b->local[b->router[i]] = 0;
        b->is_local[b->router[i] / 64] = 0;
    }
    b->n_routers = 0;
    b->rail = TAUT_GRAPH_NONE;
}

/* Endpoints by router, both in the order in which nodes come: a counting sort,
 * O(nodes of the plan).  Afterwards router[i], i < n_routers, has the endpoints
 *
 *   ep[first[i]] ... ep[first[i + 1] - 1]
 *
 * and local[router[i]] is i + 1, so that 0 says: not of this plan. */
int taut_board_rail(struct taut_board *b, uint32_t rail)
{
    const struct taut_graph *g = b->g;

    if (b->rail == rail)
        return 0;
    forget_rail(b);
    b->rail = rail;
    memset(b->first, 0,
           sizeof(*b->first) *
               (b->n_nodes < g->routers ? b->n_nodes + 2 : g->routers + 2));
    for (uint32_t i = 0; i < b->n_nodes; i++) {
        uint32_t r = g->at[rail * g->nodes + b->node[i]];
        if (r == TAUT_GRAPH_NONE)
            continue;
        if (b->local[r] == 0) {
            b->router[b->n_routers++] = r;
            b->local[r] = b->n_routers;
            b->is_local[r / 64] |= UINT64_C(1) << (r % 64);
        }
        b->first[b->local[r]]++;
    }
    for (uint32_t i = 0; i < b->n_routers; i++)
        b->first[i + 1] += b->first[i];
    /* fill from the back, so that first[] ends where it belongs */
    for (uint32_t i = b->n_nodes; i-- > 0;) {
        uint32_t e = rail * g->nodes + b->node[i], r = g->at[e];
        if (r != TAUT_GRAPH_NONE)
            b->ep[--b->first[b->local[r]]] = e;
    }
    for (uint32_t i = 0; i < b->n_routers; i++)
        b->first[i] = b->first[i + 1];
    b->first[b->n_routers] = 0;
    for (uint32_t i = 0; i < b->n_nodes; i++)
        b->first[b->n_routers] +=
            g->at[rail * g->nodes + b->node[i]] != TAUT_GRAPH_NONE;
    return 0;
}

static void wipe_way(struct taut_board *b, const struct taut_plan_test *t,
                     struct taut_plan_way *way, uint32_t src, uint32_t dst)
{
    if (!taut_board_way(b, src, dst, way))
        return;
    for (uint32_t i = 0; i < way->n; i++)
        b->users[t->phase][way->c[i] & ~TAUT_PLAN_UNSURE] = 0;
}

static void wipe_ends(struct taut_board *b, const struct taut_plan_test *t)
{
    const struct taut_graph *g = b->g;

    b->busy[t->phase][t->src % g->nodes] = 0;
    b->busy[t->phase][t->dst % g->nodes] = 0;
    b->role[t->phase][g->at[t->src]] = 0;
    b->role[t->phase][g->at[t->dst]] = 0;
}

static void wipe(struct taut_board *b, const struct taut_plan_test *t)
{
    wipe_way(b, t, &b->way, t->src, t->dst);
    if (!b->r.duplex)
        wipe_way(b, t, &b->back, t->dst, t->src);
    wipe_ends(b, t);
}

/* What others of the same phase had in common with them is laid out anew: an
 * entry of users[] that is wiped does not tell whose it was.  All n are of one
 * phase. */
void taut_board_take_back(struct taut_board *b, uint32_t n)
{
    uint32_t rest = b->n_tests - n;
    uint8_t phase = b->tests[rest].phase;

    for (uint32_t i = 0; i < b->n_tests; i++)
        if (b->tests[i].phase == phase)
            wipe(b, &b->tests[i]);
    b->n_tests = rest;
    b->top = 0;
    for (uint32_t i = 0; i < rest; i++)
        if (b->tests[i].phase >= b->top)
            b->top = b->tests[i].phase + 1;
    for (uint32_t i = 0; i < rest; i++)
        if (b->tests[i].phase == phase)
            taut_board_use(b, &b->tests[i]);
}

/* Wipes what this plan set, O(its tests and the components that they use). */
void taut_board_end(struct taut_board *b)
{
    for (uint32_t i = 0; i < b->n_tests; i++)
        wipe_ends(b, &b->tests[i]);
    taut_board_wipe_used(b);
    b->n_tests = 0;
    forget_rail(b);
    for (uint32_t i = 0; i < b->n_nodes; i++)
        b->is_here[b->node[i]] = 0;
    b->n_nodes = 0;
}

/* In the order in which they were laid out, phase by phase: a stable counting
 * sort.  at[p] is where the next test of phase p goes, number[p] the phase's
 * number once empty phases are left out. */
uint32_t taut_board_finish(struct taut_board *b, struct taut_plan_test *list)
{
    uint32_t at[TAUT_PLAN_MAX_PHASES + 1] = {0}, n = b->n_tests;
    uint8_t number[TAUT_PLAN_MAX_PHASES], phases = 0;

    for (uint32_t i = 0; i < n; i++)
        at[b->tests[i].phase + 1]++;
    for (uint32_t p = 0; p < TAUT_PLAN_MAX_PHASES; p++) {
        number[p] = phases;
        phases = (uint8_t)(phases + (at[p + 1] > 0));
        at[p + 1] += at[p];
    }
    for (uint32_t i = 0; i < n; i++) {
        uint8_t p = b->tests[i].phase;
        struct taut_plan_test *t = &list[at[p]++];
        *t = b->tests[i];
        t->phase = number[p];
    }
    taut_board_end(b);
    return n;
}

/* ---- what is asked about ---- */

int taut_board_suspect(struct taut_board *b, const uint32_t *c, uint32_t n)
{
    uint32_t *list = malloc(((size_t)n + 1) * sizeof(*list));

    if (list == NULL)
        return -1;
    for (uint32_t i = 0; i < b->n_suspects; i++)
        b->mark[b->suspect[i]] &= (uint8_t)~TAUT_PLAN_SUSPECT;
    free(b->suspect);
    b->suspect = list;
    b->n_suspects = n;
    for (uint32_t i = 0; i < n; i++) {
        list[i] = c[i];
        b->mark[c[i]] |= TAUT_PLAN_SUSPECT;
    }
    return 0;
}

const uint32_t *taut_board_suspects(const struct taut_board *b, uint32_t *n)
{
    *n = b->n_suspects;
    return b->suspect;
}

bool taut_board_reaches(struct taut_board *b, uint32_t c)
{
    for (uint32_t rail = 0; b->r.phases > 0 && rail < b->g->rails; rail++) {
        taut_board_rail(b, rail);
        if (taut_board_has_ends(b, c))
            return true;
    }
    return false;
}

const struct taut_graph *taut_board_graph(const struct taut_board *b)
{
    return b->g;
}

uint32_t taut_board_count(const struct taut_board *b)
{
    return b->n_tests;
}

/* A router is visited where its stamp is the present one: beginning anew costs
 * nothing, but once in 2^32 times. */
void taut_board_new_visit(struct taut_board *b)
{
    if (++b->stamp == 0) {
        memset(b->visited, 0, b->g->routers * sizeof(*b->visited));
        b->stamp = 1;
    }
}

/* Knuth's linear congruential generator for 64 bits (MMIX), whose low bits are
 * bad: its upper 31 bits x give x n / 2^31. */
uint32_t taut_board_random(struct taut_board *b, uint32_t n)
{
    b->random = b->random * 6364136223846793005U + 1442695040888963407U;
    return (uint32_t)(((b->random >> 33) * n) >> 31);
}
