/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sweeps of a fabric that answers from memory: what is found, and what a node
 * costs that is silent, wrong, or there twice. */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>
#include <jansson.h>

#include "advisor/ib/describe.h"
#include "advisor/ib/fabric.h"
#include "tests/unit/advisor/ib_fake.h"

static struct fake fake;
static struct taut_mads *mads;
static struct taut_ib_fabric *fabric;

static const struct taut_mads_options usual = {
    .max = 16,
    .per_peer = 4,
    .tries = 2,
    .timeout_ms = 10,
    .time_ns = UINT64_C(10000000000),
};

/* h0 - s1 = s2 (two cables), s1 - h3, s2 - h4 */
static void setup(void)
{
    memset(&fake, 0, sizeof(fake));
    fake_add(&fake, 0x100, 1, 1, "n0 HCA-1");
    fake_add(&fake, 0x200, 2, 8, "leaf \"1\"");
    fake_add(&fake, 0x300, 2, 8, "leaf 2");
    fake_add(&fake, 0x400, 1, 1, "n3 HCA-1");
    fake_add(&fake, 0x500, 1, 2, "\xff\x01weird\n");
    fake_link(&fake, 0, 1, 1, 1);
    fake_link(&fake, 1, 7, 2, 7);
    fake_link(&fake, 1, 8, 2, 8);
    fake_link(&fake, 1, 2, 3, 1);
    fake_link(&fake, 2, 1, 4, 2);
    mads = NULL;
    fabric = taut_ib_fabric_create();
    ck_assert_ptr_nonnull(fabric);
}

static void teardown(void)
{
    taut_mads_destroy(mads);
    taut_ib_fabric_destroy(fabric);
}

static int discover(const struct taut_mads_options *options)
{
    struct taut_mad_port port = fake_port(&fake);

    mads = taut_mads_create(&port, options);
    ck_assert_ptr_nonnull(mads);
    return taut_ib_discover(fabric, mads, 0);
}

static struct taut_ib_port *at(uint64_t guid, unsigned port)
{
    struct taut_ib_node *node = taut_ib_node_find(fabric, guid);

    ck_assert_ptr_nonnull(node);
    ck_assert_uint_le(port, node->num_ports);
    return &node->ports[port];
}

static void check_link(uint64_t a, unsigned pa, uint64_t b, unsigned pb)
{
    ck_assert_ptr_nonnull(at(a, pa)->far);
    ck_assert_uint_eq(at(a, pa)->far->guid, b);
    ck_assert_uint_eq(at(a, pa)->far_port, pb);
}

START_TEST(bad_options)
{
    struct taut_mad_port port = fake_port(&fake);
    struct taut_mads_options bad[5];

    for (size_t i = 0; i < 5; i++)
        bad[i] = usual;
    bad[0].max = 0;
    bad[1].max = TAUT_MADS_MAX + 1;
    bad[2].per_peer = 0;
    bad[3].tries = 0;
    bad[4].timeout_ms = 0;
    for (size_t i = 0; i < 5; i++) {
        ck_assert_ptr_null(taut_mads_create(&port, &bad[i]));
        ck_assert_int_eq(errno, EINVAL);
    }
}
END_TEST

START_TEST(finds_everything)
{
    ck_assert_int_eq(discover(&usual), 0);
    ck_assert_uint_eq(fabric->node_count, 5);
    ck_assert_uint_eq(fabric->local->guid, 0x100);
    ck_assert_uint_eq(fabric->local_port, 1);
    check_link(0x100, 1, 0x200, 1);
    check_link(0x200, 7, 0x300, 7);
    check_link(0x300, 8, 0x200, 8);
    check_link(0x200, 2, 0x400, 1);
    check_link(0x500, 2, 0x300, 1);
    ck_assert_ptr_null(at(0x200, 3)->far);
    ck_assert(at(0x200, 3)->known && !at(0x200, 3)->silent);
    ck_assert_uint_eq(at(0x500, 2)->guid, 0x502);
    ck_assert_ptr_null(fabric->clashes);
    ck_assert_uint_eq(taut_mads_counts(mads)->lost, 0);
}
END_TEST

START_TEST(bounds_what_is_under_way)
{
    struct taut_mads_options o = usual;

    o.max = 3;
    ck_assert_int_eq(discover(&o), 0);
    ck_assert_int_le(fake.most, 3);
    ck_assert_uint_eq(fabric->node_count, 5);
}
END_TEST

START_TEST(reads_counters)
{
    fake.nodes[1].symbol_errors[7] = 1234;
    fake.nodes[4].symbol_errors[2] = 7;
    ck_assert_int_eq(discover(&usual), 0);
    ck_assert_int_eq(taut_ib_read_counters(fabric, mads, false), 0);
    ck_assert_uint_eq(at(0x200, 7)->value[0], 1234);
    ck_assert_uint_eq(at(0x500, 2)->value[0], 7);
    ck_assert_uint_eq(at(0x300, 7)->value[0], 0);
    ck_assert(at(0x300, 7)->has & 1);
}
END_TEST

START_TEST(a_silent_agent_costs_only_its_own_counters)
{
    fake.nodes[1].deaf_pm = true;
    fake.nodes[2].symbol_errors[7] = 5;
    ck_assert_int_eq(discover(&usual), 0);
    ck_assert_int_eq(taut_ib_read_counters(fabric, mads, false), 0);
    ck_assert_int_eq(at(0x200, 7)->pm_error, ETIMEDOUT);
    ck_assert_uint_eq(at(0x300, 7)->value[0], 5);
    ck_assert_int_eq(at(0x300, 7)->pm_error, 0);
}
END_TEST

START_TEST(a_deaf_node_is_silent_and_given_up)
{
    fake.nodes[2].deaf = true;
    ck_assert_int_eq(discover(&usual), 0);
    ck_assert_uint_eq(fabric->node_count, 3);
    ck_assert(at(0x200, 7)->silent && at(0x200, 8)->silent);
    check_link(0x200, 2, 0x400, 1);
    ck_assert_uint_eq(taut_mads_counts(mads)->lost, 2);
}
END_TEST

/* It answers who it is, then nothing any more. */
START_TEST(a_node_that_vanishes_in_a_sweep)
{
    struct taut_mads_options o = usual;
    bool was_left_out = false;

    for (unsigned gone = 1; gone < 60; gone++) {
        teardown();
        setup();
        fake.gone = gone;
        fake.goes = 2;
        discover(&o);
        taut_ib_read_counters(fabric, mads, true);
        struct taut_ib_node *node = taut_ib_node_find(fabric, 0x300);
        for (unsigned i = 0; node != NULL && i <= 8; i++)
            was_left_out |= node->ports[i].error == EHOSTUNREACH;
        ck_assert_ptr_nonnull(taut_ib_node_find(fabric, 0x200));
    }
    ck_assert(was_left_out);
}
END_TEST

START_TEST(answers_that_make_no_sense)
{
    for (uint8_t bad = 1; bad <= 3; bad++) {
        teardown();
        setup();
        fake.nodes[3].bad_info = bad;
        ck_assert_int_eq(discover(&usual), 0);
        ck_assert(at(0x200, 2)->silent);
        check_link(0x200, 7, 0x300, 7);
    }
}
END_TEST

START_TEST(strangers_and_repetitions_change_nothing)
{
    fake.strays = true;
    ck_assert_int_eq(discover(&usual), 0);
    ck_assert_uint_eq(fabric->node_count, 5);
    check_link(0x500, 2, 0x300, 1);
    ck_assert_uint_gt(taut_mads_counts(mads)->strays, 0);
}
END_TEST

START_TEST(one_guid_twice_is_a_clash)
{
    fake.nodes[4].guid = fake.nodes[3].guid;
    fake.nodes[4].num_ports = 1;
    fake_link(&fake, 2, 1, 4, 1);
    ck_assert_int_eq(discover(&usual), 0);
    ck_assert_ptr_nonnull(fabric->clashes);
    ck_assert_uint_eq(fabric->clashes->guid, 0x400);
    ck_assert_uint_eq(fabric->clashes->port, 1);
    ck_assert_ptr_null(fabric->clashes->next);
}
END_TEST

START_TEST(one_guid_for_a_switch_and_a_host)
{
    fake.nodes[4].guid = 0x200;
    ck_assert_int_eq(discover(&usual), 0);
    ck_assert_ptr_nonnull(fabric->clashes);
    ck_assert_uint_eq(fabric->clashes->guid, 0x200);
}
END_TEST

START_TEST(a_device_that_fails_ends_it)
{
    struct taut_mads_options o = usual;

    o.timeout_ms = 10000; /* nothing is overdue before it has failed often */
    fake.broken = true;
    ck_assert_int_eq(discover(&o), -1);
    ck_assert_int_eq(errno, EIO);
    ck_assert_uint_eq(fabric->node_count, 0);
}
END_TEST

START_TEST(when_time_is_up_what_was_found_stays)
{
    struct taut_mads_options o = usual;

    o.time_ns = 1;
    ck_assert_int_eq(discover(&o), -1);
    ck_assert_int_eq(errno, ETIMEDOUT);
    ck_assert_uint_le(fabric->node_count, 1);
}
END_TEST

START_TEST(prints_json_whatever_names_hold)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);

    ck_assert_int_eq(discover(&usual), 0);
    ck_assert_int_eq(taut_ib_read_counters(fabric, mads, true), 0);
    fputc('[', out);
    for (struct taut_ib_node *i = fabric->nodes; i != NULL; i = i->next) {
        taut_ib_print_node(out, i);
        fputc(i->next != NULL ? ',' : ']', out);
    }
    fclose(out);
    json_error_t error;
    json_t *list = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
    ck_assert_msg(list != NULL, "%s: %s", error.text, text);
    ck_assert_uint_eq(json_array_size(list), 5);
    ck_assert_ptr_nonnull(strstr(text, "leaf \\\"1\\\""));
    ck_assert_ptr_nonnull(strstr(text, "??weird?"));
    json_decref(list);
    free(text);
}
END_TEST

/* The text of a node that has this one port of a host. */
static const char *print_port(struct taut_ib_port *port, char *text,
                              size_t size)
{
    static struct taut_ib_node node;
    static struct taut_ib_port ports[2];
    FILE *out = fmemopen(text, size, "w");

    node = (struct taut_ib_node){
        .guid = 0x100, .type = TAUT_IB_CA, .num_ports = 1, .ports = ports};
    ports[1] = *port;
    ports[1].number = 1;
    ports[1].node = &node;
    ck_assert_ptr_nonnull(out);
    taut_ib_print_node(out, &node);
    fclose(out);
    return text;
}

/* As an XDR port answers: its speed stands in fields that libibmad may not know. */
START_TEST(the_second_kind_of_extended_speeds_is_told)
{
    struct taut_ib_port port = {.known = true};
    char text[1024] = "";

    mad_set_field(port.info, 0, IB_PORT_LINK_SPEED_ACTIVE_F, 4);
    mad_set_field(port.info, 0, IB_PORT_LINK_SPEED_EXT_SUPPORTED_F, 15);
    mad_set_field(port.info, 0, IB_PORT_LINK_SPEED_EXT_ENABLED_F, 15);
    port.info[56] = 1 << 5 | 1 << 3 | 1;
    ck_assert_ptr_nonnull(
        strstr(print_port(&port, text, sizeof(text)), "4 0 0 32 47 47\""));
    port.info[56] = 1 << 3 | 1; /* it runs at NDR */
    mad_set_field(port.info, 0, IB_PORT_LINK_SPEED_EXT_ACTIVE_F, 8);
    ck_assert_ptr_nonnull(
        strstr(print_port(&port, text, sizeof(text)), "4 0 0 8 47 47\""));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("ib_sweep");
    TCase *t = tcase_create("all");

    tcase_add_checked_fixture(t, setup, teardown);
    tcase_add_test(t, bad_options);
    tcase_add_test(t, finds_everything);
    tcase_add_test(t, bounds_what_is_under_way);
    tcase_add_test(t, reads_counters);
    tcase_add_test(t, a_silent_agent_costs_only_its_own_counters);
    tcase_add_test(t, a_deaf_node_is_silent_and_given_up);
    tcase_add_test(t, a_node_that_vanishes_in_a_sweep);
    tcase_add_test(t, answers_that_make_no_sense);
    tcase_add_test(t, strangers_and_repetitions_change_nothing);
    tcase_add_test(t, one_guid_twice_is_a_clash);
    tcase_add_test(t, one_guid_for_a_switch_and_a_host);
    tcase_add_test(t, a_device_that_fails_ends_it);
    tcase_add_test(t, when_time_is_up_what_was_found_stays);
    tcase_add_test(t, prints_json_whatever_names_hold);
    tcase_add_test(t, the_second_kind_of_extended_speeds_is_told);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    SRunner *runner = srunner_create(suite());

    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
