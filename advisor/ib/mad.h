/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One management datagram (MAD): what is asked, of whom, and the answer.
 *
 * Layouts: InfiniBand Architecture Specification 1, chapters 13 (common
 * header), 14 (subnet management), 15 (subnet administration), 16
 * (performance management). */
#ifndef TAUT_ADVISOR_IB_MAD_H
#define TAUT_ADVISOR_IB_MAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAUT_MAD_BYTES 256
#define TAUT_MAD_HOPS 63 /* of a direct route: the path has 64 bytes */

/* Where the attribute begins, and how long it is. */
#define TAUT_SMP_DATA 64
#define TAUT_SMP_DATA_BYTES 64
#define TAUT_PERF_DATA 64
#define TAUT_PERF_DATA_BYTES 192
#define TAUT_SA_DATA 56
#define TAUT_SA_DATA_BYTES 200

enum taut_mad_class {
    TAUT_MAD_NONE = 0,
    TAUT_MAD_SMP_LID = 0x01,
    TAUT_MAD_SA = 0x03,
    TAUT_MAD_PERF = 0x04,
    TAUT_MAD_SMP_DIRECT = 0x81,
};

struct taut_mad_peer;
struct taut_mad;

/* Called once for every request, with
 *   error  0: 'mad->bytes' is the answer; ETIMEDOUT: none came in all tries;
 *          EREMOTEIO: it was refused, taut_mad_status() says how;
 *          EHOSTUNREACH: not sent, the peer had left others unanswered;
 *          ECANCELED: the time for all was up; else errno of sending
 * 'mad' is freed afterwards.  May ask for more. */
typedef void taut_mad_done_f(struct taut_mad *mad, int error);

struct taut_mad {
    struct taut_mad *next; /* in its peer's queue */
    struct taut_mad_peer *peer;
    taut_mad_done_f *done;
    void *owner, *subject; /* the caller's */
    unsigned number;       /* the caller's */
    uint16_t lid;          /* 0: the direct route in 'bytes' */
    uint8_t sl;
    uint8_t tries; /* made so far */
    uint8_t bytes[TAUT_MAD_BYTES];
};

/* Make a request that reads one attribute.  It is sent as it is once it was
 * handed to taut_mads_ask().
 *   attr, mod  attribute and its modifier
 * Returns NULL with errno ENOMEM; the caller owns it until it is asked. */
struct taut_mad *taut_mad_get(enum taut_mad_class class, uint16_t attr,
                              uint32_t mod);

/* Send it along a direct route, or to a LID.
 *   path  hops + 1 bytes, path[0] unused */
void taut_mad_route(struct taut_mad *mad, const uint8_t *path, unsigned hops);
void taut_mad_to(struct taut_mad *mad, uint16_t lid, uint8_t sl);

/* Parts of the answer. */
unsigned taut_mad_status(const struct taut_mad *mad);
uint8_t taut_mad_method(const uint8_t *bytes);
uint8_t taut_mad_class_of(const uint8_t *bytes);
uint16_t taut_mad_attr(const uint8_t *bytes);
uint32_t taut_mad_tid(const uint8_t *bytes);
void taut_mad_set_tid(uint8_t *bytes, uint32_t tid);

/* Numbers in network order, at any address. */
uint64_t taut_be_read(const uint8_t *at, unsigned bytes);
void taut_be_write(uint8_t *at, unsigned bytes, uint64_t value);

#endif
