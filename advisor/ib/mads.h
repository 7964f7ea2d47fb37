/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Many MADs at once: a bounded number under way, few per peer, each with a
 * time of its own.
 *
 * A peer that does not answer costs a place among those under way, never the
 * sweep: its tries are spread between everybody else's requests, and after
 * TAUT_MADS_GIVE_UP requests without an answer nothing more is sent to it. */
#ifndef TAUT_ADVISOR_IB_MADS_H
#define TAUT_ADVISOR_IB_MADS_H

#include "advisor/ib/mad.h"

#define TAUT_MADS_MAX 256 /* under way at once, at most */
#define TAUT_MADS_GIVE_UP 2

/* What carries MADs: a port of this host, or a test. */
struct taut_mad_port {
    void *self;
    /* Returns 0, or -1 with errno. */
    int (*send)(void *self, const struct taut_mad *mad, unsigned timeout_ms);
    /* Wait for one MAD, at most timeout_ms.
     *   bytes   TAUT_MAD_BYTES, received data; may be an unexpected answer
     *   status  0, or errno of a request that is handed back
     * Returns 1, 0 when none came, -1 with errno. */
    int (*receive)(void *self, uint8_t *bytes, int *status,
                   unsigned timeout_ms);
};

struct taut_mads_options {
    unsigned max;        /* under way at once, 1..TAUT_MADS_MAX */
    unsigned per_peer;   /* of them to one peer, at least 1 */
    unsigned tries;      /* at least 1 */
    unsigned timeout_ms; /* of the first try; doubles with each */
    uint64_t time_ns;    /* for all of it, from now on */
};

struct taut_mads_counts {
    unsigned long sent, answered, refused, lost, retried, strays, skipped;
};

/* The target of a request.  Zeroed by the caller, who keeps it as long as the
 * taut_mads. */
struct taut_mad_peer {
    struct taut_mad *head, *tail;
    struct taut_mad_peer *next; /* in the queue of those with requests */
    unsigned under_way;
    unsigned unanswered; /* in a row */
    bool queued;
};

struct taut_mads;

/* Returns NULL with errno EINVAL or ENOMEM.  'port' must outlive it. */
struct taut_mads *taut_mads_create(const struct taut_mad_port *port,
                                   const struct taut_mads_options *options);
void taut_mads_destroy(struct taut_mads *mads);

/* Queue a request; it belongs to 'mads' from here on. */
void taut_mads_ask(struct taut_mads *mads, struct taut_mad_peer *peer,
                   struct taut_mad *mad);

/* Send and receive until all requests are done.
 * Returns 0, or -1 with errno: ETIMEDOUT the time for all is up, EIO nothing
 * can be received; what was left has then been told ECANCELED. */
int taut_mads_run(struct taut_mads *mads);

const struct taut_mads_counts *taut_mads_counts(const struct taut_mads *mads);

#endif
