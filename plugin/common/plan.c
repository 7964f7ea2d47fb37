/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "plugin/common/address.h"
#include "plugin/common/plan.h"
#include "plugin/common/text.h"
#include "wire/frame.h"

static const char *const transports[] = {
    [TAUT_TRANSPORT_TCP] = "tcp",
    [TAUT_TRANSPORT_OFI] = "ofi",
};

const char *taut_transport_name(enum taut_transport_kind kind)
{
    return kind == TAUT_TRANSPORT_NONE ? "" : transports[kind];
}

enum taut_transport_kind taut_transport_parse(const char *name)
{
    for (int i = TAUT_TRANSPORT_TCP; i <= TAUT_TRANSPORT_OFI; i++) {
        if (strcmp(name, transports[i]) == 0)
            return i;
    }
    return TAUT_TRANSPORT_NONE;
}

static int bad(struct taut_error *err, size_t i, const char *what)
{
    taut_error_set(err, "PLAN, test %zu: %s", i, what);
    errno = EINVAL;
    return -1;
}

/* A whole number within limits under 'key'. */
static int get_number(const json_t *object, const char *key, int64_t min,
                      int64_t max, int64_t *value)
{
    const json_t *j = json_object_get(object, key);

    if (!json_is_integer(j) || json_integer_value(j) < min ||
        json_integer_value(j) > max)
        return -1;
    *value = json_integer_value(j);
    return 0;
}

/* Text under 'key', or NULL; jansson refuses NUL bytes within. */
static const char *get_text(const json_t *object, const char *key)
{
    return json_string_value(json_object_get(object, key));
}

static int parse_role(struct taut_test *test, const json_t *object)
{
    const char *role = get_text(object, "role");

    if (role != NULL && strcmp(role, "send") == 0)
        test->role = TAUT_ROLE_SEND;
    else if (role != NULL && strcmp(role, "recv") == 0)
        test->role = TAUT_ROLE_RECV;
    else
        return -1;
    return 0;
}

/* What a test does over what; all of it may be left out. */
static int parse_kind(struct taut_test *test, const json_t *object, size_t i,
                      struct taut_error *err)
{
    const json_t *mode = json_object_get(object, "mode");
    const json_t *transport = json_object_get(object, "transport");
    int64_t rail = 0;

    test->mode = TAUT_MODE_STREAM;
    test->transport = TAUT_TRANSPORT_TCP;
    if (json_is_string(mode) && strcmp(json_string_value(mode), "latency") == 0)
        test->mode = TAUT_MODE_LATENCY;
    else if (mode != NULL && (!json_is_string(mode) ||
                              strcmp(json_string_value(mode), "stream") != 0))
        return bad(err, i, "mode is neither stream nor latency");
    if (transport != NULL)
        test->transport =
            json_is_string(transport)
                ? taut_transport_parse(json_string_value(transport))
                : TAUT_TRANSPORT_NONE;
    if (test->transport == TAUT_TRANSPORT_NONE)
        return bad(err, i, "transport is neither tcp nor ofi");
    if (json_object_get(object, "rail") != NULL &&
        get_number(object, "rail", 0, TAUT_PLAN_RAILS - 1, &rail) < 0)
        return bad(err, i, "rail is not in 0..15");
    test->rail = (int)rail;
    return 0;
}

/* A transport's endpoint: where a peer listens, of libfabric too. */
static int parse_peer(struct taut_test *test, const json_t *object, size_t i,
                      struct taut_error *err)
{
    const char *peer = get_text(object, "peer");
    struct taut_address address;
    size_t n = peer != NULL ? strlen(peer) : 0;

    if (test->role != TAUT_ROLE_SEND)
        return 0;
    if (peer == NULL || n >= sizeof(test->peer) ||
        taut_address_parse(&address, peer, NULL) < 0)
        return bad(err, i, "peer is not address:port");
    if (taut_address_port(&address) < TAUT_PLAN_PORT)
        return bad(err, i, "peer has a port below 1024");
    if (!taut_address_is_of_host(&address))
        return bad(err, i, "peer is not the address of a host");
    memcpy(test->peer, peer, n + 1);
    return 0;
}

static int parse_times(struct taut_test *test, const json_t *object, size_t i,
                       struct taut_error *err)
{
    int64_t start, dur, streams = 1;

    if (get_number(object, "start_ms", 0, TAUT_PLAN_START_MS, &start) < 0)
        return bad(err, i, "start_ms is not in 0..10000");
    if (get_number(object, "dur_ms", TAUT_TEST_MIN_MS, TAUT_TEST_MAX_MS, &dur) <
        0)
        return bad(err, i, "dur_ms is not in 5..2000");
    if (json_object_get(object, "streams") != NULL &&
        get_number(object, "streams", 1, TAUT_PLAN_STREAMS, &streams) < 0)
        return bad(err, i, "streams is not in 1..16");
    test->start_ms = (int)start;
    test->dur_ms = (int)dur;
    test->streams = (int)streams;
    return 0;
}

/* What is enough of a stream: only one over TCP has a way back to say so. */
static int parse_enough(struct taut_test *test, const json_t *object, size_t i,
                        struct taut_error *err)
{
    if (json_object_get(object, "enough_Bps") == NULL)
        return 0;
    if (get_number(object, "enough_Bps", 1, INT64_MAX, &test->enough_Bps) < 0)
        return bad(err, i, "enough_Bps is not a number above 0");
    if (test->mode != TAUT_MODE_STREAM || test->streams != 1 ||
        test->transport != TAUT_TRANSPORT_TCP)
        return bad(err, i, "enough_Bps is of one stream over tcp");
    return 0;
}

/* Which way is wanted, and how many ports may be tried for it. */
static int parse_aim(struct taut_test *test, const json_t *object, size_t i,
                     struct taut_error *err)
{
    const json_t *aim = json_object_get(object, "aim");
    const char *address = get_text(aim, "address");
    int64_t hop, count;

    if (aim == NULL)
        return 0;
    if (!test->trace || get_number(aim, "hop", 1, test->trace, &hop) < 0)
        return bad(err, i, "aim.hop is not in 1..trace");
    if (get_number(aim, "ports", 1, TAUT_PLAN_AIM, &count) < 0 ||
        test->ports[0] + count > 65536)
        return bad(err, i, "aim.ports is not in 1..256, or beyond 65535");
    if (address == NULL || strlen(address) >= sizeof(test->aim.address))
        return bad(err, i, "aim.address is not an address");
    test->aim = (struct taut_aim){
        .hop = (int)hop, .first = test->ports[0], .count = (int)count};
    strcpy(test->aim.address, address);
    return 0;
}

/* By which ports a sender leaves, and whether it is asked which way that is. */
static int parse_way(struct taut_test *test, const json_t *object, size_t i,
                     struct taut_error *err)
{
    int64_t port = 0, trace = 0;

    if (json_object_get(object, "port") &&
        get_number(object, "port", 1024, 65536 - TAUT_PLAN_STREAMS, &port) < 0)
        return bad(err, i, "port is not in 1024..65520");
    if (json_object_get(object, "trace") &&
        get_number(object, "trace", 1, TAUT_PLAN_HOPS, &trace) < 0)
        return bad(err, i, "trace is not in 1..16");
    if (port &&
        (test->role != TAUT_ROLE_SEND || test->transport != TAUT_TRANSPORT_TCP))
        return bad(err, i, "a port is of senders over tcp");
    if (trace && !port)
        return bad(err, i, "a trace needs a port");
    for (int k = 0; port && k < TAUT_PLAN_STREAMS; k++)
        test->ports[k] = (int)port + k;
    test->trace = (int)trace;
    return parse_aim(test, object, i, err);
}

static int parse_test(struct taut_test *test, const json_t *object, size_t i,
                      struct taut_error *err)
{
    const char *token = get_text(object, "token");

    memset(test, 0, sizeof(*test));
    if (get_number(object, "id", 0, INT64_MAX, &test->id) < 0)
        return bad(err, i, "id is not a number");
    if (parse_role(test, object) < 0)
        return bad(err, i, "role is neither send nor recv");
    if (token == NULL || taut_unhex(test->token, TAUT_TOKEN, token) < 0)
        return bad(err, i, "token is not 32 hex digits");
    if (parse_kind(test, object, i, err) < 0 ||
        parse_peer(test, object, i, err) < 0 ||
        parse_times(test, object, i, err) < 0 ||
        parse_enough(test, object, i, err) < 0 ||
        parse_way(test, object, i, err) < 0)
        return -1;
    if (test->mode == TAUT_MODE_LATENCY && test->streams != 1)
        return bad(err, i, "latency is measured by one stream");
    return 0;
}

static int check_unique(const struct taut_plan *plan, size_t i,
                        struct taut_error *err)
{
    const struct taut_test *a = &plan->tests[i];

    for (size_t k = 0; k < i; k++) {
        const struct taut_test *b = &plan->tests[k];

        if (a->id == b->id)
            return bad(err, i, "its id was there before");
        if (memcmp(a->token, b->token, TAUT_TOKEN) == 0)
            return bad(err, i, "its token was there before");
    }
    return 0;
}

static int parse_tests(struct taut_plan *plan, const json_t *tests,
                       struct taut_error *err)
{
    size_t n = json_array_size(tests);

    if (!json_is_array(tests) || n > TAUT_PLAN_TESTS) {
        taut_error_set(err, "PLAN: tests is not an array of at most %d",
                       TAUT_PLAN_TESTS);
        errno = EINVAL;
        return -1;
    }
    for (size_t i = 0; i < n; i++) {
        if (parse_test(&plan->tests[i], json_array_get(tests, i), i, err) < 0)
            return -1;
        if (check_unique(plan, i, err) < 0)
            return -1;
    }
    plan->count = n;
    return 0;
}

static int parse_root(struct taut_plan *plan, const json_t *root,
                      struct taut_error *err)
{
    const char *note = get_text(root, "note");
    int64_t version;

    if (get_number(root, "v", TAUT_PROTOCOL_OLDEST, TAUT_PROTOCOL_VERSION,
                   &version) < 0) {
        errno = EPROTO;
        return taut_error_set(err, "PLAN: protocol version is not %d to %d",
                              TAUT_PROTOCOL_OLDEST, TAUT_PROTOCOL_VERSION);
    }
    plan->version = (int)version;
    snprintf(plan->note, sizeof(plan->note), "%s", note != NULL ? note : "");
    taut_text_clean(plan->note);
    return parse_tests(plan, json_object_get(root, "tests"), err);
}

int taut_plan_parse(struct taut_plan *plan, const char *text, size_t n,
                    struct taut_error *err)
{
    struct taut_plan *draft = calloc(1, sizeof(*draft));
    json_error_t why;
    json_t *root;
    int rc = -1;

    if (draft == NULL)
        return taut_error_set(err, "out of memory");
    root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &why);
    if (root != NULL) {
        rc = parse_root(draft, root, err);
    } else {
        taut_error_set(err, "PLAN, byte %d: %.100s", why.position, why.text);
        errno = EINVAL;
    }
    if (rc == 0)
        *plan = *draft;
    json_decref(root);
    free(draft);
    return rc;
}
