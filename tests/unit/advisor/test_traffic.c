/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traffic of patterns on small random graphs with several rails: all-to-all
 * against its pairs, what one destination gets at once against a walk. */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <string.h>

#include "advisor/lib/flow/traffic.h"
#include "advisor/lib/graph/load.h"
#include "advisor/lib/graph/updown/updown.h"
#include "tests/unit/advisor/machines.h"
#include "tests/unit/unit.h"

#define NONE TAUT_GRAPH_NONE
#define RANKS 9

/* Random links, nodes with some of up to three rails or of 64; shortest ways in
 * equal shares, or up and down a random order with one link for each
 * destination. */
static struct taut_graph *random_graph(uint64_t *seed, bool one)
{
    uint32_t routers = 2 + pick(seed, 7), nodes = 2 + pick(seed, 6);
    uint32_t rails = pick(seed, 9) == 0 ? 64 : 1 + pick(seed, 3), links = 2 * pick(seed, 12);
    uint32_t rank[9], stride[9];
    struct taut_graph *g =
        taut_graph_create(routers, nodes, rails, links, NULL);
    struct taut_updown_conf conf = {.rank = one ? rank : NULL,
                                    .stride = one ? stride : NULL};

    ck_assert_ptr_nonnull(g);
    for (uint32_t l = 0; l < links; l += 2) {
        g->from[l] = g->to[l + 1] = pick(seed, routers);
        g->to[l] = g->from[l + 1] =
            (g->from[l] + 1 + pick(seed, routers - 1)) % routers;
    }
    for (uint32_t e = 0; e < g->endpoints; e++)
        if (pick(seed, 4) > 0)
            g->at[e] = pick(seed, routers);
    for (uint32_t c = 0; c < g->components; c++) {
        g->capacity[c] = 1 + pick(seed, 6);
        if (c >= 2 * g->endpoints && pick(seed, 6) == 0)
            g->left[c] = 0;
    }
    for (uint32_t r = 0; r < routers; r++) {
        rank[r] = r;
        stride[r] = 1 + pick(seed, 3);
    }
    ck_assert_int_eq(taut_graph_seal(g, NULL), 0);
    ck_assert_int_eq(taut_updown_create(g, &conf, NULL), 0);
    return g;
}

static struct taut_traffic_pattern *all_to_all(double each)
{
    struct taut_traffic_pattern *p = taut_traffic_pattern_create(RANKS, 1);

    ck_assert_ptr_nonnull(p);
    p->step[0] = (struct taut_traffic_step){
        .all_to_all = true, .times = 2, .each = each};
    return p;
}

static struct taut_traffic_pattern *its_pairs(double each)
{
    struct taut_traffic_pattern *p = taut_traffic_pattern_create(RANKS, 1);
    uint32_t n = 0;

    ck_assert_ptr_nonnull(p);
    p->step[0] = (struct taut_traffic_step){.times = 2};
    ck_assert_int_eq(
        taut_traffic_step_alloc(&p->step[0], RANKS * (RANKS - 1), true), 0);
    for (uint32_t a = 0; a < RANKS; a++)
        for (uint32_t b = 0; b < RANKS; b++)
            if (a != b) {
                p->step[0].src[n] = a;
                p->step[0].dst[n] = b;
                p->step[0].bytes[n++] = each;
            }
    return p;
}

START_TEST(all_to_all_is_its_pairs)
{
    uint64_t seed = 100 + (uint64_t)_i;
    struct taut_graph *g = random_graph(&seed, _i % 2 == 0);
    struct taut_traffic *w = taut_traffic_create(g);
    struct taut_traffic_pattern *p = all_to_all(3), *q = its_pairs(3);
    struct taut_traffic_time x, y;
    double *load = calloc(g->components, sizeof(*load));
    uint32_t node[RANKS];

    ck_assert_ptr_nonnull(w);
    ck_assert_ptr_nonnull(load);
    for (uint32_t i = 0; i < RANKS; i++)
        node[i] = pick(&seed, g->nodes);
    ck_assert_int_eq(taut_traffic_time(w, p, node, &x), 0);
    memcpy(load, w->total, g->components * sizeof(*load));
    uint64_t lost = w->lost;
    ck_assert_int_eq(taut_traffic_time(w, q, node, &y), 0);
    ck_assert_uint_eq(lost, w->lost);
    ck_assert_uint_eq(isinf(x.time_s) != 0, isinf(y.time_s) != 0);
    for (uint32_t c = 0; lost == 0 && c < g->components; c++)
        ck_assert_double_eq_tol(load[c], w->total[c], 1e-9);
    if (lost == 0) {
        ck_assert_double_eq_tol(x.time_s, y.time_s, 1e-9);
        ck_assert_double_eq_tol(x.ideal_s, y.ideal_s, 1e-9);
    }
    free(load);
    taut_traffic_pattern_destroy(p);
    taut_traffic_pattern_destroy(q);
    taut_traffic_destroy(w);
    taut_graph_destroy(g);
}
END_TEST

START_TEST(one_destination_at_once_is_a_walk)
{
    uint64_t seed = 500 + (uint64_t)_i;
    struct taut_graph *g = random_graph(&seed, _i % 2 == 0);
    double *a = calloc((size_t)g->links + 1, sizeof(*a));
    double *b = calloc((size_t)g->links + 1, sizeof(*b));
    uint64_t *src = calloc(g->endpoints, sizeof(*src));
    uint64_t *dst = calloc(g->endpoints, sizeof(*dst));
    struct taut_lost quick = {0}, walked = {0};

    ck_assert(a && b && src && dst);
    for (uint32_t e = 0; e < g->endpoints; e++) {
        src[e] = pick(&seed, 3);
        dst[e] = pick(&seed, 3);
    }
    ck_assert_int_eq(taut_load_between(g, src, dst, 1, false, a, &quick), 0);
    ck_assert_int_eq(taut_load_between(g, src, dst, 1, true, b, &walked), 0);
    ck_assert_uint_eq(quick.pairs, walked.pairs);
    for (uint32_t l = 0; l < g->links; l++)
        ck_assert_double_eq_tol(a[l], b[l], 1e-9);
    free(a);
    free(b);
    free(src);
    free(dst);
    taut_graph_destroy(g);
}
END_TEST

START_TEST(others_leave_what_they_do_not_take)
{
    uint64_t seed = 1;
    struct taut_graph *g = random_graph(&seed, false);
    struct taut_traffic *w = taut_traffic_create(g);

    g->capacity[0] = 8;
    ck_assert_double_eq(taut_traffic_share(w, 0), 8);
    w->left[0] = 0.5;
    ck_assert_double_eq(taut_traffic_share(w, 0), 4);
    w->background[0] = 4;
    ck_assert_double_eq(taut_traffic_share(w, 0), 2);
    g->left[0] = 0;
    ck_assert_double_eq(taut_traffic_share(w, 0), 0);
    taut_traffic_destroy(w);
    taut_graph_destroy(g);
}
END_TEST

START_TEST(too_many_messages_for_fair_rates)
{
    struct taut_torus_conf conf = {
        .dims = 1, .length = {8}, .wraps = {true}, .order = {0}};
    struct taut_graph *g = machine_torus(&conf, 1);
    struct taut_traffic *w = taut_traffic_create(g);
    struct taut_traffic_pattern *p = taut_traffic_pattern_create(1800, 1);
    uint32_t *node = calloc(1800, sizeof(*node));
    struct taut_traffic_fair out;

    ck_assert(w && p && node);
    p->step[0] =
        (struct taut_traffic_step){.all_to_all = true, .times = 1, .each = 1};
    for (uint32_t i = 0; i < 1800; i++)
        node[i] = i % 8;
    ck_assert_int_eq(taut_traffic_fair(w, p, node, &out), -1);
    ck_assert_int_eq(errno, EOVERFLOW);
    p->ranks = 16;
    ck_assert_int_eq(taut_traffic_fair(w, p, node, &out), 0);
    ck_assert(out.time_s > 0 && out.mean_s <= out.time_s);
    free(node);
    taut_traffic_pattern_destroy(p);
    taut_traffic_destroy(w);
    taut_graph_destroy(g);
}
END_TEST

START_TEST(nothing_to_destroy)
{
    taut_traffic_destroy(NULL);
    taut_traffic_pattern_destroy(NULL);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("traffic");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, all_to_all_is_its_pairs, 0, 200);
    tcase_add_loop_test(t, one_destination_at_once_is_a_walk, 0, 200);
    tcase_add_test(t, others_leave_what_they_do_not_take);
    tcase_add_test(t, too_many_messages_for_fair_rates);
    tcase_add_test(t, nothing_to_destroy);
    return unit_run("traffic", t);
}
