/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a test needs from a network.  One table per transport; each works on
 * an endpoint: where streams come in and go out on one interface.  A stream
 * is a number that means something to its endpoint only.  All calls but open
 * return at once. */
#ifndef TAUT_PLUGIN_TRANSPORT_TRANSPORT_H
#define TAUT_PLUGIN_TRANSPORT_TRANSPORT_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "plugin/common/address.h"
#include "plugin/common/plan.h"
#include "plugin/common/pollset.h"
#include "plugin/counters/gauge.h"
#include "plugin/transport/account.h"
#include "wire/error.h"

/* What the sending end of a stream knows about it. */
struct taut_stream_stats {
    int64_t acked_bytes;  /* the peer has them */
    int64_t sent_bytes;   /* left this host, repeats included */
    int64_t flight_bytes; /* sent and not yet acknowledged */
    int64_t rtt_ns;       /* smoothed */
    int64_t busy_ns;      /* data was under way and the peer took it; -1 =
                           * unknown */
};

struct taut_endpoint {
    const struct taut_transport *transport; /* NULL = not open */
    int rail;                               /* 0 is the node's first */
    struct taut_address local;              /* of the interface, port 0 */
    char interface[IFNAMSIZ];               /* streams leave by it; "" = as
                                             * the system routes them */
    const struct taut_gauge *gauge;         /* of the interface; borrowed */
    char name[TAUT_ENDPOINT_TEXT];          /* what HELLO tells of it */
    struct taut_error why;                  /* no stream opens yet, or ever */
    int fd;                                 /* the transport's own; or -1 */
    bool is_paced;                          /* it lets little stand on the
                                             * way, whoever sends */
    bool is_quiet;                          /* nothing waits at 'fd' in this round */
    void *state;                            /* the transport's own */
};

/* Of libfabric; TCP needs none. */
struct taut_transport_options {
    const char *provider, *domain; /* "" = what comes first */
    const char *env;               /* of it: options.h, ofi_env */
    const char *folder;            /* where taut-ofi.so is */
    bool shares_domain;            /* another interface has the same, or none */
};

struct taut_transport {
    enum taut_transport_kind kind;

    /* Open an endpoint whose 'rail', 'local', 'interface' and 'gauge' are
     * set; fills in 'name'.  Returns 0, or -1 with errno and 'err'. */
    int (*open)(struct taut_endpoint *ep,
                const struct taut_transport_options *options,
                struct taut_error *err);

    /* End every stream and the endpoint itself. */
    void (*close)(struct taut_endpoint *ep);

    /* Ask for the round to end when a call for 'stream' may have an effect.
     *   stream  -1: when a stream has come in
     *   events  POLLIN, POLLOUT, both, or 0: when something breaks */
    void (*watch)(struct taut_endpoint *ep, int stream, short events,
                  struct taut_pollset *set);

    /* The next stream that came in, or -1 with errno EAGAIN or another. */
    int (*accept)(struct taut_endpoint *ep);

    /* The opener of an incoming stream, or NULL: it is not known. Returns 0, or
     * -1 with errno. */
    int (*from)(struct taut_endpoint *ep, int stream,
                struct taut_address *addr);

    /* Do so many streams wait for accept that there is no room for more?
     * NULL: it cannot tell. */
    bool (*is_full)(struct taut_endpoint *ep);

    /* Begin a stream to what a peer's HELLO told of its endpoint.
     *   port  to leave by, of TCP only; 0 = any
     * Returns the stream, or -1 with errno. */
    int (*connect)(struct taut_endpoint *ep, const char *peer, int port);

    /* 0 when connected; else -1 with errno EAGAIN (not yet) or another. */
    int (*connected)(struct taut_endpoint *ep, int stream);

    /* Has the peer answered a stream that is not connected yet?  It is there,
     * and so is the way to it, however long the rest of connecting takes.
     * NULL: connecting is no more than the answer. */
    bool (*is_answered)(struct taut_endpoint *ep, int stream);

    /* Bytes taken, or -1 with errno EAGAIN or why the stream is over. */
    ssize_t (*send)(struct taut_endpoint *ep, int stream, const void *data,
                    size_t n);

    /* The same with 'n' bytes whose value does not matter. */
    ssize_t (*fill)(struct taut_endpoint *ep, int stream, size_t n);

    /* Bytes read into 'data'; 0 at the end; -1 with errno as above. */
    ssize_t (*receive)(struct taut_endpoint *ep, int stream, void *data,
                       size_t n);

    /* Take what has come without looking at it; results as receive. */
    ssize_t (*discard)(struct taut_endpoint *ep, int stream);

    /* Bytes taken by send and not yet acknowledged, or -1. */
    int64_t (*queued)(struct taut_endpoint *ep, int stream);

    /* Returns 0, or -1 with errno. */
    int (*stats)(struct taut_endpoint *ep, int stream,
                 struct taut_stream_stats *stats);

    /* Either end's count of losses, also of a stream that its peer has ended;
     * NULL: there is none.  Returns 0, or -1 with errno. */
    int (*account)(struct taut_endpoint *ep, int stream, bool is_sender,
                   struct taut_account *account);

    /* End at once: what is queued is thrown away, the peer sees an error. */
    void (*reset)(struct taut_endpoint *ep, int stream);
};

extern const struct taut_transport taut_transport_tcp;

/* Streams over libfabric.  Open makes a TCP socket, where the endpoint tells
 * peers its libfabric address as soon as there is one: 'name' is the address
 * of that socket.  libfabric itself comes with taut_transport_ofi_load(). */
extern const struct taut_transport taut_transport_ofi;

/* Load libfabric, no longer as root.  That takes a quarter of a second on
 * Debian 12, so a thread does it; taut_transport_ofi_wait() tells how it went.
 *   ep  an open endpoint of taut_transport_ofi */
void taut_transport_ofi_load(struct taut_endpoint *ep);

/* Is libfabric there?
 *   ep           an endpoint of taut_transport_ofi
 *   deadline_ns  wait until then
 * Returns 0, or -1 with errno ETIMEDOUT or why not, and 'err'. */
int taut_transport_ofi_wait(struct taut_endpoint *ep, int64_t deadline_ns,
                            struct taut_error *err);

/* The table of a kind. */
const struct taut_transport *taut_transport_of(enum taut_transport_kind kind);

/* How long that took, ms; what is not open yet will take half as long again as
 * it has by now.  -1: it was not loaded, or failed.
 *   ep  an endpoint of taut_transport_ofi */
int taut_transport_ofi_took_ms(struct taut_endpoint *ep);

/* What taut-ofi.so exports: its table, under this name. */
#define TAUT_TRANSPORT_MODULE_SYMBOL "taut_transport_module"

#endif
