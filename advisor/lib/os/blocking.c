/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include "advisor/lib/os/blocking.h"

int64_t taut_blocking_now_ms(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int taut_blocking_wait(int fd, short events, int64_t deadline_ms)
{
    struct pollfd p = {.fd = fd, .events = events};

    for (;;) {
        int64_t left = deadline_ms - taut_blocking_now_ms();
        if (left <= 0) {
            errno = ETIMEDOUT;
            return -1;
        }
        int rc = poll(&p, 1, (int)left);
        if (rc > 0)
            return 0;
        if (rc < 0 && errno != EINTR)
            return -1;
    }
}

int taut_blocking_send(int fd, const char *text, size_t n, int64_t deadline_ms)
{
    while (n > 0) {
        ssize_t sent = send(fd, text, n, MSG_NOSIGNAL);
        if (sent >= 0) {
            text += sent;
            n -= (size_t)sent;
        } else if (errno == EAGAIN) {
            if (taut_blocking_wait(fd, POLLOUT, deadline_ms) != 0)
                return -1;
        } else if (errno != EINTR) {
            return -1;
        }
    }
    return 0;
}

ssize_t taut_blocking_receive(int fd, char *buf, size_t n, int64_t deadline_ms)
{
    for (;;) {
        ssize_t got = recv(fd, buf, n, 0);
        if (got >= 0)
            return got;
        if (errno == EAGAIN) {
            if (taut_blocking_wait(fd, POLLIN, deadline_ms) != 0)
                return -1;
        } else if (errno != EINTR) {
            return -1;
        }
    }
}
