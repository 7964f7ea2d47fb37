/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tickets: HELLO from a node without munged.  doc/protocol.md says what they
 * are; lua/taut/wire/ticket.lua makes and opens them. */
#ifndef TAUT_PLUGIN_PROBE_TICKET_H
#define TAUT_PLUGIN_PROBE_TICKET_H

#include <stdint.h>

#include "wire/error.h"

/* Read a ticket from standard input: the session key in hex digits, a blank,
 * and a credential, in one line.
 *   key          TAUT_SEAL_KEY bytes, written on success
 *   deadline_ns  CLOCK_MONOTONIC
 * Returns the credential, to free(), or NULL with 'err'. */
char *taut_ticket_read(unsigned char *key, int64_t deadline_ns,
                       struct taut_error *err);

/* HELLO's frame: the credential, and 'text' sealed with the ticket's key.
 * Returns a string to free(), or NULL with errno ENOMEM and 'err'. */
char *taut_ticket_wrap(const char *cred, const unsigned char *key,
                       const char *text, struct taut_error *err);

#endif
