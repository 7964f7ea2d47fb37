/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The head of a frame: length in four bytes, big endian, then the type. */
#include <config.h>

#include <errno.h>
#include <stdbool.h>

#include "wire/frame.h"

static bool is_type(unsigned int type)
{
    return type >= TAUT_FRAME_HELLO && type <= TAUT_FRAME_LAST;
}

int taut_frame_encode(unsigned char *head, enum taut_frame_type type,
                      size_t length)
{
    if (!is_type(type)) {
        errno = EINVAL;
        return -1;
    }
    if (length > TAUT_FRAME_MAX - 1) {
        errno = EMSGSIZE;
        return -1;
    }
    uint32_t total = (uint32_t)length + 1; /* the type counts */
    head[0] = (unsigned char)(total >> 24);
    head[1] = (unsigned char)(total >> 16);
    head[2] = (unsigned char)(total >> 8);
    head[3] = (unsigned char)total;
    head[4] = (unsigned char)type;
    return 0;
}

int taut_frame_decode(struct taut_frame *frame, const unsigned char *head,
                      size_t max, struct taut_error *err)
{
    uint32_t total = (uint32_t)head[0] << 24 | (uint32_t)head[1] << 16 |
                     (uint32_t)head[2] << 8 | head[3];

    if (max < 1 || max > TAUT_FRAME_MAX) {
        errno = EINVAL;
        return taut_error_set(err, "frame limit %zu is not within 1..%u", max,
                              TAUT_FRAME_MAX);
    }
    if (total < 1 || total > max) {
        errno = EPROTO;
        return taut_error_set(err, "frame length %lu is not within 1..%zu",
                              (unsigned long)total, max);
    }
    if (!is_type(head[4])) {
        errno = EPROTO;
        return taut_error_set(err, "frame type %u is not within %d..%d",
                              head[4], TAUT_FRAME_HELLO, TAUT_FRAME_LAST);
    }
    frame->type = (enum taut_frame_type)head[4];
    frame->length = total - 1;
    return 0;
}
