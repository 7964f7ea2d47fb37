/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Largest flows, against the smallest of all cuts of small random graphs. */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "advisor/lib/graph/flow.h"
#include "tests/unit/advisor/machines.h"
#include "tests/unit/unit.h"

#define NONE TAUT_GRAPH_NONE
#define MAX_ROUTERS 8

/* Random links, some routers without nodes, nodes with one or two rails. */
static struct taut_graph *random_graph(uint64_t *seed)
{
    uint32_t routers = 1 + pick(seed, MAX_ROUTERS);
    uint32_t nodes = 2 + pick(seed, 6), rails = 1 + pick(seed, 2);
    uint32_t links = routers > 1 ? pick(seed, 20) : 0;
    struct taut_graph *g =
        taut_graph_create(routers, nodes, rails, links, NULL);

    ck_assert_ptr_nonnull(g);
    for (uint32_t l = 0; l < links; l++) {
        g->from[l] = pick(seed, routers);
        g->to[l] = (g->from[l] + 1 + pick(seed, routers - 1)) % routers;
    }
    for (uint32_t e = 0; e < g->endpoints; e++)
        if (e < nodes || pick(seed, 4) > 0)
            g->at[e] = pick(seed, routers);
    for (uint32_t c = 0; c < g->components; c++) {
        g->capacity[c] = 1 + pick(seed, 6);
        if (pick(seed, 10) == 0)
            g->left[c] = 0.25 * pick(seed, 4);
    }
    ck_assert_int_eq(taut_graph_seal(g, NULL), 0);
    return g;
}

struct question {
    const struct taut_graph *g;
    uint32_t node;
    bool outward, healthy;
    uint32_t c;
    double left;
};

static double capacity(const struct question *q, uint32_t c)
{
    if (c == q->c)
        return q->g->capacity[c] * q->left;
    return q->g->capacity[c] * (q->healthy ? 1 : q->g->left[c]);
}

static bool is_home(const struct question *q, uint32_t r)
{
    for (uint32_t k = 0; k < q->g->rails; k++)
        if (q->g->at[k * q->g->nodes + q->node] == r)
            return true;
    return false;
}

static bool is_only_home(const struct question *q)
{
    for (uint32_t e = 0; e < q->g->endpoints; e++)
        if (q->g->at[e] != NONE && !is_home(q, q->g->at[e]))
            return false;
    return true;
}

/* What a cut with these routers on the node's side lets through. */
static double cut(const struct question *q, uint32_t side)
{
    const struct taut_graph *g = q->g;
    bool only_home = is_only_home(q);
    double sum = 0;

    for (uint32_t l = 0; l < g->links; l++) {
        uint32_t from = q->outward ? g->from[l] : g->to[l];
        uint32_t to = q->outward ? g->to[l] : g->from[l];
        if ((side >> from & 1) != 0 && (side >> to & 1) == 0)
            sum += capacity(q, taut_graph_link(g, l));
    }
    for (uint32_t e = 0; e < g->endpoints; e++) {
        if (g->at[e] == NONE)
            continue;
        bool mine = e % g->nodes == q->node;
        bool inside = (side >> g->at[e] & 1) != 0;
        uint32_t tx = taut_graph_tx(e), rx = taut_graph_rx(e);
        if (mine && !inside)
            sum += capacity(q, q->outward ? tx : rx);
        else if (!mine && inside && (only_home || !is_home(q, g->at[e])))
            sum += capacity(q, q->outward ? rx : tx);
    }
    return sum;
}

static double smallest_cut(const struct question *q)
{
    double least = 1e300;

    for (uint32_t side = 0; side < 1U << q->g->routers; side++) {
        double v = cut(q, side);
        least = v < least ? v : least;
    }
    return least;
}

START_TEST(flow_is_the_smallest_cut)
{
    uint64_t seed = 100 + (uint64_t)_i;
    struct taut_graph *g = random_graph(&seed);

    for (uint32_t n = 0; n < g->nodes; n++) {
        struct question q = {.g = g,
                             .node = n,
                             .outward = pick(&seed, 2),
                             .healthy = true,
                             .c = NONE};
        double flow;
        ck_assert_int_eq(taut_flow_of_node(g, n, q.outward, NONE, 1, &flow), 0);
        ck_assert_double_eq_tol(flow, smallest_cut(&q), 1e-6);
        q.healthy = false;
        q.c = pick(&seed, g->components);
        q.left = 0.25 * pick(&seed, 4);
        ck_assert_int_eq(taut_flow_of_node(g, n, q.outward, q.c, q.left, &flow),
                         0);
        ck_assert_double_eq_tol(flow, smallest_cut(&q), 1e-6);
    }
    taut_graph_destroy(g);
}
END_TEST

static bool is_behind(const struct taut_graph *g, uint32_t node, uint32_t c,
                      double left)
{
    for (int outward = 0; outward <= 1; outward++) {
        if (c < 2 * g->endpoints && outward != (c % 2 == 0))
            continue;
        struct question q = {.g = g,
                             .node = node,
                             .outward = outward,
                             .healthy = true,
                             .c = NONE};
        double healthy = smallest_cut(&q);
        q.healthy = false;
        double as_is = smallest_cut(&q);
        q.c = c;
        q.left = left;
        double with_c = smallest_cut(&q);
        if (with_c < 0.75 * healthy - 1e-6 && with_c < as_is - 1e-6)
            return true;
    }
    return false;
}

START_TEST(behind_is_who_the_cuts_say)
{
    uint64_t seed = 7000 + (uint64_t)_i;
    struct taut_graph *g = random_graph(&seed);

    for (uint32_t c = 0; c < g->components; c++) {
        uint32_t got[8], want[8];
        double left = 0.3 * pick(&seed, 3);
        int n = 0, m = taut_flow_behind(g, c, left, 0.75, got);
        for (uint32_t i = 0; i < g->nodes; i++)
            if (is_behind(g, i, c, left))
                want[n++] = i;
        ck_assert_int_eq(m, n);
        for (int i = 0; i < n; i++)
            ck_assert_uint_eq(got[i], want[i]);
    }
    taut_graph_destroy(g);
}
END_TEST

/* A leaf with two nodes and one cable to a spine without nodes, another
 * leaf behind it: whoever is on the first leaf is behind its uplink, nobody
 * is behind what it can do without. */
START_TEST(the_only_uplink_of_a_leaf)
{
    struct taut_graph *g = taut_graph_create(3, 4, 1, 6, NULL);
    static const uint32_t ends[][2] = {{0, 2}, {2, 0}, {1, 2},
                                       {2, 1}, {1, 2}, {2, 1}};
    uint32_t nodes[4];

    for (uint32_t l = 0; l < 6; l++) {
        g->from[l] = ends[l][0];
        g->to[l] = ends[l][1];
    }
    for (uint32_t e = 0; e < 4; e++)
        g->at[e] = e / 2;
    for (uint32_t c = 0; c < g->components; c++)
        g->capacity[c] = 1;
    ck_assert_int_eq(taut_graph_seal(g, NULL), 0);
    ck_assert_int_eq(
        taut_flow_behind(g, taut_graph_link(g, 0), 0.5, 0.75, nodes), 4);
    ck_assert_int_eq(taut_flow_behind(g, taut_graph_link(g, 2), 0, 0.75, nodes),
                     0);
    ck_assert_int_eq(taut_flow_behind(g, taut_graph_tx(3), 0.5, 0.75, nodes),
                     1);
    ck_assert_uint_eq(nodes[0], 3);
    ck_assert_int_eq(taut_flow_behind(g, taut_graph_tx(3), 0.8, 0.75, nodes),
                     0);
    taut_graph_destroy(g);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("graph_flow");

    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, flow_is_the_smallest_cut, 0, 100);
    tcase_add_loop_test(tc, behind_is_who_the_cuts_say, 0, 100);
    tcase_add_test(tc, the_only_uplink_of_a_leaf);
    return unit_run("graph_flow", tc);
}
