/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a stream had to send again, and what came out of its order: each end's
 * own account of the losses on the way, from the stream's opening to its end.
 *
 * Nothing is judged here.  A segment that was under way when the sender ended
 * its stream is in 'segments' of both ends: the reset runs behind it, and the
 * receiver counts until the reset comes.  Where a way has several queues, of a
 * router with several processors say, the reset may overtake it: then it is one
 * of the 'unacked'. */
#ifndef TAUT_PLUGIN_TRANSPORT_ACCOUNT_H
#define TAUT_PLUGIN_TRANSPORT_ACCOUNT_H

#include <stdbool.h>
#include <stdint.h>

#define TAUT_CONGESTION_TEXT 16 /* as the kernel's TCP_CA_NAME_MAX */

/* -1, or "": not known, or the other end's to tell. */
struct taut_account {
    int64_t segments; /* with data: sent, repeats included; or arrived */
    /* of a sender */
    int64_t resent;       /* segments sent again */
    int64_t resent_bytes; /* in them */
    int64_t spurious;     /* which had arrived already, as the peer says */
    int64_t reordered;    /* events: what was held for lost came late */
    int64_t unacked;      /* under way, or lost, when the sender ended */
    int64_t marked;       /* segments that passed a queue on ECN's terms */
    int64_t min_rtt_ns;
    char congestion[TAUT_CONGESTION_TEXT]; /* control in use, "cubic" */
    /* of a receiver */
    int64_t disordered; /* segments that came behind a gap */
};

/* Nothing is known. */
void taut_account_clear(struct taut_account *account);

/* Take another stream of the same test and end into 'sum': counts add up, of
 * round trips the smallest stays. */
void taut_account_add(struct taut_account *sum,
                      const struct taut_account *part);

/* Read the account of one TCP stream, which may have ended but is not closed.
 * What an older kernel does not count stays -1.
 *   fd  its socket
 *   is_sender  which end this is
 * Returns 0, or -1 with errno of getsockopt(); 'account' is then cleared. */
int taut_account_read_tcp(int fd, bool is_sender,
                          struct taut_account *account);

/* Choose the congestion control of a TCP socket, whatever the system's own
 * choice is: cubic, else reno.  BBR, some systems' choice, does not slow down
 * for losses, so that its rate would not show them; and figures of two nodes
 * would depend on their settings.  Where neither is allowed nothing changes:
 * the account says what was in use. */
void taut_account_choose_congestion(int fd);

#endif
