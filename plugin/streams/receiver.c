/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "plugin/common/clock.h"
#include "plugin/streams/receiver.h"
#include "plugin/streams/token.h"

#define READS_PER_LOOK 16 /* so that the clock is seen in time */

/* Data come in lumps: offloading hands 16 to 64 kB at once to a link, which
 * at 50 Mbit/s takes 3 to 10 ms.  A lump counts as spread over the time
 * since the one before it, if that is not longer than this; a border waits
 * as long for the lump that spans it. */
#define LUMP_NS (4 * TAUT_MS_NS)

void taut_receiver_begin(struct taut_receiver *r, struct taut_inflow *inflows,
                         struct taut_endpoint *endpoints, size_t count)
{
    memset(r, 0, sizeof(*r));
    r->inflows = inflows;
    r->endpoints = endpoints;
    r->endpoint_count = count;
}

struct taut_inflow *taut_receiver_add(struct taut_receiver *r,
                                      struct taut_endpoint *endpoint,
                                      const struct taut_test *test,
                                      struct taut_measure *measure,
                                      int64_t plan_ns)
{
    struct taut_inflow *in = &r->inflows[r->count++];
    int ms = test->start_ms + test->dur_ms + TAUT_RECEIVE_GRACE_MS;

    memset(in, 0, sizeof(*in));
    in->test = test;
    in->measure = measure;
    in->endpoint = endpoint;
    if (taut_address_parse(&in->from, test->peer, NULL) < 0)
        in->from.length = 0;
    in->give_up_ns = plan_ns + ms * TAUT_MS_NS;
    for (int i = 0; i < TAUT_PLAN_STREAMS; i++)
        in->streams[i] = -1;
    return in;
}

/* Border number 'k' of the window: the first is the end of the warm-up. */
static int64_t border_ns(const struct taut_inflow *in, int k)
{
    int64_t dur_ns = in->test->dur_ms * TAUT_MS_NS;

    return in->first_ns + dur_ns / 5 + dur_ns * 4 / 5 * k / TAUT_RESULT_PARTS;
}

/* When somebody must look, should nothing come. */
static int64_t due_ns(const struct taut_inflow *in)
{
    int64_t border;

    if (!in->first_ns)
        return in->give_up_ns;
    border = border_ns(in, in->next_mark);
    return in->look_ns < border ? border : border + LUMP_NS;
}

static void watch_inflow(struct taut_inflow *in, struct taut_pollset *set)
{
    short events = in->echo.owed > 0 ? POLLOUT : POLLIN;

    if (!in->is_done)
        taut_pollset_wake(set, due_ns(in));
    for (int i = 0; i < in->accepted; i++) {
        if (in->streams[i] >= 0)
            in->endpoint->transport->watch(in->endpoint, in->streams[i], events,
                                           set);
    }
}

void taut_receiver_watch(struct taut_receiver *r, struct taut_pollset *set)
{
    for (size_t i = 0; i < r->endpoint_count; i++) {
        struct taut_endpoint *ep = &r->endpoints[i];

        if (ep->transport != NULL && r->stranger_count < TAUT_PENDING_MAX)
            ep->transport->watch(ep, -1, POLLIN, set);
    }
    for (size_t i = 0; i < r->stranger_count; i++) {
        struct taut_stranger *s = &r->strangers[i];

        s->endpoint->transport->watch(s->endpoint, s->stream, POLLIN, set);
        if (r->stranger_count == TAUT_PENDING_MAX)
            taut_pollset_wake(set, s->until_ns);
    }
    for (size_t i = 0; i < r->count; i++)
        watch_inflow(&r->inflows[i], set);
}

static void refuse(struct taut_receiver *r, const struct taut_stranger *s)
{
    s->endpoint->transport->reset(s->endpoint, s->stream);
    r->refused++;
}

/* A connection that is not a stream of the plan. */
static void note_stranger(struct taut_receiver *r,
                          const struct taut_endpoint *ep)
{
    for (size_t i = 0; i < r->count; i++) {
        if (r->inflows[i].endpoint == ep && !r->inflows[i].is_done)
            r->inflows[i].strangers++;
    }
}

/* Those who came found no room: a test's own streams may be among them. */
static void note_full(struct taut_receiver *r, const struct taut_endpoint *ep)
{
    for (size_t i = 0; i < r->count; i++) {
        if (r->inflows[i].endpoint == ep && !r->inflows[i].is_done)
            r->inflows[i].full++;
    }
}

/* Does a stream come from where one of the plan's senders is? */
static bool is_expected(const struct taut_receiver *r, struct taut_endpoint *ep,
                        int stream)
{
    struct taut_address from;

    if (ep->transport->from == NULL)
        return true;
    if (ep->transport->from(ep, stream, &from) < 0)
        return false;
    for (size_t i = 0; i < r->count; i++) {
        const struct taut_inflow *in = &r->inflows[i];

        if (in->endpoint == ep && (in->from.length == 0 ||
                                   taut_address_same_host(&in->from, &from)))
            return true;
    }
    return false;
}

/* More than the plan has streams: some are foreign, whatever they say. */
static bool is_crowded(const struct taut_receiver *r)
{
    size_t streams = 0;

    for (size_t i = 0; i < r->count; i++)
        streams += (size_t)r->inflows[i].test->streams;
    return r->admitted > streams;
}

/* Every token is compared, in constant time each: how long it takes tells
 * nothing about how close a guess was. */
static struct taut_inflow *match(struct taut_receiver *r,
                                 const struct taut_stranger *s)
{
    struct taut_inflow *found = NULL;

    for (size_t i = 0; i < r->count; i++) {
        if (sodium_memcmp(r->inflows[i].test->token, s->token, TAUT_TOKEN) == 0)
            found = &r->inflows[i];
    }
    if (found == NULL)
        note_stranger(r, s->endpoint);
    if (found != NULL && found->endpoint != s->endpoint)
        return NULL;
    if (found != NULL &&
        (found->is_done || found->accepted == found->test->streams))
        return NULL;
    return found;
}

/* Tell the sender that its receiver is here.
 * Returns 1, 0 when there is no room for that yet, or -1. */
static int answer_token(const struct taut_stranger *s)
{
    unsigned char answer[TAUT_TOKEN];
    ssize_t n;

    taut_token_answer(answer, s->token);
    n = s->endpoint->transport->send(s->endpoint, s->stream, answer,
                                     sizeof(answer));
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    return n == (ssize_t)sizeof(answer) ? 1 : -1;
}

/* A whole token came.  Returns true when the stranger is one no more. */
static bool take_token(struct taut_receiver *r, struct taut_stranger *s)
{
    struct taut_inflow *in = match(r, s);
    int rc = in != NULL ? answer_token(s) : -1;

    if (rc < 0)
        refuse(r, s);
    if (rc > 0) {
        in->streams[in->accepted++] = s->stream;
        in->open++;
    }
    return rc != 0;
}

/* A connection that is late by 'late_ns' is closed.  Returns true when the
 * stranger is not one any more. */
static bool ask_token(struct taut_receiver *r, struct taut_stranger *s,
                      int64_t late_ns)
{
    ssize_t n = 1;

    if (s->length < TAUT_TOKEN) {
        n = s->endpoint->transport->receive(s->endpoint, s->stream,
                                            s->token + s->length,
                                            TAUT_TOKEN - s->length);
        if (n > 0)
            s->length += (size_t)n;
    }
    if (s->length == TAUT_TOKEN)
        return take_token(r, s);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR) ||
        late_ns >= s->until_ns) {
        refuse(r, s);
        return true;
    }
    return false;
}

/* Time runs out only where room is wanted: a sender that was held up between
 * its connection and its token is not a stranger. */
static void ask_strangers(struct taut_receiver *r, int64_t now_ns)
{
    int64_t late_ns = r->stranger_count == TAUT_PENDING_MAX ? now_ns : -1;

    for (size_t i = 0; i < r->stranger_count;) {
        if (ask_token(r, &r->strangers[i], late_ns))
            r->strangers[i] = r->strangers[--r->stranger_count];
        else
            i++;
    }
}

/* When too many strangers are pending the others wait in the system's
 * queue: the streams of a large plan come all at once. */
static void accept_from(struct taut_receiver *r, struct taut_endpoint *ep,
                        int64_t now_ns)
{
    if (ep->transport->is_full != NULL && ep->transport->is_full(ep))
        note_full(r, ep);
    for (int n = 0; n < TAUT_ACCEPTS_MAX; n++) {
        struct taut_stranger *s;
        int stream;

        if (r->stranger_count == TAUT_PENDING_MAX)
            return;
        stream = ep->transport->accept(ep);
        if (stream < 0)
            return;
        if (!is_expected(r, ep, stream)) {
            ep->transport->reset(ep, stream);
            note_stranger(r, ep);
            r->refused++;
            continue;
        }
        r->admitted++;
        if (is_crowded(r))
            note_stranger(r, ep);
        s = &r->strangers[r->stranger_count++];
        s->endpoint = ep;
        s->stream = stream;
        s->until_ns = now_ns + TAUT_TOKEN_MS * TAUT_MS_NS;
        s->length = 0;
    }
}

static void note_account(struct taut_inflow *in, int i)
{
    const struct taut_transport *transport = in->endpoint->transport;
    struct taut_account part;

    if (!in->is_settled && in->streams[i] >= 0 && transport->account != NULL &&
        transport->account(in->endpoint, in->streams[i], false, &part) == 0)
        taut_account_add(&in->measure->account, &part);
}

void taut_receiver_settle(struct taut_inflow *in)
{
    for (int i = 0; i < in->accepted; i++)
        note_account(in, i);
    if (in->open > 0 || in->accepted < in->test->streams)
        in->measure->account.segments = -1;
    in->is_settled = true;
}

static void close_stream(struct taut_inflow *in, int i)
{
    note_account(in, i);
    if (in->streams[i] >= 0)
        in->endpoint->transport->reset(in->endpoint, in->streams[i]);
    in->streams[i] = -1;
}

static ssize_t take(struct taut_inflow *in, int i)
{
    if (in->test->mode == TAUT_MODE_LATENCY)
        return taut_pinger_echo(&in->echo, in->endpoint, in->streams[i],
                                in->first_ns && !in->is_done);
    return in->endpoint->transport->discard(in->endpoint, in->streams[i]);
}

static void drain_one(struct taut_inflow *in, int i)
{
    bool is_ping = in->test->mode == TAUT_MODE_LATENCY;

    for (int reads = 0; reads < (is_ping ? 1 : READS_PER_LOOK); reads++) {
        ssize_t n = take(in, i);

        if (n > 0) {
            in->total_bytes += n;
            continue;
        }
        if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
            close_stream(in, i);
            in->open--;
        }
        return;
    }
}

static void drain(struct taut_inflow *in)
{
    for (int i = 0; i < in->accepted; i++) {
        if (in->streams[i] >= 0)
            drain_one(in, i);
    }
}

/* What had come at 'when_ns', which lies between the last arrival and this
 * one.  After a longer silence only the time since the last look, which
 * found nothing, is in doubt. */
static int64_t bytes_at(const struct taut_inflow *in, int64_t when_ns,
                        int64_t now_ns)
{
    int64_t from_ns = in->last_ns;
    double part;

    if (now_ns - from_ns > LUMP_NS && in->look_ns > from_ns)
        from_ns = in->look_ns;
    if (when_ns <= from_ns)
        return in->last_bytes;
    part = (double)(when_ns - from_ns) / (double)(now_ns - from_ns);
    return in->last_bytes +
           (int64_t)(part * (double)(in->total_bytes - in->last_bytes));
}

/* Of the whole window, or of its first parts. */
static int64_t window_ns(const struct taut_inflow *in, int parts)
{
    return in->test->dur_ms * TAUT_MS_NS * 4 / 5 * parts / TAUT_RESULT_PARTS;
}

/* Did each of the first parts bring what the plan calls enough, none of them a
 * guess?  Asked once, when they are over.  What comes in lumps too large for
 * that, or with gaps, is looked at to the end. */
static bool is_enough(const struct taut_inflow *in)
{
    double least =
        (double)in->test->enough_Bps * (double)window_ns(in, 1) / 1e9;

    if (in->test->enough_Bps == 0 || in->next_mark != TAUT_ENOUGH_PARTS + 1)
        return false;
    for (int i = 0; i < TAUT_ENOUGH_PARTS; i++) {
        if (!(in->looked & 1u << i) ||
            (double)(in->marks[i + 1] - in->marks[i]) < least)
            return false;
    }
    return true;
}

/* Its sender need not go on; one that does not listen goes on to its end. */
static void say_enough(struct taut_inflow *in)
{
    static const char word = TAUT_ENOUGH_WORD;

    if (in->streams[0] >= 0)
        in->endpoint->transport->send(in->endpoint, in->streams[0], &word, 1);
}

static void finish(struct taut_inflow *in, int64_t now_ns, int parts)
{
    struct taut_measure *m = in->measure;

    for (int i = 0; i < parts; i++)
        m->sub_bytes[i] = in->marks[i + 1] - in->marks[i];
    m->parts = parts;
    if (in->first_ns)
        m->looks = __builtin_popcount(in->looked & ((1u << parts) - 1));
    m->bytes = in->marks[parts] - in->marks[0];
    m->window_ns = window_ns(in, parts);
    m->total_bytes = in->marks[parts];
    m->strangers = in->strangers;
    m->full = in->full;
    if (!in->first_ns) /* "" unless this end could receive nothing */
        snprintf(m->error, sizeof(m->error), "%.*s", TAUT_RESULT_ERROR - 1,
                 in->endpoint->why.text);
    in->done_ns = now_ns;
    in->is_done = true;
}

/* Note the borders that an arrival, or a long enough silence, has settled. */
static void set_marks(struct taut_inflow *in, int64_t now_ns)
{
    bool is_news = in->total_bytes > in->last_bytes;
    bool is_over = in->open == 0 && in->accepted == in->test->streams;
    int64_t settled_ns = is_news || is_over ? now_ns : now_ns - LUMP_NS;

    while (in->next_mark <= TAUT_RESULT_PARTS &&
           border_ns(in, in->next_mark) <= settled_ns) {
        in->marks[in->next_mark] =
            bytes_at(in, border_ns(in, in->next_mark), now_ns);
        in->next_mark++;
    }
    if (is_news) {
        in->last_ns = now_ns;
        in->last_bytes = in->total_bytes;
    }
}

static void note_look(struct taut_inflow *in, int64_t now_ns)
{
    for (int i = 0; i < TAUT_RESULT_PARTS; i++) {
        if (now_ns >= border_ns(in, i) && now_ns < border_ns(in, i + 1))
            in->looked |= 1u << i;
    }
}

static void look(struct taut_inflow *in)
{
    int64_t now_ns = taut_now_ns();

    if (!in->first_ns && in->total_bytes > 0) {
        in->first_ns = now_ns;
        in->last_ns = now_ns;
        in->last_bytes = in->total_bytes;
    }
    if (in->first_ns) {
        note_look(in, now_ns);
        set_marks(in, now_ns);
    }
    in->look_ns = now_ns;
    if (in->next_mark > TAUT_RESULT_PARTS ||
        (!in->first_ns && now_ns >= in->give_up_ns)) {
        finish(in, now_ns, TAUT_RESULT_PARTS);
    } else if (is_enough(in)) {
        say_enough(in);
        finish(in, now_ns, TAUT_ENOUGH_PARTS);
    }
}

void taut_receiver_run(struct taut_receiver *r, int64_t now_ns)
{
    for (size_t i = 0; i < r->endpoint_count; i++) {
        if (r->endpoints[i].transport != NULL)
            accept_from(r, &r->endpoints[i], now_ns);
    }
    ask_strangers(r, now_ns);
    for (size_t i = 0; i < r->count; i++) {
        drain(&r->inflows[i]);
        if (!r->inflows[i].is_done)
            look(&r->inflows[i]);
    }
}

void taut_receiver_end(struct taut_receiver *r, const char *why)
{
    for (size_t i = 0; i < r->stranger_count; i++)
        refuse(r, &r->strangers[i]);
    r->stranger_count = 0;
    for (size_t i = 0; i < r->count; i++) {
        struct taut_inflow *in = &r->inflows[i];

        for (int k = 0; k < in->accepted; k++)
            close_stream(in, k);
        in->open = 0;
        if (!in->is_done)
            snprintf(in->measure->error, sizeof(in->measure->error), "%s", why);
    }
}
