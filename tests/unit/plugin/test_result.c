/* SPDX-License-Identifier: GPL-2.0-or-later */
/* HELLO and RESULT: the texts that leave a node. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "plugin/probe/hello.h"
#include "plugin/probe/rails.h"
#include "plugin/streams/result.h"
#include "tests/unit/unit.h"
#include "wire/protocol.h"

static struct taut_rails rails = {
    .count = 2,
    .list = {{.interface = "hsn0"}, {.interface = "hsn1"}},
    .endpoint_count = 2,
    .endpoints = {{.transport = &taut_transport_tcp, .name = "10.0.0.1:4000"},
                  {.transport = &taut_transport_ofi,
                   .rail = 1,
                   .name = "10.0.1.1:4001"}},
};

static const struct taut_counters netdev = {
    .interface = "hsn0",
    .source = "netdev",
    .t_ns = -1,
    .count = 2,
    .list = {{"rx_bytes", 9007199254740993}, {"tx_bytes", 2}},
};
static const struct taut_counters port = {
    .interface = "hsn0",
    .source = "cxi",
    .t_ns = 1700000000500000000,
    .text_count = 1,
    .texts = {{"state", "up"}},
    .count = 1,
    .list = {{"pct_spt_timeouts", 0}},
};
static const struct taut_readings readings = {2, {&netdev, &port}};

static json_int_t number(const json_t *object, const char *key)
{
    ck_assert_msg(json_is_integer(json_object_get(object, key)), "%s", key);
    return json_integer_value(json_object_get(object, key));
}

static const char *text_of(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static void check_readings(const json_t *message)
{
    ck_assert_str_eq(
        text_of(message, "readings"),
        "netdev hsn0 rx_bytes=9007199254740993 tx_bytes=2\n"
        "cxi hsn0 pct_spt_timeouts=0 state='up' t=1700000000.500000000");
}

static void check_endpoints(const json_t *hello)
{
    json_t *array = json_object_get(hello, "endpoints");

    ck_assert_str_eq(text_of(hello, "endpoint"), "10.0.0.1:4000");
    ck_assert_uint_eq(json_array_size(array), 2);
    ck_assert_str_eq(text_of(json_array_get(array, 0), "if"), "hsn0");
    ck_assert_str_eq(text_of(json_array_get(array, 0), "tcp"), "10.0.0.1:4000");
    ck_assert_ptr_null(json_object_get(json_array_get(array, 0), "ofi"));
    ck_assert_str_eq(text_of(json_array_get(array, 1), "if"), "hsn1");
    ck_assert_ptr_null(json_object_get(json_array_get(array, 1), "tcp"));
    ck_assert_str_eq(text_of(json_array_get(array, 1), "ofi"), "10.0.1.1:4001");
}

START_TEST(hello_has_every_field)
{
    struct taut_job job;
    struct taut_hello hello = {.job = &job,
                               .rails = &rails,
                               .readings = &readings,
                               .boot = "b-1",
                               .budget_ms = 980,
                               .key = {0xab}};
    json_t *json;
    char *text;

    taut_job_init(&job, TAUT_PURPOSE_PROLOG);
    taut_job_set(&job, "job", "4294967295", NULL);
    taut_job_set(&job, "node", "n5", NULL);
    taut_job_set(&job, "nodes", "n[0-7]", NULL);
    text = taut_hello_encode(&hello);
    json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
    ck_assert_ptr_nonnull(json);
    ck_assert_int_eq(number(json, "v"), TAUT_PROTOCOL_VERSION);
    ck_assert(number(json, "job") == 4294967295);
    ck_assert_int_eq(number(json, "restart"), 0);
    ck_assert_int_eq(number(json, "uid"), 0);
    ck_assert_int_eq(number(json, "budget_ms"), 980);
    ck_assert_str_eq(json_string_value(json_object_get(json, "purpose")),
                     "prolog");
    ck_assert_str_eq(json_string_value(json_object_get(json, "nodes")),
                     "n[0-7]");
    ck_assert_uint_eq(json_string_length(json_object_get(json, "key")), 64);
    check_readings(json);
    check_endpoints(json);
    json_decref(json);
    free(text);
    taut_job_fini(&job);
}
END_TEST

static json_t *encode(const struct taut_plan *plan,
                      const struct taut_measure *measures)
{
    struct taut_result result = {.plan = plan,
                                 .measures = measures,
                                 .readings = &readings,
                                 .refused = 3};
    char *text = taut_result_encode(&result);
    json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);

    ck_assert_ptr_nonnull(json);
    free(text);
    return json;
}

/* Each end tells its own account of losses, and nothing of the other's. */
static void check_accounts(const json_t *send, const json_t *recv)
{
    ck_assert_int_eq(number(send, "segments"), 900);
    ck_assert_int_eq(number(send, "resent"), 9);
    ck_assert_int_eq(number(send, "resent_bytes"), 13032);
    ck_assert_int_eq(number(send, "spurious"), 1);
    ck_assert_int_eq(number(send, "unacked"), 4);
    ck_assert_int_eq(number(send, "reordered"), 2);
    ck_assert_int_eq(number(send, "marked"), 3);
    ck_assert_int_eq(number(send, "min_rtt_ns"), 4);
    ck_assert_int_eq(number(send, "mean_rtt_ns"), 8);
    ck_assert_str_eq(text_of(send, "congestion"), "cubic");
    ck_assert_ptr_null(json_object_get(send, "disordered"));
    ck_assert_ptr_null(json_object_get(send, "pruned"));
    ck_assert_int_eq(number(recv, "segments"), 891);
    ck_assert_int_eq(number(recv, "disordered"), 30);
    ck_assert_int_eq(number(recv, "pruned"), 0);
    ck_assert_ptr_null(json_object_get(recv, "resent"));
    ck_assert_ptr_null(json_object_get(recv, "congestion"));
}

START_TEST(result_tells_what_is_known)
{
    static struct taut_plan plan = {
        .count = 3,
        .tests = {{.id = 71, .role = TAUT_ROLE_RECV},
                  {.id = 72, .role = TAUT_ROLE_SEND},
                  {.id = 73, .role = TAUT_ROLE_SEND}},
    };
    struct taut_measure m[3] = {
        {.bytes = 80,
         .window_ns = 20,
         .total_bytes = 100,
         .rtt_ns = -1,
         .mean_rtt_ns = -1,
         .account = {.segments = 891, .disordered = 30, .resent = -1,
                     .resent_bytes = -1, .spurious = -1, .reordered = -1,
                     .marked = -1, .unacked = -1, .min_rtt_ns = -1},
         .pruned = 0,
         .lat_n = -1,
         .looks = 7,
         .sub_bytes = {10, 10, 10, 10, 10, 10, 10, 10},
         .parts = 8},
        {.bytes = 79,
         .window_ns = 21,
         .total_bytes = 99,
         .rtt_ns = 5,
         .mean_rtt_ns = 8,
         .account = {.segments = 900, .resent = 9, .resent_bytes = 13032,
                     .spurious = 1, .reordered = 2, .marked = 3, .unacked = 4,
                     .min_rtt_ns = 4, .congestion = "cubic",
                     .disordered = -1},
         .pruned = -1,
         .lat_median_ns = 16300,
         .lat_p99_ns = 41000,
         .lat_n = 600,
         .looks = -1,
         .delay_ns = -1,
         .foreign_bytes = -1,
         .port = {20, 83, 2, 3},
         .way = {.hops = 2, .answer = {"10.65.0.1", ""}}},
        {.error = "connect 10.0.0.1:1: refused"},
    };
    json_t *json = encode(&plan, m), *tests = json_object_get(json, "tests");
    json_t *recv = json_array_get(tests, 0), *send = json_array_get(tests, 1);
    json_t *way;

    ck_assert_int_eq(number(json, "refused"), 3);
    check_readings(json);
    ck_assert_int_eq(number(recv, "id"), 71);
    ck_assert_uint_eq(json_array_size(json_object_get(recv, "sub_bytes")), 8);
    ck_assert_int_eq(number(recv, "delay_ns"), 0);
    ck_assert_int_eq(number(recv, "looks"), 7);
    ck_assert_ptr_null(json_object_get(recv, "lat_ns"));
    ck_assert_int_eq(number(json_object_get(send, "lat_ns"), "median"), 16300);
    ck_assert_int_eq(number(json_object_get(send, "lat_ns"), "p99"), 41000);
    ck_assert_int_eq(number(json_object_get(send, "lat_ns"), "n"), 600);
    ck_assert_ptr_null(json_object_get(recv, "rtt_ns"));
    ck_assert_int_eq(number(send, "rtt_ns"), 5);
    ck_assert_ptr_null(json_object_get(send, "sub_bytes"));
    ck_assert_ptr_null(json_object_get(send, "delay_ns"));
    ck_assert_ptr_null(json_object_get(recv, "way"));
    way = json_object_get(send, "way");
    ck_assert_uint_eq(json_array_size(way), 2);
    ck_assert_str_eq(json_string_value(json_array_get(way, 0)), "10.65.0.1");
    ck_assert_str_eq(json_string_value(json_array_get(way, 1)), "");
    check_accounts(send, recv);
    ck_assert_int_eq(number(send, "port_ns"), 20);
    ck_assert_int_eq(number(send, "port_data_bytes"), 83);
    ck_assert_int_eq(number(send, "port_with_bytes"), 2);
    ck_assert_int_eq(number(send, "port_back_bytes"), 3);
    ck_assert_ptr_null(json_object_get(json_array_get(tests, 2), "bytes"));
    ck_assert_ptr_nonnull(json_object_get(json_array_get(tests, 2), "error"));
    json_decref(json);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("result");

    tcase_add_test(tc, hello_has_every_field);
    tcase_add_test(tc, result_tells_what_is_known);
    return unit_run("result", tc);
}
