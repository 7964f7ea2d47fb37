/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * labstream: the TCP streams of the lab.
 *
 *   labstream sink PORT                 take any number of streams, read them
 *   labstream send ADDR PORT [options]  load: streams that run until killed
 *       --streams N    parallel connections (default 1)
 *       --seconds S    stop after S seconds (default: never)
 *       --bursts       every stream sends and pauses for random times
 *       --seed N       of those times
 *   labstream measure ADDR PORT [options]  bytes per second, one line a test
 *       --ms D         length of a test as the receiver sees it (default 24)
 *       --warmup W     milliseconds left out at its beginning (default 4)
 *       --repeat R     tests, each on a new connection (default 1)
 *       --port SOURCE  leave by this port: the same five-tuple each time
 *
 * iperf3 is not used for these because it needs a control connection over
 * the same links, serves one client at a time, and reports no interval
 * shorter than 100 ms.
 *
 * A stream opens with a header of three big-endian 32-bit numbers: magic,
 * length and warm-up in ms.  Length 0 asks for a plain sink; otherwise the
 * sink answers, after that time, with the bytes it read and the nanoseconds
 * in which it did (two big-endian 64-bit numbers).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAGIC 0x6c616273u
#define CHUNK 65536
#define CONNECT_TIMEOUT_MS 1000
#define MS_NS 1000000LL

struct header {
    uint32_t magic;
    uint32_t dur_ms;
    uint32_t warmup_ms;
};

struct options {
    struct sockaddr_in peer;
    long streams;
    long seconds;
    bool bursts;
    long seed;
    long dur_ms;
    long warmup_ms;
    long repeat;
    long port; /* one leaves by, 0 = any */
};

/* Bytes and the times at which the first and last of them were read. */
struct window {
    int64_t bytes;
    int64_t first_ns;
    int64_t last_ns;
};

static char chunk[CHUNK];

static int64_t now_ns(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec * 1000 * MS_NS + ts.tv_nsec;
}

static void fail(const char *what)
{
    fprintf(stderr, "labstream: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void sleep_ms(long ms)
{
    struct timespec ts = {ms / 1000, ms % 1000 * MS_NS};

    nanosleep(&ts, NULL);
}

/* Wait for 'events' on 'fd' until 'deadline_ns'.  Returns the events, or 0
 * when the time is over. */
static short wait_until(int fd, short events, int64_t deadline_ns)
{
    struct pollfd p = {.fd = fd, .events = events};
    int64_t left_ns = deadline_ns - now_ns();
    struct timespec ts;

    if (left_ns < 0)
        left_ns = 0;
    ts.tv_sec = left_ns / (1000 * MS_NS);
    ts.tv_nsec = left_ns % (1000 * MS_NS);
    return ppoll(&p, 1, &ts, NULL) > 0 ? p.revents : 0;
}

/* What is measured is the fabric, not when a busy machine lets us run. */
static void hurry(void)
{
    (void)setpriority(PRIO_PROCESS, 0, -15);
}

/* --- sink ------------------------------------------------------------- */

/* Read and forget what has come; MSG_TRUNC spares the copy. */
static ssize_t swallow(int fd)
{
    ssize_t n = recv(fd, chunk, CHUNK, MSG_TRUNC | MSG_DONTWAIT);

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    return n > 0 ? n : -1;
}

/* Count from the first read after the warm-up to the last one before the
 * end: both edges are arrivals, so a late wake-up does not count as
 * bandwidth.  The warm-up starts with the first byte. */
static void read_window(int fd, const struct header *h, struct window *w)
{
    int64_t start_ns = 0, end_ns = now_ns() + 10000 * MS_NS;

    memset(w, 0, sizeof(*w));
    while (wait_until(fd, POLLIN, end_ns)) {
        ssize_t n = swallow(fd);
        int64_t t = now_ns();

        if (n < 0 || t >= end_ns)
            break;
        if (start_ns == 0) {
            start_ns = t + h->warmup_ms * MS_NS;
            end_ns = t + h->dur_ms * MS_NS;
        }
        if (t < start_ns)
            continue;
        if (w->first_ns == 0)
            w->first_ns = t;
        else
            w->bytes += n;
        w->last_ns = t;
    }
}

static void answer(int fd, const struct window *w)
{
    uint64_t reply[2] = {
        htobe64((uint64_t)w->bytes),
        htobe64((uint64_t)(w->last_ns - w->first_ns)),
    };

    if (send(fd, reply, sizeof(reply), MSG_NOSIGNAL) < 0)
        return;
    /* The client resets the connection when it has the answer. */
    while (wait_until(fd, POLLIN, now_ns() + 2000 * MS_NS))
        if (swallow(fd) < 0)
            break;
}

static void serve(int fd)
{
    struct header h;
    struct window w;

    if (recv(fd, &h, sizeof(h), MSG_WAITALL) != (ssize_t)sizeof(h) ||
        ntohl(h.magic) != MAGIC)
        return;
    h.dur_ms = ntohl(h.dur_ms);
    h.warmup_ms = ntohl(h.warmup_ms);
    if (h.dur_ms == 0) {
        while (recv(fd, chunk, CHUNK, MSG_TRUNC) > 0)
            ;
        return;
    }
    read_window(fd, &h, &w);
    answer(fd, &w);
}

static void sink(const char *port)
{
    struct sockaddr_in any = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

    any.sin_port = htons((uint16_t)atoi(port));
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (fd < 0 || bind(fd, (struct sockaddr *)&any, sizeof(any)) < 0 ||
        listen(fd, 256) < 0)
        fail("sink");
    signal(SIGCHLD, SIG_IGN);
    hurry();
    for (;;) {
        int peer = accept(fd, NULL, NULL);

        if (peer < 0)
            continue;
        if (fork() == 0) {
            serve(peer);
            _exit(0);
        }
        close(peer);
    }
}

/* --- the sending side ------------------------------------------------- */

/* Leave by a port of one's own choice; 0 leaves it to the kernel. */
static int bind_port(int fd, long port)
{
    struct sockaddr_in own = {.sin_family = AF_INET,
                              .sin_port = htons((uint16_t)port)};
    int one = 1;

    if (port == 0)
        return 0;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    return bind(fd, (const struct sockaddr *)&own, sizeof(own));
}

/* Connect within CONNECT_TIMEOUT_MS and send the header.  Returns the
 * socket, non-blocking, which drops what is queued when it is closed; or -1
 * with errno. */
static int open_stream(const struct options *o, uint32_t dur_ms)
{
    struct header h = {htonl(MAGIC), htonl(dur_ms),
                       htonl((uint32_t)o->warmup_ms)};
    struct linger reset = {1, 0};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int err = ETIMEDOUT, one = 1;
    socklen_t len = sizeof(err);

    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    if (bind_port(fd, o->port) < 0)
        fail("--port");
    (void)connect(fd, (const struct sockaddr *)&o->peer, sizeof(o->peer));
    if (wait_until(fd, POLLOUT, now_ns() + CONNECT_TIMEOUT_MS * MS_NS))
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len);
    if (err == 0 && send(fd, &h, sizeof(h), MSG_NOSIGNAL) != sizeof(h))
        err = EPIPE;
    if (err == 0)
        return fd;
    close(fd);
    errno = err;
    return -1;
}

/* Send until 'until_ns', or until the peer answers or goes.  Returns -1 in
 * the last case. */
static int pump(int fd, int64_t until_ns)
{
    short ev;

    while ((ev = wait_until(fd, POLLIN | POLLOUT, until_ns))) {
        if (ev & (POLLERR | POLLHUP))
            return -1;
        if (ev & POLLIN)
            return 0;
        if (send(fd, chunk, CHUNK, MSG_NOSIGNAL) < 0 && errno != EAGAIN &&
            errno != EINTR)
            return -1;
    }
    return 0;
}

static const char too_short[] = "what was read spans less than half the test";

/* Send until the answer comes.  Returns bytes per second, or 0 and in *why
 * what went wrong. */
static double measured_rate(int fd, const struct options *o, const char **why)
{
    uint64_t reply[2];

    *why = "the connection broke";
    if (pump(fd, now_ns() + (o->dur_ms + 1000) * MS_NS) < 0)
        return 0;
    *why = "no answer";
    if (recv(fd, reply, sizeof(reply), 0) != sizeof(reply))
        return 0;
    *why = too_short;
    if ((int64_t)be64toh(reply[1]) < (o->dur_ms - o->warmup_ms) * MS_NS / 2)
        return 0;
    return 1e9 * (double)be64toh(reply[0]) / (double)be64toh(reply[1]);
}

/* One test on a connection of its own. */
static double test_once(const struct options *o, const char **why)
{
    int fd = open_stream(o, (uint32_t)o->dur_ms);
    double rate = 0;

    *why = "cannot connect";
    if (fd < 0)
        return 0;
    rate = measured_rate(fd, o, why);
    close(fd);
    return rate;
}

/* Prints bytes per second, 0 if nothing came through.  On a machine with
 * many busy processes the kernel's network thread may be kept waiting for a
 * whole test; such a test says nothing and is made again. */
static void measure_once(const struct options *o)
{
    const char *why;
    double rate = test_once(o, &why);

    for (int again = 0; rate <= 0 && why == too_short && again < 3; again++)
        rate = test_once(o, &why);
    if (rate <= 0)
        fprintf(stderr, "labstream: test failed: %s\n", why);
    printf("%.0f\n", rate);
}

static void measure(const struct options *o)
{
    hurry();
    for (long i = 0; i < o->repeat; i++) {
        if (i > 0)
            sleep_ms(20);
        measure_once(o);
        fflush(stdout);
    }
}

static long between(long low, long high)
{
    return low + random() % (high - low + 1);
}

/* One stream of load; connects again when the connection breaks, as it does
 * while a link has failed. */
static void load_stream(const struct options *o, int64_t end_ns)
{
    int fd = -1;

    while (now_ns() < end_ns) {
        int64_t until_ns = end_ns;

        if (fd < 0 && (fd = open_stream(o, 0)) < 0) {
            sleep_ms(100);
            continue;
        }
        if (o->bursts)
            until_ns = now_ns() + between(20, 400) * MS_NS;
        if (until_ns > end_ns)
            until_ns = end_ns;
        if (pump(fd, until_ns) < 0) {
            close(fd);
            fd = -1;
        }
        if (o->bursts)
            sleep_ms(between(50, 1200));
    }
}

static void load(const struct options *o)
{
    int64_t end_ns = INT64_MAX;

    if (o->seconds > 0)
        end_ns = now_ns() + o->seconds * 1000 * MS_NS;
    for (long i = 0; i < o->streams; i++)
        if (fork() == 0) {
            srandom((unsigned)(o->seed * 1000 + i));
            load_stream(o, end_ns);
            _exit(0);
        }
    while (wait(NULL) > 0 || errno == EINTR)
        ;
}

/* --- arguments -------------------------------------------------------- */

static const struct option long_options[] = {
    {"streams", required_argument, NULL, 'n'},
    {"seconds", required_argument, NULL, 's'},
    {"bursts", no_argument, NULL, 'b'},
    {"seed", required_argument, NULL, 'e'},
    {"ms", required_argument, NULL, 'm'},
    {"warmup", required_argument, NULL, 'w'},
    {"repeat", required_argument, NULL, 'r'},
    {"port", required_argument, NULL, 'p'},
    {NULL, 0, NULL, 0},
};

static void usage(void)
{
    fprintf(stderr, "usage: labstream sink PORT\n"
                    "       labstream send ADDR PORT [--streams N]"
                    " [--seconds S] [--bursts] [--seed N]\n"
                    "       labstream measure ADDR PORT [--ms D]"
                    " [--warmup W] [--repeat R] [--port SOURCE]\n");
    exit(2);
}

static void set_option(struct options *o, int which)
{
    if (which == 'b') {
        o->bursts = true;
        return;
    }
    if (which == '?')
        usage();

    long value = strtol(optarg, NULL, 10);

    switch (which) {
    case 'n':
        o->streams = value;
        break;
    case 's':
        o->seconds = value;
        break;
    case 'e':
        o->seed = value;
        break;
    case 'm':
        o->dur_ms = value;
        break;
    case 'w':
        o->warmup_ms = value;
        break;
    case 'r':
        o->repeat = value;
        break;
    case 'p':
        o->port = value;
        break;
    }
}

static void parse(struct options *o, int argc, char **argv)
{
    int c;

    *o = (struct options){.streams = 1,
                          .seed = (long)getpid(),
                          .dur_ms = 24,
                          .warmup_ms = 4,
                          .repeat = 1};
    while ((c = getopt_long(argc, argv, "", long_options, NULL)) != -1)
        set_option(o, c);
    if (argc - optind != 2)
        usage();
    o->peer.sin_family = AF_INET;
    o->peer.sin_port = htons((uint16_t)atoi(argv[optind + 1]));
    if (inet_pton(AF_INET, argv[optind], &o->peer.sin_addr) != 1)
        usage();
}

int main(int argc, char **argv)
{
    struct options o;

    if (argc == 3 && strcmp(argv[1], "sink") == 0)
        sink(argv[2]);
    if (argc < 4)
        usage();
    parse(&o, argc - 1, argv + 1);
    if (strcmp(argv[1], "send") == 0)
        load(&o);
    else if (strcmp(argv[1], "measure") == 0)
        measure(&o);
    else
        usage();
    return 0;
}
