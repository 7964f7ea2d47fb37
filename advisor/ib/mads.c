/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "advisor/ib/mads.h"

#define GRACE_MS 100 /* the kernel says itself that time is up; wait for it */
#define WAIT_MAX_MS 1000
#define RECEIVE_ERRORS 100 /* in a row */
#define RESPONSE_BIT 0x80

struct slot {
    struct taut_mad *mad; /* NULL: free */
    uint32_t tid;
    uint64_t until_ns;
};

struct taut_mads {
    struct taut_mad_port port;
    struct taut_mads_options o;
    struct taut_mads_counts counts;
    struct taut_mad_peer *head, *tail; /* those with something to send */
    struct slot slots[TAUT_MADS_MAX];
    uint8_t idle[TAUT_MADS_MAX]; /* numbers of free slots */
    unsigned idle_count;
    uint32_t serial;
    uint64_t end_ns;
    unsigned errors; /* of receiving, in a row */
};

static uint64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

struct taut_mads *taut_mads_create(const struct taut_mad_port *port,
                                   const struct taut_mads_options *options)
{
    struct taut_mads *mads;

    if (options->max < 1 || options->max > TAUT_MADS_MAX ||
        options->per_peer < 1 || options->tries < 1 ||
        options->timeout_ms < 1) {
        errno = EINVAL;
        return NULL;
    }
    mads = calloc(1, sizeof(*mads));
    if (mads == NULL)
        return NULL;
    mads->port = *port;
    mads->o = *options;
    mads->end_ns = now_ns() + options->time_ns;
    for (unsigned i = 0; i < options->max; i++)
        mads->idle[mads->idle_count++] = (uint8_t)i;
    return mads;
}

void taut_mads_destroy(struct taut_mads *mads)
{
    free(mads);
}

const struct taut_mads_counts *taut_mads_counts(const struct taut_mads *mads)
{
    return &mads->counts;
}

/* ---- queues ---- */

static void queue_peer(struct taut_mads *mads, struct taut_mad_peer *peer)
{
    if (peer->queued || peer->head == NULL ||
        peer->under_way >= mads->o.per_peer)
        return;
    peer->queued = true;
    peer->next = NULL;
    if (mads->tail != NULL)
        mads->tail->next = peer;
    else
        mads->head = peer;
    mads->tail = peer;
}

static struct taut_mad_peer *next_peer(struct taut_mads *mads)
{
    struct taut_mad_peer *peer = mads->head;

    if (peer == NULL)
        return NULL;
    mads->head = peer->next;
    if (mads->head == NULL)
        mads->tail = NULL;
    peer->queued = false;
    return peer;
}

static void append(struct taut_mad_peer *peer, struct taut_mad *mad)
{
    mad->next = NULL;
    if (peer->tail != NULL)
        peer->tail->next = mad;
    else
        peer->head = mad;
    peer->tail = mad;
}

static struct taut_mad *take(struct taut_mad_peer *peer)
{
    struct taut_mad *mad = peer->head;

    if (mad == NULL)
        return NULL;
    peer->head = mad->next;
    if (peer->head == NULL)
        peer->tail = NULL;
    return mad;
}

void taut_mads_ask(struct taut_mads *mads, struct taut_mad_peer *peer,
                   struct taut_mad *mad)
{
    mad->peer = peer;
    append(peer, mad);
    queue_peer(mads, peer);
}

/* ---- ends of a request ---- */

static void finish(struct taut_mad *mad, int error)
{
    mad->done(mad, error);
    free(mad);
}

/* A done() may ask the same peer for more: what is refused is only what was
 * queued until now. */
static void refuse_all(struct taut_mads *mads, struct taut_mad_peer *peer,
                       int error)
{
    struct taut_mad *mad, *list = peer->head;

    peer->head = peer->tail = NULL;
    while ((mad = list) != NULL) {
        list = mad->next;
        mads->counts.skipped++;
        finish(mad, error);
    }
}

static void lose(struct taut_mads *mads, struct taut_mad *mad)
{
    struct taut_mad_peer *peer = mad->peer;

    if (mad->tries < mads->o.tries) {
        mads->counts.retried++;
        append(peer, mad);
        queue_peer(mads, peer);
        return;
    }
    mads->counts.lost++;
    if (++peer->unanswered >= TAUT_MADS_GIVE_UP)
        refuse_all(mads, peer, EHOSTUNREACH);
    else
        queue_peer(mads, peer);
    finish(mad, ETIMEDOUT);
}

static struct taut_mad *free_slot(struct taut_mads *mads, struct slot *slot)
{
    struct taut_mad *mad = slot->mad;

    slot->mad = NULL;
    mads->idle[mads->idle_count++] = (uint8_t)(slot - mads->slots);
    mad->peer->under_way--;
    return mad;
}

/* ---- sending ---- */

static void send_one(struct taut_mads *mads, struct taut_mad *mad)
{
    unsigned timeout_ms = mads->o.timeout_ms << mad->tries;
    unsigned number = mads->idle[--mads->idle_count];
    struct slot *slot = &mads->slots[number];

    mad->tries++;
    slot->mad = mad;
    slot->tid = ++mads->serial << 8 | number;
    slot->until_ns = now_ns() + (timeout_ms + GRACE_MS) * UINT64_C(1000000);
    mad->peer->under_way++;
    taut_mad_set_tid(mad->bytes, slot->tid);
    mads->counts.sent++;
    if (mads->port.send(mads->port.self, mad, timeout_ms) != 0) {
        int error = errno;
        finish(free_slot(mads, slot), error);
    }
}

static void fill(struct taut_mads *mads)
{
    struct taut_mad_peer *peer;

    while (mads->idle_count > 0 && (peer = next_peer(mads)) != NULL) {
        struct taut_mad *mad = take(peer);
        if (mad == NULL)
            continue;
        send_one(mads, mad);
        queue_peer(mads, peer);
    }
}

/* ---- receiving ---- */

/* The request that 'bytes' is the answer to, or that is handed back; NULL if
 * nothing waits for it any more. */
static struct slot *find_slot(struct taut_mads *mads, const uint8_t *bytes,
                              int status)
{
    uint32_t tid = taut_mad_tid(bytes);
    struct slot *slot = &mads->slots[tid & 0xff];

    if (slot->mad == NULL || slot->tid != tid ||
        taut_mad_class_of(bytes) != taut_mad_class_of(slot->mad->bytes) ||
        taut_mad_attr(bytes) != taut_mad_attr(slot->mad->bytes) ||
        (status == 0 && !(taut_mad_method(bytes) & RESPONSE_BIT)))
        return NULL;
    return slot;
}

static void take_answer(struct taut_mads *mads, const uint8_t *bytes,
                        int status)
{
    struct slot *slot = find_slot(mads, bytes, status);
    struct taut_mad *mad;

    if (slot == NULL) {
        mads->counts.strays++;
        return;
    }
    mad = free_slot(mads, slot);
    if (status != 0) {
        lose(mads, mad);
        return;
    }
    memcpy(mad->bytes, bytes, TAUT_MAD_BYTES);
    mad->peer->unanswered = 0;
    queue_peer(mads, mad->peer);
    mads->counts.answered++;
    if (taut_mad_status(mad) == 0) {
        finish(mad, 0);
        return;
    }
    mads->counts.refused++;
    finish(mad, EREMOTEIO);
}

static void expire(struct taut_mads *mads)
{
    uint64_t now = now_ns();

    for (unsigned i = 0; i < mads->o.max; i++)
        if (mads->slots[i].mad != NULL && mads->slots[i].until_ns <= now)
            lose(mads, free_slot(mads, &mads->slots[i]));
}

/* Until the first of those under way is overdue, or all of it is. */
static unsigned wait_ms(const struct taut_mads *mads)
{
    uint64_t now = now_ns(), until = mads->end_ns, ms;

    for (unsigned i = 0; i < mads->o.max; i++)
        if (mads->slots[i].mad != NULL && mads->slots[i].until_ns < until)
            until = mads->slots[i].until_ns;
    ms = until > now ? (until - now) / 1000000 + 1 : 1;
    return ms < WAIT_MAX_MS ? (unsigned)ms : WAIT_MAX_MS;
}

/* Returns 0, or -1 when receiving has failed too often. */
static int receive(struct taut_mads *mads)
{
    uint8_t bytes[TAUT_MAD_BYTES];
    int status = 0;
    int n = mads->port.receive(mads->port.self, bytes, &status, wait_ms(mads));

    if (n < 0) {
        /* A device that went away fails at once: do not spin. */
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        return ++mads->errors < RECEIVE_ERRORS ? 0 : -1;
    }
    mads->errors = 0;
    if (n > 0)
        take_answer(mads, bytes, status);
    return 0;
}

/* Everything that is left; a done() may queue more, which goes the same way. */
static void cancel(struct taut_mads *mads)
{
    struct taut_mad_peer *peer;

    for (unsigned i = 0; i < mads->o.max; i++)
        if (mads->slots[i].mad != NULL) {
            struct taut_mad *mad = free_slot(mads, &mads->slots[i]);
            append(mad->peer, mad);
            queue_peer(mads, mad->peer);
        }
    while ((peer = next_peer(mads)) != NULL)
        refuse_all(mads, peer, ECANCELED);
}

int taut_mads_run(struct taut_mads *mads)
{
    int error = 0;

    for (fill(mads); mads->idle_count < mads->o.max && error == 0; fill(mads)) {
        if (receive(mads) != 0)
            error = EIO;
        else if (now_ns() >= mads->end_ns)
            error = ETIMEDOUT;
        else
            expire(mads);
    }
    if (error == 0)
        return 0;
    cancel(mads);
    errno = error;
    return -1;
}
