/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The routing engines for trees, tables, dragonflies and HyperX: what they
 * refuse, and what holds on any graph they are given.  The shapes they are
 * made for are in tests/lua. */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "advisor/lib/graph/dragonfly/dragonfly.h"
#include "advisor/lib/graph/hyperx/hyperx.h"
#include "advisor/lib/graph/load.h"
#include "advisor/lib/graph/tables/tables.h"
#include "advisor/lib/graph/updown/updown.h"
#include "tests/unit/advisor/machines.h"
#include "tests/unit/unit.h"

#define NONE TAUT_GRAPH_NONE
#define MOST 120

static struct taut_graph *ring(uint32_t length)
{
    struct taut_torus_conf c = {.dims = 1, .length = {length}, .wraps = {true}};

    return machine_torus(&c, 1);
}

static void refuses(int rc, const struct taut_error *err, const char *text)
{
    ck_assert_int_eq(rc, -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_msg(strstr(err->text, text) != NULL, "%s", err->text);
}

START_TEST(updown_refuses)
{
    struct taut_graph *g = ring(4);
    struct taut_error err = {""};
    uint32_t twice[] = {0, 1, 1, 2}, beyond[] = {0, 1, 2, 4};
    uint32_t rank[] = {0, 1, 2, 3}, stride[] = {1, 1, 0, 1};

    refuses(
        taut_updown_create(g, &(struct taut_updown_conf){.rank = twice}, &err),
        &err, "is given twice");
    refuses(
        taut_updown_create(g, &(struct taut_updown_conf){.rank = beyond}, &err),
        &err, "rank 4 of router 3");
    refuses(taut_updown_create(
                g, &(struct taut_updown_conf){.rank = rank, .stride = stride},
                &err),
            &err, "stride 0 of router 2");
    taut_graph_destroy(g);
}
END_TEST

START_TEST(tables_refuse)
{
    struct taut_graph *g = ring(4);
    struct taut_error err = {""};
    uint16_t next[8] = {0, 1, 0, 1, 0, 1, 0, 2};

    refuses(taut_tables_set(g, 0, next, &err), &err, "has no table");
    ck_assert_int_eq(taut_tables_create(g, &err), 0);
    refuses(taut_tables_set(g, 4, next, &err), &err, "router 4 of 4");
    refuses(taut_tables_set(g, 0, next, &err), &err, "link 2 of 2");
    next[7] = TAUT_TABLES_NONE;
    ck_assert_int_eq(taut_tables_set(g, 0, next, &err), 0);
    taut_graph_destroy(g);
}
END_TEST

START_TEST(hyperx_refuses)
{
    struct taut_graph *g = ring(4);
    struct taut_error err = {""};
    uint32_t same[] = {0, 1, 1, 2}, far[] = {0, 1, 2, 4};
    uint32_t crossed[] = {0, 1, 2, 3}; /* as 2 x 2 the ring is no ring */
    struct taut_hyperx_conf c = {.dims = 1, .length = {4}, .place = same};

    refuses(taut_hyperx_create(g, &c, &err), &err, "routers 1 and 2 in place");
    c.place = far;
    refuses(taut_hyperx_create(g, &c, &err), &err, "in place 4 of 4");
    c = (struct taut_hyperx_conf){
        .dims = 2, .length = {2, 2}, .place = crossed};
    refuses(taut_hyperx_create(g, &c, &err), &err, "changes 2 coordinates");
    c.dims = 9;
    refuses(taut_hyperx_create(g, &c, &err), &err, "9 dimensions");
    c = (struct taut_hyperx_conf){.dims = 1, .length = {0}, .place = crossed};
    refuses(taut_hyperx_create(g, &c, &err), &err, "a row of 0");
    c = (struct taut_hyperx_conf){
        .dims = 1, .length = {4}, .place = crossed, .misrouted = NAN};
    refuses(taut_hyperx_create(g, &c, &err), &err, "misrouted nan");
    taut_graph_destroy(g);
}
END_TEST

START_TEST(dragonfly_refuses)
{
    struct taut_graph *g = ring(4);
    struct taut_error err = {""};
    uint32_t group[] = {0, 0, 1, TAUT_DRAGONFLY_MAX_GROUPS};
    struct taut_dragonfly_conf c = {.group = group};

    refuses(taut_dragonfly_create(g, &c, &err), &err, "mode 0");
    c.mode = TAUT_DRAGONFLY_MINIMAL;
    refuses(taut_dragonfly_create(g, &c, &err), &err, "in group 4096");
    group[3] = 1;
    c.misrouted = 1.5;
    refuses(taut_dragonfly_create(g, &c, &err), &err, "misrouted 1.5");
    taut_graph_destroy(g);
}
END_TEST

/* An engine on a random torus, which none of them was made for. */
static struct taut_graph *any_graph(uint64_t *seed, int kind)
{
    struct taut_torus_conf c = machine_conf(seed, MOST);
    struct taut_graph *g = machine_torus(&c, 1 + pick(seed, 2));
    uint32_t rank[MOST], one[MOST], group[MOST];
    struct taut_updown_conf u = {.rank = kind > 0 ? rank : NULL,
                                 .stride = kind > 1 ? one : NULL,
                                 .rows_bytes = pick(seed, 2) * 6 * g->routers};
    struct taut_dragonfly_conf d = {
        .group = group,
        .mode = (enum taut_dragonfly_mode)(kind > 2 ? kind - 2 : 1)};

    for (uint32_t r = 0; r < g->routers; r++) {
        rank[r] = r; /* but for 0 each router has an upward link */
        one[r] = 1 + pick(seed, 3);
        group[r] = r * 4 / g->routers;
    }
    int rc = kind < 3 ? taut_updown_create(g, &u, NULL)
                      : taut_dragonfly_create(g, &d, NULL);
    ck_assert_int_eq(rc, 0);
    return g;
}

/* What leaves r arrives at s: weights in less weights out at each router. */
static void check_flow(const struct taut_graph *g, uint32_t r, uint32_t s,
                       const struct taut_route *t)
{
    double balance[MOST] = {0};

    ck_assert_uint_le(t->entries, t->max_entries);
    for (uint32_t i = 0; i < t->entries; i++) {
        double w = t->has_sets ? t->weight[i] : 1;
        ck_assert(taut_graph_is_up(g, t->link[i]));
        balance[g->from[t->link[i]]] -= w;
        balance[g->to[t->link[i]]] += w;
    }
    for (uint32_t at = 0; at < g->routers; at++)
        ck_assert_double_eq_tol(balance[at], at == s ? 1 : (at == r ? -1 : 0),
                                1e-9);
}

START_TEST(flows_are_kept)
{
    uint64_t seed = 40 + (uint64_t)_i;
    struct taut_graph *g = any_graph(&seed, _i % 6);
    bool failing = _i % 4 == 3;
    struct taut_route t;

    if (failing)
        machine_fail(g, &seed, 1 + pick(&seed, 6));
    ck_assert_int_eq(taut_route_init(&t, g), 0);
    for (uint32_t r = 0; r < g->routers; r++)
        for (uint32_t s = 0; s < g->routers; s++) {
            if (r == s)
                continue;
            uint32_t hops = taut_graph_hops(g, r, s, NONE, &t);
            int rc = taut_graph_route(g, r, s, NONE, &t);
            /* up and down there is a way wherever there is any */
            ck_assert(rc == 0 || failing || _i % 6 > 2);
            ck_assert_int_eq(rc == 0, hops != UINT32_MAX);
            if (rc == 0)
                check_flow(g, r, s, &t);
        }
    taut_route_fini(&t);
    taut_graph_destroy(g);
}
END_TEST

/* Rows are made by whichever thread comes first. */
START_TEST(threads_agree)
{
    uint64_t seed = 90 + (uint64_t)_i, w[2 * MOST];
    struct taut_graph *g = any_graph(&seed, _i % 6);
    double *one = calloc(g->links + 1, sizeof(*one));
    double *four = calloc(g->links + 1, sizeof(*four));
    struct taut_lost lost[2] = {{0}, {0}};

    for (uint32_t e = 0; e < g->endpoints; e++)
        w[e] = 1 + pick(&seed, 3);
    ck_assert_int_eq(taut_load_between(g, w, w, 4, true, four, &lost[1]), 0);
    ck_assert_int_eq(taut_graph_update(g, NULL), 0);
    ck_assert_int_eq(taut_load_between(g, w, w, 1, false, one, &lost[0]), 0);
    ck_assert_uint_eq(lost[0].pairs, lost[1].pairs);
    for (uint32_t l = 0; l < g->links && _i % 6 != 4; l++)
        ck_assert_double_eq_tol(one[l], four[l], 1e-6 * (1 + one[l]));
    free(one);
    free(four);
    taut_graph_destroy(g);
}
END_TEST

/* A tree of one root, which is router 0, and a node on each leaf. */
static struct taut_graph *star(uint32_t leaves, size_t rows_bytes)
{
    struct taut_error err = {""};
    struct taut_graph *g =
        taut_graph_create(leaves + 1, leaves, 1, 2 * leaves, &err);
    uint32_t *rank = calloc(leaves + 1, sizeof(*rank));

    ck_assert_msg(g != NULL && rank != NULL, "%s", err.text);
    for (uint32_t i = 0; i < leaves; i++) {
        g->back[2 * i] = 2 * i + 1;
        g->back[2 * i + 1] = 2 * i;
        g->from[2 * i] = g->to[2 * i + 1] = g->at[i] = rank[i + 1] = i + 1;
        g->capacity[taut_graph_tx(i)] = g->capacity[taut_graph_rx(i)] = 1;
        g->capacity[taut_graph_link(g, 2 * i)] = 1;
        g->capacity[taut_graph_link(g, 2 * i + 1)] = 1;
    }
    ck_assert_msg(taut_graph_seal(g, &err) == 0, "%s", err.text);
    struct taut_updown_conf c = {.rank = rank, .rows_bytes = rows_bytes};
    ck_assert_int_eq(taut_updown_create(g, &c, &err), 0);
    free(rank);
    return g;
}

#ifdef __SANITIZE_ADDRESS__
#define CAN_LIMIT_MEMORY 0 /* its shadow has no room in any limit */
#else
#define CAN_LIMIT_MEMORY 1
#endif

static long pages_now(void)
{
    FILE *f = fopen("/proc/self/statm", "r");
    long pages = 0;

    ck_assert(f != NULL && fscanf(f, "%ld", &pages) == 1);
    fclose(f);
    return pages;
}

/* No more memory than there is now and 'more'. */
static void limit_memory(size_t more)
{
    rlim_t now = (rlim_t)pages_now() * (rlim_t)sysconf(_SC_PAGESIZE);
    struct rlimit limit = {now + more, RLIM_INFINITY};

    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
}

/* 10,000 rows of 20 kB, of which 1 MB is kept. */
START_TEST(rows_do_not_fill_the_memory)
{
    uint32_t leaves = 10000;
    struct taut_graph *g = star(leaves, 1 << 20);
    struct taut_route t;

    ck_assert_int_eq(taut_route_init(&t, g), 0);
    limit_memory((size_t)16 << 20);
    for (uint32_t s = 2; s <= leaves; s++)
        ck_assert_uint_eq(taut_graph_hops(g, 1, s, NONE, &t), 2);
    taut_route_fini(&t);
    taut_graph_destroy(g);
}
END_TEST

START_TEST(no_memory_is_not_no_route)
{
    uint32_t leaves = 100000;
    struct taut_graph *g = star(leaves, 0);
    struct taut_route t;
    int rc = 0;

    ck_assert_int_eq(taut_route_init(&t, g), 0);
    limit_memory(0);
    for (uint32_t s = 2; s < 1000 && rc == 0; s++)
        rc = taut_graph_route(g, 1, s, NONE, &t);
    ck_assert_int_eq(rc, TAUT_ROUTE_NO_MEMORY);
    ck_assert_uint_eq(taut_graph_hops(g, 1, 1001, NONE, &t),
                      TAUT_HOPS_NO_MEMORY);
    taut_route_fini(&t);
    taut_graph_destroy(g);
}
END_TEST

static int has_no_memory(const void *self, const struct taut_graph *g,
                         uint32_t r, uint32_t s, uint32_t dst,
                         struct taut_route *t)
{
    (void)self;
    (void)g;
    (void)r;
    (void)s;
    (void)dst;
    (void)t;
    return TAUT_ROUTE_NO_MEMORY;
}

static void nothing_to_destroy(void *self)
{
    (void)self;
}

START_TEST(a_load_without_memory_is_an_error)
{
    static const struct taut_engine engine = {
        .name = "none", .route = has_no_memory, .destroy = nothing_to_destroy};
    struct taut_graph *g = ring(4);
    uint64_t w[] = {1, 1, 1, 1};
    double load[8] = {0};
    struct taut_lost lost = {0};

    taut_graph_route_by(g, &engine, NULL, 4);
    errno = 0;
    ck_assert_int_eq(taut_load_between(g, w, w, 2, false, load, &lost), -1);
    ck_assert_int_eq(errno, ENOMEM);
    ck_assert_uint_eq(lost.pairs, 0);
    taut_graph_destroy(g);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("graph_models");

    tcase_set_timeout(tc, 120);
    tcase_add_test(tc, updown_refuses);
    tcase_add_test(tc, tables_refuse);
    tcase_add_test(tc, hyperx_refuses);
    tcase_add_test(tc, dragonfly_refuses);
    tcase_add_loop_test(tc, flows_are_kept, 0, 60);
    tcase_add_loop_test(tc, threads_agree, 0, 24);
    if (CAN_LIMIT_MEMORY) {
        tcase_add_test(tc, rows_do_not_fill_the_memory);
        tcase_add_test(tc, no_memory_is_not_no_route);
    }
    tcase_add_test(tc, a_load_without_memory_is_an_error);
    return unit_run("graph_models", tc);
}
