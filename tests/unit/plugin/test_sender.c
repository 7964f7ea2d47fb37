/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A sender against a transport that is a link of a known rate and
 * acknowledges in lumps. */
#include <config.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "plugin/common/clock.h"
#include "plugin/streams/sender.h"
#include "tests/unit/unit.h"

#define RATE_Bps 9400000 /* three quarters of 100 Mbit/s */
#define LUMP (64 * 1024)

static int64_t begun_ns, sent, most_queued, lump, fills;
static int64_t breaks_ns; /* the stream is reset then; 0 = never */
static int answer;        /* to a call: 0, or an errno */
static bool has_token;    /* it came, and has to be answered */
static const char *word;  /* of the receiver: one byte, "" = it closed */

/* What the link has carried, as acknowledgements tell it. */
static int64_t acked(void)
{
    int64_t ns = begun_ns ? taut_now_ns() - begun_ns : 0;
    int64_t carried = (int64_t)((double)ns * RATE_Bps / 1e9);

    carried = carried < sent ? carried : sent;
    return carried == sent ? sent : carried / lump * lump;
}

static void watch(struct taut_endpoint *ep, int stream, short events,
                  struct taut_pollset *set)
{
    (void)ep, (void)stream, (void)events, (void)set;
}

static int connect_now(struct taut_endpoint *ep, const char *peer, int port)
{
    (void)ep, (void)peer, (void)port;
    return 0;
}

static int connected(struct taut_endpoint *ep, int stream)
{
    (void)ep, (void)stream;
    errno = answer;
    return answer ? -1 : 0;
}

static ssize_t send_some(struct taut_endpoint *ep, int stream, const void *data,
                         size_t n)
{
    (void)ep, (void)stream, (void)data;
    has_token = true;
    return (ssize_t)n;
}

static ssize_t fill(struct taut_endpoint *ep, int stream, size_t n)
{
    (void)ep, (void)stream;
    if (!begun_ns)
        begun_ns = taut_now_ns();
    if (breaks_ns && sent > 0) {
        while (taut_now_ns() < breaks_ns)
            usleep(1000);
        errno = ECONNRESET;
        return -1;
    }
    sent += (int64_t)n;
    fills++;
    if (sent - acked() > most_queued)
        most_queued = sent - acked();
    return (ssize_t)n;
}

static ssize_t receive(struct taut_endpoint *ep, int stream, void *data,
                       size_t n)
{
    (void)ep, (void)stream;
    if (has_token) { /* answered at once; of zeros, as the test's is */
        has_token = false;
        memset(data, 0xff, n);
        return (ssize_t)n;
    }
    if (word == NULL) {
        errno = EAGAIN;
        return -1;
    }
    memcpy(data, word, strlen(word));
    return (ssize_t)strlen(word);
}

static int64_t queued(struct taut_endpoint *ep, int stream)
{
    (void)ep, (void)stream;
    return sent - acked();
}

static int stats(struct taut_endpoint *ep, int stream,
                 struct taut_stream_stats *st)
{
    (void)ep, (void)stream;
    memset(st, 0, sizeof(*st));
    st->acked_bytes = acked();
    st->sent_bytes = sent;
    st->busy_ns = -1;
    return 0;
}

static void reset(struct taut_endpoint *ep, int stream)
{
    (void)ep, (void)stream;
}

static const struct taut_transport link_of_known_rate = {
    .kind = TAUT_TRANSPORT_TCP,
    .watch = watch,
    .connect = connect_now,
    .connected = connected,
    .send = send_some,
    .fill = fill,
    .receive = receive,
    .queued = queued,
    .stats = stats,
    .reset = reset,
};

static struct taut_measure measure;
static int64_t enough_Bps; /* what may end the test */

/* Returns what became of it.
 *   late_ms  the machine holds it up for so long after its call */
static const char *run_test(int64_t acknowledged_at_once, int dur_ms,
                            int break_ms, int late_ms)
{
    static struct taut_sender s;
    struct taut_endpoint ep = {.transport = &link_of_known_rate};
    struct taut_test test = {
        .role = TAUT_ROLE_SEND,
        .mode = TAUT_MODE_STREAM,
        .dur_ms = dur_ms,
        .streams = 1,
        .enough_Bps = enough_Bps,
    };

    memset(&measure, 0, sizeof(measure));
    measure.rtt_ns = -1;
    breaks_ns = break_ms ? taut_now_ns() + break_ms * TAUT_MS_NS : 0;
    begun_ns = sent = most_queued = fills = 0;
    lump = acknowledged_at_once;
    taut_sender_begin(&s, &ep, &test, &measure, taut_now_ns());
    usleep((unsigned)late_ms * 1000);
    while (!s.is_done)
        taut_sender_run(&s, taut_now_ns());
    return measure.error;
}

/* The same on a machine that has time: of another one a test says so. */
static const char *run_in_time(int64_t acknowledged_at_once)
{
    const char *error = "";

    for (int i = 0; i < 20; i++) {
        error = run_test(acknowledged_at_once, 150, 0, 0);
        if (strstr(error, "too busy") == NULL)
            break;
    }
    return error;
}

/* Past bug: a lump of acknowledgements looked like a fast link for a
 * millisecond, and 40 ms of data went into the queue before the link, which
 * overflowed. */
START_TEST(lumps_of_acknowledgements_do_not_fill_the_queues)
{
    ck_assert_str_eq(run_in_time(LUMP), "");
    ck_assert_int_gt(sent, 64 * 1024);
    /* 8 ms of the rate, and a lump that is not acknowledged yet */
    ck_assert_msg(most_queued <= RATE_Bps / 1000 * 9 + LUMP,
                  "%lld bytes stood in queues", (long long)most_queued);
}
END_TEST

/* Past bug: each gap in the queue was filled at once, however small, and
 * transports that put a head before each piece sent many heads. */
START_TEST(what_is_sent_comes_in_large_pieces)
{
    ck_assert_str_eq(run_in_time(1), "");
    ck_assert_msg(sent / fills >= RATE_Bps / 1000, "%lld bytes in %lld pieces",
                  (long long)sent, (long long)fills);
}
END_TEST

/* Past bug: a sender that the machine held up, from its last look at the
 * clock until the receiver had closed, called it a broken connection. */
START_TEST(a_reset_after_the_end_is_no_failure)
{
    const char *error = run_test(LUMP, 150, 170, 0);

    ck_assert_ptr_null(strstr(error, "reset"));
}
END_TEST

START_TEST(a_reset_before_the_end_is_one)
{
    ck_assert_ptr_nonnull(strstr(run_test(LUMP, 2000, 50, 0), "reset"));
}
END_TEST

/* Its window ends there; what comes before it begins waits. */
START_TEST(a_receiver_that_has_seen_enough_ends_a_test)
{
    enough_Bps = 1;
    word = "+";
    ck_assert_str_eq(run_test(1, 2000, 0, 0), "");
    ck_assert_int_lt(measure.window_ns, 1600 * TAUT_MS_NS);
}
END_TEST

/* Past bug: its word was taken as soon as the window had begun, and the sender's
 * own account was one of a moment. */
START_TEST(a_receiver_cannot_have_seen_enough_at_once)
{
    enough_Bps = 1;
    word = "+";
    ck_assert_str_eq(run_test(1, 1000, 0, 0), "");
    ck_assert_int_ge(measure.window_ns, 290 * TAUT_MS_NS);
}
END_TEST

static int64_t unreachable_ns;

static int connected_never(struct taut_endpoint *ep, int stream)
{
    (void)ep, (void)stream;
    errno = taut_now_ns() >= unreachable_ns ? EHOSTUNREACH : EAGAIN;
    return -1;
}

/* As recv() of a socket that connects: it takes the error. */
static ssize_t receive_of_nobody(struct taut_endpoint *ep, int stream,
                                 void *data, size_t n)
{
    (void)data, (void)n;
    return connected_never(ep, stream);
}

/* Past bug: a router that answered after the window had begun made a failure of
 * what tells of the link. */
START_TEST(a_router_that_answers_late_tells_of_a_link_that_carries_nothing)
{
    static struct taut_sender s;
    struct taut_transport nowhere = link_of_known_rate;
    struct taut_endpoint ep = {.transport = &nowhere};
    struct taut_test test = {.role = TAUT_ROLE_SEND,
                             .mode = TAUT_MODE_STREAM,
                             .dur_ms = 100,
                             .streams = 1,
                             .enough_Bps = 1};

    nowhere.connected = connected_never;
    nowhere.receive = receive_of_nobody;
    memset(&measure, 0, sizeof(measure));
    unreachable_ns = taut_now_ns() + 60 * TAUT_MS_NS;
    taut_sender_begin(&s, &ep, &test, &measure, taut_now_ns());
    while (!s.is_done)
        taut_sender_run(&s, taut_now_ns());
    ck_assert_str_eq(measure.error, "");
    ck_assert_int_eq(measure.bytes, 0);
}
END_TEST

static bool peer_is_there;

static bool is_answered(struct taut_endpoint *ep, int stream)
{
    (void)ep, (void)stream;
    return peer_is_there;
}

/* Past bug: over verbs the peer was there and said so, two adapters took longer
 * than the test to connect, and the test was low at 0 %. */
START_TEST(a_connection_that_the_peer_takes_long_to_open_accuses_nobody)
{
    static struct taut_sender s;
    struct taut_transport slow = link_of_known_rate;
    struct taut_endpoint ep = {.transport = &slow};
    struct taut_test test = {.role = TAUT_ROLE_SEND,
                             .mode = TAUT_MODE_STREAM,
                             .dur_ms = 60,
                             .streams = 1};

    slow.connected = connected_never;
    slow.receive = receive_of_nobody;
    slow.is_answered = is_answered;
    unreachable_ns = INT64_MAX;
    for (int i = 0; i < 2; i++) {
        peer_is_there = i == 1;
        memset(&measure, 0, sizeof(measure));
        taut_sender_begin(&s, &ep, &test, &measure, taut_now_ns());
        while (!s.is_done)
            taut_sender_run(&s, taut_now_ns());
        ck_assert_str_eq(measure.error,
                         peer_is_there
                             ? "the connection to the receiver was not open "
                               "in time"
                             : "");
        ck_assert_int_eq(measure.bytes, 0);
    }
}
END_TEST

/* … only where the plan lets it, and by this word only. */
START_TEST(nothing_else_ends_one)
{
    enough_Bps = 0;
    word = "+";
    ck_assert_str_eq(run_test(1, 500, 0, 0), "");
    ck_assert_int_ge(measure.window_ns, 390 * TAUT_MS_NS);
    enough_Bps = 1;
    word = "-";
    ck_assert_ptr_nonnull(strstr(run_test(1, 2000, 0, 0), "receive from"));
    word = "";
    ck_assert_ptr_nonnull(strstr(run_test(1, 2000, 0, 0), "receive from"));
}
END_TEST

/* Past bug: a sender that the machine held up from its call until after the
 * test had had no look at whether it was answered, and said that nothing went
 * over the link. */
START_TEST(who_is_held_up_for_all_of_a_test_is_too_busy)
{
    const int answers[] = {0, ECONNRESET, ECONNREFUSED};

    for (int i = 0; i < 3; i++) {
        answer = answers[i];
        ck_assert_ptr_nonnull(strstr(run_test(LUMP, 20, 0, 40), "too busy"));
    }
}
END_TEST

START_TEST(who_is_not_answered_sends_nothing_however_late)
{
    const int answers[] = {EAGAIN, ETIMEDOUT, EHOSTUNREACH};

    for (int i = 0; i < 3; i++) {
        answer = answers[i];
        ck_assert_str_eq(run_test(LUMP, 20, 0, 40), "");
        ck_assert_int_eq(measure.bytes, 0);
        ck_assert_int_eq(measure.total_bytes, 0);
    }
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("sender");

    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, lumps_of_acknowledgements_do_not_fill_the_queues);
    tcase_add_test(tc, what_is_sent_comes_in_large_pieces);
    tcase_add_test(tc, a_reset_after_the_end_is_no_failure);
    tcase_add_test(tc, a_reset_before_the_end_is_one);
    tcase_add_test(tc, a_receiver_that_has_seen_enough_ends_a_test);
    tcase_add_test(tc, a_receiver_cannot_have_seen_enough_at_once);
    tcase_add_test(
        tc, a_router_that_answers_late_tells_of_a_link_that_carries_nothing);
    tcase_add_test(
        tc, a_connection_that_the_peer_takes_long_to_open_accuses_nobody);
    tcase_add_test(tc, nothing_else_ends_one);
    tcase_add_test(tc, who_is_held_up_for_all_of_a_test_is_too_busy);
    tcase_add_test(tc, who_is_not_answered_sends_nothing_however_late);
    return unit_run("sender", tc);
}
