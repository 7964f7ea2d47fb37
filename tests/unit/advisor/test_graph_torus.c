/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Routes of tori and meshes: what must hold for each of them, with and
 * without failures. */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "tests/unit/advisor/machines.h"
#include "tests/unit/unit.h"

#define NONE TAUT_GRAPH_NONE

static const struct {
    uint32_t dims, length[3], order[3];
    const char *text;
} bad[] = {
    {0, {0}, {0}, "0 dimensions, expected 1 to 6"},
    {7, {0}, {0}, "7 dimensions"},
    {2, {4, 0}, {0, 1}, "a ring of 0, expected 1 to 4096"},
    {2, {4, 5}, {0, 1}, "another number of routers than 4"},
    {2, {2, 2}, {1, 1}, "does not name each"},
    {2, {2, 2}, {0, 1}, "does not lead to router"},
};

START_TEST(create_refuses)
{
    struct taut_torus_conf ring = {.dims = 1, .length = {4}, .wraps = {true}};
    struct taut_graph *g = machine_torus(&ring, 1);
    struct taut_torus_conf c = {.dims = bad[_i].dims};
    uint32_t port[8] = {0, 0, 0, 0, 0, 0, 0, 0};
    struct taut_error err = {""};

    memcpy(c.length, bad[_i].length, sizeof(bad[_i].length));
    memcpy(c.order, bad[_i].order, sizeof(bad[_i].order));
    c.port = port;
    errno = 0;
    ck_assert_int_eq(taut_torus_create(g, &c, &err), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_msg(strstr(err.text, bad[_i].text) != NULL, "%s", err.text);
    taut_graph_destroy(g);
}
END_TEST

/* Links of a shortest way that avoids what has failed, UINT32_MAX: none. */
static void distances(const struct taut_graph *g, uint32_t start,
                      uint32_t *hops)
{
    uint32_t queue[512], n = 1;

    for (uint32_t r = 0; r < g->routers; r++)
        hops[r] = UINT32_MAX;
    hops[start] = 0;
    queue[0] = start;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = g->out_first[queue[i]];
             k < g->out_first[queue[i] + 1]; k++) {
            uint32_t l = g->out[k];
            if (taut_graph_is_up(g, l) && hops[g->to[l]] == UINT32_MAX) {
                hops[g->to[l]] = hops[queue[i]] + 1;
                queue[n++] = g->to[l];
            }
        }
}

/* A route leads from r to s over links that are up and meets no router
 * twice.  (No assertion for each step: Check notes every one of them.) */
static bool is_right(const struct taut_graph *g, uint32_t r, uint32_t s,
                     const struct taut_route *t)
{
    bool seen[512] = {false};

    for (uint32_t i = 0; i < t->stages; i++) {
        if (g->from[t->link[i]] != r || !taut_graph_is_up(g, t->link[i]) ||
            seen[r])
            return false;
        seen[r] = true;
        r = g->to[t->link[i]];
    }
    return r == s;
}

/* What must hold of the answer for one pair; without failures there is a
 * route, and it is minimal. */
static bool is_good_answer(const struct taut_graph *g, uint32_t r, uint32_t s,
                           uint32_t distance, bool has_failed,
                           struct taut_route *t)
{
    if (taut_graph_route(g, r, s, NONE, t) < 0)
        return has_failed && taut_graph_hops(g, r, s, NONE, t) == UINT32_MAX;
    return distance != UINT32_MAX && is_right(g, r, s, t) &&
           (has_failed || t->stages == distance) &&
           t->stages == taut_graph_hops(g, r, s, NONE, t);
}

START_TEST(routes_are_right)
{
    uint64_t seed = 300 + (uint64_t)_i;
    struct taut_torus_conf c = machine_conf(&seed, 200);
    struct taut_graph *g = machine_torus(&c, 1);
    uint32_t failures = _i % 2 == 0 ? 0 : 1 + pick(&seed, 1 + g->links / 10);
    struct taut_route t;
    uint32_t hops[512];

    machine_fail(g, &seed, failures);
    ck_assert_int_eq(taut_route_init(&t, g), 0);
    for (uint32_t r = 0; r < g->routers; r++) {
        bool good = true;
        distances(g, r, hops);
        for (uint32_t s = 0; s < g->routers; s++)
            good = good && (r == s ||
                            is_good_answer(g, r, s, hops[s], failures > 0, &t));
        ck_assert_msg(good, "a route from router %u", r);
    }
    taut_route_fini(&t);
    taut_graph_destroy(g);
}
END_TEST

/* What the engine says of a link without making the route is what the route
 * says. */
static bool crosses_what_it_takes(const struct taut_graph *g, uint32_t r,
                                  uint32_t s, struct taut_route *t)
{
    struct taut_route unused = {.stages = 0};
    bool takes[4096] = {false};

    if (taut_graph_route(g, r, s, NONE, t) == 0)
        for (uint32_t i = 0; i < t->stages; i++)
            takes[t->link[i]] = true;
    for (uint32_t l = 0; l < g->links; l++)
        if (taut_graph_crosses(g, r, s, NONE, l, &unused) != takes[l])
            return false;
    return true;
}

START_TEST(crosses_as_routes_do)
{
    uint64_t seed = 500 + (uint64_t)_i;
    struct taut_torus_conf c = machine_conf(&seed, 40);
    struct taut_graph *g = machine_torus(&c, 1);
    struct taut_route t;

    machine_fail(g, &seed, _i % 2 == 0 ? 0 : 1 + pick(&seed, 1 + g->links / 8));
    ck_assert_int_eq(taut_route_init(&t, g), 0);
    for (uint32_t r = 0; r < g->routers; r++) {
        bool good = true;
        for (uint32_t s = 0; s < g->routers; s++)
            good = good && crosses_what_it_takes(g, r, s, &t);
        ck_assert_msg(good, "a route from router %u", r);
    }
    taut_route_fini(&t);
    taut_graph_destroy(g);
}
END_TEST

/* While nothing has failed a route goes leg by leg. */
static bool goes_leg_by_leg(const struct taut_graph *g, uint32_t r, uint32_t s,
                            struct taut_route *t)
{
    uint32_t leg = 0;

    if (taut_graph_route(g, r, s, NONE, t) != 0)
        return false;
    for (uint32_t i = 0; i < t->stages; i++) {
        uint32_t next = g->engine->leg(g->self, g, t->link[i]);
        if (next < leg || next >= TAUT_TORUS_MAX_DIMS)
            return false;
        leg = next;
    }
    return true;
}

START_TEST(routes_go_leg_by_leg)
{
    uint64_t seed = 600 + (uint64_t)_i;
    struct taut_torus_conf c = machine_conf(&seed, 60);
    struct taut_graph *g = machine_torus(&c, 1);
    struct taut_route t;

    ck_assert_int_eq(taut_route_init(&t, g), 0);
    for (uint32_t r = 0; r < g->routers; r++) {
        bool good = true;
        for (uint32_t s = 0; s < g->routers; s++)
            good = good && (r == s || goes_leg_by_leg(g, r, s, &t));
        ck_assert_msg(good, "a route from router %u", r);
    }
    taut_route_fini(&t);
    taut_graph_destroy(g);
}
END_TEST

/* Where there is no route the links that are named have failed, and lie in
 * one ring. */
START_TEST(blame_names_failed_links)
{
    uint64_t seed = 800 + (uint64_t)_i;
    struct taut_torus_conf c = machine_conf(&seed, 100);
    struct taut_graph *g = machine_torus(&c, 1);
    struct taut_route t;

    machine_fail(g, &seed, 1 + g->links / 4);
    ck_assert_int_eq(taut_route_init(&t, g), 0);
    for (uint32_t r = 0; r < g->routers; r++)
        for (uint32_t s = 0; s < g->routers; s++) {
            if (r == s || taut_graph_route(g, r, s, NONE, &t) == 0)
                continue;
            taut_route_begin(&t);
            bool good = g->engine->blame(g->self, g, r, s, NONE, &t) == 0 &&
                        t.stages >= 1 && t.stages <= 2;
            for (uint32_t i = 0; i < t.stages; i++)
                good = good && !taut_graph_is_up(g, t.link[i]);
            ck_assert_msg(good, "from %u to %u", r, s);
        }
    taut_route_fini(&t);
    taut_graph_destroy(g);
}
END_TEST

static void cut_cable(struct taut_graph *g, uint32_t from, uint32_t to)
{
    for (uint32_t l = 0; l < g->links; l++)
        if (g->from[l] == from && g->to[l] == to)
            g->left[taut_graph_link(g, l)] = 0;
    ck_assert_int_eq(taut_graph_update(g, NULL), 0);
}

/* 4 x 4; router x.y is 4x + y. */
START_TEST(failures_turn_the_way_round_then_the_order)
{
    struct taut_torus_conf c = {
        .dims = 2, .length = {4, 4}, .wraps = {true, true}, .order = {0, 1}};
    struct taut_graph *g = machine_torus(&c, 1);
    struct taut_route t;

    ck_assert_int_eq(taut_route_init(&t, g), 0);
    ck_assert_int_eq(taut_graph_route(g, 0, 5, NONE, &t), 0);
    ck_assert_uint_eq(t.stages, 2); /* X+ Y+ */
    ck_assert_uint_eq(g->to[t.link[0]], 4);
    cut_cable(g, 0, 4);
    ck_assert_int_eq(taut_graph_route(g, 0, 5, NONE, &t), 0);
    ck_assert_uint_eq(t.stages, 4); /* X- X- X- Y+ */
    ck_assert_uint_eq(g->to[t.link[0]], 12);
    cut_cable(g, 12, 8);
    ck_assert_int_eq(taut_graph_route(g, 0, 5, NONE, &t), 0);
    ck_assert_uint_eq(t.stages, 2); /* Y+ X+ */
    ck_assert_uint_eq(g->to[t.link[0]], 1);
    ck_assert_int_eq(taut_graph_route(g, 0, 4, NONE, &t), -1);
    taut_route_begin(&t);
    ck_assert_int_eq(g->engine->blame(g->self, g, 0, 4, NONE, &t), 0);
    ck_assert_uint_eq(t.stages, 2);
    taut_route_fini(&t);
    taut_graph_destroy(g);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("graph_torus");

    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, create_refuses, 0, 6);
    tcase_add_loop_test(tc, routes_are_right, 0, 60);
    tcase_add_loop_test(tc, crosses_as_routes_do, 0, 60);
    tcase_add_loop_test(tc, routes_go_leg_by_leg, 0, 30);
    tcase_add_loop_test(tc, blame_names_failed_links, 0, 30);
    tcase_add_test(tc, failures_turn_the_way_round_then_the_order);
    return unit_run("graph_torus", tc);
}
