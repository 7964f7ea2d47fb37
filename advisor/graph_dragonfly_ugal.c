/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How much of each pair of groups' traffic adaptive routing sends over other
 * groups, when all of a pattern's traffic flows at once.
 *
 * UGAL (Kim et al., ISCA 2008) sends a packet the minimal way when the queue
 * there times its hops is not longer than on the other way.  As a fluid, with
 * the use of the links between groups for the queues and one or two of these
 * for the hops: traffic moves over to the other groups until the minimal
 * links' use is no more than twice the mean use of the ways round, each as
 * busy as the busier of its two links. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/graph_dragonfly.h"

#define ROUNDS 60
#define FIRST_STEP 0.25
#define STEP_SHRINKS 0.9

struct balance {
    uint32_t groups;
    const double *demand; /* [groups * groups] bytes */
    double *capacity;     /* bytes/s of the links that are left */
    double *use;          /* seconds that the traffic takes on them */
    double *moved;        /* share that goes over other groups */
    double *ways;         /* how many other groups will do */
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
    for (uint32_t p = 0; p < b->groups * b->groups; p++)
        for (uint32_t i = d->pair_first[p]; i < d->pair_first[p + 1]; i++) {
            uint32_t c = taut_graph_link(g, d->pair[i]);
            b->capacity[p] += g->capacity[c] * g->left[c];
        }
    for (uint32_t a = 0; a < b->groups; a++)
        for (uint32_t z = 0; z < b->groups; z++)
            for (uint32_t k = 0; a != z && k < b->groups; k++)
                b->ways[cell(b, a, z)] += is_way(b, a, k, z);
}

/* Seconds on each pair's links with the present shares. */
static void fill(struct balance *b)
{
    size_t n = (size_t)b->groups * b->groups;

    memset(b->use, 0, n * sizeof(*b->use));
    for (uint32_t a = 0; a < b->groups; a++)
        for (uint32_t z = 0; z < b->groups; z++) {
            size_t p = cell(b, a, z);
            if (a == z || b->demand[p] == 0)
                continue;
            b->use[p] += (1 - b->moved[p]) * b->demand[p];
            double each =
                b->ways[p] > 0 ? b->moved[p] * b->demand[p] / b->ways[p] : 0;
            for (uint32_t k = 0; each > 0 && k < b->groups; k++)
                if (is_way(b, a, k, z)) {
                    b->use[cell(b, a, k)] += each;
                    b->use[cell(b, k, z)] += each;
                }
        }
    for (size_t p = 0; p < n; p++)
        if (b->capacity[p] > 0)
            b->use[p] /= b->capacity[p];
}

/* Mean use of the ways from a to z over other groups. */
static double use_around(const struct balance *b, uint32_t a, uint32_t z)
{
    double sum = 0;

    for (uint32_t k = 0; k < b->groups; k++)
        if (is_way(b, a, k, z)) {
            double first = b->use[cell(b, a, k)];
            double second = b->use[cell(b, k, z)];
            sum += first > second ? first : second;
        }
    return sum / b->ways[cell(b, a, z)];
}

static void move(struct balance *b, double step)
{
    for (uint32_t a = 0; a < b->groups; a++)
        for (uint32_t z = 0; z < b->groups; z++) {
            size_t p = cell(b, a, z);
            if (a == z || b->demand[p] == 0 || b->ways[p] == 0)
                continue;
            if (b->capacity[p] == 0)
                b->moved[p] = 1;
            else if (b->use[p] > 2 * use_around(b, a, z))
                b->moved[p] = b->moved[p] + step > 1 ? 1 : b->moved[p] + step;
            else
                b->moved[p] = b->moved[p] < step ? 0 : b->moved[p] - step;
        }
}

int taut_dragonfly_balance(const struct taut_dragonfly *d,
                           const struct taut_graph *g, const double *demand,
                           double *moved)
{
    size_t n = (size_t)d->groups * d->groups;
    struct balance b = {.groups = d->groups, .demand = demand, .moved = moved};
    double step = FIRST_STEP;
    int rc = -1;

    memset(moved, 0, n * sizeof(*moved));
    b.capacity = calloc(n, sizeof(*b.capacity));
    b.use = calloc(n, sizeof(*b.use));
    b.ways = calloc(n, sizeof(*b.ways));
    if (b.capacity == NULL || b.use == NULL || b.ways == NULL) {
        errno = ENOMEM;
        goto out;
    }
    measure(&b, d, g);
    for (int i = 0; i < ROUNDS; i++, step *= STEP_SHRINKS) {
        fill(&b);
        move(&b, step);
    }
    rc = 0;
out:
    free(b.capacity);
    free(b.use);
    free(b.ways);
    return rc;
}
