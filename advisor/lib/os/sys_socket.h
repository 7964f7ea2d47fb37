/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Blocking clients of UNIX sockets, for the command line and systemd. */
#ifndef TAUT_ADVISOR_LIB_OS_SYS_SOCKET_H
#define TAUT_ADVISOR_LIB_OS_SYS_SOCKET_H

#include <stddef.h>
#include <sys/un.h>

#include "wire/error.h"

/* Fill in the address of 'path'.  Returns 0, or -1 with errno ENAMETOOLONG
 * and 'err' naming the limit. */
int taut_socket_address(struct sockaddr_un *address, const char *path,
                        struct taut_error *err);

/* Send one line, wait for one line.
 *   line        'n' bytes without a newline, which is added
 *   timeout_ms  for all of it, 1 and more
 *   max         longest reply, bytes
 *   got         set to the reply's length on success
 * Returns the reply without its newline, to free(), or NULL with 'err'. */
char *taut_socket_request(const char *path, const char *line, size_t n,
                          int timeout_ms, size_t max, size_t *got,
                          struct taut_error *err);

/* Tell the service manager (protocol of sd_notify(3)).
 *   path  of its socket, '@' first for an abstract one; NULL does nothing
 * Returns 0, or -1 with errno. */
int taut_socket_notify(const char *path, const char *text);

#endif
