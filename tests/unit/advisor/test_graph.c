/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Graphs: building, routes with sets, loads, hashes.  Everything an engine
 * does quicker than by walking is held against the walk. */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "advisor/lib/graph/load.h"
#include "tests/unit/advisor/machines.h"
#include "tests/unit/unit.h"

#define NONE TAUT_GRAPH_NONE

/* ---- bad arguments ---- */

static const struct {
    uint32_t routers, nodes, rails, links;
    const char *text;
} bad_sizes[] = {
    {0, 1, 1, 0, "0 routers, expected 1 to 1048576"},
    {1, 0, 1, 0, "0 nodes"},
    {1, 1, 65, 0, "65 rails, expected 1 to 64"},
    {1, 1, 1, UINT32_MAX, "links, expected 0 to"},
};

START_TEST(create_refuses_sizes)
{
    struct taut_error err = {""};

    errno = 0;
    ck_assert_ptr_null(
        taut_graph_create(bad_sizes[_i].routers, bad_sizes[_i].nodes,
                          bad_sizes[_i].rails, bad_sizes[_i].links, &err));
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, bad_sizes[_i].text));
    taut_graph_destroy(NULL);
}
END_TEST

/* Two routers, two nodes, a cable between them. */
static struct taut_graph *pair(void)
{
    struct taut_graph *g = taut_graph_create(2, 2, 1, 2, NULL);

    g->from[0] = g->to[1] = 0;
    g->to[0] = g->from[1] = 1;
    g->at[0] = 0;
    g->at[1] = 1;
    for (uint32_t c = 0; c < g->components; c++)
        g->capacity[c] = 1;
    return g;
}

START_TEST(seal_refuses_what_cannot_be)
{
    static const char *const texts[] = {
        "link 0 goes from router 2 to 1 of 2",
        "link 1 goes from router 1 to itself",
        "endpoint 1 is on router 7 of 2",
        "component 3: capacity 0",
        "component 3: capacity nan",
        "link 0 is not the way back of link 0",
    };
    struct taut_graph *g = pair();
    struct taut_error err = {""};

    if (_i == 0)
        g->from[0] = 2;
    else if (_i == 1)
        g->to[1] = 1;
    else if (_i == 2)
        g->at[1] = 7;
    else if (_i == 3)
        g->capacity[3] = 0;
    else if (_i == 4)
        g->capacity[3] = strtod("nan", NULL);
    else
        g->back[0] = 0;
    errno = 0;
    ck_assert_int_eq(taut_graph_seal(g, &err), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_str_eq(err.text, texts[_i]);
    taut_graph_destroy(g);
}
END_TEST

START_TEST(seal_indexes_and_pairs_links)
{
    struct taut_graph *g = pair();

    ck_assert_int_eq(taut_graph_seal(g, NULL), 0);
    ck_assert_uint_eq(g->back[0], 1);
    ck_assert_uint_eq(g->back[1], 0);
    ck_assert_uint_eq(g->out[g->out_first[1]], 1);
    ck_assert_uint_eq(g->in[g->in_first[1]], 0);
    ck_assert_uint_eq(g->on[g->on_first[1]], 1);
    ck_assert_uint_eq(g->on_first[2], 2);
    taut_graph_destroy(g);
}
END_TEST

/* ---- an engine with sets ---- */

/* Every link from r to s, one of them with double weight, between routers
 * next to each other; no route otherwise. */
static int spread_route(const void *self, const struct taut_graph *g,
                        uint32_t r, uint32_t s, uint32_t dst,
                        struct taut_route *t)
{
    uint32_t link[4], n = 0;
    double weight[] = {2, 1, 1, 1};

    (void)self;
    (void)dst;
    for (uint32_t i = g->out_first[r]; i < g->out_first[r + 1]; i++)
        if (g->to[g->out[i]] == s && n < 4)
            link[n++] = g->out[i];
    taut_route_add_set(t, link, weight, n);
    return n > 0 ? 0 : -1;
}

static void spread_destroy(void *self)
{
    (void)self;
}

static const struct taut_engine spread = {
    .name = "spread", .route = spread_route, .destroy = spread_destroy};

/* A row of three routers; two links from 0 to 1, one from 1 to 2. */
static struct taut_graph *row(void)
{
    struct taut_graph *g = taut_graph_create(3, 3, 1, 3, NULL);

    g->from[0] = g->from[1] = 0;
    g->to[0] = g->to[1] = g->from[2] = 1;
    g->to[2] = 2;
    for (uint32_t c = 0; c < g->components; c++)
        g->capacity[c] = 1;
    for (uint32_t e = 0; e < 3; e++)
        g->at[e] = e;
    ck_assert_int_eq(taut_graph_seal(g, NULL), 0);
    taut_graph_route_by(g, &spread, NULL, 4);
    return g;
}

START_TEST(routes_may_have_sets)
{
    struct taut_graph *g = row();
    struct taut_route t;

    ck_assert_int_eq(taut_route_init(&t, g), 0);
    ck_assert_int_eq(taut_graph_route(g, 0, 1, NONE, &t), 0);
    ck_assert(t.has_sets);
    ck_assert_uint_eq(t.stages, 1);
    ck_assert_uint_eq(t.end[0], 2);
    ck_assert_double_eq_tol(t.weight[0] + t.weight[1], 1, 1e-12);
    ck_assert_double_eq_tol(t.weight[0], 2.0 / 3, 1e-12);
    ck_assert_int_eq(taut_graph_route(g, 1, 2, NONE, &t), 0);
    ck_assert(!t.has_sets);
    ck_assert_uint_eq(t.link[0], 2);
    ck_assert_int_eq(taut_graph_route(g, 0, 2, NONE, &t), -1);
    ck_assert_int_eq(taut_graph_route(g, 1, 1, NONE, &t), 0);
    ck_assert_uint_eq(t.stages, 0);
    ck_assert_uint_eq(taut_graph_hops(g, 0, 1, NONE, &t), 1);
    ck_assert_uint_eq(taut_graph_hops(g, 2, 0, NONE, &t), UINT32_MAX);
    taut_route_fini(&t);
    taut_graph_destroy(g);
}
END_TEST

START_TEST(sets_after_single_links_keep_them)
{
    uint32_t two[] = {7, 8};
    struct taut_graph *g = row();
    struct taut_route t;

    ck_assert_int_eq(taut_route_init(&t, g), 0);
    taut_route_begin(&t);
    t.link[0] = 5;
    taut_route_simple(&t, 1);
    taut_route_add_set(&t, two, NULL, 2);
    taut_route_add(&t, 9);
    ck_assert_uint_eq(t.stages, 3);
    ck_assert_uint_eq(t.end[0], 1);
    ck_assert_uint_eq(t.end[1], 3);
    ck_assert_uint_eq(t.end[2], 4);
    ck_assert_double_eq(t.weight[0], 1);
    ck_assert_double_eq(t.weight[1], 0.5);
    ck_assert_double_eq(t.weight[3], 1);
    taut_route_add(&t, 1); /* more than it was made for: left out */
    ck_assert_uint_eq(t.stages, 3);
    taut_route_fini(&t);
    taut_graph_destroy(g);
}
END_TEST

START_TEST(loads_follow_weights)
{
    struct taut_graph *g = row();
    uint64_t w[] = {1, 3, 1};
    double load[3] = {0};
    uint32_t lost_pair[12];
    struct taut_lost lost = {.max = 6, .pair = lost_pair};

    ck_assert_int_eq(taut_load_between(g, w, w, 2, false, load, &lost), 0);
    ck_assert_double_eq_tol(load[0], 2, 1e-12);
    ck_assert_double_eq_tol(load[1], 1, 1e-12);
    ck_assert_double_eq_tol(load[2], 3, 1e-12);
    ck_assert_uint_eq(lost.count, 4); /* 0>2, 1>0, 2>0, 2>1 */
    ck_assert_uint_eq(lost.pairs, 1 + 3 + 1 + 3);
    taut_graph_destroy(g);
}
END_TEST

/* ---- the torus' short cuts against the walk ---- */

static void random_weights(uint64_t *seed, uint64_t *w, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        w[i] = pick(seed, 3) == 0 ? 0 : 1 + pick(seed, 4);
}

START_TEST(sums_equal_the_walk)
{
    uint64_t seed = 1000 + (uint64_t)_i, w[400];
    struct taut_torus_conf c = machine_conf(&seed, 400);
    struct taut_graph *g = machine_torus(&c, 1);
    double *quick = calloc(g->links + 1, sizeof(*quick));
    double *walk = calloc(g->links + 1, sizeof(*walk));
    struct taut_lost a = {0}, b = {0};

    random_weights(&seed, w, g->routers);
    machine_fail(g, &seed, _i % 3 * pick(&seed, 1 + g->links / 8));
    ck_assert_int_eq(taut_load_routers(g, w, 1, false, quick, &a), 0);
    ck_assert_int_eq(taut_load_routers(g, w, 2, true, walk, &b), 0);
    ck_assert_uint_eq(a.pairs, b.pairs);
    for (uint32_t l = 0; l < g->links; l++)
        ck_assert_double_eq(quick[l], walk[l]);
    free(quick);
    free(walk);
    taut_graph_destroy(g);
}
END_TEST

START_TEST(crossing_equals_the_walk)
{
    uint64_t seed = 5000 + (uint64_t)_i, from[300] = {0}, to[300] = {0};
    struct taut_torus_conf c = machine_conf(&seed, 100);
    struct taut_graph *g = machine_torus(&c, 3);
    uint64_t from_r[100] = {0}, to_r[100] = {0};
    struct taut_route t;

    machine_fail(g, &seed, _i % 3 * pick(&seed, 1 + g->links / 8));
    if (g->links > 0) {
        uint32_t link = pick(&seed, g->links);
        ck_assert_int_eq(taut_load_crossing(g, link, 0, 1, from, to), 0);
        ck_assert_int_eq(taut_route_init(&t, g), 0);
        for (uint32_t r = 0; r < g->routers; r++)
            for (uint32_t s = 0; s < g->routers; s++)
                if (taut_graph_route(g, r, s, NONE, &t) == 0)
                    for (uint32_t i = 0; i < t.entries; i++) {
                        from_r[r] += t.link[i] == link ? 3 : 0;
                        to_r[s] += t.link[i] == link ? 3 : 0;
                    }
        for (uint32_t n = 0; n < g->nodes; n++) {
            ck_assert_uint_eq(from[n], from_r[n / 3]);
            ck_assert_uint_eq(to[n], to_r[n / 3]);
        }
        taut_route_fini(&t);
    }
    taut_graph_destroy(g);
}
END_TEST

/* ---- hashes ---- */

/* The routes of a component as a set of pairs, one byte each. */
static char *routes_of(const struct taut_graph *g, uint32_t c,
                       struct taut_route *t)
{
    char *set = calloc((size_t)g->nodes * g->nodes, 1);

    for (uint32_t a = 0; a < g->nodes; a++)
        for (uint32_t b = 0; b < g->nodes; b++) {
            if (a == b || g->at[a] == NONE || g->at[b] == NONE ||
                taut_graph_route(g, g->at[a], g->at[b], b, t) < 0)
                continue;
            bool uses = c == taut_graph_tx(a) || c == taut_graph_rx(b);
            for (uint32_t i = 0; i < t->entries; i++)
                uses = uses || c == taut_graph_link(g, t->link[i]);
            set[a * g->nodes + b] = uses;
        }
    return set;
}

START_TEST(equal_hashes_are_equal_routes)
{
    uint64_t seed = 9000 + (uint64_t)_i, hash[200];
    struct taut_torus_conf c = machine_conf(&seed, 12);
    struct taut_graph *g = machine_torus(&c, 1 + pick(&seed, 2));
    size_t size = (size_t)g->nodes * g->nodes;
    char *set[200];
    struct taut_route t;

    for (uint32_t e = 0; e < g->endpoints; e++) /* some nodes are not there */
        if (g->endpoints > 3 && pick(&seed, 3) == 0)
            g->at[e] = NONE;
    ck_assert_int_eq(taut_graph_seal(g, NULL), 0);
    ck_assert_int_eq(taut_route_init(&t, g), 0);
    ck_assert_uint_le(g->components, 200);
    ck_assert_int_eq(taut_load_hash(g, 1, hash), 0);
    for (uint32_t i = 0; i < g->components; i++)
        set[i] = routes_of(g, i, &t);
    for (uint32_t i = 0; i < g->components; i++) {
        bool any = memchr(set[i], 1, size) != NULL;
        ck_assert_msg(any == (hash[i] != 0), "component %u of %u", i,
                      g->components);
        for (uint32_t k = i + 1; any && k < g->components; k++)
            if ((hash[i] == hash[k]) != (memcmp(set[i], set[k], size) == 0))
                ck_abort_msg("components %u and %u", i, k);
    }
    for (uint32_t i = 0; i < g->components; i++)
        free(set[i]);
    taut_route_fini(&t);
    taut_graph_destroy(g);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("graph");

    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, create_refuses_sizes, 0, 4);
    tcase_add_loop_test(tc, seal_refuses_what_cannot_be, 0, 6);
    tcase_add_test(tc, seal_indexes_and_pairs_links);
    tcase_add_test(tc, routes_may_have_sets);
    tcase_add_test(tc, sets_after_single_links_keep_them);
    tcase_add_test(tc, loads_follow_weights);
    tcase_add_loop_test(tc, sums_equal_the_walk, 0, 60);
    tcase_add_loop_test(tc, crossing_equals_the_walk, 0, 60);
    tcase_add_loop_test(tc, equal_hashes_are_equal_routes, 0, 60);
    return unit_run("graph", tc);
}
