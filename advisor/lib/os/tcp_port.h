/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A TCP port of this machine, and who calls it. */
#ifndef TAUT_ADVISOR_LIB_OS_TCP_PORT_H
#define TAUT_ADVISOR_LIB_OS_TCP_PORT_H

#include <stddef.h>
#include <sys/socket.h>

#include "wire/error.h"

/* Bind a port; blocks as long as a name is resolved.
 *   host  name or address; NULL is every address of both families
 *   port  0..65535; with 0 the system chooses
 * Returns a descriptor to close() that does not listen yet, or -1 with
 * 'err'. */
int taut_port_open(const char *host, int port, struct taut_error *err);

/* Write an address as "1.2.3.4:567" or "[::1]:567". */
void taut_port_peer(char *out, size_t size, const struct sockaddr *sa,
                    socklen_t length);

#endif
