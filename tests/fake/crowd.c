/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Somebody without privileges who calls whatever listens at an address of his
 * own node, so that no one else finds room in its queue.
 *
 *   fake-crowd ADDRESS
 *
 * prints a line, and goes on until its stdin ends. */
#include <config.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define LISTEN 10 /* a state of /proc/net/tcp */
#define FDS 3000  /* more than a queue holds */
#define BURST 600

static int fds[FDS];
static size_t next;

static void call(struct in_addr host, unsigned port)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr = host};

    for (int i = 0; i < BURST; i++) {
        if (fds[next] > 0)
            close(fds[next]);
        fds[next] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)!connect(fds[next], (const void *)&to, sizeof(to));
        next = (next + 1) % FDS;
    }
}

/* Everything that listens there now. */
static void call_all(struct in_addr host)
{
    FILE *f = fopen("/proc/net/tcp", "re");
    unsigned addr, port, state;
    char line[256];

    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        if (sscanf(line, " %*u: %x:%x %*x:%*x %x", &addr, &port, &state) == 3 &&
            state == LISTEN && addr == host.s_addr)
            call(host, port);
    }
    if (f != NULL)
        fclose(f);
}

int main(int argc, char *argv[])
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    struct rlimit limit;
    struct in_addr host;

    if (argc != 2 || inet_pton(AF_INET, argv[1], &host) != 1 ||
        getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return 2;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    puts("connected, as soon as there is anybody");
    fflush(stdout);
    while (poll(&in, 1, 1) == 0)
        call_all(host);
    return 0;
}
