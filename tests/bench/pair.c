/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bench-pair: tests between two network namespaces, by the probe's own
 * runner and nothing else of Taut.
 *
 *   bench-pair --from ADDR --to ADDR [--from-net FILE] [--to-net FILE]
 *              [--transport tcp|ofi] [--provider P] [--domain D]
 *              [--libexec DIR] [--mode stream|latency] [--ms N] [--streams N]
 *              [--repeat N] [--pause-ms N]
 *
 * Output, a line for each test: "test JSON" with the RESULT's object of the
 * sender under "send" and the receiver's under "recv"; before them
 * "open NANOSECONDS" of the sender's endpoint. */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <jansson.h>

#include "plugin/common/clock.h"
#include "plugin/counters/gauge.h"
#include "plugin/counters/netstat.h"
#include "plugin/streams/runner.h"

#define LEAD_MS 60 /* for a connection of libfabric, too */
#define LIMIT_MS 3000

static struct {
    const char *address[2], *net[2]; /* sender, receiver */
    const char *provider, *domain, *libexec;
    enum taut_transport_kind transport;
    enum taut_mode mode;
    int ms, streams, repeat, pause_ms;
} opt = {
    .provider = "",
    .domain = "",
    .libexec = TAUT_LIBEXECDIR,
    .transport = TAUT_TRANSPORT_TCP,
    .mode = TAUT_MODE_STREAM,
    .ms = 25,
    .streams = 1,
    .repeat = 1,
};

static struct taut_gauge gauge;

static void die(const char *what, const char *why)
{
    fprintf(stderr, "bench-pair: %s: %s\n", what, why);
    exit(1);
}

static int number(const char *key, const char *text, int least, int most)
{
    char *end;
    long value = strtol(text, &end, 10);

    if (*end || value < least || value > most)
        die(key, "not a number in its range");
    return (int)value;
}

static void set_option(const char *key, const char *value)
{
    if (strcmp(key, "--from") == 0)
        opt.address[0] = value;
    else if (strcmp(key, "--to") == 0)
        opt.address[1] = value;
    else if (strcmp(key, "--from-net") == 0)
        opt.net[0] = value;
    else if (strcmp(key, "--to-net") == 0)
        opt.net[1] = value;
    else if (strcmp(key, "--provider") == 0)
        opt.provider = value;
    else if (strcmp(key, "--domain") == 0)
        opt.domain = value;
    else if (strcmp(key, "--libexec") == 0)
        opt.libexec = value;
    else if (strcmp(key, "--transport") == 0)
        opt.transport = taut_transport_parse(value);
    else if (strcmp(key, "--mode") == 0)
        opt.mode = strcmp(value, "latency") != 0 ? TAUT_MODE_STREAM
                                                 : TAUT_MODE_LATENCY;
    else if (strcmp(key, "--ms") == 0)
        opt.ms = number(key, value, 5, 2000);
    else if (strcmp(key, "--streams") == 0)
        opt.streams = number(key, value, 1, TAUT_PLAN_STREAMS);
    else if (strcmp(key, "--repeat") == 0)
        opt.repeat = number(key, value, 1, 1000000);
    else if (strcmp(key, "--pause-ms") == 0)
        opt.pause_ms = number(key, value, 0, 60000);
    else
        die(key, "not an option");
}

static void enter(const char *net)
{
    int fd = net != NULL ? open(net, O_RDONLY | O_CLOEXEC) : -1;

    if (net != NULL && (fd < 0 || setns(fd, CLONE_NEWNET) < 0))
        die(net, strerror(errno));
    if (fd >= 0)
        close(fd);
}

static void open_endpoint(struct taut_endpoint *ep, int side)
{
    struct taut_transport_options options = {
        .provider = opt.provider,
        .domain = opt.domain,
        .env = "",
        .folder = opt.libexec,
    };
    struct taut_error why;
    char text[TAUT_ADDRESS_TEXT];

    memset(ep, 0, sizeof(*ep));
    enter(opt.net[side]);
    taut_gauge_init(&gauge);
    gauge.sched_fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
    gauge.netstat_fd = taut_netstat_open();
    ep->gauge = &gauge;
    snprintf(text, sizeof(text),
             strchr(opt.address[side], ':') != NULL ? "[%s]:1" : "%s:1",
             opt.address[side]);
    if (taut_address_parse(&ep->local, text, &why) < 0)
        die("address", why.text);
    taut_address_set_port(&ep->local, 0);
    if (taut_transport_of(opt.transport)->open(ep, &options, &why) < 0)
        die("endpoint", why.text);
    if (opt.transport == TAUT_TRANSPORT_OFI)
        taut_transport_ofi_load(ep);
    if (opt.transport == TAUT_TRANSPORT_OFI &&
        taut_transport_ofi_wait(ep, taut_now_ns() + 20 * TAUT_S_NS, &why) < 0)
        die("endpoint", why.text);
}

static void make_plan(struct taut_plan *plan, enum taut_role role, int i,
                      const char *peer)
{
    struct taut_test *t = &plan->tests[0];

    memset(plan, 0, sizeof(*plan));
    plan->count = 1;
    t->id = i;
    t->role = role;
    t->mode = opt.mode;
    t->transport = opt.transport;
    snprintf(t->peer, sizeof(t->peer), "%s", peer);
    memcpy(t->token, &i, sizeof(i));
    t->start_ms = LEAD_MS;
    t->dur_ms = opt.ms;
    t->streams = opt.mode == TAUT_MODE_LATENCY ? 1 : opt.streams;
}

/* One test's object of a RESULT. */
static json_t *run(struct taut_endpoint *ep, enum taut_role role, int i,
                   const char *peer)
{
    static struct taut_plan plan;
    static struct taut_measure measure;
    static struct taut_readings none;
    struct taut_runner runner = {.endpoints = ep, .endpoint_count = 1};
    struct taut_result result = {
        .plan = &plan, .measures = &measure, .readings = &none};
    int64_t now_ns = taut_now_ns();
    json_t *json, *test;
    char *text;

    make_plan(&plan, role, i, peer);
    if (taut_runner_run(&runner, &plan, now_ns,
                        now_ns + (opt.ms + LIMIT_MS) * TAUT_MS_NS, &measure,
                        &result.refused) < 0)
        die("runner", strerror(errno));
    text = taut_result_encode(&result);
    json = json_loads(text, 0, NULL);
    test = json_array_get(json_object_get(json, "tests"), 0);
    json_incref(test);
    json_decref(json);
    free(text);
    return test;
}

static void put(int fd, const char *text)
{
    if (dprintf(fd, "%s\n", text) < 0)
        exit(1);
}

static char *get(FILE *in)
{
    static char line[4096];

    if (fgets(line, sizeof(line), in) == NULL)
        exit(1);
    line[strcspn(line, "\n")] = '\0';
    return line;
}

/* Runs until its peer has gone. */
static void receiver(FILE *in, int out)
{
    struct taut_endpoint ep;

    open_endpoint(&ep, 1);
    put(out, ep.name);
    for (int i = 0; i < opt.repeat; i++) {
        json_t *test;
        char *text;

        get(in);
        test = run(&ep, TAUT_ROLE_RECV, i, "");
        text = json_dumps(test, JSON_COMPACT);
        put(out, text);
        free(text);
        json_decref(test);
    }
    ep.transport->close(&ep);
}

static void sender(FILE *in, int out)
{
    struct taut_endpoint ep;
    int64_t before_ns = taut_now_ns();
    char peer[TAUT_ENDPOINT_TEXT];

    open_endpoint(&ep, 0);
    printf("open %lld\n", (long long)(taut_now_ns() - before_ns));
    snprintf(peer, sizeof(peer), "%.*s", (int)sizeof(peer) - 1, get(in));
    for (int i = 0; i < opt.repeat; i++) {
        json_t *test, *both;
        char *text;

        put(out, "go");
        test = run(&ep, TAUT_ROLE_SEND, i, peer);
        both = json_pack("{s:o, s:o}", "send", test, "recv",
                         json_loads(get(in), 0, NULL));
        text = json_dumps(both, JSON_COMPACT);
        printf("test %s\n", text);
        fflush(stdout);
        free(text);
        json_decref(both);
        usleep((useconds_t)opt.pause_ms * 1000);
    }
    ep.transport->close(&ep);
}

int main(int argc, char *argv[])
{
    int there[2], back[2], status;
    pid_t child;

    for (int i = 1; i < argc; i += 2)
        set_option(argv[i], i + 1 < argc ? argv[i + 1] : "");
    if (opt.address[0] == NULL || opt.address[1] == NULL ||
        opt.transport == TAUT_TRANSPORT_NONE)
        die("usage", "--from ADDR --to ADDR ...; see tests/bench/pair.c");
    if (pipe2(there, O_CLOEXEC) < 0 || pipe2(back, O_CLOEXEC) < 0 ||
        (child = fork()) < 0)
        die("start", strerror(errno));
    if (child == 0) {
        close(there[1]);
        receiver(fdopen(there[0], "r"), back[1]);
        return 0;
    }
    close(there[0]);
    close(back[1]);
    sender(fdopen(back[0], "r"), there[1]);
    return waitpid(child, &status, 0) == child && status == 0 ? 0 : 1;
}
