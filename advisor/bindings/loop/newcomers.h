/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Connections of which it is not known yet who is at the other end.
 *
 * Any process that reaches the port can open them, so they must never block
 * others. Each address has a maximum. If one has to go it is the oldest, first
 * of those without a whole HELLO. If all together are too many, it is one of
 * the address that has most. Whoever comes costs the same, however many are
 * there. */
#ifndef TAUT_ADVISOR_BINDINGS_LOOP_NEWCOMERS_H
#define TAUT_ADVISOR_BINDINGS_LOOP_NEWCOMERS_H

#include <stdbool.h>
#include <sys/queue.h>

struct taut_origin; /* an address */

struct taut_newcomer {
    TAILQ_ENTRY(taut_newcomer) link, near;
    struct taut_origin *from; /* NULL: not listed */
    bool spoke;               /* a whole frame came */
};

/* The oldest is the first. */
TAILQ_HEAD(taut_newcomer_list, taut_newcomer);

struct taut_newcomers {
    struct taut_newcomer_list silent, spoke;
    long long speaking; /* how many have spoken */
    void *origins;      /* of tsearch(3) */
    struct taut_origin *largest; /* as far as is known; or NULL */
};

void taut_newcomers_init(struct taut_newcomers *all);

/* Somebody came from 'peer', "address:port".
 * Returns 0, or -1 with errno ENOMEM: it is not listed then. */
int taut_newcomers_add(struct taut_newcomers *all, struct taut_newcomer *s,
                       const char *peer);

/* It said a whole frame; harmless when repeated. */
void taut_newcomers_spoke(struct taut_newcomers *all, struct taut_newcomer *s);

/* It is known now, or gone; harmless when repeated. */
void taut_newcomers_drop(struct taut_newcomers *all, struct taut_newcomer *s);

/* The connection that has to go before another one comes from the address of
 * 'peer'.
 *   most  how many there may be from one address
 *   full  there is no room for one more, from wherever it comes
 * Returns NULL if none has to, or none can. */
struct taut_newcomer *taut_newcomers_to_go(const struct taut_newcomers *all,
                                           const char *peer, long long most,
                                           bool full);

#endif
