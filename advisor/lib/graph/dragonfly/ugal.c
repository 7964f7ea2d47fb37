/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much of each pair of groups' traffic adaptive routing sends over other
 * groups, when all of a pattern's traffic flows at once.
 *
 * UGAL (Kim et al., ISCA 2008) sends a packet the minimal way when the queue
 * there times its hops is not longer than on the other way.  This is a fluid
 * model: the use of the links between groups replaces the queues, and one or
 * two of these replace the hops.  Traffic moves to the other groups until the
 * minimal links' use is at most twice the mean use of the ways round.  Each way
 * round is as busy as the busier of its two links.
 *
 *   D(a, z)  demand from group a to group z, bytes
 *   m(a, z)  share of it that goes over other groups, 0..1: what is looked for
 *   n(a, z)  other groups k with links from a and to z
 *   C(a, z)  capacity that is left of the links from a to z, bytes/s
 *   e(a, z)  m D / n, bytes over each other group
 *   u(a, z)  use of these links, seconds
 *
 *   u(a, z) = ((1 - m(a, z)) D(a, z)
 *              + sum over z' != z of e(a, z')    first link of a way over z
 *              + sum over a' != a of e(a', z)    second link of a way over a
 *             ) / C(a, z)
 *
 * where e counts only on ways both of whose links are there.  Traffic moves
 * where
 *
 *   u(a, z) > 2 / n * sum over k of max(u(a, k), u(k, z))
 *
 * and back where not, all pairs at once, by steps that shrink: FIRST_STEP *
 * STEP_SHRINKS^i in round i.  The sum of all steps is 2.5, so m gets from 0 to
 * 1 and back; the last of ROUNDS is 0.0005, which is how well m is known.
 *
 * With G groups a round costs G^2, and G more for each pair that the bounds of
 * is_crowded leave open. */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "advisor/lib/graph/dragonfly/dragonfly.h"

#define ROUNDS 60
#define FIRST_STEP 0.25
#define STEP_SHRINKS 0.9
#define EQUAL 1e-9 /* share by which rounding may make equals differ */

struct balance {
    struct taut_arena memory;
    uint32_t groups;
    const double *demand; /* [groups * groups] bytes */
    double *capacity;     /* bytes/s of the links that are left */
    double *use;          /* seconds that the traffic takes on them */
    double *turned;       /* the same, [to * groups + from] */
    double *moved;        /* share that goes over other groups */
    double *each;         /* bytes over each of the ways of a pair */
    double *from, *to;    /* [groups] sums of 'each' by row, by column */
    double *row, *column; /* [groups] sums of 'use' */
    uint32_t *ways;       /* how many other groups will do */
    uint32_t *pair;       /* [pairs] cells that have traffic to share out */
    uint32_t pairs;
    uint32_t *shut; /* [groups * groups] cells of two groups with no link … */
    uint32_t n_shut;
    bool *from_shut, *to_shut; /* … [groups] that leave, that reach a group */
};

static size_t cell(const struct balance *b, uint32_t from, uint32_t to)
{
    return (size_t)from * b->groups + to;
}

static bool is_way(const struct balance *b, uint32_t from, uint32_t over,
                   uint32_t to)
{
    return over != from && over != to && b->capacity[cell(b, from, over)] > 0 &&
           b->capacity[cell(b, over, to)] > 0;
}

static void measure(struct balance *b, const struct taut_dragonfly *d,
                    const struct taut_graph *g)
{
    for (uint32_t p = 0; p < b->groups * b->groups; p++) {
        uint32_t from = p / b->groups, to = p % b->groups;
        for (uint32_t i = d->pair_first[p]; i < d->pair_first[p + 1]; i++) {
            uint32_t c = taut_graph_link(g, d->pair[i]);
            b->capacity[p] += g->capacity[c] * g->left[c];
        }
        if (b->capacity[p] > 0 || from == to)
            continue;
        b->shut[b->n_shut++] = p;
        b->from_shut[from] = b->to_shut[to] = true;
    }
}

static uint32_t count_ways(const struct balance *b, uint32_t a, uint32_t z)
{
    uint32_t n = 0;

    if (!b->from_shut[a] && !b->to_shut[z])
        return b->groups - 2;
    for (uint32_t k = 0; k < b->groups; k++)
        n += is_way(b, a, k, z);
    return n;
}

/* The pairs that have traffic; what has no way round is not listed. */
static void list_pairs(struct balance *b)
{
    for (uint32_t a = 0; a < b->groups; a++)
        for (uint32_t z = 0; z < b->groups; z++) {
            uint32_t p = (uint32_t)cell(b, a, z);
            if (a == z || b->demand[p] == 0)
                continue;
            b->ways[p] = count_ways(b, a, z);
            if (b->ways[p] > 0)
                b->pair[b->pairs++] = p;
        }
}

/* ---- one round ---- */

/* Of what a row sends round, everything goes over k but what is for k, and for
 * those that k has no link to.  With the sums of e by row and column all cells
 * cost G^2, not G^3:
 *
 *   sum over z' != z of e(a, z') = from(a) - e(a, z), and likewise for 'to' */
static void add_ways(struct balance *b)
{
    for (uint32_t a = 0; a < b->groups; a++)
        for (uint32_t z = 0; z < b->groups; z++)
            if (a != z)
                b->use[cell(b, a, z)] +=
                    b->from[a] + b->to[z] - 2 * b->each[cell(b, a, z)];
    for (uint32_t i = 0; i < b->n_shut; i++) {
        uint32_t from = b->shut[i] / b->groups, to = b->shut[i] % b->groups;
        for (uint32_t k = 0; k < b->groups; k++) {
            b->use[cell(b, k, from)] -= b->each[cell(b, k, to)];
            b->use[cell(b, to, k)] -= b->each[cell(b, from, k)];
        }
    }
}

/* Seconds on each pair's links with the present shares. */
static void fill(struct balance *b)
{
    size_t n = (size_t)b->groups * b->groups;

    memset(b->from, 0, b->groups * sizeof(*b->from));
    memset(b->to, 0, b->groups * sizeof(*b->to));
    memset(b->row, 0, b->groups * sizeof(*b->row));
    memset(b->column, 0, b->groups * sizeof(*b->column));
    memcpy(b->use, b->demand, n * sizeof(*b->use));
    for (uint32_t a = 0; a < b->groups; a++)
        b->use[cell(b, a, a)] = 0;
    for (uint32_t i = 0; i < b->pairs; i++) {
        uint32_t p = b->pair[i], a = p / b->groups, z = p % b->groups;
        double moved = b->moved[p] * b->demand[p];
        b->use[p] -= moved;
        b->each[p] = moved / b->ways[p];
        b->from[a] += b->each[p];
        b->to[z] += b->each[p];
    }
    add_ways(b);
    for (uint32_t a = 0; a < b->groups; a++)
        for (uint32_t z = 0; z < b->groups; z++) {
            size_t p = cell(b, a, z);
            b->use[p] = b->capacity[p] > 0 ? b->use[p] / b->capacity[p] : 0;
            b->turned[cell(b, z, a)] = b->use[p];
            b->row[a] += b->use[p];
            b->column[z] += b->use[p];
        }
}

/* Sum of the larger of two numbers, n times; in four parts that do not wait
 * for each other. */
static double sum_of_larger(const double *x, const double *y, uint32_t n)
{
    double sum[4] = {0, 0, 0, 0};
    uint32_t i = 0;

    for (; i + 4 <= n; i += 4)
        for (uint32_t k = 0; k < 4; k++)
            sum[k] += x[i + k] > y[i + k] ? x[i + k] : y[i + k];
    for (; i < n; i++)
        sum[0] += x[i] > y[i] ? x[i] : y[i];
    return sum[0] + sum[1] + sum[2] + sum[3];
}

static double larger(double x, double y)
{
    return x > y ? x : y;
}

/* Mean use of the ways from a to z over other groups: of all groups, but for a
 * and z themselves, and for what no link leads to or from.  In the sum over all
 * k, k = a and k = z are max(0, u(a, z)) each: twice u(a, z) is taken off. */
static double use_around(const struct balance *b, uint32_t a, uint32_t z)
{
    const double *first = &b->use[cell(b, a, 0)];
    const double *second = &b->turned[cell(b, z, 0)];
    double sum = sum_of_larger(first, second, b->groups) - 2 * first[z];

    if (b->from_shut[a] || b->to_shut[z])
        for (uint32_t k = 0; k < b->groups; k++)
            if (k != a && k != z && !is_way(b, a, k, z))
                sum -= larger(first[k], second[k]);
    return sum / b->ways[cell(b, a, z)];
}

/* Are the links from a to z used more than twice as much as the ways round
 * are on average?  The sum of the larger ones is not below the larger sum and
 * not above both, which often is all that has to be known:
 *
 *   max(X, Y) <= sum over k of max(u(a, k), u(k, z)) <= X + Y
 *   X = sum over k of u(a, k), Y = sum over k of u(k, z), both from fill() */
static bool is_crowded(const struct balance *b, uint32_t a, uint32_t z)
{
    double use = b->use[cell(b, a, z)], n = b->ways[cell(b, a, z)];
    double x = b->row[a] - use, y = b->column[z] - use;
    bool is_free = !b->from_shut[a] && !b->to_shut[z];

    if (is_free && use * n < 2 * larger(x, y) * (1 - EQUAL))
        return false;
    if (is_free && use * n > 2 * (x + y) * (1 + 2 * EQUAL))
        return true;
    return use > 2 * use_around(b, a, z) * (1 + EQUAL);
}

/* Returns whether anything goes round now.  A pair without a link of its own
 * goes round altogether. */
static bool move(struct balance *b, double step)
{
    bool any = false;

    for (uint32_t i = 0; i < b->pairs; i++) {
        uint32_t p = b->pair[i], a = p / b->groups, z = p % b->groups;
        if (b->capacity[p] == 0)
            b->moved[p] = 1;
        else if (is_crowded(b, a, z))
            b->moved[p] = b->moved[p] + step > 1 ? 1 : b->moved[p] + step;
        else
            b->moved[p] = b->moved[p] < step ? 0 : b->moved[p] - step;
        any |= b->moved[p] > 0;
    }
    return any;
}

static int balance_init(struct balance *b)
{
    size_t n = (size_t)b->groups * b->groups;

    TAUT_TAKE(&b->memory, b->capacity, n);
    TAUT_TAKE(&b->memory, b->use, n);
    TAUT_TAKE(&b->memory, b->turned, n);
    TAUT_TAKE(&b->memory, b->each, n);
    TAUT_TAKE(&b->memory, b->from, b->groups);
    TAUT_TAKE(&b->memory, b->to, b->groups);
    TAUT_TAKE(&b->memory, b->row, b->groups);
    TAUT_TAKE(&b->memory, b->column, b->groups);
    TAUT_TAKE(&b->memory, b->ways, n);
    TAUT_TAKE(&b->memory, b->pair, n);
    TAUT_TAKE(&b->memory, b->shut, n);
    TAUT_TAKE(&b->memory, b->from_shut, b->groups);
    TAUT_TAKE(&b->memory, b->to_shut, b->groups);
    return taut_arena_check(&b->memory);
}

static bool leaves_groups(const double *demand, uint32_t groups)
{
    for (uint32_t a = 0; a < groups; a++)
        for (uint32_t z = 0; z < groups; z++)
            if (a != z && demand[(size_t)a * groups + z] > 0)
                return true;
    return false;
}

int taut_dragonfly_balance(const struct taut_dragonfly *d,
                           const struct taut_graph *g, const double *demand,
                           double *moved)
{
    size_t n = (size_t)d->groups * d->groups;
    struct balance b = {.groups = d->groups, .demand = demand, .moved = moved};
    double step = FIRST_STEP;

    memset(moved, 0, n * sizeof(*moved));
    if (!leaves_groups(demand, d->groups))
        return 0;
    int rc = balance_init(&b);
    if (rc == 0) {
        measure(&b, d, g);
        list_pairs(&b);
    }
    bool any = false, before = true;
    for (int i = 0; b.pairs > 0 && (any || before) && i < ROUNDS;
         i++, step *= STEP_SHRINKS) {
        before = any;
        fill(&b);
        any = move(&b, step); /* nothing, twice: so it will stay */
    }
    taut_arena_free(&b.memory);
    return rc;
}
