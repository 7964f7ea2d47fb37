/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of taut-ofi.so: an endpoint of libfabric that moves messages.
 * streams.c makes streams of them. */
#ifndef TAUT_PLUGIN_TRANSPORT_OFI_OFI_H
#define TAUT_PLUGIN_TRANSPORT_OFI_OFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#include "plugin/common/plan.h"
#include "plugin/transport/ofi/head.h"
#include "wire/error.h"

/* Largest message with its head: where adapters pin memory, and where not. */
#define TAUT_OFI_MESSAGE_PINNED (64u * 1024)
#define TAUT_OFI_MESSAGE (512u * 1024)
#define TAUT_ENDPOINT_BYTES TAUT_OFI_NAME_BYTES
#define TAUT_OFI_SENDS 16
#define TAUT_OFI_RECEIVES 40
/* Maximum number of data messages in flight to one peer's connection, so that
 * those of two peers (no phase has more to one), and others, find a receive
 * posted. Otherwise the adapter sends the message again after a pause (RNR
 * timer) in which a test of 25 ms at 400 Gb/s could send 30 MB. */
#define TAUT_OFI_WINDOW 16
_Static_assert(2 * TAUT_OFI_WINDOW < TAUT_OFI_RECEIVES, "two peers, and others");

/* A buffer, ours or the provider's.  libfabric hands back the address of
 * 'context'. */
struct taut_ofi_buffer {
    struct fi_context2 context;
    bool is_send;
    unsigned char *bytes; /* 'message' of them */
    size_t length;
    size_t begin;   /* received: what was taken already */
    uint64_t owner; /* the caller's: whose it is */
    struct taut_ofi_buffer *next;
};

struct taut_msg;

struct taut_ofi {
    struct fi_info *info;
    struct fid_fabric *fabric;
    struct fid_domain *domain;
    struct fid_av *av;
    struct fid_cq *cq;
    struct fid_ep *ep;  /* of reliable datagrams; NULL where 'msg' is used */
    struct fid_ep *rx;  /* takes receives: 'ep', or what connections share */
    struct taut_msg *msg; /* connections of message endpoints, or NULL */
    struct fid_mr *mr;
    size_t message; /* bytes of a buffer */
    int eq_fd;   /* of 'msg', or -1 */
    int wait_fd; /* -1: the provider has none, look without sleeping */
    unsigned char name[TAUT_ENDPOINT_BYTES];
    size_t name_length;
    unsigned char *area; /* all buffers' bytes */
    struct taut_ofi_buffer buffers[TAUT_OFI_SENDS + TAUT_OFI_RECEIVES];
    struct taut_ofi_buffer *free_sends;
    int free_send_count;
    struct taut_ofi_buffer *unposted; /* receives that it had no room for */
    int error; /* an errno: it takes no receives any more; or 0 */
    struct {
        unsigned char name[TAUT_ENDPOINT_BYTES];
        fi_addr_t address;
    } *peers; /* who was inserted into the address vector */
    size_t peer_count;
};

/* What came off the completion queue. */
struct taut_ofi_event {
    struct taut_ofi_buffer *buffer;
    int error; /* an errno, or 0 */
};

/* Say that a call of libfabric's failed, and with too little memory how much may
 * be locked.
 *   what  the call
 *   rc    what it returned, below 0
 * Returns -1, with errno. */
int taut_ofi_failed(struct taut_error *err, const char *what, long rc);

/* Where an endpoint is to be. */
struct taut_ofi_place {
    const char *node;             /* numeric address of the interface */
    const char *provider, *domain; /* "" = what comes first */
    bool shares_domain; /* another interface under test has the same, or none */
};

/* Open an endpoint on one interface; takes long.
 * Returns 0, or -1 with errno ENODEV (no such provider or domain), ENOMEM or
 * another, and 'err'.  The caller destroys it in either case. */
int taut_ofi_open(struct taut_ofi *o, const struct taut_ofi_place *place,
                  struct taut_error *err);

void taut_ofi_close(struct taut_ofi *o);

/* Number of a peer in the address vector, or among the connections.
 *   is_answer  the peer has called
 * Returns 0, or -1 with errno EINVAL, ENOBUFS (too many peers) or why there is no
 * connection. */
int taut_ofi_peer(struct taut_ofi *o, const unsigned char *name, size_t n,
                  bool is_answer, fi_addr_t *address);

/* A free buffer to fill and send, or NULL.  'reserve' are left for others. */
struct taut_ofi_buffer *taut_ofi_take(struct taut_ofi *o, int reserve);

/* Send the first 'buffer->length' bytes.  Returns 0 (the buffer is the
 * provider's until it comes back as an event), or -1 with errno EAGAIN or
 * another (it is free again). */
int taut_ofi_send(struct taut_ofi *o, struct taut_ofi_buffer *buffer,
                  fi_addr_t to);

/* The next event, true, or false when there is none now.  A received
 * message stays the caller's until given back. */
bool taut_ofi_next(struct taut_ofi *o, struct taut_ofi_event *event);

/* Give back a sent or received buffer. */
void taut_ofi_give(struct taut_ofi *o, struct taut_ofi_buffer *buffer);

/* May we sleep on wait_fd? */
bool taut_ofi_may_sleep(struct taut_ofi *o);

#endif
