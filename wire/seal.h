/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sealing of everything after HELLO under the session key that it carried:
 * 24 bytes of nonce, then XChaCha20-Poly1305 (libsodium), frame type and
 * sequence number being additional data.  doc/protocol.md, "Sealing". */
#ifndef TAUT_WIRE_SEAL_H
#define TAUT_WIRE_SEAL_H

#include <stddef.h>
#include <stdint.h>

#include "wire/frame.h"

#define TAUT_SEAL_OVERHEAD 40 /* bytes that sealing adds */

/* Prepare the library.  Returns 0, or -1 with errno ENOSYS. */
int taut_seal_init(void);

/* Fill 'buf' with 'n' random bytes. */
void taut_seal_random(void *buf, size_t n);

/* Seal 'n' bytes of 'text' into 'out', which has room for
 * n + TAUT_SEAL_OVERHEAD bytes and does not overlap it.
 *   key      TAUT_SEAL_KEY bytes
 *   version  of the protocol, as the peers agreed; TAUT_PROTOCOL_ANY of REFUSED
 *   seq      how many frames this side has sealed on this connection before
 * Returns the number of bytes written. */
size_t taut_seal(unsigned char *out, const unsigned char *key, int version,
                 enum taut_frame_type type, uint64_t seq, const void *text,
                 size_t n);

/* Open 'n' sealed bytes into 'out', which has room for
 * n - TAUT_SEAL_OVERHEAD bytes.
 *   seq  how many frames of the other side have been opened before
 * Returns the number of bytes written, or -1 with errno EBADMSG: too short,
 * or not sealed with this key in this version as this type and number. */
long taut_seal_open(void *out, const unsigned char *key, int version,
                    enum taut_frame_type type, uint64_t seq,
                    const unsigned char *sealed, size_t n);

/* Two hex digits for each of 'n' bytes, and a NUL, into 'out' (2n + 1). */
void taut_hex(char *out, const void *bytes, size_t n);

/* The reverse: exactly 2n hex digits.  Returns 0, or -1 with errno EINVAL. */
int taut_unhex(void *bytes, size_t n, const char *text);

#endif
