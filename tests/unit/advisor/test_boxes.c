/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Boxes of tori and meshes against boxes that are counted by hand. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/boxes/ball.h"
#include "advisor/lib/boxes/boxes.h"
#include "tests/unit/advisor/machines.h"
#include "tests/unit/unit.h"

static const struct {
    uint32_t dims, length[TAUT_BOXES_MAX_DIMS + 1];
    const char *text;
} bad[] = {
    {0, {0}, "0 dimensions, expected 1 to 6"},
    {7, {1, 1, 1, 1, 1, 1, 1}, "7 dimensions"},
    {2, {4, 0}, "a ring of 0, expected 1 to 4096"},
    {1, {5000}, "a ring of 5000"},
    {3, {4096, 4096, 2}, "more than 1048576 routers"},
};

START_TEST(create_refuses)
{
    bool wraps[TAUT_BOXES_MAX_DIMS + 1] = {false};
    struct taut_error err = {""};

    errno = 0;
    ck_assert_ptr_null(
        taut_boxes_create(bad[_i].dims, bad[_i].length, wraps, &err));
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_msg(strstr(err.text, bad[_i].text) != NULL, "%s", err.text);
}
END_TEST

START_TEST(bad_arguments_are_refused)
{
    struct taut_boxes *b =
        taut_boxes_create(2, (uint32_t[]){4, 3}, (bool[]){true, false}, NULL);
    struct taut_boxes_request r = {.count = 0, .room = 1.5};
    struct taut_boxes_cable cable = {.router = 12, .dim = 0, .weight = 1};
    struct taut_box box = {.at = {0, 2}, .extent = {1, 2}}, *out;
    uint32_t router[12], take[12];
    size_t n;

    ck_assert_int_eq(taut_boxes_search(b, &r, &out, &n), -1);
    ck_assert_int_eq(errno, EINVAL);
    r = (struct taut_boxes_request){.count = 1, .room = 0.5};
    ck_assert_int_eq(taut_boxes_search(b, &r, &out, &n), -1);
    ck_assert_int_eq(taut_boxes_mark(b, 1, &cable), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_int_eq(taut_boxes_count(b, &box), -1); /* beyond a mesh's end */
    box = (struct taut_box){.extent = {4, 3}, .volume = 12};
    ck_assert_int_eq(taut_boxes_choose(b, &box, 1, router, take), -1);
    ck_assert_int_eq(errno, EINVAL); /* nothing is free yet */
    taut_boxes_destroy(b);
    taut_boxes_destroy(NULL);
}
END_TEST

struct machine {
    uint32_t dims, length[4], routers;
    bool wraps[4];
};

static const struct machine machines[] = {
    {1, {9}, 9, {true}},
    {2, {5, 4}, 20, {true, true}},
    {2, {6, 3}, 18, {false, true}},
    {3, {4, 3, 5}, 60, {true, true, true}},
    {3, {2, 1, 6}, 12, {true, true, false}},
    {4, {3, 2, 2, 3}, 36, {true, true, true, true}},
};

static uint32_t router_of(const struct machine *m, const uint32_t *at)
{
    uint32_t r = 0;

    for (uint32_t d = 0; d < m->dims; d++)
        r = r * m->length[d] + at[d] % m->length[d];
    return r;
}

/* Free nodes of a box, router by router. */
static uint32_t count(const struct machine *m, const uint32_t *spare,
                      const struct taut_box *box, uint32_t *volume)
{
    uint32_t n = 0, at[4];

    *volume = 1;
    for (uint32_t d = 0; d < m->dims; d++)
        *volume *= box->extent[d];
    for (uint32_t i = 0; i < *volume; i++) {
        uint32_t k = i;
        for (uint32_t d = m->dims; d-- > 0;) {
            at[d] = box->at[d] + k % box->extent[d];
            k /= box->extent[d];
        }
        n += spare[router_of(m, at)];
    }
    return n;
}

static void check_box(const struct machine *m, const struct taut_boxes *b,
                      const uint32_t *spare, const struct taut_box *box,
                      uint32_t wanted)
{
    uint32_t volume, router[60], take[60], taken = 0;
    struct taut_box again = *box;

    ck_assert_uint_eq(count(m, spare, box, &volume), box->free);
    ck_assert_uint_eq(volume, box->volume);
    ck_assert_uint_ge(box->free, wanted);
    ck_assert_uint_eq(box->total, 3 * volume);
    ck_assert_int_eq(taut_boxes_count(b, &again), 0);
    ck_assert_uint_eq(again.free, box->free);
    ck_assert_int_eq(taut_boxes_choose(b, box, wanted, router, take), 0);
    for (uint32_t i = 0; i < volume; i++) {
        ck_assert_uint_le(take[i], spare[router[i]]);
        taken += take[i];
    }
    ck_assert_uint_eq(taken, wanted);
}

START_TEST(boxes_hold_what_they_say)
{
    const struct machine *m = &machines[_i];
    struct taut_boxes *b =
        taut_boxes_create(m->dims, m->length, m->wraps, NULL);
    uint32_t spare[60], total[60];
    uint64_t seed = (uint64_t)_i + 1;

    for (int round = 0; round < 20; round++) {
        uint32_t sum = 0;
        for (uint32_t r = 0; r < m->routers; r++) {
            total[r] = 3;
            spare[r] = pick(&seed, 4);
            sum += spare[r];
        }
        taut_boxes_fill(b, spare, total);
        for (uint32_t wanted = 1; wanted <= sum; wanted += 1 + wanted / 3) {
            struct taut_boxes_request r = {.count = wanted, .room = 1.5};
            struct taut_box *out;
            size_t n;
            ck_assert_int_eq(taut_boxes_search(b, &r, &out, &n), 0);
            ck_assert_uint_gt(n, 0);
            for (size_t i = 0; i < n; i++)
                check_box(m, b, spare, &out[i], wanted);
            free(out);
        }
    }
    taut_boxes_destroy(b);
}
END_TEST

/* A row of six routers, one of them shared. */
START_TEST(whole_boxes_have_no_strangers)
{
    struct taut_boxes *b =
        taut_boxes_create(1, (uint32_t[]){6}, (bool[]){false}, NULL);
    struct taut_boxes_request r = {.count = 4, .room = 1.5, .whole = true};
    uint32_t spare[6] = {2, 2, 1, 2, 2, 2}, total[6] = {2, 2, 2, 2, 2, 2};
    struct taut_box *out;
    size_t n;

    taut_boxes_fill(b, spare, total);
    ck_assert_int_eq(taut_boxes_search(b, &r, &out, &n), 0);
    ck_assert_uint_ge(n, 1);
    ck_assert_uint_eq(out[0].volume, 2);
    ck_assert_uint_eq(out[0].free, out[0].total);
    free(out);
    r.count = 7;
    ck_assert_int_eq(taut_boxes_search(b, &r, &out, &n), 0);
    ck_assert_uint_eq(n, 0);
    ck_assert_ptr_null(out);
    taut_boxes_destroy(b);
}
END_TEST

/* What is left out is the corner, not the middle. */
START_TEST(the_corner_is_left_out)
{
    struct taut_boxes *b =
        taut_boxes_create(2, (uint32_t[]){9, 9}, (bool[]){true, true}, NULL);
    struct taut_box box = {.at = {1, 1}, .extent = {3, 3}, .volume = 9};
    uint32_t spare[81], total[81], router[9], take[9];

    for (uint32_t i = 0; i < 81; i++)
        spare[i] = total[i] = 1;
    taut_boxes_fill(b, spare, total);
    ck_assert_int_eq(taut_boxes_choose(b, &box, 8, router, take), 0);
    ck_assert_uint_eq(take[4], 1);
    ck_assert_uint_eq(take[0] + take[2] + take[6] + take[8], 3);
    taut_boxes_destroy(b);
}
END_TEST

START_TEST(a_bad_cable_is_kept_outside)
{
    struct taut_boxes *b =
        taut_boxes_create(1, (uint32_t[]){8}, (bool[]){true}, NULL);
    struct taut_boxes_cable cable = {.router = 7, .dim = 0, .weight = 3};
    struct taut_boxes_request r = {.count = 3, .room = 1.0};
    uint32_t spare[8] = {1, 1, 1, 1, 0, 1, 1, 1},
             total[8] = {1, 1, 1, 1, 1, 1, 1, 1};
    struct taut_box *out;
    size_t n;

    taut_boxes_fill(b, spare, total);
    ck_assert_int_eq(taut_boxes_mark(b, 1, &cable), 0);
    ck_assert_int_eq(taut_boxes_search(b, &r, &out, &n), 0);
    for (size_t i = 0; i < n; i++)
        if (out[i].volume == 3)
            ck_assert_double_eq(out[i].bad, 0);
    free(out);
    taut_boxes_destroy(b);
}
END_TEST

START_TEST(balls_grow_by_distance)
{
    struct taut_torus_conf c = {
        .dims = 2, .length = {5, 5}, .wraps = {true, true}, .order = {0, 1}};
    struct taut_graph *g = machine_torus(&c, 2);
    uint32_t spare[25], node[50];
    bool is_free[50];
    struct taut_ball ball;
    uint64_t hops;

    for (uint32_t n = 0; n < 50; n++)
        is_free[n] = true;
    for (uint32_t r = 0; r < 25; r++)
        spare[r] = 2;
    ck_assert_int_eq(taut_ball_init(&ball, g), 0);
    ck_assert_uint_eq(
        taut_ball_grow(&ball, is_free, spare, NULL, 12, 10, node, &hops), 10);
    ck_assert_uint_eq(hops, 8); /* two here, eight one hop away */
    ck_assert_uint_eq(taut_ball_surface(&ball, spare, is_free, node, 2), 8);
    ck_assert_uint_eq(
        taut_ball_grow(&ball, is_free, spare, NULL, 0, 50, node, &hops), 50);
    ck_assert_uint_eq(taut_ball_surface(&ball, spare, is_free, node, 50), 0);
    taut_ball_fini(&ball);
    taut_graph_destroy(g);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("boxes");

    tcase_add_loop_test(tc, create_refuses, 0, sizeof(bad) / sizeof(bad[0]));
    tcase_add_test(tc, bad_arguments_are_refused);
    tcase_add_loop_test(tc, boxes_hold_what_they_say, 0,
                        sizeof(machines) / sizeof(machines[0]));
    tcase_add_test(tc, whole_boxes_have_no_strangers);
    tcase_add_test(tc, the_corner_is_left_out);
    tcase_add_test(tc, a_bad_cable_is_kept_outside);
    tcase_add_test(tc, balls_grow_by_distance);
    return unit_run("boxes", tc);
}
