/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Addresses as text: "10.0.1.9:40213", "[fd00::9]:40213". */
#ifndef TAUT_PLUGIN_COMMON_ADDRESS_H
#define TAUT_PLUGIN_COMMON_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "wire/error.h"

#define TAUT_ADDRESS_TEXT 80 /* room for the longest, with NUL */

struct taut_address {
    struct sockaddr_storage sa;
    socklen_t length;
};

/* Read a numeric address with a port; no name is looked up.
 * Returns 0, or -1 with errno EINVAL. */
int taut_address_parse(struct taut_address *addr, const char *text,
                       struct taut_error *err);

/* Write 'addr' into TAUT_ADDRESS_TEXT bytes. */
void taut_address_format(const struct taut_address *addr, char *text);

/* Are they of the same host, whatever their ports? */
bool taut_address_same_host(const struct taut_address *a,
                            const struct taut_address *b);

void taut_address_set_port(struct taut_address *addr, uint16_t port);

/* Its port; 0 of another family than IPv4 and IPv6. */
uint16_t taut_address_port(const struct taut_address *addr);

/* Is it the address of one host: not of any, of none, or of many? */
bool taut_address_is_of_host(const struct taut_address *addr);

/* Is it of the loopback network? */
bool taut_address_is_loopback(const struct taut_address *addr);

/* Would what is sent there stay on this host?  The system is asked which address
 * of its own it would send from: its own, for its own.
 * Returns true also where that cannot be found out. */
bool taut_address_is_own(const struct taut_address *addr);

/* Find the address that streams of this node use.
 *   interface  IFNAMSIZ bytes of the caller's; "" is filled in with the
 *              interface on the route to 'server'
 *   addr       its first IPv4 address, or else its first IPv6 address that
 *              is not link-local, with port 0
 * Returns 0, or -1 with errno ENODEV, EADDRNOTAVAIL or another, and 'err'. */
int taut_address_local(struct taut_address *addr, char *interface,
                       const struct taut_address *server,
                       struct taut_error *err);

/* Look up "host[:port][,host...]", in that order; blocks as long as the
 * system's resolver does.  Names that cannot be found are left out.
 *   addrs, max  room for the addresses found
 * Returns their number, or -1 with errno EHOSTUNREACH (none found) or
 * EINVAL, and 'err'. */
int taut_address_resolve(struct taut_address *addrs, int max,
                         const char *servers, struct taut_error *err);

#endif
