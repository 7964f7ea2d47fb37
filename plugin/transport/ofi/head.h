/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What streams over libfabric read from peers: the head of each message and
 * the line that tells an endpoint's address. */
#ifndef TAUT_PLUGIN_TRANSPORT_OFI_HEAD_H
#define TAUT_PLUGIN_TRANSPORT_OFI_HEAD_H

#include <stddef.h>
#include <stdint.h>

#define TAUT_OFI_NAME_BYTES 64 /* most of a libfabric address */

enum taut_ofi_type {
    TAUT_OFI_NONE = 0,
    TAUT_OFI_OPEN,
    TAUT_OFI_OPENED,
    TAUT_OFI_DATA,
    TAUT_OFI_ACK,
    TAUT_OFI_RESET,
};

struct taut_ofi_head {
    uint32_t type;
    uint32_t length; /* of the bytes that follow */
    uint64_t to;
    uint64_t value;
};

/* Read the head of a message.
 *   bytes, n  the whole message as it came
 * Returns 0, or -1 with errno EPROTO: too short, of an unknown type, or what
 * follows is not as long as the head says or as its type has it. */
int taut_ofi_head_parse(struct taut_ofi_head *head, const unsigned char *bytes,
                        size_t n);

/* Read a peer's address: hex digits, two for each byte.
 *   text  ends in NUL
 * Returns how many bytes there are, or -1 with errno EINVAL: none, too many,
 * or no hex. */
int taut_ofi_name_parse(unsigned char name[TAUT_OFI_NAME_BYTES],
                        const char *text);

#endif
