/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Streams over libfabric's tcp provider: both ends in one process, through
 * the module as it is installed.  Skipped where it was not built. */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "plugin/common/clock.h"
#include "plugin/streams/pinger.h"
#include "plugin/streams/runner.h"
#include "tests/unit/unit.h"

struct node {
    struct taut_runner runner;
    struct taut_endpoint endpoint;
    struct taut_gauge gauge;
    struct taut_plan plan;
    struct taut_measure measures[TAUT_PLAN_TESTS];
    unsigned refused;
};

static struct node a, b;
static const char *modules;

static void open_node(struct node *n, const char *provider, const char *folder)
{
    struct taut_transport_options options = {
        .provider = provider, .domain = "", .env = "", .folder = folder};

    memset(n, 0, sizeof(*n));
    taut_gauge_init(&n->gauge);
    n->endpoint.gauge = &n->gauge;
    n->runner.endpoints = &n->endpoint;
    n->runner.endpoint_count = 1;
    ck_assert_int_eq(
        taut_address_parse(&n->endpoint.local, "127.0.0.1:1", NULL), 0);
    taut_address_set_port(&n->endpoint.local, 0);
    ck_assert_int_eq(taut_transport_ofi.open(&n->endpoint, &options, NULL), 0);
}

static void load_node(struct node *n, const char *provider, const char *folder)
{
    open_node(n, provider, folder);
    taut_transport_ofi_load(&n->endpoint);
}

static int wait_open(struct node *n, struct taut_error *why)
{
    return taut_transport_ofi_wait(&n->endpoint, taut_now_ns() + 20 * TAUT_S_NS,
                                   why);
}

static const char *tested; /* provider */

static void open_both(void)
{
    load_node(&a, tested, modules);
    load_node(&b, tested, modules);
    ck_assert_int_eq(wait_open(&a, NULL), 0);
    ck_assert_int_eq(wait_open(&b, NULL), 0);
}

static void setup_datagrams(void)
{
    tested = "tcp";
    open_both();
}

/* As over verbs: connections of message endpoints, receives shared by all. */
static void setup_connections(void)
{
    tested = "tcp;msg";
    open_both();
}

static void teardown(void)
{
    taut_transport_ofi.close(&a.endpoint);
    taut_transport_ofi.close(&b.endpoint);
}

static struct taut_test *add(struct node *n, enum taut_role role,
                             const struct node *peer, int id)
{
    struct taut_test *t = &n->plan.tests[n->plan.count++];

    t->id = id;
    t->role = role;
    t->mode = TAUT_MODE_STREAM;
    t->transport = TAUT_TRANSPORT_OFI;
    snprintf(t->peer, sizeof(t->peer), "%s", peer->endpoint.name);
    memset(t->token, id, TAUT_TOKEN);
    /* a busy machine may lose hundreds of ms, valgrind takes many times as
     * long */
    t->start_ms = getenv("TAUT_TEST_WRAPPER") != NULL ? 2000 : 300;
    t->dur_ms = getenv("TAUT_TEST_WRAPPER") != NULL ? 2000 : 1000;
    t->streams = 1;
    return t;
}

static void *run(void *arg)
{
    struct node *n = arg;
    int64_t now = taut_now_ns();

    ck_assert_int_eq(taut_runner_run(&n->runner, &n->plan, now,
                                     now + 8 * TAUT_S_NS, n->measures,
                                     &n->refused),
                     0);
    return NULL;
}

static void run_both(void)
{
    pthread_t other;

    ck_assert_int_eq(pthread_create(&other, NULL, run, &b), 0);
    run(&a);
    pthread_join(other, NULL);
}

START_TEST(bytes_arrive_and_both_ends_agree)
{
    struct taut_measure *out = a.measures, *in = b.measures;

    add(&a, TAUT_ROLE_SEND, &b, 1);
    add(&b, TAUT_ROLE_RECV, &a, 1);
    run_both();
    ck_assert_str_eq(out->error, "");
    ck_assert_str_eq(in->error, "");
    ck_assert_int_gt(in->bytes, 0);
    ck_assert_int_ge(in->total_bytes, in->bytes);
    ck_assert_int_gt(out->total_bytes, 0);
    ck_assert_int_gt(out->rtt_ns, 0);
    ck_assert_uint_eq(a.refused + b.refused, 0);
}
END_TEST

START_TEST(several_streams_and_both_directions_at_once)
{
    add(&a, TAUT_ROLE_SEND, &b, 1)->streams = 4;
    add(&b, TAUT_ROLE_RECV, &a, 1)->streams = 4;
    add(&b, TAUT_ROLE_SEND, &a, 2);
    add(&a, TAUT_ROLE_RECV, &b, 2);
    run_both();
    for (int i = 0; i < 2; i++) {
        ck_assert_str_eq(a.measures[i].error, "");
        ck_assert_str_eq(b.measures[i].error, "");
    }
    ck_assert_int_gt(b.measures[0].bytes, 0);
    ck_assert_int_gt(a.measures[1].bytes, 0);
}
END_TEST

START_TEST(round_trips_are_timed)
{
    add(&a, TAUT_ROLE_SEND, &b, 1)->mode = TAUT_MODE_LATENCY;
    add(&b, TAUT_ROLE_RECV, &a, 1)->mode = TAUT_MODE_LATENCY;
    run_both();
    ck_assert_str_eq(a.measures[0].error, "");
    ck_assert_int_gt(a.measures[0].lat_n, 0);
    ck_assert_int_gt(a.measures[0].lat_median_ns, 0);
}
END_TEST

START_TEST(tests_may_follow_each_other_over_one_endpoint)
{
    for (int i = 1; i <= 3; i++) {
        a.plan.count = b.plan.count = 0;
        add(&a, TAUT_ROLE_SEND, &b, i);
        add(&b, TAUT_ROLE_RECV, &a, i);
        run_both();
        ck_assert_str_eq(b.measures[0].error, "");
        ck_assert_uint_eq(b.refused, 0);
    }
    ck_assert_int_gt(b.measures[0].total_bytes, 0);
}
END_TEST

START_TEST(a_token_of_another_plan_is_refused)
{
    add(&a, TAUT_ROLE_SEND, &b, 1);
    add(&b, TAUT_ROLE_RECV, &a, 2);
    run_both();
    ck_assert_uint_eq(b.refused, 1);
    ck_assert_int_eq(b.measures[0].total_bytes, 0);
}
END_TEST

START_TEST(nobody_there_is_an_error)
{
    add(&a, TAUT_ROLE_SEND, &b, 1);
    taut_transport_ofi.close(&b.endpoint);
    run(&a);
    ck_assert_msg(strstr(a.measures[0].error, "Connection refused"), "%s",
                  a.measures[0].error);
}
END_TEST

/* What answers at the peer's address is no probe. */
static void *answer_nonsense(void *arg)
{
    static const char text[] = "zz not an address at all\n";
    int fd = accept(*(int *)arg, NULL, NULL);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
    close(fd);
    return NULL;
}

START_TEST(nonsense_instead_of_an_address_is_an_error)
{
    struct taut_endpoint fake = {.fd = -1};
    pthread_t peer;
    int flags;

    fake.local = a.endpoint.local;
    ck_assert_int_eq(taut_transport_tcp.open(&fake, NULL, NULL), 0);
    flags = fcntl(fake.fd, F_GETFL);
    fcntl(fake.fd, F_SETFL, flags & ~O_NONBLOCK);
    snprintf(add(&a, TAUT_ROLE_SEND, &b, 1)->peer, TAUT_ENDPOINT_TEXT, "%s",
             fake.name);
    ck_assert_int_eq(pthread_create(&peer, NULL, answer_nonsense, &fake.fd), 0);
    run(&a);
    pthread_join(peer, NULL);
    taut_transport_tcp.close(&fake);
    ck_assert_str_ne(a.measures[0].error, "");
}
END_TEST

/* Past bug: the rest of a line that had come in part was not waited for. */
START_TEST(the_rest_of_an_address_is_waited_for)
{
    struct taut_endpoint fake = {.fd = -1};
    struct taut_pollset set;
    int64_t until_ns = taut_now_ns() + 5 * TAUT_S_NS;
    int stream, peer = -1;

    fake.local = a.endpoint.local;
    ck_assert_int_eq(taut_transport_tcp.open(&fake, NULL, NULL), 0);
    stream = taut_transport_ofi.connect(&a.endpoint, fake.name, 0);
    ck_assert_int_ge(stream, 0);
    while (peer < 0 && taut_now_ns() < until_ns)
        peer = taut_transport_tcp.accept(&fake);
    ck_assert_int_eq(write(peer, "0200", 4), 4);
    usleep(20000);
    ck_assert_int_eq(taut_transport_ofi.connected(&a.endpoint, stream), -1);
    ck_assert_int_eq(errno, EAGAIN);
    ck_assert_int_eq(taut_pollset_init(&set, 4), 0);
    taut_pollset_begin(&set, until_ns);
    taut_transport_ofi.watch(&a.endpoint, stream, POLLOUT, &set);
    ck_assert_uint_eq(set.count, 1);
    ck_assert_int_eq(set.fds[0].events, POLLIN);
    taut_pollset_fini(&set);
    close(peer);
    taut_transport_tcp.close(&fake);
}
END_TEST

/* Past bug: who called while libfabric took longer than half a second to
 * open, as it does on a busy machine, found its peer to refuse. */
START_TEST(an_address_is_waited_for_while_libfabric_opens)
{
    struct node slow;
    int64_t until_ns = taut_now_ns() + TAUT_S_NS;
    int stream;

    open_node(&slow, tested, modules);
    stream = taut_transport_ofi.connect(&a.endpoint, slow.endpoint.name, 0);
    ck_assert_int_ge(stream, 0);
    while (taut_now_ns() < until_ns) {
        ck_assert_int_eq(taut_transport_ofi.accept(&slow.endpoint), -1);
        ck_assert_int_eq(taut_transport_ofi.connected(&a.endpoint, stream), -1);
        ck_assert_int_eq(errno, EAGAIN);
        usleep(10000);
    }
    taut_transport_ofi_load(&slow.endpoint);
    ck_assert_int_eq(wait_open(&slow, NULL), 0);
    while (taut_transport_ofi.connected(&a.endpoint, stream) < 0) {
        ck_assert_int_eq(errno, EAGAIN);
        taut_transport_ofi.accept(&slow.endpoint);
        usleep(1000);
    }
    taut_transport_ofi.close(&slow.endpoint);
}
END_TEST

/* Past bug: where libfabric took longer to open than the plan waits, both
 * ends said that nothing went over the link. */
START_TEST(who_has_not_opened_libfabric_measures_nothing)
{
    struct node slow;

    open_node(&slow, tested, modules);
    add(&slow, TAUT_ROLE_SEND, &b, 1);
    add(&slow, TAUT_ROLE_RECV, &b, 2);
    run(&slow);
    for (int i = 0; i < 2; i++)
        ck_assert_str_eq(slow.measures[i].error, "libfabric is not open yet");
    taut_transport_ofi.close(&slow.endpoint);
}
END_TEST

static void expect_failure(const char *provider, const char *folder, int error,
                           const char *text)
{
    struct node n;
    struct taut_error why = {""};

    load_node(&n, provider, folder);
    ck_assert_int_eq(wait_open(&n, &why), -1);
    ck_assert_int_eq(errno, error);
    ck_assert_msg(strstr(why.text, text), "%s", why.text);
    n.plan.count = 0;
    add(&n, TAUT_ROLE_SEND, &n, 1);
    add(&n, TAUT_ROLE_RECV, &n, 2);
    run(&n);
    for (int i = 0; i < 2; i++)
        ck_assert_msg(strstr(n.measures[i].error, text), "%s",
                      n.measures[i].error);
    taut_transport_ofi.close(&n.endpoint);
}

START_TEST(a_provider_that_is_not_there_is_named)
{
    expect_failure("nosuch", modules, ENODEV,
                   "libfabric has no provider 'nosuch'");
}
END_TEST

START_TEST(a_module_that_is_not_there_is_named)
{
    expect_failure("tcp", "/nonexistent", ENOENT, "/nonexistent/taut-ofi.so");
}
END_TEST

/* ---- what may be under way ---- */

#define MANY 16 /* streams of a confirming test */

/* Open so many streams from a to b. */
static void connect_streams(int n, int *out, int *in)
{
    const struct taut_transport *t = &taut_transport_ofi;
    int accepted = 0, connected = 0;
    int64_t end = taut_now_ns() + 20 * TAUT_S_NS;

    for (int i = 0; i < n; i++) {
        do
            out[i] = t->connect(&a.endpoint, b.endpoint.name, 0);
        while (out[i] < 0 && errno == EAGAIN && taut_now_ns() < end);
        ck_assert_int_ge(out[i], 0);
    }
    while ((accepted < n || connected < n) && taut_now_ns() < end) {
        int s = t->accept(&b.endpoint);
        if (s >= 0)
            in[accepted++] = s;
        if (connected < n && t->connected(&a.endpoint, out[connected]) == 0)
            connected++;
    }
    ck_assert_int_eq(accepted, n);
    ck_assert_int_eq(connected, n);
}

/* Messages that the streams take before none takes any more. */
static int fill_all(const int *out, int n, int *by_stream)
{
    int messages = 0;

    for (int round = 0; round < 1000; round++)
        for (int i = 0; i < n; i++) {
            taut_transport_ofi.queued(&a.endpoint, out[i]); /* what went out */
            if (taut_transport_ofi.fill(&a.endpoint, out[i], 1 << 20) <= 0)
                continue;
            messages++;
            by_stream[i]++;
        }
    return messages;
}

/* Receives are shared by all who send: whoever sends without end to a peer that does
 * not take it would use them all up, and adapters make pauses of that. */
START_TEST(who_does_not_take_is_sent_little)
{
    const struct taut_transport *t = &taut_transport_ofi;
    int out[MANY], in[MANY], by[MANY] = {0}, again[MANY] = {0}, taken = 0;
    int64_t end = taut_now_ns() + 20 * TAUT_S_NS;

    struct taut_pollset set;

    ck_assert_int_eq(taut_pollset_init(&set, 4), 0);
    connect_streams(MANY, out, in);
    ck_assert_int_eq(fill_all(out, MANY, by), MANY);
    for (int i = 0; i < MANY; i++) /* the last has one, too */
        ck_assert_int_eq(by[i], 1);
    while (taken < MANY && taut_now_ns() < end)
        for (int i = 0; i < MANY; i++) {
            taken += t->discard(&b.endpoint, in[i]) > 0;
            taut_pollset_begin(&set, end);
            t->watch(&b.endpoint, in[i], 0, &set); /* tells what was taken */
        }
    ck_assert_int_eq(taken, MANY);
    for (int i = 0; i < MANY;) { /* all of that is known: none sends for others */
        t->queued(&b.endpoint, in[i]);
        i += t->queued(&a.endpoint, out[i]) == 0;
        ck_assert_int_lt(taut_now_ns(), end);
    }
    for (int n = 0; n < MANY && taut_now_ns() < end;)
        n += fill_all(out, MANY, again);
    for (int i = 0; i < MANY; i++)
        ck_assert_int_eq(again[i], 1);
    for (int i = 0; i < MANY; i++)
        t->reset(&a.endpoint, out[i]);
    taut_pollset_fini(&set);
}
END_TEST

START_TEST(one_stream_has_few_messages_under_way_before_its_rate_is_known)
{
    int out, in, by = 0;

    connect_streams(1, &out, &in);
    ck_assert_int_eq(fill_all(&out, 1, &by), 4);
    ck_assert_int_le(taut_transport_ofi.queued(&a.endpoint, out), 4 * 2048);
    taut_transport_ofi.reset(&a.endpoint, out);
    /* what was under way is nobody's any more */
    connect_streams(1, &out, &in);
    by = 0;
    ck_assert_int_eq(fill_all(&out, 1, &by), 4);
}
END_TEST

/* Take all that came in and say so; what the sender learns of it. */
static int64_t take_all(const int *out, const int *in, int n)
{
    const struct taut_transport *t = &taut_transport_ofi;
    int64_t end = taut_now_ns() + 20 * TAUT_S_NS, left = 1, bytes = 0;
    struct taut_pollset set;

    ck_assert_int_eq(taut_pollset_init(&set, 4), 0);
    while (left > 0) {
        left = 0;
        for (int i = 0; i < n; i++) {
            ssize_t got = t->discard(&b.endpoint, in[i]);

            bytes += got > 0 ? got : 0;
            taut_pollset_begin(&set, end);
            t->watch(&b.endpoint, in[i], 0, &set);
            left += t->queued(&a.endpoint, out[i]);
        }
        ck_assert_int_lt(taut_now_ns(), end);
    }
    taut_pollset_fini(&set);
    return bytes;
}

/* Past bug: streams that came later had a message each beyond what others had under
 * way already, 31 of 16 streams, and two such peers found no receive posted. */
START_TEST(streams_that_come_later_have_their_share_of_the_same_messages)
{
    int out[MANY], in[MANY], by[MANY] = {0}, messages = 0;

    connect_streams(1, out, in);
    for (int round = 0; round < 50 && messages < MANY; round++) {
        messages = by[0] = 0;
        messages = fill_all(out, 1, by);
        if (messages < MANY)
            take_all(out, in, 1);
    }
    ck_assert_int_eq(messages, MANY); /* all that one may have */
    connect_streams(MANY - 1, out + 1, in + 1);
    ck_assert_int_eq(fill_all(out, MANY, by), 0);
    take_all(out, in, MANY);
    memset(by, 0, sizeof(by));
    ck_assert_int_eq(fill_all(out, MANY, by), MANY);
    for (int i = 0; i < MANY; i++)
        ck_assert_int_eq(by[i], 1);
}
END_TEST

#define LATE_US 20000

/* What goes out in the last of so many rounds, each taken late. */
static int64_t bytes_taken_late(int n, int quick, int late)
{
    int out[MANY], in[MANY], by[MANY] = {0};
    int64_t bytes = 0;

    connect_streams(n, out, in);
    for (int round = 0; round < quick + late; round++) {
        fill_all(out, n, by);
        if (round >= quick)
            usleep(LATE_US);
        bytes = take_all(out, in, n);
    }
    for (int i = 0; i < n; i++)
        taut_transport_ofi.reset(&a.endpoint, out[i]);
    return bytes;
}

/* Past bug: what a stream had under way was as much as its rate carries in 8 ms. Where
 * a receiver is later than that for good, this was 8 kB for ever. */
START_TEST(a_receiver_that_is_late_for_good_is_sent_more_each_time)
{
    ck_assert_int_ge(bytes_taken_late(1, 0, 12), 512 * 1024);
    ck_assert_int_ge(bytes_taken_late(MANY, 0, 12), 512 * 1024);
}
END_TEST

START_TEST(a_receiver_that_becomes_late_is_sent_as_much_again)
{
    ck_assert_int_ge(bytes_taken_late(1, 12, 20), 512 * 1024);
    ck_assert_int_ge(bytes_taken_late(MANY, 12, 20), 512 * 1024);
}
END_TEST

static TCase *streams(const char *name, SFun setup)
{
    TCase *tc = tcase_create(name);

    tcase_set_timeout(tc, 120);
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, bytes_arrive_and_both_ends_agree);
    tcase_add_test(tc, several_streams_and_both_directions_at_once);
    tcase_add_test(tc, round_trips_are_timed);
    tcase_add_test(tc, tests_may_follow_each_other_over_one_endpoint);
    tcase_add_test(tc, a_token_of_another_plan_is_refused);
    tcase_add_test(tc, nobody_there_is_an_error);
    tcase_add_test(tc, nonsense_instead_of_an_address_is_an_error);
    tcase_add_test(tc, the_rest_of_an_address_is_waited_for);
    tcase_add_test(tc, an_address_is_waited_for_while_libfabric_opens);
    tcase_add_test(tc, who_has_not_opened_libfabric_measures_nothing);
    return tc;
}

int main(void)
{
    TCase *broken = tcase_create("broken"), *connections;
    char folder[4096];
    Suite *suite = suite_create("ofi");
    SRunner *runner;
    int failed;

    snprintf(folder, sizeof(folder), "%s/plugin/.libs",
             getenv("TAUT_BUILDDIR") != NULL ? getenv("TAUT_BUILDDIR") : ".");
    modules = folder;
    tcase_set_timeout(broken, 120);
    suite_add_tcase(suite, streams("datagrams", setup_datagrams));
    connections = streams("connections", setup_connections);
    tcase_add_test(connections, who_does_not_take_is_sent_little);
    tcase_add_test(connections,
                   one_stream_has_few_messages_under_way_before_its_rate_is_known);
    tcase_add_test(
        connections,
        streams_that_come_later_have_their_share_of_the_same_messages);
    tcase_add_test(connections,
                   a_receiver_that_is_late_for_good_is_sent_more_each_time);
    tcase_add_test(connections,
                   a_receiver_that_becomes_late_is_sent_as_much_again);
    suite_add_tcase(suite, connections);
    tcase_add_test(broken, a_provider_that_is_not_there_is_named);
    tcase_add_test(broken, a_module_that_is_not_there_is_named);
    suite_add_tcase(suite, broken);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
