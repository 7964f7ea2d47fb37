/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A user's program that sends at its own pace, whatever becomes of it.
 *
 *   fake-pace ADDRESS PORT BYTES_PER_SECOND
 *
 * sends UDP datagrams until it is killed. */
#include <config.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

#define STEP_NS 1000000
#define BEHIND_NS 20000000 /* what was missed by more is not made up for */
#define SIZE 1400

static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int main(int argc, char *argv[])
{
    static const char data[SIZE];
    struct sockaddr_in to = {.sin_family = AF_INET};
    const struct timespec step = {0, STEP_NS};
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    int64_t each_ns, due_ns = now_ns();

    if (argc != 4 || fd < 0 || inet_pton(AF_INET, argv[1], &to.sin_addr) != 1 ||
        atoi(argv[3]) <= 0)
        return 2;
    to.sin_port = htons((uint16_t)atoi(argv[2]));
    each_ns = SIZE * INT64_C(1000000000) / atoi(argv[3]);
    for (;;) {
        int64_t t = now_ns();

        if (due_ns < t - BEHIND_NS)
            due_ns = t - BEHIND_NS;
        for (; due_ns <= t; due_ns += each_ns)
            (void)!sendto(fd, data, SIZE, 0, (const void *)&to, sizeof(to));
        nanosleep(&step, NULL);
    }
}
