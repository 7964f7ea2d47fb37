/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bench-nodes: the nodes of many jobs in one process, as tautd sees them: real
 * MUNGE credentials, real frames, real plans; only what they measured is made
 * up.
 *
 *   bench-nodes --server ADDR:PORT --uid N --munge SOCKET --nodes FILE
 *               --job N --size N --jobs N --over-ms N --rate BYTES
 *               [--purpose prolog|epilog] [--silent | --errors]
 *
 * FILE has a line "NAME ADDRESS" for each node; the process may bind to these
 * addresses.  'jobs' jobs of 'size' nodes each, numbered from 'job' on, begin
 * evenly over so many ms; job i has nodes i * size to i * size + size - 1,
 * anew from the first when they are used up.  Each of their tests comes out at
 * 'rate' bytes a second.  With --silent nobody answers a plan, with --errors
 * nobody could carry it out.
 *
 * Credentials are made before the first job begins (munge takes them for 300
 * s).  Output, a line each: "encode|decode COUNT SECONDS" (munged's own rate,
 * by 4 threads, of credentials that nobody else sees), "begin", and when all
 * is over "nodes|plans|tests|empty|refused|late COUNT" and "wait_ms MEDIAN
 * MOST", from connecting to the plan.  'late': no answer within the budget, so
 * that a real node would begin a hold-off. */
#include <config.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <munge.h>

#include "plugin/common/clock.h"
#include "plugin/common/plan.h"
#include "wire/frame.h"
#include "wire/seal.h"

#define BUDGET_MS 980 /* of a prolog, as taut-probe has it left */
#define THREADS 4
#define SAMPLE 2000 /* credentials by which munged's rate is measured */
#define EVENTS 512
#define IN_A_ROW 32 /* nodes that begin before those that have are heard */
#define FDS 20000
/* What the one interface of a node of the lab counts: HELLO's and RESULT's. */
#define READINGS                                                               \
    "netdev hsn0 rx_bytes=48211 tx_bytes=51200 rx_packets=311 "                \
    "tx_packets=322 rx_errors=0 tx_errors=0 rx_dropped=0 tx_dropped=0 "        \
    "rx_crc_errors=0 carrier_changes=1 speed_Mbps=200000 state='up' "          \
    "duplex='full'"

enum state { WAITING, CONNECTING, PLANNED, TESTING, ANSWERED, OVER };

struct node {
    char name[64];
    struct in_addr address;
};

/* One node's part in one job. */
struct part {
    const struct node *node;
    unsigned job;
    enum state state;
    int fd;
    unsigned char key[TAUT_SEAL_KEY];
    char *cred;
    unsigned char *in;
    size_t have;
    char *result;
    int64_t begin_ns, connect_ns, answer_ns, waited_ns;
    struct part *next; /* of those that wait for the end of their tests */
};

static struct {
    struct sockaddr_in server;
    uid_t uid;
    const char *munge, *nodes, *purpose;
    long job, size, jobs, over_ms;
    double rate;
    bool silent, errors;
} opt = {.purpose = "prolog", .job = 1, .size = 1, .jobs = 1, .rate = 1e9};

static struct node *nodes;
static size_t node_count;
static struct part *parts;
static size_t part_count, over;
static int poller;
static long plans, tests, empty, refused, late, unheard, wrong;

static void die(const char *what, const char *why)
{
    fprintf(stderr, "bench-nodes: %s: %s\n", what, why);
    exit(1);
}

static void *need(void *p)
{
    if (p == NULL)
        die("memory", "none left");
    return p;
}

/* ---- credentials ---- */

static char *wrap(const char *text)
{
    munge_ctx_t ctx = munge_ctx_create();
    char *cred = NULL;

    munge_ctx_set(ctx, MUNGE_OPT_SOCKET, opt.munge);
    munge_ctx_set(ctx, MUNGE_OPT_UID_RESTRICTION, opt.uid);
    if (munge_encode(&cred, ctx, text, (int)strlen(text)) != EMUNGE_SUCCESS)
        die("munge", munge_ctx_strerror(ctx));
    munge_ctx_destroy(ctx);
    return cred;
}

static void unwrap(const char *cred)
{
    munge_ctx_t ctx = munge_ctx_create();
    void *payload = NULL;
    uid_t uid;
    gid_t gid;
    int n;

    munge_ctx_set(ctx, MUNGE_OPT_SOCKET, opt.munge);
    if (munge_decode(cred, ctx, &payload, &n, &uid, &gid) != EMUNGE_SUCCESS)
        die("munge", munge_ctx_strerror(ctx));
    free(payload);
    munge_ctx_destroy(ctx);
}

/* What a node of the lab says, with the readings of one interface. */
static char *hello(const struct part *p, const char *list)
{
    char key[2 * TAUT_SEAL_KEY + 1], address[INET_ADDRSTRLEN], *text = NULL;

    taut_hex(key, p->key, sizeof(p->key));
    inet_ntop(AF_INET, &p->node->address, address, sizeof(address));
    if (asprintf(
            &text,
            "{\"v\":%d,\"purpose\":\"%s\",\"job\":%u,\"restart\":0,"
            "\"uid\":1000,\"partition\":\"batch\",\"node\":\"%s\","
            "\"nodes\":\"%s\",\"endpoint\":\"%s:40000\",\"budget_ms\":%d,"
            "\"endpoints\":[{\"if\":\"hsn0\",\"tcp\":\"%s:40000\"}],"
            "\"boot\":\"6f1c2a44-0f27-4d8e-9d53-0d7c7c2f1a11\","
            "\"slurm\":\"22.05.8\",\"release\":\"" PACKAGE_VERSION "\","
            "\"key\":\"%s\",\"readings\":\"" READINGS "\"}",
            TAUT_PROTOCOL_VERSION, opt.purpose, p->job, p->node->name, list,
            address, BUDGET_MS, address, key) < 0)
        die("memory", "none left");
    return text;
}

struct share {
    size_t first, last;
    char **creds; /* NULL: the parts' own */
    void (*work)(struct share *s, size_t i);
};

static char **lists; /* a job's nodes as Slurm writes them */

static void make_part(struct share *s, size_t i)
{
    char *text = hello(&parts[i], lists[i / (size_t)opt.size]);

    (void)s;
    parts[i].cred = wrap(text);
    free(text);
}

static void make_sample(struct share *s, size_t i)
{
    char *text = hello(&parts[0], lists[0]);

    s->creds[i] = wrap(text);
    free(text);
}

static void open_sample(struct share *s, size_t i)
{
    unwrap(s->creds[i]);
    free(s->creds[i]);
}

static void *thread(void *arg)
{
    struct share *s = arg;

    for (size_t i = s->first; i < s->last; i++)
        s->work(s, i);
    return NULL;
}

/* Returns the seconds it took. */
static double in_threads(void (*work)(struct share *, size_t), char **creds,
                         size_t count)
{
    struct share share[THREADS];
    pthread_t id[THREADS];
    int64_t began = taut_now_ns();

    for (size_t t = 0; t < THREADS; t++) {
        share[t] = (struct share){.first = count * t / THREADS,
                                  .last = count * (t + 1) / THREADS,
                                  .creds = creds,
                                  .work = work};
        if (pthread_create(&id[t], NULL, thread, &share[t]) != 0)
            die("thread", strerror(errno));
    }
    for (size_t t = 0; t < THREADS; t++)
        pthread_join(id[t], NULL);
    return (double)(taut_now_ns() - began) / 1e9;
}

/* ---- results ---- */

/* As a node of the lab that has nothing to complain of. */
static void one_result(FILE *out, const struct taut_test *t)
{
    double window_s = t->dur_ms * 0.8e-3;
    double bytes = opt.rate * window_s;
    bool sends = t->role == TAUT_ROLE_SEND;

    if (opt.errors) {
        fprintf(out,
                "{\"id\":%" PRId64 ",\"role\":\"%s\","
                "\"error\":\"not carried out\"}",
                t->id, sends ? "send" : "recv");
        return;
    }
    fprintf(out,
            "{\"id\":%" PRId64 ",\"role\":\"%s\",\"bytes\":%.0f,"
            "\"window_ns\":%.0f,\"total_bytes\":%.0f,\"delay_ns\":9000,"
            "\"foreign_bytes\":0",
            t->id, sends ? "send" : "recv", bytes, window_s * 1e9,
            bytes * 1.25);
    if (t->mode == TAUT_MODE_LATENCY) {
        fprintf(out, ",\"lat_ns\":{\"median\":3000,\"p99\":4000,\"n\":600}");
    } else if (sends) {
        fprintf(out,
                ",\"rtt_ns\":61000,\"mean_rtt_ns\":83000,\"segments\":%.0f,"
                "\"resent\":0,\"resent_bytes\":0,\"spurious\":0,"
                "\"reordered\":0,\"marked\":0,\"min_rtt_ns\":59000,"
                "\"congestion\":\"cubic\",\"busy_ns\":%.0f,"
                "\"port_ns\":%.0f,\"port_data_bytes\":%.0f,"
                "\"port_with_bytes\":0,\"port_back_bytes\":0",
                bytes * 1.25 / 1448, window_s * 1e9, window_s * 1e9,
                bytes * 1.04);
    } else {
        fputs(",\"sub_bytes\":[", out);
        for (int i = 0; i < 8; i++)
            fprintf(out, "%s%.0f", i > 0 ? "," : "", bytes / 8);
        fprintf(out, "],\"looks\":8,\"segments\":%.0f,\"disordered\":0",
                bytes * 1.25 / 1448);
    }
    putc('}', out);
}

static char *result_of(const struct taut_plan *plan)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = need(open_memstream(&text, &n));

    fprintf(out,
            "{\"v\":%d,\"refused\":0,\"readings\":\"" READINGS "\",\"tests\":[",
            TAUT_PROTOCOL_VERSION);
    for (size_t i = 0; i < plan->count; i++) {
        if (i > 0)
            putc(',', out);
        one_result(out, &plan->tests[i]);
    }
    fputs("]}", out);
    fclose(out);
    return text;
}

/* ---- connections ---- */

static struct part *testing; /* by the time at which their tests are over */

static void finish(struct part *p)
{
    if (p->fd >= 0)
        close(p->fd);
    p->fd = -1;
    free(p->cred);
    free(p->in);
    free(p->result);
    p->cred = p->result = NULL;
    p->in = NULL;
    p->state = OVER;
    over++;
}

static void watch(struct part *p, uint32_t events, int op)
{
    struct epoll_event ev = {.events = events, .data.ptr = p};

    if (epoll_ctl(poller, op, p->fd, &ev) < 0)
        die("epoll", strerror(errno));
}

/* From a port that only root has.  Returns a socket that is connecting, or -1:
 * the port is taken, or its last connection not quite over. */
static int call_from(struct in_addr address, uint16_t port)
{
    static const int one = 1;
    struct sockaddr_in from = {
        .sin_family = AF_INET, .sin_addr = address, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        die("socket", strerror(errno));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(fd, (const void *)&from, sizeof(from)) == 0 &&
        (connect(fd, (const void *)&opt.server, sizeof(opt.server)) == 0 ||
         errno == EINPROGRESS))
        return fd;
    if (errno != EADDRINUSE && errno != EADDRNOTAVAIL)
        die("connect", strerror(errno));
    close(fd);
    return -1;
}

static void begin(struct part *p, int64_t now_ns)
{
    p->connect_ns = now_ns;
    p->state = CONNECTING;
    for (uint16_t port = 1023; p->fd < 0 && port >= 512; port--)
        p->fd = call_from(p->node->address, port);
    if (p->fd < 0)
        die(p->node->name, "no port below 1024 is free");
    watch(p, EPOLLOUT, EPOLL_CTL_ADD);
}

/* A frame is small beside what a socket takes at once. */
static bool send_frame(struct part *p, enum taut_frame_type type,
                       const void *payload, size_t n)
{
    unsigned char *frame = need(malloc(TAUT_FRAME_HEAD + n));
    ssize_t sent;

    taut_frame_encode(frame, type, n);
    memcpy(frame + TAUT_FRAME_HEAD, payload, n);
    sent = send(p->fd, frame, TAUT_FRAME_HEAD + n, MSG_NOSIGNAL);
    free(frame);
    return sent == (ssize_t)(TAUT_FRAME_HEAD + n);
}

static void say_hello(struct part *p)
{
    if (!send_frame(p, TAUT_FRAME_HELLO, p->cred, strlen(p->cred))) {
        refused++;
        finish(p);
        return;
    }
    p->state = PLANNED;
    p->in = need(malloc(TAUT_PLAN_BYTES));
    watch(p, EPOLLIN, EPOLL_CTL_MOD);
}

static void send_result(struct part *p)
{
    size_t n = strlen(p->result);
    unsigned char *sealed = need(malloc(n + TAUT_SEAL_OVERHEAD));

    n = taut_seal(sealed, p->key, TAUT_PROTOCOL_VERSION, TAUT_FRAME_RESULT, 0,
                  p->result, n);
    if (!send_frame(p, TAUT_FRAME_RESULT, sealed, n))
        wrong++;
    free(sealed);
    p->state = ANSWERED;
}

/* Nearly always the last one. */
static void wait_for_tests(struct part *p)
{
    struct part **at = &testing;

    while (*at != NULL && (*at)->answer_ns <= p->answer_ns)
        at = &(*at)->next;
    p->next = *at;
    *at = p;
    p->state = TESTING;
}

static void take_plan(struct part *p, size_t length)
{
    static struct taut_plan plan;
    char *text = need(malloc(length + 1));
    long n =
        taut_seal_open(text, p->key, TAUT_PROTOCOL_VERSION, TAUT_FRAME_PLAN, 0,
                       p->in + TAUT_FRAME_HEAD, length);
    struct taut_error why = {""};
    int last_ms = 0;

    p->waited_ns = taut_now_ns() - p->connect_ns;
    if (n < 0 || taut_plan_parse(&plan, text, (size_t)n, &why) < 0)
        die(p->node->name, n < 0 ? "a PLAN that does not open" : why.text);
    free(text);
    if (plan.count == 0 || opt.silent) {
        *(plan.count == 0 ? &empty : &plans) += 1;
        tests += (long)plan.count;
        finish(p);
        return;
    }
    plans++;
    tests += (long)plan.count;
    for (size_t i = 0; i < plan.count; i++)
        if (plan.tests[i].start_ms + plan.tests[i].dur_ms > last_ms)
            last_ms = plan.tests[i].start_ms + plan.tests[i].dur_ms;
    p->result = result_of(&plan);
    p->answer_ns = taut_now_ns() + last_ms * TAUT_MS_NS;
    wait_for_tests(p);
}

static void receive(struct part *p)
{
    ssize_t n = recv(p->fd, p->in + p->have, TAUT_PLAN_BYTES - p->have, 0);
    struct taut_frame frame;

    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        refused += p->state == PLANNED;
        wrong += p->state == TESTING;
        finish(p);
        return;
    }
    p->have += (size_t)n;
    if (p->have < TAUT_FRAME_HEAD)
        return;
    if (p->state != PLANNED ||
        taut_frame_decode(&frame, p->in, TAUT_PLAN_BYTES, NULL) < 0)
        die(p->node->name, "a frame out of order");
    if (p->have >= TAUT_FRAME_HEAD + frame.length)
        take_plan(p, frame.length);
}

static void on_event(struct part *p, uint32_t events)
{
    int why = 0;
    socklen_t n = sizeof(why);

    if (p->state == OVER)
        return;
    if (p->state == CONNECTING) {
        getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &why, &n);
        if (why != 0) {
            late++;
            finish(p);
        } else if (events & EPOLLOUT) {
            say_hello(p);
        }
        return;
    }
    receive(p);
}

/* ---- the run ---- */

static size_t started; /* parts that have begun */
static size_t oldest;  /* those before it are over, or have their plan */

static void begin_due(int64_t now_ns)
{
    for (int n = 0; n < IN_A_ROW && started < part_count &&
                    parts[started].begin_ns <= now_ns;
         n++)
        begin(&parts[started++], taut_now_ns());
}

static void give_up_late(int64_t now_ns)
{
    while (oldest < started) {
        struct part *p = &parts[oldest];

        if (p->state < TESTING) {
            if (now_ns - p->connect_ns < BUDGET_MS * TAUT_MS_NS)
                return;
            unheard += p->state == CONNECTING;
            late++;
            finish(p);
        }
        oldest++;
    }
}

static void answer_due(int64_t now_ns)
{
    while (testing != NULL && testing->answer_ns <= now_ns) {
        struct part *p = testing;

        testing = p->next;
        if (p->state == TESTING)
            send_result(p);
    }
}

static void run(void)
{
    struct epoll_event events[EVENTS];

    while (over < part_count) {
        int64_t now_ns = taut_now_ns();

        begin_due(now_ns);
        answer_due(now_ns);
        give_up_late(now_ns);
        bool more = started < part_count && parts[started].begin_ns <= now_ns;
        int n = epoll_wait(poller, events, EVENTS, more ? 0 : 1);
        for (int i = 0; i < n; i++)
            on_event(events[i].data.ptr, events[i].events);
    }
}

static int by_wait(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static void report(void)
{
    int64_t *waits = need(calloc(part_count + 1, sizeof(*waits)));
    size_t n = 0;

    for (size_t i = 0; i < part_count; i++)
        if (parts[i].waited_ns > 0)
            waits[n++] = parts[i].waited_ns;
    qsort(waits, n, sizeof(*waits), by_wait);
    printf("nodes %zu\nplans %ld\ntests %ld\nempty %ld\nrefused %ld\n"
           "late %ld\nwrong %ld\n",
           part_count, plans, tests, empty, refused, late, wrong);
    printf("unheard %ld\nbegan_ms %.1f\n", unheard,
           (double)(parts[part_count - 1].connect_ns - parts[0].connect_ns) /
               1e6);
    printf("wait_ms %.1f %.1f\n", (double)waits[n / 2] / 1e6,
           n > 0 ? (double)waits[n - 1] / 1e6 : 0.0);
    free(waits);
}

static void read_nodes(void)
{
    FILE *f = fopen(opt.nodes, "re");
    char address[64];
    size_t room = 0;

    if (f == NULL)
        die(opt.nodes, strerror(errno));
    for (;;) {
        if (node_count == room) {
            room = room > 0 ? 2 * room : 1024;
            nodes = need(realloc(nodes, room * sizeof(*nodes)));
        }
        struct node *n = &nodes[node_count];
        if (fscanf(f, "%63s %63s", n->name, address) != 2)
            break;
        if (inet_pton(AF_INET, address, &n->address) != 1)
            die(n->name, "its address is not valid");
        node_count++;
    }
    fclose(f);
}

static char *list_of(size_t first, size_t count)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = need(open_memstream(&text, &n));
    size_t prefix = strcspn(nodes[0].name, "0123456789");

    fprintf(out, "%.*s[", (int)prefix, nodes[0].name);
    for (size_t i = 0; i < count;) {
        size_t k = (first + i) % node_count, last = k;

        while (last + 1 < node_count && last + 1 - k < count - i &&
               atol(nodes[last + 1].name + prefix) ==
                   atol(nodes[last].name + prefix) + 1)
            last++;
        fprintf(out, "%s%s", i > 0 ? "," : "", nodes[k].name + prefix);
        if (last > k)
            fprintf(out, "-%s", nodes[last].name + prefix);
        i += last - k + 1;
    }
    putc(']', out);
    fclose(out);
    return text;
}

static void make_parts(void)
{
    part_count = (size_t)(opt.jobs * opt.size);
    parts = need(calloc(part_count, sizeof(*parts)));
    lists = need(calloc((size_t)opt.jobs, sizeof(*lists)));
    for (size_t i = 0; i < part_count; i++) {
        struct part *p = &parts[i];

        p->node = &nodes[i % node_count];
        p->job = (unsigned)(opt.job + (long)(i / (size_t)opt.size));
        p->fd = -1;
        taut_seal_random(p->key, sizeof(p->key));
        if (i % (size_t)opt.size == 0)
            lists[i / (size_t)opt.size] =
                list_of(i % node_count, (size_t)opt.size);
    }
}

static long number(const char *key, const char *text)
{
    char *end;
    long n = strtol(text, &end, 10);

    if (end == text || *end != '\0' || n < 0)
        die(key, "expected a whole number");
    return n;
}

static void server(const char *text)
{
    char host[64];
    const char *colon = strrchr(text, ':');

    if (colon == NULL || (size_t)(colon - text) >= sizeof(host))
        die("--server", "expected ADDRESS:PORT");
    snprintf(host, sizeof(host), "%.*s", (int)(colon - text), text);
    opt.server.sin_family = AF_INET;
    opt.server.sin_port = htons((uint16_t)number("--server", colon + 1));
    if (inet_pton(AF_INET, host, &opt.server.sin_addr) != 1)
        die("--server", "expected ADDRESS:PORT");
}

static void set(const char *key, const char *value)
{
    if (strcmp(key, "server") == 0)
        server(value);
    else if (strcmp(key, "uid") == 0)
        opt.uid = (uid_t)number(key, value);
    else if (strcmp(key, "munge") == 0)
        opt.munge = value;
    else if (strcmp(key, "nodes") == 0)
        opt.nodes = value;
    else if (strcmp(key, "purpose") == 0)
        opt.purpose = value;
    else if (strcmp(key, "job") == 0)
        opt.job = number(key, value);
    else if (strcmp(key, "size") == 0)
        opt.size = number(key, value);
    else if (strcmp(key, "jobs") == 0)
        opt.jobs = number(key, value);
    else if (strcmp(key, "over-ms") == 0)
        opt.over_ms = number(key, value);
    else if (strcmp(key, "rate") == 0)
        opt.rate = (double)number(key, value);
    else
        die(key, "no such option");
}

static void options(int argc, char *argv[])
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--silent") == 0)
            opt.silent = true;
        else if (strcmp(argv[i], "--errors") == 0)
            opt.errors = true;
        else if (strncmp(argv[i], "--", 2) != 0 || i + 1 >= argc)
            die(argv[i], "expected --OPTION VALUE");
        else {
            set(argv[i] + 2, argv[i + 1]);
            i++;
        }
    }
    if (opt.munge == NULL || opt.nodes == NULL || opt.server.sin_port == 0 ||
        opt.size < 1 || opt.jobs < 1)
        die("options", "--server, --munge, --nodes, --size, --jobs are needed");
}

static void measure_munged(void)
{
    char **creds = need(calloc(SAMPLE, sizeof(*creds)));

    printf("encode %d %.3f\n", SAMPLE, in_threads(make_sample, creds, SAMPLE));
    if (opt.uid == getuid())
        printf("decode %d %.3f\n", SAMPLE,
               in_threads(open_sample, creds, SAMPLE));
    free(creds);
}

int main(int argc, char *argv[])
{
    struct rlimit limit;
    int64_t now_ns;

    options(argc, argv);
    if (taut_seal_init() < 0 || (poller = epoll_create1(EPOLL_CLOEXEC)) < 0)
        die("start", strerror(errno));
    limit.rlim_cur = limit.rlim_max = FDS;
    if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
        die("descriptors", strerror(errno));
    read_nodes();
    if (node_count == 0 || (size_t)opt.size > node_count)
        die(opt.nodes, "too few nodes");
    make_parts();
    measure_munged();
    in_threads(make_part, NULL, part_count);
    puts("begin");
    fflush(stdout);
    getchar(); /* whoever measures says when */
    now_ns = taut_now_ns();
    for (size_t i = 0; i < part_count; i++)
        parts[i].begin_ns = now_ns + (int64_t)(i / (size_t)opt.size) *
                                         opt.over_ms * TAUT_MS_NS / opt.jobs;
    run();
    report();
    return 0;
}
