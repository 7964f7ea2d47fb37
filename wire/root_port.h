/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ports that only root may call from: by them tautd tells root of a host from
 * a user there who holds root's credential. */
#ifndef TAUT_WIRE_ROOT_PORT_H
#define TAUT_WIRE_ROOT_PORT_H

#include "wire/error.h"

/* From here on, as Linux' NFS client has it (RPC_DEF_MIN_RESVPORT):
 * the controllers of many boards take packets to 623 and 664 for themselves. */
#define TAUT_ROOT_PORT_FIRST 665
#define TAUT_ROOT_PORT_LAST 1023

/* Bind a new TCP socket, which is not connected yet, to such a port, chosen
 * at random.  One that was in use a minute ago (TIME_WAIT) is passed over.
 *   family  of the socket: AF_INET or AF_INET6
 * Returns 0, or -1 with errno (EACCES: not root; EADDRINUSE: none is free) and
 * 'err'; the socket can be used all the same, from another port. */
int taut_root_port_bind(int fd, int family, struct taut_error *err);

/* The first port that users of this host may call from, by
 * net.ipv4.ip_unprivileged_port_start of its network (of both families):
 * below TAUT_USER_PORT a port there does not tell of root.
 *   root_fd  folder that stands for "/"
 * Returns TAUT_USER_PORT or less; TAUT_USER_PORT where it cannot be read. */
int taut_user_port(int root_fd);

#endif
