/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of taut-ofi.so: connections of message endpoints, one for each peer.
 *
 * Where a provider has them (verbs), they need less than reliable datagrams,
 * which ofi_rxm makes of them: no memory is pinned but our own buffers, all peers
 * share the receives, and nothing is copied. */
#ifndef TAUT_PLUGIN_TRANSPORT_OFI_MSG_H
#define TAUT_PLUGIN_TRANSPORT_OFI_MSG_H

#include "plugin/transport/ofi/ofi.h"

/* Listen, and make what all connections share, with o->info, o->fabric,
 * o->domain and o->cq; sets o->rx, o->name and o->eq_fd.
 * Returns 0, or -1 with errno and 'err'; closed by taut_msg_close(). */
int taut_msg_open(struct taut_ofi *o, struct taut_error *err);

void taut_msg_close(struct taut_ofi *o);

/* The connection to a peer of that name, which is begun where there is none.
 *   is_answer  the peer has called: one that he began will do, and none is begun.
 *              Nobody but who is asked for gets what is not an answer to himself
 * Returns 0 and its number, or -1 with errno EINVAL, ENOBUFS (too many), ENOTCONN (no answer
 * goes there) or why
 * it cannot be begun. */
int taut_msg_peer(struct taut_ofi *o, const unsigned char *name, size_t n,
                  bool is_answer, fi_addr_t *number);

/* The endpoint to send to a peer by, or NULL with errno EAGAIN (not connected
 * yet) or why there is none any more. */
struct fid_ep *taut_msg_way(struct taut_ofi *o, fi_addr_t number);

/* What to wait for: connections that begin and end. */
struct fid *taut_msg_events(struct taut_ofi *o);

/* Accept callers, and note which connections were made or have ended. */
void taut_msg_progress(struct taut_ofi *o);

#endif
