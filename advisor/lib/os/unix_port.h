/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A UNIX socket in the file system that others connect to. */
#ifndef TAUT_ADVISOR_LIB_OS_UNIX_PORT_H
#define TAUT_ADVISOR_LIB_OS_UNIX_PORT_H

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "wire/error.h"

/* Which socket is ours, so that only it is removed. */
struct taut_unix_port {
    ino_t inode;
    dev_t device;
    char path[sizeof(((struct sockaddr_un *)0)->sun_path)]; /* "": none */
};

/* Make a socket and listen; the stale one of a dead server is replaced, a
 * live one is an error.
 *   mode  of its file
 * Returns a descriptor to close(), or -1 with 'err'. */
int taut_unix_port_open(struct taut_unix_port *port, const char *path,
                        mode_t mode, struct taut_error *err);

/* Remove its file, if it is still this one. */
void taut_unix_port_remove(struct taut_unix_port *port);

/* The user at the other end of a connection.
 * Returns 0, or -1 with errno where that is no UNIX socket. */
int taut_unix_port_peer(int fd, uid_t *uid);

#endif
