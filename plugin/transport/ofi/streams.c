/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Streams over libfabric's reliable datagrams.
 *
 * Each message has a head: what it is, which of the receiver's streams it
 * belongs to (a random number), and a value.
 *   OPEN    value: the sender's number; its name follows.  to: 0
 *   OPENED  value: the acceptor's number
 *   DATA    bytes follow
 *   ACK     value: payload bytes that were taken so far
 *   RESET   the stream is over
 * What was sent and not acknowledged is under way, wherever it stands.
 *
 * Where each peer has a connection, all of them share the receives that an endpoint
 * has posted, and nothing holds a sender back before these run out.  So the data of
 * all streams to one peer are at most TAUT_OFI_WINDOW messages under way, of which each
 * stream has the same share: those that come first would leave the last of 16 none. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "plugin/common/clock.h"
#include "plugin/transport/ofi/streams.h"

/* Payload of a message: CHUNK_US of the rate, so that heads (100 bytes with
 * those of the tcp provider) take little of a link and a message little of a
 * window; the receiver counts whole ones.  It begins with the least, so that
 * a test over what is very slow has many of them, and grows with the rate. */
#define CHUNK_US 2000
#define CHUNK_MIN 8192
#define CHUNK_MIN_PINNED 2048 /* of connections, whose heads are smaller */

/* Of a connection nothing that was sent can be taken back: it goes out when the next
 * test has begun.  So a stream has no more under way than so many messages, and as many
 * of the least until its rate is known. */
#define MESSAGES 4
#define BURST_BYTES (64 * 1024) /* pass buckets of tokens at once: no rate */

static size_t least_chunk(const struct taut_ofi_streams *o)
{
    return o->net.msg != NULL ? CHUNK_MIN_PINNED : CHUNK_MIN;
}

/* The stream a message is for, or NULL. */
static struct taut_ofi_stream *find(struct taut_ofi_streams *o, uint64_t number)
{
    struct taut_ofi_stream *s = &o->streams[number % TAUT_OFI_STREAMS];

    return s->state != TAUT_OFI_STATE_FREE && s->own == number ? s : NULL;
}

/* What counts messages to the stream's peer, or NULL: there are no connections. */
static struct taut_ofi_share *share_of(struct taut_ofi_streams *o,
                                       const struct taut_ofi_stream *s)
{
    return o->net.msg != NULL && s->address < TAUT_OFI_PEERS
               ? &o->shares[s->address]
               : NULL;
}

int taut_ofi_stream_new(struct taut_ofi_streams *o, enum taut_ofi_state state,
                        fi_addr_t address)
{
    uint64_t noise;

    if (getrandom(&noise, sizeof(noise), GRND_NONBLOCK) != sizeof(noise))
        return -1;
    for (int i = 0; i < TAUT_OFI_STREAMS; i++) {
        struct taut_ofi_stream *s = &o->streams[i];

        if (s->state != TAUT_OFI_STATE_FREE)
            continue;
        memset(s, 0, sizeof(*s));
        s->state = state;
        s->own =
            (noise | TAUT_OFI_STREAMS) / TAUT_OFI_STREAMS * TAUT_OFI_STREAMS +
            (uint64_t)i;
        s->address = address;
        if (share_of(o, s) != NULL)
            share_of(o, s)->streams++;
        s->chunk = least_chunk(o);
        s->window = MESSAGES * s->chunk;
        s->opened_ns = taut_now_ns();
        if (i >= o->used)
            o->used = i + 1;
        return i;
    }
    errno = ENOBUFS;
    return -1;
}

/* ---- sending ---- */

static int post(struct taut_ofi_streams *o, struct taut_ofi_stream *s,
                struct taut_ofi_buffer *b, struct taut_ofi_head head)
{
    memcpy(b->bytes, &head, sizeof(head));
    b->length = sizeof(head) + head.length;
    b->owner = s->own;
    return taut_ofi_send(&o->net, b, s->address);
}

int taut_ofi_tell(struct taut_ofi_streams *o, struct taut_ofi_stream *s,
                  enum taut_ofi_type type, uint64_t value)
{
    struct taut_ofi_buffer *b = taut_ofi_take(&o->net, 0);
    struct taut_ofi_head head = {.type = type, .to = s->peer, .value = value};

    if (b == NULL) {
        errno = EAGAIN;
        return -1;
    }
    if (type == TAUT_OFI_OPEN) {
        head.length = (uint32_t)o->net.name_length;
        memcpy(b->bytes + sizeof(head), o->net.name, o->net.name_length);
    }
    return post(o, s, b, head);
}

void taut_ofi_tell_due(struct taut_ofi_streams *o, struct taut_ofi_stream *s)
{
    if (s->due != TAUT_OFI_NONE && !s->error) {
        if (taut_ofi_tell(o, s, s->due, s->own) == 0)
            s->due = TAUT_OFI_NONE;
        else if (errno != EAGAIN)
            s->error = errno;
    }
    if (s->unacked > 0 && !s->error &&
        taut_ofi_tell(o, s, TAUT_OFI_ACK, (uint64_t)s->taken_bytes) == 0)
        s->unacked = 0;
}

/* Messages that a stream may have under way. */
static int most_of(const struct taut_ofi_share *share)
{
    return share->streams < TAUT_OFI_WINDOW ? TAUT_OFI_WINDOW / share->streams
                                            : 1;
}

bool taut_ofi_may_send(struct taut_ofi_streams *o,
                       const struct taut_ofi_stream *s)
{
    const struct taut_ofi_share *share = share_of(o, s);

    if (s->state != TAUT_OFI_STATE_OPEN ||
        o->net.free_send_count <= TAUT_OFI_RESERVE)
        return false;
    return share == NULL ||
           (share->under_way < TAUT_OFI_WINDOW &&
            s->under_way < most_of(share) &&
            s->sent_bytes - s->acked_bytes < (int64_t)s->window);
}

static void note_sent(struct taut_ofi_streams *o, struct taut_ofi_stream *s)
{
    struct taut_ofi_share *share = share_of(o, s);

    if (share == NULL)
        return;
    s->sent[(s->oldest + s->under_way++) % TAUT_OFI_WINDOW] =
        (struct taut_ofi_sent){.end = s->sent_bytes,
                               .bytes = s->sent_bytes - s->acked_bytes,
                               .at_ns = taut_now_ns()};
    share->under_way++;
}

void taut_ofi_stream_end(struct taut_ofi_streams *o, struct taut_ofi_stream *s)
{
    struct taut_ofi_share *share = share_of(o, s);

    if (share != NULL && s->state != TAUT_OFI_STATE_FREE) {
        share->under_way -= s->under_way;
        share->streams--;
    }
    s->under_way = 0;
    s->state = TAUT_OFI_STATE_FREE;
}

ssize_t taut_ofi_send_data(struct taut_ofi_streams *o,
                           struct taut_ofi_stream *s, const void *data,
                           size_t n)
{
    struct taut_ofi_buffer *b;
    struct taut_ofi_head head = {.type = TAUT_OFI_DATA, .to = s->peer};

    if (s->error || o->net.error) {
        errno = s->error ? s->error : o->net.error;
        return -1;
    }
    b = taut_ofi_may_send(o, s) ? taut_ofi_take(&o->net, TAUT_OFI_RESERVE)
                                : NULL;
    if (b == NULL) {
        errno = EAGAIN;
        return -1;
    }
    if (data != NULL)
        memcpy(b->bytes + sizeof(head), data, n);
    head.length = (uint32_t)n;
    if (post(o, s, b, head) < 0)
        return -1;
    s->sent_bytes += (int64_t)n;
    note_sent(o, s);
    return (ssize_t)n;
}

/* ---- what comes in ---- */

static void take_open(struct taut_ofi_streams *o,
                      const struct taut_ofi_head *head,
                      const unsigned char *name)
{
    fi_addr_t address;
    int i;

    if (taut_ofi_peer(&o->net, name, head->length, true, &address) < 0)
        return;
    i = taut_ofi_stream_new(o, TAUT_OFI_STATE_WAITING, address);
    if (i < 0)
        return;
    o->streams[i].peer = head->value;
    o->streams[i].due = TAUT_OFI_OPENED;
    taut_ofi_tell_due(o, &o->streams[i]);
}

/* A message becomes the stream's, to be taken by receive or discard. */
static void keep(struct taut_ofi_stream *s, struct taut_ofi_buffer *b)
{
    b->next = NULL;
    b->begin = sizeof(struct taut_ofi_head);
    if (s->last != NULL)
        s->last->next = b;
    else
        s->first = b;
    s->last = b;
}

static size_t between(double x, size_t least, size_t most)
{
    return x < (double)least ? least : x < (double)most ? (size_t)x : most;
}

/* As much as the rate carries in CHUNK_US; not yet known at the start, and what passes
 * buckets of tokens at once tells nothing of it. */
static void adjust_chunk(const struct taut_ofi_streams *o,
                         struct taut_ofi_stream *s)
{
    int64_t now_ns = taut_now_ns();

    if (s->acked_bytes < BURST_BYTES)
        return;
    if (s->burst_ns == 0) {
        s->burst_ns = now_ns;
        s->burst_bytes = s->acked_bytes;
    }
    if (now_ns > s->burst_ns)
        s->chunk =
            between((double)(s->acked_bytes - s->burst_bytes) * 1000 *
                        CHUNK_US / (double)(now_ns - s->burst_ns),
                    least_chunk(o), taut_ofi_payload(o));
}

/* Twice as much under way each time while answers come hardly later than the quickest:
 * it does not stand anywhere.  Then as much as the rate carries in that time, and half of
 * it, and in CHUNK_US a message.  What is late with the least under way is not late by it:
 * the receiver, or others' queues, take so long. */
static void adjust_window(struct taut_ofi_streams *o, struct taut_ofi_stream *s,
                          const struct taut_ofi_sent *sent, int64_t acked)
{
    int most = most_of(share_of(o, s));
    int messages = most < MESSAGES ? most : MESSAGES;
    int64_t stand_ns = (int64_t)messages * CHUNK_US * 1000, usual_ns;
    int64_t trip_ns = taut_now_ns() - sent->at_ns;
    size_t least = (size_t)messages * least_chunk(o);
    double window = (double)s->window + (double)acked;

    if (s->least_ns == 0 || trip_ns < s->least_ns)
        s->least_ns = trip_ns;
    usual_ns = s->least_ns * 3 / 2;
    if (trip_ns > usual_ns + stand_ns / 2)
        window = (double)sent->bytes * (double)(usual_ns + stand_ns) /
                 (double)trip_ns;
    if (window <= (double)least && trip_ns > usual_ns + stand_ns)
        s->least_ns = trip_ns;
    s->window = between(window, least, (size_t)most * taut_ofi_payload(o));
    s->chunk = between((double)s->window / messages, least_chunk(o),
                       taut_ofi_payload(o));
}

/* All that the peer has taken is under way no more. */
static void note_acked(struct taut_ofi_streams *o, struct taut_ofi_stream *s,
                       int64_t acked)
{
    const struct taut_ofi_sent *last = NULL;

    while (s->under_way > 0 && s->sent[s->oldest].end <= s->acked_bytes) {
        last = &s->sent[s->oldest];
        s->oldest = (s->oldest + 1) % TAUT_OFI_WINDOW;
        s->under_way--;
        share_of(o, s)->under_way--;
    }
    if (last != NULL)
        adjust_window(o, s, last, acked);
}

static void take_ack(struct taut_ofi_streams *o, struct taut_ofi_stream *s,
                     uint64_t bytes)
{
    int64_t acked = (int64_t)bytes - s->acked_bytes;

    if (bytes > (uint64_t)s->sent_bytes || acked < 0)
        return;
    s->acked_bytes = (int64_t)bytes;
    if (share_of(o, s) != NULL)
        note_acked(o, s, acked);
    else
        adjust_chunk(o, s);
}

/* Returns true when the message is still needed. */
static bool take_message(struct taut_ofi_streams *o, struct taut_ofi_buffer *b)
{
    struct taut_ofi_head head;
    struct taut_ofi_stream *s;

    if (taut_ofi_head_parse(&head, b->bytes, b->length) < 0)
        return false;
    if (head.type == TAUT_OFI_OPEN) {
        take_open(o, &head, b->bytes + sizeof(head));
        return false;
    }
    s = find(o, head.to);
    if (s == NULL)
        return false;
    switch ((enum taut_ofi_type)head.type) {
    case TAUT_OFI_OPENED:
        if (s->state != TAUT_OFI_STATE_OPENING)
            return false;
        s->peer = head.value;
        s->rtt_ns = taut_now_ns() - s->opened_ns;
        s->state = TAUT_OFI_STATE_OPEN;
        return false;
    case TAUT_OFI_DATA:
        keep(s, b);
        return true;
    case TAUT_OFI_ACK:
        take_ack(o, s, head.value);
        return false;
    case TAUT_OFI_RESET:
        s->error = ECONNRESET;
        return false;
    case TAUT_OFI_OPEN:
    case TAUT_OFI_NONE:
        break;
    }
    return false;
}

static void take_event(struct taut_ofi_streams *o,
                       const struct taut_ofi_event *event)
{
    struct taut_ofi_buffer *b = event->buffer;
    struct taut_ofi_stream *s;

    if (b->is_send && event->error) {
        s = find(o, b->owner);
        if (s != NULL)
            s->error = event->error;
    }
    if (b->is_send || event->error || !take_message(o, b))
        taut_ofi_give(&o->net, b);
}

void taut_ofi_progress(struct taut_ofi_streams *o)
{
    struct taut_ofi_event event;

    for (int i = 0; i < TAUT_OFI_RECEIVES && taut_ofi_next(&o->net, &event); i++)
        take_event(o, &event);
}
