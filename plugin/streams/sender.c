/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "plugin/common/clock.h"
#include "plugin/streams/sender.h"
#include "plugin/streams/token.h"

/* At the end of a test up to this much time's worth of data may stand in
 * queues along the route.  It must outlast a late wake-up of either end, or
 * the link runs dry; and it must be short against the pause to the next
 * phase. */
#define QUEUE_MS 8
#define QUEUE_MIN_BYTES (32 * 1024)
#define BURST_BYTES (64 * 1024)
#define REST_NS (TAUT_MS_NS / 2) /* before looking again */
#define REFILL                                                                 \
    4                      /* of a queue this part must be free: small         \
                            * pieces are mostly heads */
/* Acknowledgements come in lumps of up to 64 kB, which at 100 Mbit/s takes 5 ms.
 * So a window begins and ends with one, if one comes within so much time. */
#define LUMP_NS (4 * TAUT_MS_NS)
#define LATE_NS TAUT_MS_NS /* of an answer: then the test begins later */
#define SENDS_PER_RUN 16   /* a fast receiver never fills up */

static const char too_busy[] = "this node was too busy to send in time";
static const char not_open[] =
    "the connection to the receiver was not open in time";
static const char no_answer[] = "the receiver did not answer its token";

static void close_stream(struct taut_sender *s, struct taut_sender_stream *st)
{
    if (st->id >= 0)
        s->endpoint->transport->reset(s->endpoint, st->id);
    st->id = -1;
}

static void look_at(struct taut_sender *s, struct taut_sender_stream *st)
{
    struct taut_stream_stats now;

    if (st->id >= 0 && st->is_connected &&
        s->endpoint->transport->stats(s->endpoint, st->id, &now) == 0)
        st->last = now;
}

static int64_t acked(struct taut_sender *s)
{
    int64_t sum = 0;

    for (int i = 0; i < s->test->streams; i++) {
        look_at(s, &s->streams[i]);
        sum += s->streams[i].last.acked_bytes - s->streams[i].acked_at_start;
    }
    return sum;
}

int64_t taut_sender_sent(struct taut_sender *s)
{
    int64_t sum = 0;

    for (int i = 0; i < s->test->streams; i++) {
        look_at(s, &s->streams[i]);
        sum += s->streams[i].last.sent_bytes;
    }
    return sum;
}

static void note_account(struct taut_sender *s,
                         const struct taut_sender_stream *st)
{
    struct taut_account part;

    if (st->id >= 0 && st->is_connected &&
        s->endpoint->transport->account != NULL &&
        s->endpoint->transport->account(s->endpoint, st->id, true, &part) == 0)
        taut_account_add(&s->measure->account, &part);
}

static void close_all(struct taut_sender *s)
{
    for (int i = 0; i < s->test->streams; i++) {
        look_at(s, &s->streams[i]);
        s->flight_bytes += s->streams[i].last.flight_bytes;
        note_account(s, &s->streams[i]);
        close_stream(s, &s->streams[i]);
    }
    s->done_ns = taut_now_ns();
    s->is_done = true;
}

void taut_sender_abort(struct taut_sender *s, const char *why)
{
    if (s->is_done)
        return;
    snprintf(s->measure->error, sizeof(s->measure->error), "%.*s",
             TAUT_RESULT_ERROR - 1, why);
    close_all(s);
}

static void fail(struct taut_sender *s, const char *doing, int why)
{
    char text[TAUT_RESULT_ERROR];

    if (*s->endpoint->why.text) {
        taut_sender_abort(s, s->endpoint->why.text);
        return;
    }
    snprintf(text, sizeof(text), "%s %.64s: %s", doing, s->test->peer,
             strerror(why));
    taut_sender_abort(s, text);
}

/* A stream broke while it was sent to.  After the end of the test that is no
 * failure: a receiver that was on time has closed it, this node was held up
 * between its look at the clock and the call. */
static void broke(struct taut_sender *s, const char *doing, int why)
{
    if (!s->is_started || taut_now_ns() < s->end_ns)
        fail(s, doing, why);
}

/* What a failed link looks like from here: a router on the way reports it, or
 * there is no answer.  That is a measurement, of 0 B/s; a peer that refuses is
 * not one. */
static bool is_unreachable(int why)
{
    return why == ETIMEDOUT || why == EHOSTUNREACH || why == ENETUNREACH;
}

void taut_sender_begin(struct taut_sender *s, struct taut_endpoint *endpoint,
                       const struct taut_test *test,
                       struct taut_measure *measure, int64_t plan_ns)
{
    memset(s, 0, sizeof(*s));
    s->endpoint = endpoint;
    s->test = test;
    s->measure = measure;
    s->start_ns = plan_ns + test->start_ms * TAUT_MS_NS;
    s->warm_ns = s->start_ns + test->dur_ms * TAUT_MS_NS / 5;
    s->warm_look_ns = s->warm_ns;
    s->end_ns = s->start_ns + test->dur_ms * TAUT_MS_NS;
    for (int i = 0; i < TAUT_PLAN_STREAMS; i++)
        s->streams[i].id = -1;
    for (int i = 0; i < test->streams; i++) {
        s->streams[i].limit_bytes = QUEUE_MIN_BYTES / test->streams;
        s->streams[i].id = endpoint->transport->connect(
            endpoint, test->peer, test->ports[i]);
        if (s->streams[i].id < 0 && !is_unreachable(errno)) {
            fail(s, "connect", errno);
            return;
        }
    }
}

/* Token and answer have gone there and back. */
static bool is_open(const struct taut_sender_stream *st)
{
    return st->is_connected && st->answer_got == TAUT_TOKEN;
}

static bool is_ping(const struct taut_sender *s)
{
    return s->test->mode == TAUT_MODE_LATENCY;
}

/* The next message goes out at once, its echo is waited for. */
static void watch_ping(struct taut_sender *s,
                       const struct taut_sender_stream *st,
                       struct taut_pollset *set)
{
    short events = s->ping.sent < TAUT_PING_BYTES ? POLLOUT : POLLIN;

    if (st->id >= 0)
        s->endpoint->transport->watch(s->endpoint, st->id, events, set);
}

/* When a receiver can have seen enough at the soonest: its window begins no
 * sooner than this end's.  Before that, or right after a window that began
 * late, this end has no count of its own, and the peer's need not be trusted.
 */
static int64_t enough_ns(const struct taut_sender *s)
{
    int64_t part_ns = (s->end_ns - s->warm_ns) / TAUT_RESULT_PARTS;
    int64_t seen_ns = s->started_ns + (s->warm_ns - s->start_ns) +
                      TAUT_ENOUGH_PARTS * part_ns;
    int64_t own_ns = s->warmed_ns + part_ns;

    return seen_ns > own_ns ? seen_ns : own_ns;
}

static bool may_end_early(const struct taut_sender *s)
{
    return s->test->enough_Bps > 0 && s->is_warm;
}

/* Is a stream's token still without an answer? One that is not even connected
 * is not waited for: its test finds that the peer is missing. */
static bool is_unanswered(const struct taut_sender *s)
{
    for (int i = 0; i < s->test->streams; i++) {
        const struct taut_sender_stream *st = &s->streams[i];

        if (st->id >= 0 && st->is_connected && !is_open(st))
            return true;
    }
    return false;
}

/* When the clock has something to say next.  While an answer is missing that
 * is the end of the patience for it. */
static int64_t next_ns(const struct taut_sender *s)
{
    if (!s->is_started)
        return is_unanswered(s) && s->start_ns <= taut_now_ns() ? s->warm_ns
                                                                : s->start_ns;
    return s->is_warm ? s->end_ns : s->warm_look_ns;
}

void taut_sender_watch(struct taut_sender *s, struct taut_pollset *set)
{
    if (s->is_done)
        return;
    taut_pollset_wake(set, next_ns(s));
    if (may_end_early(s) && !s->listens)
        taut_pollset_wake(set, enough_ns(s));
    for (int i = 0; i < s->test->streams; i++) {
        const struct taut_sender_stream *st = &s->streams[i];
        bool waits = st->token_sent == TAUT_TOKEN && !is_open(st);
        bool wants_out = st->token_sent < TAUT_TOKEN ||
                         (!waits && s->is_started && !st->rest_until_ns);
        short events = (short)((wants_out ? POLLOUT : 0) |
                               (waits || s->listens ? POLLIN : 0));

        if (st->rest_until_ns)
            taut_pollset_wake(set, st->rest_until_ns);
        if (is_open(st) && s->is_started && is_ping(s)) {
            watch_ping(s, st, set);
            continue;
        }
        /* Without something to write a stream whose peer has gone would
         * wake us without end; the next write finds out. */
        if (events && st->id >= 0)
            s->endpoint->transport->watch(s->endpoint, st->id, events, set);
    }
}

static void send_token(struct taut_sender *s, struct taut_sender_stream *st)
{
    ssize_t n = s->endpoint->transport->send(s->endpoint, st->id,
                                             s->test->token + st->token_sent,
                                             TAUT_TOKEN - st->token_sent);

    if (n > 0)
        st->token_sent += (size_t)n;
    else if (n < 0 && errno != EAGAIN && errno != EINTR)
        fail(s, "send to", errno);
}

/* Whoever says something else, or hangs up, is not a receiver of this test. */
static void take_answer(struct taut_sender *s, struct taut_sender_stream *st)
{
    unsigned char answer[TAUT_TOKEN];
    ssize_t n = s->endpoint->transport->receive(
        s->endpoint, st->id, st->answer + st->answer_got,
        TAUT_TOKEN - st->answer_got);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        fail(s, "token to", n < 0 ? errno : ECONNRESET);
        return;
    }
    st->answer_got += (size_t)n;
    taut_token_answer(answer, s->test->token);
    if (st->answer_got == TAUT_TOKEN &&
        sodium_memcmp(answer, st->answer, TAUT_TOKEN) != 0)
        fail(s, "answer of", EPROTO);
}

/* Right after the handshake its round trip is all that the estimate holds:
 * later there is queueing in it. */
static void note_handshake(struct taut_sender *s, struct taut_sender_stream *st)
{
    look_at(s, st);
    if (s->measure->rtt_ns < 0 || st->last.rtt_ns < s->measure->rtt_ns)
        s->measure->rtt_ns = st->last.rtt_ns;
}

static void open_stream(struct taut_sender *s, struct taut_sender_stream *st)
{
    if (!st->is_connected) {
        if (s->endpoint->transport->connected(s->endpoint, st->id) < 0) {
            if (errno == EAGAIN)
                return;
            if (is_unreachable(errno))
                close_stream(s, st);
            else
                fail(s, "connect", errno);
            return;
        }
        st->is_connected = true;
        st->connected_ns = taut_now_ns();
        note_handshake(s, st);
    }
    if (st->token_sent < TAUT_TOKEN)
        send_token(s, st);
}

static void send_payload(struct taut_sender *s, struct taut_sender_stream *st,
                         int64_t now_ns)
{
    st->rest_until_ns = 0;
    for (int sends = 0; sends < SENDS_PER_RUN; sends++) {
        int64_t room = s->endpoint->is_paced
                           ? INT64_MAX
                           : st->limit_bytes - s->endpoint->transport->queued(
                                                   s->endpoint, st->id);
        ssize_t n;

        if (room < st->limit_bytes / REFILL) {
            st->rest_until_ns = now_ns + REST_NS;
            return;
        }
        n = s->endpoint->transport->fill(s->endpoint, st->id, (size_t)room);
        if (n < 0) {
            if (errno != EAGAIN && errno != EINTR)
                broke(s, "send to", errno);
            return;
        }
    }
}

/* Let the queues hold QUEUE_MS of the rate since the start.  Over a shorter
 * time a lump of acknowledgements looks like a fast link; what passed at the
 * beginning through buckets of tokens does, too. */
static void adjust_limits(struct taut_sender *s, int64_t now_ns)
{
    int64_t limit = (int64_t)((double)(s->news_acked - BURST_BYTES) *
                              QUEUE_MS * TAUT_MS_NS /
                              (double)(now_ns - s->started_ns));

    if (limit < QUEUE_MIN_BYTES)
        limit = QUEUE_MIN_BYTES;
    for (int i = 0; i < s->test->streams; i++)
        s->streams[i].limit_bytes = limit / s->test->streams;
}

/* Did all of its tokens go out? */
static bool has_asked(const struct taut_sender *s)
{
    for (int i = 0; i < s->test->streams; i++) {
        if (s->streams[i].id >= 0 && s->streams[i].token_sent < TAUT_TOKEN)
            return false;
    }
    return true;
}

/* The receiver was a little late: the whole test is. */
static void shift(struct taut_sender *s, int64_t late_ns)
{
    s->start_ns += late_ns;
    s->warm_ns += late_ns;
    s->warm_look_ns += late_ns;
    s->end_ns += late_ns;
}

/* Before the test begins its streams are opened.  A peer that has not answered
 * when the warm-up would be over takes no part in it. */
static bool may_start(struct taut_sender *s, int64_t now_ns)
{
    if (now_ns < s->start_ns)
        return false;
    if (is_unanswered(s)) {
        s->waits = true;
        if (now_ns >= s->warm_ns)
            taut_sender_abort(s, has_asked(s) ? no_answer : too_busy);
        return false;
    }
    if (s->waits && now_ns - s->start_ns > LATE_NS)
        shift(s, now_ns - s->start_ns);
    return true;
}

static void start(struct taut_sender *s, int64_t now_ns)
{
    for (int i = 0; i < s->test->streams; i++) {
        look_at(s, &s->streams[i]);
        s->streams[i].acked_at_start = s->streams[i].last.acked_bytes;
    }
    s->started_ns = s->seen_ns = now_ns;
    s->is_started = true;
}

/* How long data was under way on the busiest stream since the warm-up: the
 * rest of the window the link had nothing to carry, and is not to blame.  A
 * connection without an answer was in progress all the time. */
static int64_t busy_since_warm(const struct taut_sender *s, int64_t now_ns)
{
    int64_t most = -1;

    for (int i = 0; i < s->test->streams; i++) {
        const struct taut_sender_stream *st = &s->streams[i];
        int64_t busy = st->last.busy_ns - st->busy_at_warm_ns;

        if (!st->is_connected)
            return now_ns - s->warmed_ns;
        if (st->last.busy_ns >= 0 && busy > most)
            most = busy;
    }
    return most;
}

/* Has more been acknowledged since the last look? */
static bool note_news(struct taut_sender *s, int64_t now_ns)
{
    int64_t sum = acked(s);

    if (sum == s->news_acked)
        return false;
    s->news_acked = sum;
    s->news_ns = now_ns;
    s->news_busy_ns = s->is_warm ? busy_since_warm(s, now_ns) : -1;
    return true;
}

/* The kernel smooths over some eight round trips; looks are further apart. */
static void note_trips(struct taut_sender *s)
{
    for (int i = 0; i < s->test->streams; i++) {
        if (s->streams[i].id >= 0 && s->streams[i].is_connected) {
            s->trip_sum_ns += s->streams[i].last.rtt_ns;
            s->trips++;
        }
    }
}

static void look(struct taut_sender *s, int64_t now_ns)
{
    if (now_ns - s->seen_ns < REST_NS)
        return;
    s->seen_ns = now_ns;
    (void)note_news(s, now_ns);
    if (s->is_warm)
        note_trips(s);
    adjust_limits(s, now_ns);
}

/* The window begins with the first news after the warm-up, or when none comes
 * for a while. */
static void warm(struct taut_sender *s, int64_t now_ns)
{
    int64_t patience_ns = (s->end_ns - s->warm_ns) / 5;

    if (patience_ns > LUMP_NS)
        patience_ns = LUMP_NS;
    if (!note_news(s, now_ns) && !is_ping(s) &&
        now_ns < s->warm_ns + patience_ns) {
        s->warm_look_ns = now_ns + REST_NS;
        return;
    }
    s->warm_acked = s->news_acked;
    for (int i = 0; i < s->test->streams; i++)
        s->streams[i].busy_at_warm_ns = s->streams[i].last.busy_ns;
    s->warmed_ns = now_ns;
    s->is_warm = true;
}

/* Has the peer answered a stream?  A node that was held up since it called may
 * have had no look at that yet; it may even have been sent away since. */
static bool is_answered(struct taut_sender *s)
{
    for (int i = 0; i < s->test->streams; i++) {
        const struct taut_sender_stream *st = &s->streams[i];

        if (st->is_connected)
            return true;
        if (st->id < 0)
            continue;
        if (s->endpoint->transport->connected(s->endpoint, st->id) == 0 ||
            (errno != EAGAIN && !is_unreachable(errno)))
            return true;
    }
    return false;
}

/* Was a stream still connecting when the window began, though its peer had
 * answered?  Two adapters and two processes took that long, not the way. */
static bool is_opened_late(const struct taut_sender *s)
{
    const struct taut_transport *transport = s->endpoint->transport;

    if (transport->is_answered == NULL)
        return false;
    for (int i = 0; i < s->test->streams; i++) {
        const struct taut_sender_stream *st = &s->streams[i];

        if (st->id >= 0 &&
            (!st->is_connected || st->connected_ns > s->warm_ns) &&
            transport->is_answered(s->endpoint, st->id))
            return true;
    }
    return false;
}

static void ping(struct taut_sender *s, struct taut_sender_stream *st)
{
    if (taut_pinger_run(&s->ping, s->endpoint, st->id, s->is_warm, s->end_ns) <
        0)
        broke(s, "latency of", errno);
}

static void note_latency(struct taut_sender *s)
{
    s->measure->lat_n = s->ping.times.n;
    s->measure->lat_median_ns = taut_latency_quantile(&s->ping.times, 50);
    s->measure->lat_p99_ns = taut_latency_quantile(&s->ping.times, 99);
    s->measure->bytes = s->ping.times.n * TAUT_PING_BYTES;
    s->measure->total_bytes = s->ping.sent_bytes;
    s->measure->busy_ns = -1;
}

static void finish(struct taut_sender *s, int64_t now_ns)
{
    int64_t window_ns = now_ns - s->warmed_ns, busy_ns = -1;

    /* Nothing was sent, but the link is not to blame. */
    if (*s->endpoint->why.text) {
        taut_sender_abort(s, s->endpoint->why.text);
        return;
    }
    if (!s->is_warm && is_answered(s)) {
        taut_sender_abort(s, too_busy);
        return;
    }
    if (is_opened_late(s)) {
        taut_sender_abort(s, not_open);
        return;
    }
    (void)note_news(s, now_ns);
    if (s->is_warm)
        busy_ns = busy_since_warm(s, now_ns);
    if (s->is_warm && s->news_ns > s->warmed_ns &&
        now_ns - s->news_ns < LUMP_NS) {
        window_ns = s->news_ns - s->warmed_ns;
        busy_ns = s->news_busy_ns;
    }
    s->measure->total_bytes = s->news_acked;
    s->measure->bytes = s->is_warm ? s->news_acked - s->warm_acked : 0;
    s->measure->window_ns = s->is_warm ? window_ns : s->end_ns - s->warm_ns;
    s->measure->busy_ns = busy_ns;
    if (s->trips > 0)
        s->measure->mean_rtt_ns = s->trip_sum_ns / s->trips;
    if (is_ping(s))
        note_latency(s);
    close_all(s);
}

static void run_streams(struct taut_sender *s, int64_t now_ns)
{
    for (int i = 0; i < s->test->streams && !s->is_done; i++) {
        struct taut_sender_stream *st = &s->streams[i];

        if (st->id < 0)
            continue;
        if (st->token_sent < TAUT_TOKEN)
            open_stream(s, st);
        else if (!is_open(st))
            take_answer(s, st);
        else if (s->is_started && is_ping(s))
            ping(s, st);
        else if (s->is_started && now_ns >= st->rest_until_ns)
            send_payload(s, st, now_ns);
    }
}

/* Has the receiver said that it has seen enough?  A stream that broke, or on
 * which something else came, ends its test here: it would wake us without end.
 * What is wrong with a connection is open_stream()'s to find out. */
static bool is_told_enough(struct taut_sender *s, int64_t now_ns)
{
    struct taut_sender_stream *st = &s->streams[0];
    char word = 0;
    ssize_t n;

    s->listens = may_end_early(s) && now_ns >= enough_ns(s);
    if (!s->listens || st->id < 0 || !is_open(st))
        return false;
    n = s->endpoint->transport->receive(s->endpoint, st->id, &word, 1);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n == 1 && word == TAUT_ENOUGH_WORD)
        return true;
    broke(s, "receive from", n < 0 ? errno : EPROTO);
    return false;
}

void taut_sender_run(struct taut_sender *s, int64_t now_ns)
{
    if (s->is_done)
        return;
    if (!s->is_started && may_start(s, now_ns))
        start(s, now_ns);
    if (s->is_done)
        return;
    if (s->is_started && (now_ns >= s->end_ns || is_told_enough(s, now_ns))) {
        finish(s, now_ns);
        return;
    }
    if (s->is_started && !s->is_warm && now_ns >= s->warm_ns)
        warm(s, now_ns);
    run_streams(s, now_ns);
    if (s->is_started && !s->is_done)
        look(s, now_ns);
}
