/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut-hand-over SOCKET: what stands on standard input goes to SOCKET, and the
 * end is when whoever listens there is done.
 *
 * For policy.on_event: tautd's unit lets no program of its own gain a privilege,
 * which every mailer needs (sendmail is setgid or setuid).  taut-event.socket
 * starts the site's program outside of that. */
#include <config.h>

#include <err.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int connect_to(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (strlen(path) >= sizeof(at.sun_path))
        errx(2, "%s: longer than %zu characters", path,
             sizeof(at.sun_path) - 1);
    strcpy(at.sun_path, path);
    if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)) != 0)
        err(1, "%s", path);
    return fd;
}

static void send_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            err(1, "write");
        data += n;
        len -= (size_t)n;
    }
}

/* Everything from one descriptor; what comes goes to another, if there is one. */
static void copy(int from, int to)
{
    char data[4096];
    ssize_t n;

    while ((n = read(from, data, sizeof(data))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            err(1, "read");
        if (to >= 0)
            send_all(to, data, (size_t)n);
    }
}

int main(int argc, char **argv)
{
    int fd;

    if (argc != 2)
        errx(2, "usage: taut-hand-over SOCKET");
    signal(SIGPIPE, SIG_IGN);
    fd = connect_to(argv[1]);
    copy(STDIN_FILENO, fd);
    if (shutdown(fd, SHUT_WR) != 0)
        err(1, "%s", argv[1]);
    copy(fd, -1);
    return 0;
}
