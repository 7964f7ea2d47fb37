/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parallel programs on all nodes of a lab, by plain TCP, for the bench
 * study_lab; run inside a lab as root: exchange NODES.
 *
 * A process in each node's network namespace; what they agree on beside their
 * messages goes through shared memory, not over the links.  Acknowledgements
 * ask for low delay, so that ports with a pfifo_fast send them first.
 * Standard input:
 *
 *   halo XxYxZ BYTES STEPS   ranks in a grid whose dimensions are rings, the
 *                            last runs fastest; each exchanges BYTES with each
 *                            of its six neighbours at once
 *   exchange BYTES STEPS     all-to-all in pairs: in turn k rank i meets i xor
 * k
 *
 * A rank goes on when it has what it waits for itself.  The answer to a line is
 * "SECONDS", of one step: all steps together take until the last rank is done,
 * and one before them, of a byte each, sets up the connections.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 256, PORT = 7300, SIDES = 6, CHUNK = 1 << 16 };
/* Of a connection: a message fits, so that no one wakes up in its middle. */
enum { ROOM = 1 << 18 };
enum { NONE = -1, COMING = -2 }; /* connections that are not there */

struct shared {
    pthread_barrier_t all; /* the ranks and their parent */
    struct in_addr address[MOST];
    bool is_halo, is_over;
    int grid[3], bytes, steps;
};

struct message {
    int fd, left;
    short events; /* POLLOUT: to send, POLLIN: to get */
};

struct rank {
    struct shared *s;
    int me, ranks, listener;
    int out[MOST], in[MOST]; /* connections to and from each */
    struct message message[2 * MOST];
    int messages;
    bool is_first;
    char buffer[CHUNK];
};

static void die(const char *what)
{
    fprintf(stderr, "exchange: %s: %s\n", what, strerror(errno));
    kill(0, SIGTERM);
    exit(1);
}

static void meet(struct shared *s)
{
    pthread_barrier_wait(&s->all);
}

/* ---- connections ---- */

static void enter(struct rank *r)
{
    struct ifaddrs *list;
    char path[64];

    snprintf(path, sizeof(path), "/run/netns/n%d", r->me);
    int fd = open(path, O_RDONLY);
    if (fd < 0 || setns(fd, CLONE_NEWNET) < 0 || getifaddrs(&list) < 0)
        die(path);
    close(fd);
    for (struct ifaddrs *a = list; a != NULL; a = a->ifa_next)
        if (strcmp(a->ifa_name, "hsn0") == 0 && a->ifa_addr != NULL &&
            a->ifa_addr->sa_family == AF_INET)
            r->s->address[r->me] =
                ((struct sockaddr_in *)a->ifa_addr)->sin_addr;
    freeifaddrs(list);
}

static void listen_here(struct rank *r)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    int tos = IPTOS_LOWDELAY, one = 1;

    r->listener = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(r->listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    setsockopt(r->listener, IPPROTO_IP, IP_TOS, &tos, sizeof(tos));
    if (bind(r->listener, (struct sockaddr *)&at, sizeof(at)) < 0 ||
        listen(r->listener, MOST) < 0)
        die("listen");
}

static void connect_to(struct rank *r, int peer)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons(PORT),
                             .sin_addr = r->s->address[peer]};
    uint8_t me = (uint8_t)r->me;
    int one = 1, room = ROOM, fd = socket(AF_INET, SOCK_STREAM, 0);

    setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
    if (connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
        write(fd, &me, 1) != 1)
        die("connect");
    setsockopt(fd, SOL_TCP, TCP_NODELAY, &one, sizeof(one));
    fcntl(fd, F_SETFL, O_NONBLOCK);
    r->out[peer] = fd;
}

static void accept_one(struct rank *r)
{
    uint8_t peer;
    int fd = accept(r->listener, NULL, NULL);

    if (fd < 0 || read(fd, &peer, 1) != 1)
        die("accept");
    fcntl(fd, F_SETFL, O_NONBLOCK);
    r->in[peer] = fd;
}

/* ---- what is exchanged ---- */

/* Sends to one rank and gets from another; a first time, connects. */
static void plan(struct rank *r, int to, int from, bool connects)
{
    int bytes = r->is_first ? 1 : r->s->bytes;

    if (to == r->me)
        return;
    if (connects) {
        if (r->out[to] == NONE)
            connect_to(r, to);
        if (r->in[from] == NONE) {
            r->in[from] = COMING;
            r->messages++; /* to be accepted */
        }
        return;
    }
    r->message[r->messages++] = (struct message){r->out[to], bytes, POLLOUT};
    r->message[r->messages++] = (struct message){r->in[from], bytes, POLLIN};
}

static int beside(const struct rank *r, int side)
{
    const int *g = r->s->grid;
    int at[3] = {r->me / (g[1] * g[2]), r->me / g[2] % g[1], r->me % g[2]};
    int d = side / 2;

    at[d] = (at[d] + (side % 2 ? 1 : g[d] - 1)) % g[d];
    return (at[0] * g[1] + at[1]) * g[2] + at[2];
}

/* Moves what can be; is a message done? */
static bool move(struct rank *r, struct message *m)
{
    size_t most = m->left < CHUNK ? (size_t)m->left : CHUNK;
    ssize_t n = m->events == POLLOUT ? write(m->fd, r->buffer, most)
                                     : read(m->fd, r->buffer, most);
    if (n == 0 || (n < 0 && errno != EAGAIN))
        die("a message");
    m->left -= n > 0 ? (int)n : 0;
    return m->left == 0;
}

static void exchange(struct rank *r)
{
    while (r->messages > 0) {
        struct pollfd p[2 * MOST];
        for (int i = 0; i < r->messages; i++)
            p[i] = (struct pollfd){r->message[i].fd, r->message[i].events, 0};
        if (poll(p, (nfds_t)r->messages, -1) < 0)
            die("poll");
        for (int i = r->messages - 1; i >= 0; i--)
            if (p[i].revents && move(r, &r->message[i]))
                r->message[i] = r->message[--r->messages];
    }
}

static void halo(struct rank *r, bool connects)
{
    for (int side = 0; side < SIDES; side++)
        plan(r, beside(r, side), beside(r, side ^ 1), connects);
    if (!connects)
        exchange(r);
}

static void all_to_all(struct rank *r, bool connects)
{
    for (int k = 1; k < r->ranks; k++) {
        plan(r, r->me ^ k, r->me ^ k, connects);
        if (!connects)
            exchange(r);
    }
}

static void step(struct rank *r, bool connects)
{
    (r->s->is_halo ? halo : all_to_all)(r, connects);
}

static void work(struct rank *r)
{
    for (;;) {
        meet(r->s); /* a line is there */
        if (r->s->is_over)
            exit(0);
        step(r, true);
        for (; r->messages > 0; r->messages--)
            accept_one(r);
        r->is_first = true;
        step(r, false);
        r->is_first = false;
        meet(r->s);
        for (int i = 0; i < r->s->steps; i++)
            step(r, false);
        meet(r->s);
    }
}

static void be_rank(struct shared *s, int me, int ranks)
{
    struct rank *r = calloc(1, sizeof(*r));

    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (r == NULL)
        die("memory");
    *r = (struct rank){.s = s, .me = me, .ranks = ranks};
    memset(r->out, NONE, sizeof(r->out));
    memset(r->in, NONE, sizeof(r->in));
    enter(r);
    listen_here(r);
    meet(s);
    work(r);
}

/* ---- the parent ---- */

static bool parse(struct shared *s, const char *line, int ranks)
{
    int *g = s->grid;

    s->is_halo = sscanf(line, "halo %dx%dx%d %d %d", &g[0], &g[1], &g[2],
                        &s->bytes, &s->steps) == 5;
    if (!s->is_halo &&
        sscanf(line, "exchange %d %d", &s->bytes, &s->steps) != 2)
        return false;
    return s->bytes > 0 && s->steps > 0 &&
           (s->is_halo ? g[0] > 0 && g[1] > 0 && g[2] > 0 &&
                             g[0] * g[1] * g[2] == ranks
                       : (ranks & (ranks - 1)) == 0);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void answer(struct shared *s)
{
    meet(s);
    meet(s); /* the first step is over */
    double begin = now();
    meet(s);
    printf("%.6f\n", (now() - begin) / s->steps);
    fflush(stdout);
}

static void share(struct shared *s, int ranks)
{
    pthread_barrierattr_t a;

    pthread_barrierattr_init(&a);
    pthread_barrierattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(&s->all, &a, (unsigned)ranks + 1);
}

int main(int argc, char **argv)
{
    int ranks = argc == 2 ? atoi(argv[1]) : 0;
    char line[256];
    struct shared *s = mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (ranks < 2 || ranks > MOST || s == MAP_FAILED) {
        fprintf(stderr, "usage: exchange NODES (2 to %d)\n", MOST);
        return 2;
    }
    setpgid(0, 0); /* die() ends them all */
    share(s, ranks);
    for (int i = 0; i < ranks; i++)
        if (fork() == 0)
            be_rank(s, i, ranks);
    meet(s); /* everybody listens */
    while (fgets(line, sizeof(line), stdin) != NULL) {
        if (!parse(s, line, ranks)) {
            fprintf(stderr, "exchange: cannot do: %s", line);
            kill(0, SIGTERM);
            return 2;
        }
        answer(s);
    }
    s->is_over = true;
    meet(s);
    while (wait(NULL) > 0)
        ;
    return 0;
}
