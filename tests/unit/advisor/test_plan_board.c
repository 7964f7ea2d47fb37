/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times per component, and the board of a plan: whatever the torus and the
 * allocation, no phase uses anything twice. */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/plan/inside.h"
#include "tests/unit/advisor/machines.h"
#include "tests/unit/unit.h"

#define NODES_MOST 512

/* ---- coverage ---- */

START_TEST(times_begin_with_never_and_grow)
{
    struct taut_coverage *v = taut_coverage_create(3);

    ck_assert(v->tested[2] == TAUT_COVERAGE_NEVER);
    v->tested[2] = 7;
    v->spent[1] = 0.25;
    ck_assert_int_eq(taut_coverage_grow(v, 2), 0);
    ck_assert_uint_eq(v->n, 3);
    ck_assert_int_eq(taut_coverage_grow(v, 5000), 0);
    ck_assert(v->tested[2] == 7 && v->spent[1] == 0.25);
    ck_assert(v->asked[4999] == TAUT_COVERAGE_NEVER && v->spent[4999] == 0);
    taut_coverage_destroy(v);
    taut_coverage_destroy(NULL);
}
END_TEST

START_TEST(time_for_probes_is_saved_up)
{
    struct taut_coverage *v = taut_coverage_create(2);

    ck_assert(isinf(taut_coverage_left(v, 0, 10)));
    v->link_time = 0.001;
    ck_assert(fabs(taut_coverage_left(v, 0, 0) - 0.5) < 1e-9);
    taut_coverage_spend(v, 0, 0.3, 0);
    ck_assert(fabs(taut_coverage_left(v, 0, 100) - 0.3) < 1e-9);
    ck_assert(!taut_coverage_allows(v, 0, 0.06, 100, false));
    ck_assert(taut_coverage_allows(v, 0, 0.06, 100, true));
    ck_assert(taut_coverage_allows(v, 1, 0.06, 100, false));
    taut_coverage_hold(v, 1, 50);
    taut_coverage_hold(v, 1, 40);
    ck_assert(v->busy_until[1] == 50 && v->busy_most == 50);
    taut_coverage_destroy(v);
}
END_TEST

/* ---- boards ---- */

struct world {
    struct taut_graph *g;
    struct taut_coverage *v;
    struct taut_board *b;
    uint32_t node[NODES_MOST], n;
    uint64_t seed;
};

static void world_init(struct world *w, int seed)
{
    struct taut_torus_conf c;

    *w = (struct world){.seed = (uint64_t)seed * 7 + 1};
    c = machine_conf(&w->seed, 60);
    w->g = machine_torus(&c, 1 + pick(&w->seed, 3));
    for (uint32_t i = 0; i < w->g->components; i++)
        w->g->capacity[i] = 1 + pick(&w->seed, 3);
    w->v = taut_coverage_create(w->g->components);
    w->b = taut_board_create(w->g, w->v, NULL);
    ck_assert_ptr_nonnull(w->b);
    for (uint32_t i = 0; i < w->g->nodes; i++)
        if (pick(&w->seed, 3) > 0)
            w->node[w->n++] = i;
}

static void world_fini(struct world *w)
{
    taut_board_destroy(w->b);
    taut_coverage_destroy(w->v);
    taut_graph_destroy(w->g);
}

/* Tests of phase p that use component c. */
static uint32_t users(struct world *w, uint32_t p, uint32_t c, bool back,
                      uint8_t *senders)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < w->b->n_tests; i++) {
        const struct taut_plan_test *t = &w->b->tests[i];
        struct taut_plan_way *way = &w->b->back;
        if (t->phase != p)
            continue;
        ck_assert(taut_board_way(w->b, back ? t->dst : t->src,
                                 back ? t->src : t->dst, way));
        for (uint32_t k = 0; k < way->n; k++)
            if (way->c[k] == c) {
                n++;
                *senders = t->senders;
            }
    }
    return n;
}

static void assert_disjoint(struct world *w, const struct taut_plan_rules *r)
{
    for (uint32_t p = 0; p < r->phases; p++)
        for (uint32_t c = 0; c < w->g->components; c++) {
            uint8_t senders = 1;
            uint32_t n = users(w, p, c, false, &senders);
            ck_assert_uint_le(n, senders);
            if (n > 0 && !r->duplex)
                ck_assert_uint_eq(users(w, p, c, true, &senders), 0);
        }
}

/* Phases used, those with several streams at once counting for more. */
static uint32_t phases_used(const struct world *w,
                            const struct taut_plan_rules *r)
{
    uint32_t cost[TAUT_PLAN_MAX_PHASES] = {0}, sum = 0;

    for (uint32_t i = 0; i < w->b->n_tests; i++) {
        const struct taut_plan_test *t = &w->b->tests[i];
        if (t->streams > 1)
            cost[t->phase] = 1 + r->wide;
        else if (cost[t->phase] == 0)
            cost[t->phase] = 1;
    }
    for (uint32_t p = 0; p < TAUT_PLAN_MAX_PHASES; p++)
        sum += cost[p];
    return sum;
}

static void lay_out(struct world *w, const struct taut_plan_rules *r)
{
    ck_assert_int_eq(taut_board_begin(w->b, w->node, w->n, r), 0);
    for (int i = 0; i < 4; i++) {
        struct taut_plan_want want = {.c = pick(&w->seed, w->g->components),
                                      .pairs = 1 + pick(&w->seed, 3),
                                      .streams = 1 + 3 * pick(&w->seed, 2),
                                      .flows = 4,
                                      .around = pick(&w->seed, 3),
                                      .kind = TAUT_PLAN_CONFIRM};
        ck_assert_int_ge(taut_board_confirm(w->b, &want), 0);
    }
    ck_assert_int_ge(taut_board_routine(w->b, r->phases, 1), 0);
}

START_TEST(nothing_is_used_twice_in_a_phase)
{
    struct world w;

    world_init(&w, _i);
    for (uint32_t round = 0; round < 6; round++) {
        struct taut_plan_rules r = {.phases = pick(&w.seed, 9),
                                    .wide = pick(&w.seed, 3),
                                    .senders = 1 + pick(&w.seed, 3),
                                    .duplex = round % 2 == 0,
                                    .good = 0.75,
                                    .now = 1000.0 * round,
                                    .seed = round};
        lay_out(&w, &r);
        assert_disjoint(&w, &r);
        ck_assert_uint_le(phases_used(&w, &r), r.phases);
        taut_board_end(w.b);
        /* nothing is left on the board */
        for (uint32_t p = 0; p < TAUT_PLAN_MAX_PHASES; p++)
            for (uint32_t c = 0; w.b->users[p] != NULL && c < w.g->components;
                 c++)
                ck_assert_uint_eq(w.b->users[p][c], 0);
    }
    world_fini(&w);
}
END_TEST

START_TEST(what_is_fresh_is_left_alone)
{
    struct taut_plan_rules r = {.phases = 8,
                                .senders = 1,
                                .duplex = true,
                                .good = 0.75,
                                .now = 1e6,
                                .fresh_s = 3600,
                                .retry_s = 60};
    struct world w;

    world_init(&w, _i);
    for (uint32_t c = 0; c < w.g->components; c++)
        w.v->tested[c] = 1e6 - 3000;
    ck_assert_int_eq(taut_board_begin(w.b, w.node, w.n, &r), 0);
    ck_assert_int_eq(taut_board_routine(w.b, 8, 1), 0);
    taut_board_end(w.b);
    /* what somebody else knows better counts */
    double *cleared = calloc(w.g->components + 1, sizeof(*cleared));
    w.v->cleared = cleared;
    ck_assert_int_eq(taut_board_begin(w.b, w.node, w.n, &r), 0);
    if (w.n > 1)
        ck_assert_int_gt(taut_board_routine(w.b, 8, 1), 0);
    free(cleared);
    world_fini(&w);
}
END_TEST

START_TEST(begin_refuses)
{
    struct taut_plan_rules r = {.phases = 4, .senders = 1};
    uint32_t twice[] = {0, 0}, beyond[] = {0, NODES_MOST};
    struct world w;

    world_init(&w, 3);
    ck_assert_int_eq(taut_board_begin(w.b, twice, 2, &r), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_int_eq(taut_board_begin(w.b, beyond, 2, &r), -1);
    r.phases = TAUT_PLAN_MAX_PHASES + 1;
    ck_assert_int_eq(taut_board_begin(w.b, twice, 1, &r), -1);
    world_fini(&w);
}
END_TEST

static int by_phase(const void *a, const void *b)
{
    const struct taut_plan_test *x = a, *y = b;

    return (x->phase > y->phase) - (x->phase < y->phase);
}

START_TEST(a_finished_plan_has_no_empty_phase)
{
    struct taut_plan_rules r = {.phases = 9, .senders = 1, .good = 0.75};
    struct world w;

    world_init(&w, _i);
    lay_out(&w, &r);
    uint32_t n = taut_board_count(w.b);
    struct taut_plan_test *was = calloc(n + 1, sizeof(*was));
    struct taut_plan_test *list = calloc(n + 1, sizeof(*list));
    if (n > 0)
        memcpy(was, w.b->tests, n * sizeof(*was));
    qsort(was, n, sizeof(*was), by_phase);
    ck_assert_uint_eq(taut_board_finish(w.b, list), n);
    ck_assert_uint_eq(taut_board_count(w.b), 0);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t before = i == 0 ? 0 : list[i - 1].phase;
        bool goes_on = i > 0 && was[i].phase > was[i - 1].phase;
        ck_assert_uint_eq(list[i].phase, before + goes_on);
        ck_assert_uint_eq(list[i].src, was[i].src);
        ck_assert_uint_eq(list[i].dst, was[i].dst);
    }
    free(was);
    free(list);
    world_fini(&w);
}
END_TEST

START_TEST(suspects_take_the_place_of_those_before)
{
    struct world w;
    uint32_t first[] = {1, 3}, then[] = {3}, n;

    world_init(&w, 3);
    ck_assert_int_eq(taut_board_suspect(w.b, first, 2), 0);
    ck_assert_uint_eq(w.b->mark[1] & TAUT_PLAN_SUSPECT, TAUT_PLAN_SUSPECT);
    ck_assert_int_eq(taut_board_suspect(w.b, then, 1), 0);
    ck_assert_uint_eq(w.b->mark[1] & TAUT_PLAN_SUSPECT, 0);
    ck_assert_uint_eq(w.b->mark[3] & TAUT_PLAN_SUSPECT, TAUT_PLAN_SUSPECT);
    ck_assert_uint_eq(taut_board_suspects(w.b, &n)[0], 3);
    ck_assert_uint_eq(n, 1);
    ck_assert(!taut_board_reaches(w.b, 3)); /* no plan is under way */
    ck_assert_int_eq(taut_board_suspect(w.b, NULL, 0), 0);
    taut_board_suspects(w.b, &n);
    ck_assert_uint_eq(n, 0);
    world_fini(&w);
}
END_TEST

START_TEST(a_confirmation_leaves_no_marks)
{
    struct taut_plan_rules r = {.phases = 4, .senders = 1, .good = 0.75};
    struct world w;

    world_init(&w, _i);
    uint32_t rival = taut_graph_tx(w.node[0]);
    struct taut_plan_seen seen = {.node = w.g->nodes - 1, .times = 3};
    struct taut_plan_want want = {.c = taut_graph_rx(w.node[w.n - 1]),
                                  .pairs = 2,
                                  .streams = 1,
                                  .flows = 1,
                                  .kind = TAUT_PLAN_CONFIRM,
                                  .rival = &rival,
                                  .n_rivals = 1,
                                  .seen = &seen,
                                  .n_seen = 1};
    ck_assert_int_eq(taut_board_begin(w.b, w.node, w.n, &r), 0);
    ck_assert_int_ge(taut_board_confirm(w.b, &want), 0);
    for (uint32_t c = 0; c < w.g->components; c++)
        ck_assert_uint_eq(w.b->mark[c], 0);
    for (uint32_t i = 0; i < w.g->nodes; i++)
        ck_assert_uint_eq(w.b->seen[i], 0);
    world_fini(&w);
}
END_TEST

/* Rings of six: who may test a link, and at what distance. */
START_TEST(ends_of_a_link)
{
    struct taut_torus_conf c = {.dims = 1, .length = {6}, .wraps = {true}};
    struct taut_graph *g = machine_torus(&c, 1);
    struct taut_coverage *v = taut_coverage_create(g->components);
    struct taut_board *b = taut_board_create(g, v, NULL);
    uint32_t l = g->out[g->out_first[2]]; /* 2 to 3 */

    ck_assert_uint_eq(g->to[l], 3);
    struct taut_plan_ends *e = taut_board_ends(b, taut_graph_link(g, l));
    ck_assert(taut_board_ends_up(b, taut_graph_link(g, l), e));
    /* at most three links on: from 0, 1, 2; to 3, 4, 5 */
    ck_assert_uint_eq(e->n_up, 3);
    ck_assert_uint_eq(e->n_down, 3);
    for (uint32_t i = 0; i < 3; i++) {
        ck_assert_uint_eq(e->up[i], 2 - i);
        ck_assert_uint_eq(e->down[i], 3 + i);
    }
    taut_board_destroy(b);
    taut_coverage_destroy(v);
    taut_graph_destroy(g);
}
END_TEST

/* More links than ends are kept of: others go, a suspect's stay, and what is
 * asked for again is what it was. */
START_TEST(ends_of_suspects_are_kept)
{
    struct taut_torus_conf c = {
        .dims = 2, .length = {48, 48}, .order = {0, 1}, .wraps = {true, true}};
    struct taut_graph *g = machine_torus(&c, 1);
    struct taut_coverage *v = taut_coverage_create(g->components);
    struct taut_board *b = taut_board_create(g, v, NULL);
    uint32_t suspect = taut_graph_link(g, 7), other = taut_graph_link(g, 8);

    ck_assert_uint_gt(g->links, TAUT_PLAN_ENDS_KEPT);
    ck_assert_int_eq(taut_board_suspect(b, &suspect, 1), 0);
    const struct taut_plan_ends *kept = taut_board_ends(b, suspect);
    const struct taut_plan_ends *e = taut_board_ends(b, other);
    uint32_t n = e->n_down, had[256];
    ck_assert_uint_le(n, 256);
    memcpy(had, e->down, n * sizeof(*had));
    for (uint32_t l = 0; l < g->links; l++)
        ck_assert_ptr_nonnull(taut_board_ends(b, taut_graph_link(g, l)));
    ck_assert_ptr_eq(b->ends[suspect], kept);
    ck_assert_ptr_null(b->ends[other]);
    e = taut_board_ends(b, other);
    ck_assert_uint_eq(e->n_down, n);
    ck_assert_mem_eq(e->down, had, n * sizeof(*had));
    taut_board_destroy(b);
    taut_coverage_destroy(v);
    taut_graph_destroy(g);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("plan_board");

    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, times_begin_with_never_and_grow);
    tcase_add_test(tc, time_for_probes_is_saved_up);
    tcase_add_loop_test(tc, nothing_is_used_twice_in_a_phase, 0, 40);
    tcase_add_loop_test(tc, what_is_fresh_is_left_alone, 0, 10);
    tcase_add_loop_test(tc, a_finished_plan_has_no_empty_phase, 0, 10);
    tcase_add_test(tc, suspects_take_the_place_of_those_before);
    tcase_add_loop_test(tc, a_confirmation_leaves_no_marks, 0, 10);
    tcase_add_test(tc, begin_refuses);
    tcase_add_test(tc, ends_of_a_link);
    tcase_add_test(tc, ends_of_suspects_are_kept);
    return unit_run("plan_board", tc);
}
