/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which way does a stream go?  Where routers choose by hash, the same
 * addresses and ports always take the same way: a connection request of the
 * stream's own five-tuple that may pass k routers ends at the next one, which
 * reports it with its address.  No privileges are needed (ip(7), IP_RECVERR).
 * Sources: paris-traceroute (B.  Augustin et al., IMC 2006) keeps a flow's
 * headers constant; 007 (B.  Arzani et al., NSDI 2018) traces the flows that
 * suffered. */
#ifndef TAUT_PLUGIN_STREAMS_WAY_H
#define TAUT_PLUGIN_STREAMS_WAY_H

#include <netinet/in.h>
#include <stdint.h>

#include "plugin/common/address.h"
#include "plugin/common/plan.h"
#include "wire/protocol.h"

struct taut_way {
    int hops; /* routers asked, in their order; 0 = none was */
    char answer[TAUT_PLAN_HOPS][INET6_ADDRSTRLEN]; /* "" = none came */
};

/* Ask the routers between two addresses, one after the other: two sockets
 * cannot have one five-tuple at the same time.
 *   from, to     with ports; no connection between them may be open
 *   interface    to leave by, or ""
 *   hops         1..TAUT_PLAN_HOPS; the request that reaches 'to' ends it
 *   deadline_ns  who has not answered by then is taken to be silent; nobody
 *                is waited for longer than 2 ms
 *   way          written in any case
 * Returns 0, or -1 with errno when a request could not be sent. */
int taut_way_ask(struct taut_way *way, const struct taut_address *from,
                 const struct taut_address *to, const char *interface,
                 int hops, int64_t deadline_ns);

/* Ports that lead by a certain link: asked for several at a time, each port
 * by itself.
 *   ports, most  filled in with those found, the first ones that are
 *   aim          what is wanted, and which ports may be tried
 *   others       as for taut_way_ask; the port of 'from' means nothing
 * Returns how many were found. */
int taut_way_aim(int *ports, int most, const struct taut_aim *aim,
                 const struct taut_address *from, const struct taut_address *to,
                 const char *interface, int64_t deadline_ns);

#endif
