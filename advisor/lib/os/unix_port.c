/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "advisor/lib/os/sys_socket.h"
#include "advisor/lib/os/unix_port.h"

#define BACKLOG 128

/* Remove a socket without a listener. Returns 0, or -1 with errno: EADDRINUSE
 * there is a server, or a file that is not a socket. */
static int remove_stale(const struct sockaddr_un *address)
{
    struct stat st;

    if (lstat(address->sun_path, &st) != 0)
        return errno == ENOENT ? 0 : -1;
    errno = EADDRINUSE;
    if (!S_ISSOCK(st.st_mode))
        return -1;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    int rc = connect(fd, (const struct sockaddr *)address, sizeof(*address));
    bool dead = rc != 0 && errno == ECONNREFUSED;
    close(fd);
    errno = EADDRINUSE;
    return dead ? unlink(address->sun_path) : -1;
}

/* Returns a listening descriptor, or -1 with errno. */
static int open_socket(const struct sockaddr_un *address, mode_t mode)
{
    if (remove_stale(address) != 0)
        return -1;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    /* Nobody can connect before listen(), so the mode is right in time. */
    if (bind(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 &&
        chmod(address->sun_path, mode) == 0 && listen(fd, BACKLOG) == 0)
        return fd;
    int saved = errno;
    close(fd);
    errno = saved;
    return -1;
}

int taut_unix_port_open(struct taut_unix_port *port, const char *path,
                        mode_t mode, struct taut_error *err)
{
    struct sockaddr_un address;
    struct stat st;

    if (taut_socket_address(&address, path, err) != 0)
        return -1;
    int fd = open_socket(&address, mode);
    if (fd < 0)
        return taut_error_set(err, "%s: %s", path, strerror(errno));
    if (lstat(path, &st) == 0) {
        snprintf(port->path, sizeof(port->path), "%s", path);
        port->inode = st.st_ino;
        port->device = st.st_dev;
    }
    return fd;
}

void taut_unix_port_remove(struct taut_unix_port *port)
{
    struct stat st;

    if (port->path[0] != '\0' && lstat(port->path, &st) == 0 &&
        st.st_ino == port->inode && st.st_dev == port->device)
        unlink(port->path);
    port->path[0] = '\0';
}

int taut_unix_port_peer(int fd, uid_t *uid)
{
    struct ucred cred;
    socklen_t length = sizeof(cred), n = sizeof(int);
    int domain;

    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) != 0)
        return -1;
    errno = EOPNOTSUPP; /* another kind of socket tells nonsense */
    if (domain != AF_UNIX ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &length) != 0)
        return -1;
    *uid = cred.uid;
    return 0;
}
