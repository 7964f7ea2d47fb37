/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Root on one node who says HELLO again and again, as the prolog of job after
 * job.
 *
 *   fake-root KIND NODE NODES [--key value]...
 *
 * KIND says what is wrong with them:
 *   invent    job ids that are still to come, one after the other
 *   swell     random job ids, and as many readings as a message may carry
 *   endpoint  as invent, with --endpoint in the place of its own address
 *   half      half of a frame, and no more
 *   wild      a credential that is whole, with a few bytes of its text changed
 * Keys are server (address:port), uid (tautd's), munge (munged's socket), from
 * (the address to call from), job (the first id), count, rate (a second) and
 * endpoint.  The last line it prints says how many it sent, and how many
 * connections tautd has ended without a plan. */
#include <config.h>

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <munge.h>
#include <sodium.h>

#include "plugin/common/address.h"
#include "plugin/common/clock.h"
#include "wire/frame.h"
#include "wire/protocol.h"
#include "wire/seal.h"

#define OPEN_MAX_CONNS 64 /* kept until their answer, or this many later ones */
#define TEXT_MAX (1u << 20)

static struct {
    const char *kind, *node, *nodes;
    const char *server, *munge, *from, *endpoint;
    long uid, job, count, rate;
} opt = {.munge = "", .endpoint = "", .from = "", .count = 100, .rate = 100};

static int conns[OPEN_MAX_CONNS];
static long sent, ended;
static int last_port = 665;

static void die(const char *what, const char *why)
{
    fprintf(stderr, "fake-root: %s: %s\n", what, why);
    exit(1);
}

static void read_options(int argc, char *argv[])
{
    opt.kind = argv[1];
    opt.node = argv[2];
    opt.nodes = argv[3];
    for (int i = 4; i + 1 < argc; i += 2) {
        const char *key = argv[i] + 2, *value = argv[i + 1];

        if (strcmp(key, "server") == 0)
            opt.server = value;
        else if (strcmp(key, "munge") == 0)
            opt.munge = value;
        else if (strcmp(key, "from") == 0)
            opt.from = value;
        else if (strcmp(key, "endpoint") == 0)
            opt.endpoint = value;
        else if (strcmp(key, "uid") == 0)
            opt.uid = atol(value);
        else if (strcmp(key, "job") == 0)
            opt.job = atol(value);
        else if (strcmp(key, "count") == 0)
            opt.count = atol(value);
        else if (strcmp(key, "rate") == 0)
            opt.rate = atol(value);
        else
            die(argv[i], "no such key");
    }
    if (opt.server == NULL || opt.rate < 1)
        die("usage", "fake-root KIND NODE NODES --server ADDRESS:PORT ...");
}

/* As many as a message may carry, all of them of this node's one interface and
 * of others that it has not. */
static size_t add_readings(char *out, size_t size)
{
    size_t n = 0;

    for (int i = 0; i < TAUT_READINGS_MAX; i++) {
        n += (size_t)snprintf(out + n, size - n, "%snetdev hsn%d",
                              i > 0 ? "\\n" : "", i);
        for (int k = 0; k < 24; k++)
            n += (size_t)snprintf(out + n, size - n, " x_%d_errors=%u", k,
                                  randombytes_random());
    }
    return n;
}

static const char *hello(long i)
{
    static char text[TEXT_MAX];
    static char readings[TEXT_MAX / 2];
    unsigned char key[TAUT_SEAL_KEY];
    char hex[2 * TAUT_SEAL_KEY + 1];
    bool swells = strcmp(opt.kind, "swell") == 0;
    long job = swells ? (long)randombytes_uniform(1u << 30) + 1 : opt.job + i;

    randombytes_buf(key, sizeof(key));
    sodium_bin2hex(hex, sizeof(hex), key, sizeof(key));
    if (swells)
        add_readings(readings, sizeof(readings));
    snprintf(text, sizeof(text),
             "{\"v\":%d,\"oldest\":%d,\"purpose\":\"prolog\",\"job\":%ld,"
             "\"restart\":0,\"uid\":0,\"node\":\"%s\",\"nodes\":\"%s\","
             "\"endpoint\":\"%s\",\"budget_ms\":900,"
             "\"boot\":\"b\",\"slurm\":\"22.05.8\",\"release\":\"0.2\","
             "\"key\":\"%s\",\"readings\":\"%s\"}",
             TAUT_PROTOCOL_VERSION, TAUT_PROTOCOL_OLDEST, job, opt.node,
             opt.nodes, opt.endpoint, hex, readings);
    if (strcmp(opt.kind, "wild") == 0)
        for (int k = 0; k < 3; k++)
            text[randombytes_uniform((uint32_t)strlen(text))] =
                (char)(' ' + randombytes_uniform('~' - ' '));
    return text;
}

static char *wrap(const char *text)
{
    munge_ctx_t ctx = munge_ctx_create();
    char *cred = NULL;

    if (*opt.munge)
        munge_ctx_set(ctx, MUNGE_OPT_SOCKET, opt.munge);
    munge_ctx_set(ctx, MUNGE_OPT_UID_RESTRICTION, (uid_t)opt.uid);
    if (munge_encode(&cred, ctx, text, (int)strlen(text)) != EMUNGE_SUCCESS)
        die("munge", munge_ctx_strerror(ctx));
    munge_ctx_destroy(ctx);
    return cred;
}

/* From one of root's ports; they are used again at once, as an attacker would.
 * Returns a descriptor, or -1 with errno. */
static int call(void)
{
    struct taut_address to, from;
    char own[TAUT_ADDRESS_TEXT];
    int one = 1, fd = -1;

    if (taut_address_parse(&to, opt.server, NULL) < 0)
        die(opt.server, "no address:port");
    for (int tries = 0; tries < 359; tries++) {
        last_port = last_port >= 1023 ? 665 : last_port + 1;
        snprintf(own, sizeof(own), "%s:%d", *opt.from ? opt.from : "0.0.0.0",
                 last_port);
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
        if (taut_address_parse(&from, own, NULL) == 0 &&
            bind(fd, (const void *)&from.sa, from.length) == 0 &&
            connect(fd, (const void *)&to.sa, to.length) == 0)
            return fd;
        close(fd);
        if (errno != EADDRINUSE && errno != EADDRNOTAVAIL)
            return -1;
    }
    return -1;
}

/* A reset, so that the port is free again. */
static void hang_up(int fd)
{
    struct linger now = {.l_onoff = 1, .l_linger = 0};

    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close(fd);
}

/* Who has an answer, or was sent away, is done with. */
static void look_at_answers(void)
{
    for (int i = 0; i < OPEN_MAX_CONNS; i++) {
        struct pollfd pfd = {.fd = conns[i], .events = POLLIN};
        char byte;

        if (conns[i] < 0 || poll(&pfd, 1, 0) <= 0)
            continue;
        ended += recv(conns[i], &byte, 1, MSG_DONTWAIT) <= 0;
        hang_up(conns[i]);
        conns[i] = -1;
    }
}

static void say(long i)
{
    unsigned char head[TAUT_FRAME_HEAD];
    char *cred = wrap(hello(i));
    size_t n = strlen(cred);
    size_t part = strcmp(opt.kind, "half") == 0 ? n / 2 : n;
    int fd = call(), *place = &conns[i % OPEN_MAX_CONNS];

    if (fd >= 0 && taut_frame_encode(head, TAUT_FRAME_HELLO, n) == 0 &&
        send(fd, head, sizeof(head), MSG_NOSIGNAL) == (ssize_t)sizeof(head) &&
        send(fd, cred, part, MSG_NOSIGNAL) == (ssize_t)part)
        sent++;
    free(cred);
    if (*place >= 0)
        hang_up(*place);
    *place = fd;
}

int main(int argc, char *argv[])
{
    int64_t began_ns = taut_now_ns();

    if (argc < 4 || sodium_init() < 0)
        die("usage", "fake-root KIND NODE NODES --server ADDRESS:PORT ...");
    read_options(argc, argv);
    memset(conns, -1, sizeof(conns));
    for (long i = 0; i < opt.count; i++) {
        int64_t due_ns = began_ns + i * TAUT_S_NS / opt.rate;
        int64_t wait_ns = due_ns - taut_now_ns();

        if (wait_ns > 0)
            usleep((useconds_t)(wait_ns / 1000));
        say(i);
        look_at_answers();
    }
    usleep(500000);
    look_at_answers();
    printf("%ld sent, %ld ended\n", sent, ended);
    return 0;
}
