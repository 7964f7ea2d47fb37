/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A parallel program for the bench why, over plain TCP, started by srun with
 * one task a node:
 *
 *   why_job FOLDER halo|all-to-all|none BYTES STEPS CPU_MS [WHAT RANK AMOUNT]
 *
 * In each step every rank computes for CPU_MS of processor time, then sends
 * BYTES to each of its partners and gets as much from each: all others, or, of
 * halo, those beside it in a grid of 2x2x2.  A rank that waits for a message
 * sleeps.  FOLDER is seen by all nodes: the ranks tell each other their
 * addresses there.  WHAT is made to be wrong with RANK:
 *
 *   slow N   its processor takes N times as long
 *   wait N   in each step it waits N ms, as for a file server
 *   disk N   in each step it writes N blocks to a disk, each to its end
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 64, PORT = 7400, CHUNK = 1 << 16, BLOCK = 4096 };

static int rank, ranks;
static int fds[MOST]; /* -1: no partner */
static char chunk[CHUNK];

static _Noreturn void fail(const char *what)
{
    fprintf(stderr, "why_job: rank %d: %s: %s\n", rank, what, strerror(errno));
    exit(1);
}

static int number_of(const char *name)
{
    const char *text = getenv(name);

    if (text == NULL) {
        errno = ENOENT;
        fail(name);
    }
    return atoi(text);
}

/* This node's address on the interconnect. */
static struct in_addr own_address(void)
{
    struct ifaddrs *list;
    struct in_addr a = {0};

    if (getifaddrs(&list) < 0)
        fail("getifaddrs");
    for (struct ifaddrs *i = list; i != NULL; i = i->ifa_next) {
        if (i->ifa_addr != NULL && i->ifa_addr->sa_family == AF_INET &&
            strncmp(i->ifa_name, "hsn", 3) == 0)
            a = ((struct sockaddr_in *)i->ifa_addr)->sin_addr;
    }
    freeifaddrs(list);
    return a;
}

static void path_of(char *path, size_t room, const char *folder, int r)
{
    snprintf(path, room, "%s/%s.%d", folder, getenv("SLURM_JOB_ID"), r);
}

static void tell_address(const char *folder)
{
    char path[256], other[300];
    FILE *f;

    path_of(path, sizeof(path), folder, rank);
    snprintf(other, sizeof(other), "%s.new", path);
    f = fopen(other, "w");
    if (f == NULL || fprintf(f, "%s\n", inet_ntoa(own_address())) < 0 ||
        fclose(f) != 0 || rename(other, path) < 0)
        fail(path);
}

static void pause_ms(int ms)
{
    const struct timespec t = {.tv_sec = ms / 1000,
                               .tv_nsec = ms % 1000 * 1000000L};

    nanosleep(&t, NULL);
}

static struct in_addr address_of(const char *folder, int r)
{
    char path[256], text[64] = "";
    struct in_addr a;

    path_of(path, sizeof(path), folder, r);
    for (int i = 0; i < 6000; i++) {
        FILE *f = fopen(path, "r");
        bool is_there = f != NULL && fgets(text, sizeof(text), f) != NULL;

        if (f != NULL)
            fclose(f);
        text[strcspn(text, "\n")] = '\0';
        if (is_there && inet_aton(text, &a))
            return a;
        pause_ms(5);
    }
    fail(path);
}

static bool is_partner(const char *pattern, int other)
{
    int apart = rank ^ other;

    if (other == rank || strcmp(pattern, "none") == 0)
        return false;
    return strcmp(pattern, "halo") != 0 || (apart & (apart - 1)) == 0;
}

static void set_options(int fd)
{
    int one = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    fcntl(fd, F_SETFL, O_NONBLOCK);
}

static void connect_to(const char *folder, int r)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    int32_t own = rank;

    a.sin_addr = address_of(folder, r);
    for (int i = 0;; i++) {
        fds[r] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (connect(fds[r], (struct sockaddr *)&a, sizeof(a)) == 0)
            break;
        close(fds[r]);
        if (i == 500)
            fail("connect");
        pause_ms(20);
    }
    if (write(fds[r], &own, sizeof(own)) != sizeof(own))
        fail("write");
    set_options(fds[r]);
}

/* The one with the higher number comes. */
static void meet(const char *folder, const char *pattern)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    a.sin_addr = own_address();
    if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, MOST) < 0)
        fail("listen");
    tell_address(folder);
    for (int r = 0; r < rank; r++) {
        if (is_partner(pattern, r))
            connect_to(folder, r);
    }
    for (int r = rank + 1; r < ranks; r++) {
        int32_t other = -1;
        int in;

        if (!is_partner(pattern, r))
            continue;
        in = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
        if (in < 0 || read(in, &other, sizeof(other)) != sizeof(other) ||
            other <= rank || other >= ranks)
            fail("accept");
        fds[other] = in;
        set_options(in);
    }
    close(fd);
}

static int64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void compute(int64_t ns)
{
    int64_t until = cpu_ns() + ns;
    volatile double x = 1;

    while (cpu_ns() < until)
        for (int i = 0; i < 1000; i++)
            x = x * 1.0000001;
}

static void use_disk(const char *folder, int blocks)
{
    char path[256];
    int fd;

    path_of(path, sizeof(path), folder, 1000 + rank);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    for (int i = 0; i < blocks; i++) {
        if (pwrite(fd, chunk, BLOCK, (off_t)i * BLOCK) != BLOCK ||
            fdatasync(fd) < 0)
            fail(path);
    }
    close(fd);
    unlink(path);
}

/* All messages of one step. */
static void exchange(int bytes)
{
    int left_out[MOST], left_in[MOST], left = 0;
    struct pollfd p[MOST];
    int of[MOST], n;

    for (int r = 0; r < ranks; r++) {
        left_out[r] = left_in[r] = fds[r] < 0 ? 0 : bytes;
        left += 2 * left_out[r];
    }
    while (left > 0) {
        n = 0;
        for (int r = 0; r < ranks; r++) {
            short events = (short)((left_out[r] > 0 ? POLLOUT : 0) |
                                   (left_in[r] > 0 ? POLLIN : 0));
            if (events != 0) {
                p[n] = (struct pollfd){.fd = fds[r], .events = events};
                of[n++] = r;
            }
        }
        if (poll(p, (nfds_t)n, -1) < 0)
            fail("poll");
        for (int i = 0; i < n; i++) {
            int r = of[i];
            ssize_t done;

            if (p[i].revents & POLLOUT) {
                done = send(fds[r], chunk,
                            (size_t)(left_out[r] < CHUNK ? left_out[r] : CHUNK),
                            MSG_NOSIGNAL);
                if (done < 0 && errno != EAGAIN)
                    fail("send");
                left_out[r] -= done > 0 ? (int)done : 0;
                left -= done > 0 ? (int)done : 0;
            }
            if (p[i].revents & (POLLIN | POLLHUP | POLLERR)) {
                done = recv(fds[r], chunk,
                            (size_t)(left_in[r] < CHUNK ? left_in[r] : CHUNK), 0);
                if (done == 0 || (done < 0 && errno != EAGAIN))
                    fail("recv");
                left_in[r] -= done > 0 ? (int)done : 0;
                left -= done > 0 ? (int)done : 0;
            }
        }
    }
}

int main(int argc, char *argv[])
{
    const char *what = argc == 9 ? argv[6] : "";
    int bytes, steps, cpu_ms, amount;
    bool is_me;

    if (argc != 6 && argc != 9) {
        fprintf(stderr, "usage: why_job FOLDER PATTERN BYTES STEPS CPU_MS "
                        "[slow|wait|disk RANK AMOUNT]\n");
        return 2;
    }
    rank = number_of("SLURM_PROCID");
    ranks = number_of("SLURM_NTASKS");
    bytes = atoi(argv[3]);
    steps = atoi(argv[4]);
    cpu_ms = atoi(argv[5]);
    is_me = argc == 9 && atoi(argv[7]) == rank;
    amount = argc == 9 ? atoi(argv[8]) : 0;
    if (ranks > MOST)
        return 2;
    for (int r = 0; r < ranks; r++)
        fds[r] = -1;
    meet(argv[1], argv[2]);
    for (int i = 0; i < steps; i++) {
        compute((int64_t)cpu_ms * 1000000 *
                (is_me && strcmp(what, "slow") == 0 ? amount : 1));
        if (is_me && strcmp(what, "wait") == 0)
            pause_ms(amount);
        if (is_me && strcmp(what, "disk") == 0)
            use_disk(argv[1], amount);
        exchange(bytes);
    }
    return 0;
}
