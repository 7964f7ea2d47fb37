/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The interfaces of this node that are tested, in their order: rails. */
#ifndef TAUT_PLUGIN_PROBE_RAILS_H
#define TAUT_PLUGIN_PROBE_RAILS_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>

#include <jansson.h>

#include "plugin/common/address.h"
#include "plugin/common/plan.h"
#include "plugin/counters/gauge.h"
#include "plugin/counters/ib_find.h"
#include "plugin/transport/transport.h"
#include "wire/error.h"

struct taut_rail {
    char interface[IFNAMSIZ];
    struct taut_address local; /* length 0: it cannot be used */
    struct taut_error why;     /* why it cannot be used or opened; or "" */
    struct taut_gauge gauge;
    char guid[TAUT_IB_GUID]; /* of its InfiniBand port; "": there is none */
};

struct taut_rails {
    size_t count;
    struct taut_rail list[TAUT_PLAN_RAILS];
    struct taut_endpoint endpoints[2 * TAUT_PLAN_RAILS];
    size_t endpoint_count;
};

/* Nothing is open; fini may follow. */
void taut_rails_init(struct taut_rails *rails);

void taut_rails_fini(struct taut_rails *rails);

/* Find the interfaces and their addresses.
 *   interfaces  "hsn0", "hsn0,hsn1", "auto" (those of the fastest hardware
 *               that are up), or "" (the one on the route to 'server')
 *   root_fd     the directory that sys is in
 * A rail that cannot be used keeps its place, with 'why'.
 * Returns 0, or -1 with errno and 'err' when none can be used. */
int taut_rails_find(struct taut_rails *rails, const char *interfaces,
                    const struct taut_address *server, int root_fd,
                    struct taut_error *err);

/* Open an endpoint of one transport on every rail that can be used.
 *   options  of libfabric; its domain may be one for all rails, or one for each,
 *            "d0,d1".  NULL: none
 * A rail that does not open gets a 'why', the others are open.
 * Returns 0, or -1 with errno and 'err' when none is. */
int taut_rails_open(struct taut_rails *rails, enum taut_transport_kind kind,
                    const struct taut_transport_options *options,
                    struct taut_error *err);

/* Load what the endpoints need, in threads; no longer as root. */
void taut_rails_load(struct taut_rails *rails);

/* Does a thread still load libfabric?  It holds the loader's lock, which exit()
 * would wait for: leave by _exit(). */
bool taut_rails_are_loading(struct taut_rails *rails);

/* Close the endpoints of all transports. */
void taut_rails_close(struct taut_rails *rails);

/* Open the counters that are read during tests. */
void taut_rails_open_gauges(struct taut_rails *rails, int root_fd);

/* Where the first rail accepts streams over TCP, or "". */
const char *taut_rails_first(const struct taut_rails *rails);

/* HELLO's endpoints.  Returns a reference to give away, or NULL. */
json_t *taut_rails_endpoints_to_json(const struct taut_rails *rails);

#endif
