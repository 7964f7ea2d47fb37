/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The answering end of latency tests, against a transport that counts how
 * often a stream is asked and takes only so much at a time. */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "plugin/common/clock.h"
#include "plugin/streams/pinger.h"
#include "plugin/streams/receiver.h"
#include "tests/unit/unit.h"

#define STREAMS 8

static struct {
    int accepted;
    size_t token_left[STREAMS], coming[STREAMS]; /* bytes */
    int asked[STREAMS];
    size_t room;       /* bytes that sends take, then EAGAIN */
    size_t came_back;  /* bytes of echoes */
    short last_events; /* what was watched for */
} net;

static int accept_next(struct taut_endpoint *ep)
{
    (void)ep;
    if (net.accepted < STREAMS)
        return net.accepted++;
    errno = EAGAIN;
    return -1;
}

/* The token of stream k is k+1 over and over. */
static ssize_t receive(struct taut_endpoint *ep, int stream, void *data,
                       size_t n)
{
    size_t *left =
        net.token_left[stream] ? &net.token_left[stream] : &net.coming[stream];

    (void)ep;
    net.asked[stream]++;
    if (*left == 0) {
        errno = EAGAIN;
        return -1;
    }
    n = n < *left ? n : *left;
    memset(data, stream + 1, n);
    *left -= n;
    return (ssize_t)n;
}

static ssize_t send_back(struct taut_endpoint *ep, int stream, const void *data,
                         size_t n)
{
    (void)ep, (void)stream, (void)data;
    if (net.room == 0) {
        errno = EAGAIN;
        return -1;
    }
    n = n < net.room ? n : net.room;
    net.room -= n;
    net.came_back += n;
    return (ssize_t)n;
}

static void watch(struct taut_endpoint *ep, int stream, short events,
                  struct taut_pollset *set)
{
    (void)ep, (void)set;
    if (stream == 0)
        net.last_events = events;
}

static void reset(struct taut_endpoint *ep, int stream)
{
    (void)ep, (void)stream;
}

static const struct taut_transport counting = {
    .kind = TAUT_TRANSPORT_TCP,
    .watch = watch,
    .accept = accept_next,
    .send = send_back,
    .receive = receive,
    .reset = reset,
};

static struct taut_receiver r;
static struct taut_inflow inflows[STREAMS];
static struct taut_test tests[STREAMS];
static struct taut_measure measures[STREAMS];
static struct taut_endpoint ep = {.transport = &counting};

static void setup(void)
{
    memset(&net, 0, sizeof(net));
    memset(tests, 0, sizeof(tests));
    net.room = 1 << 20;
    taut_receiver_begin(&r, inflows, &ep, 1);
    for (int i = 0; i < STREAMS; i++) {
        net.token_left[i] = TAUT_TOKEN;
        memset(tests[i].token, i + 1, TAUT_TOKEN);
        tests[i].role = TAUT_ROLE_RECV;
        tests[i].mode = TAUT_MODE_LATENCY;
        tests[i].dur_ms = 2000;
        tests[i].streams = 1;
        taut_receiver_add(&r, &ep, &tests[i], &measures[i], taut_now_ns());
    }
    taut_receiver_run(&r, taut_now_ns());
    memset(net.asked, 0, sizeof(net.asked));
    net.came_back = 0; /* the answers to the tokens */
}

static void teardown(void)
{
    taut_receiver_end(&r, "");
}

/* Past bug: each open stream was waited for in turn, those of later phases
 * too, and with three nodes every echo came late. */
START_TEST(streams_of_other_phases_are_not_waited_for)
{
    taut_receiver_run(&r, taut_now_ns());
    for (int i = 0; i < STREAMS; i++)
        ck_assert_int_eq(net.asked[i], 1);
}
END_TEST

START_TEST(the_stream_that_is_measured_is_waited_for)
{
    net.coming[3] = TAUT_PING_BYTES;
    taut_receiver_run(&r, taut_now_ns());
    memset(net.asked, 0, sizeof(net.asked));
    taut_receiver_run(&r, taut_now_ns());
    ck_assert_uint_eq(net.came_back, TAUT_PING_BYTES);
    for (int i = 0; i < STREAMS; i++) {
        if (i == 3)
            ck_assert_int_gt(net.asked[i], 1);
        else
            ck_assert_int_eq(net.asked[i], 1);
    }
}
END_TEST

/* Past bug: an echo that met EAGAIN, or its rest, was dropped, and the test
 * stood still from then on. */
START_TEST(an_echo_that_does_not_go_out_whole_is_finished)
{
    struct taut_pollset set;

    ck_assert_int_eq(taut_pollset_init(&set, 1), 0);
    net.room = 3;
    net.coming[0] = 2 * TAUT_PING_BYTES;
    taut_receiver_run(&r, taut_now_ns());
    ck_assert_uint_eq(net.came_back, 3);
    taut_receiver_watch(&r, &set);
    ck_assert_int_eq(net.last_events, POLLOUT);
    net.room = TAUT_PING_BYTES;
    taut_receiver_run(&r, taut_now_ns());
    ck_assert_uint_eq(net.came_back, 3 + TAUT_PING_BYTES);
    net.room = 1 << 20;
    taut_receiver_run(&r, taut_now_ns());
    ck_assert_uint_eq(net.came_back, 2 * TAUT_PING_BYTES);
    ck_assert_int_eq(inflows[0].total_bytes, 2 * TAUT_PING_BYTES);
    taut_receiver_watch(&r, &set);
    ck_assert_int_eq(net.last_events, POLLIN);
    taut_pollset_fini(&set);
}
END_TEST

START_TEST(a_stream_without_messages_is_no_error)
{
    struct taut_echo e = {.owed = 0};

    net.coming[0] = TAUT_PING_BYTES;
    ck_assert_int_eq(taut_pinger_echo(&e, &ep, 0, false), TAUT_PING_BYTES);
    ck_assert_int_eq(taut_pinger_echo(&e, &ep, 0, false), -1);
    ck_assert_int_eq(errno, EAGAIN);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("pinger");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, streams_of_other_phases_are_not_waited_for);
    tcase_add_test(tc, the_stream_that_is_measured_is_waited_for);
    tcase_add_test(tc, an_echo_that_does_not_go_out_whole_is_finished);
    tcase_add_test(tc, a_stream_without_messages_is_no_error);
    return unit_run("pinger", tc);
}
