/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Frames: four bytes of length, one of type, then the payload.
 * doc/protocol.md is the description; both sides use these functions. */
#ifndef TAUT_WIRE_FRAME_H
#define TAUT_WIRE_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "wire/error.h"
#include "wire/protocol.h"

#define TAUT_FRAME_HEAD 5 /* bytes before the payload */

struct taut_frame {
    enum taut_frame_type type;
    size_t length; /* of the payload, bytes */
};

/* Write the head of a frame.
 *   head    TAUT_FRAME_HEAD bytes of the caller's
 *   length  of the payload, 0..TAUT_FRAME_MAX - 1
 * Returns 0, or -1 with errno EMSGSIZE or EINVAL (type). */
int taut_frame_encode(unsigned char *head, enum taut_frame_type type,
                      size_t length);

/* Read the head of a frame.
 *   max  largest type + payload accepted here, bytes, 1..TAUT_FRAME_MAX
 * Returns 0, or -1 with errno EPROTO (or EINVAL: 'max') and 'err' naming value
 * and limit; 'frame' is then as it was. */
int taut_frame_decode(struct taut_frame *frame, const unsigned char *head,
                      size_t max, struct taut_error *err);

#endif
