/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A tautd for tests: hears a number of HELLOs, answers with plans written
 * beforehand, prints what it hears.
 *
 *   fake-tautd --munge-socket PATH [--listen ADDR:PORT] [--nodes N]
 *              [--plan NODE=FILE]... [--how WAY] [--rounds N] [--report TEXT]
 *
 * In a plan file @NODE@ stands for the endpoint that NODE told in its HELLO,
 * @NODE/ofi@ for the one of libfabric, @NODE/1@ for its second rail.
 * A node without a plan gets an empty one.  With --rounds it is a survey: the
 * plans are sent N times, before each a report to the node that is the owner,
 * and an empty plan in the end.  WAY is
 *   honest     (default)
 *   silent     never answers
 *   refuse     closes after HELLO
 *   say-no     refuses, and says why
 *   elsewhere  says that it does not act, and looks at no HELLO
 *   forge      seals the plan under another key
 *   oversize   announces a frame above every limit
 *   wrongtype  answers with a frame of type RESULT
 *   cut        announces a plan and closes in the middle of it
 *   replay     sends the first round's plan again, byte for byte
 *   gossip     sends reports to nodes that are not the owner
 *   hangup     closes after the first round
 * Output, a line each: "listening ADDR:PORT", "hello JSON", "result JSON",
 * "stop NODE", "closed NODE" (it ended without a RESULT). */
#include <config.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <jansson.h>
#include <munge.h>

#include "plugin/common/address.h"
#include "wire/frame.h"
#include "wire/seal.h"

#define NODES_MAX 16
#define WAIT_S 10

struct peer {
    int fd;
    char node[64];
    char endpoint[TAUT_ADDRESS_TEXT];
    char ofi[TAUT_ADDRESS_TEXT];    /* of the first rail */
    char second[TAUT_ADDRESS_TEXT]; /* TCP on the second */
    unsigned char key[TAUT_SEAL_KEY];
    bool is_owner;
    uint64_t sealed, opened;
};

static struct {
    const char *socket, *listen, *how, *report;
    int nodes, plan_count, rounds;
    char *plans[NODES_MAX];
} opt = {.listen = "127.0.0.1:0", .how = "honest", .nodes = 1};

static void die(const char *what)
{
    fprintf(stderr, "fake-tautd: %s: %s\n", what, strerror(errno));
    exit(1);
}

static bool is_way(const char *name)
{
    return strcmp(opt.how, name) == 0;
}

static void read_options(int argc, char *argv[])
{
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--munge-socket") == 0)
            opt.socket = argv[i + 1];
        else if (strcmp(argv[i], "--listen") == 0)
            opt.listen = argv[i + 1];
        else if (strcmp(argv[i], "--how") == 0)
            opt.how = argv[i + 1];
        else if (strcmp(argv[i], "--nodes") == 0)
            opt.nodes = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--rounds") == 0)
            opt.rounds = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--report") == 0)
            opt.report = argv[i + 1];
        else if (strcmp(argv[i], "--plan") == 0 && opt.plan_count < NODES_MAX)
            opt.plans[opt.plan_count++] = argv[i + 1];
    }
    if (opt.socket == NULL || opt.nodes < 1 || opt.nodes > NODES_MAX) {
        fprintf(stderr, "fake-tautd: --munge-socket and 1..16 nodes\n");
        exit(2);
    }
}

/* "0" is not a port to taut_address_parse, so this one is set afterwards. */
static int open_listener(void)
{
    struct taut_address addr;
    char text[TAUT_ADDRESS_TEXT];
    size_t n = strlen(opt.listen);
    bool any = n > 2 && strcmp(opt.listen + n - 2, ":0") == 0;
    int fd, one = 1;

    snprintf(text, sizeof(text), "%.*s%s", (int)(any ? n - 1 : n), opt.listen,
             any ? "1" : "");
    if (taut_address_parse(&addr, text, NULL) < 0)
        die(opt.listen);
    if (any)
        taut_address_set_port(&addr, 0);
    fd = socket(addr.sa.ss_family, SOCK_STREAM, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(fd, (void *)&addr.sa, addr.length) < 0 || listen(fd, 64) < 0)
        die("listen");
    addr.length = sizeof(addr.sa);
    getsockname(fd, (void *)&addr.sa, &addr.length);
    taut_address_format(&addr, text);
    printf("listening %s\n", text);
    return fd;
}

static int read_all(int fd, void *data, size_t n)
{
    char *p = data;

    while (n > 0) {
        ssize_t done = read(fd, p, n);

        if (done <= 0)
            return -1;
        p += done;
        n -= (size_t)done;
    }
    return 0;
}

/* The payload of the next frame, with a NUL after it, or NULL. */
static char *read_frame(int fd, enum taut_frame_type *type, size_t *length)
{
    unsigned char head[TAUT_FRAME_HEAD];
    struct taut_frame frame;
    char *payload;

    if (read_all(fd, head, sizeof(head)) < 0 ||
        taut_frame_decode(&frame, head, TAUT_FRAME_MAX, NULL) < 0)
        return NULL;
    *type = frame.type;
    payload = calloc(1, frame.length + 1);
    if (payload == NULL || read_all(fd, payload, frame.length) < 0) {
        free(payload);
        return NULL;
    }
    *length = frame.length;
    return payload;
}

static void write_frame(int fd, enum taut_frame_type type, const void *data,
                        size_t n, size_t really)
{
    unsigned char head[TAUT_FRAME_HEAD];

    if (taut_frame_encode(head, type, n) < 0 ||
        write(fd, head, sizeof(head)) != sizeof(head) ||
        write(fd, data, really) != (ssize_t)really)
        fprintf(stderr, "fake-tautd: a node has gone\n");
}

static char *open_credential(const char *cred)
{
    munge_ctx_t ctx = munge_ctx_create();
    void *payload = NULL;
    int n = 0;
    uid_t uid;
    gid_t gid;
    char *text;

    munge_ctx_set(ctx, MUNGE_OPT_SOCKET, opt.socket);
    if (munge_decode(cred, ctx, &payload, &n, &uid, &gid) != EMUNGE_SUCCESS) {
        fprintf(stderr, "fake-tautd: %s\n", munge_ctx_strerror(ctx));
        exit(1);
    }
    text = strndup(payload, (size_t)n);
    free(payload);
    munge_ctx_destroy(ctx);
    return text;
}

/* TAUT_ADDRESS_TEXT bytes: a rail's endpoint, or "". */
static void note_endpoint(char *text, const json_t *hello, size_t rail,
                          const char *transport)
{
    const json_t *list = json_object_get(hello, "endpoints");
    const char *name = json_string_value(
        json_object_get(json_array_get(list, rail), transport));

    snprintf(text, TAUT_ADDRESS_TEXT, "%s", name != NULL ? name : "");
}

static void note_hello(struct peer *peer, const char *text)
{
    json_t *hello = json_loads(text, 0, NULL);

    if (hello == NULL)
        die("HELLO is not JSON");
    snprintf(peer->node, sizeof(peer->node), "%s",
             json_string_value(json_object_get(hello, "node")));
    snprintf(peer->endpoint, sizeof(peer->endpoint), "%s",
             json_string_value(json_object_get(hello, "endpoint")));
    note_endpoint(peer->ofi, hello, 0, "ofi");
    note_endpoint(peer->second, hello, 1, "tcp");
    if (taut_unhex(peer->key, TAUT_SEAL_KEY,
                   json_string_value(json_object_get(hello, "key"))) < 0)
        die("HELLO's key");
    peer->is_owner = json_object_get(hello, "options") != NULL;
    json_decref(hello);
}

static void hear(struct peer *peer, int listener)
{
    struct timeval limit = {.tv_sec = WAIT_S};
    enum taut_frame_type type;
    size_t n;
    char *cred, *text;

    peer->fd = accept(listener, NULL, NULL);
    if (peer->fd < 0)
        die("accept");
    setsockopt(peer->fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    cred = read_frame(peer->fd, &type, &n);
    if (cred == NULL || type != TAUT_FRAME_HELLO)
        die("HELLO");
    text = open_credential(cred);
    printf("hello %s\n", text);
    note_hello(peer, text);
    free(cred);
    free(text);
}

static void turn_away(int listener)
{
    static const char who[] = "the tautd on ctl2 is active";
    struct peer peer;
    enum taut_frame_type type;
    size_t n;

    peer.fd = accept(listener, NULL, NULL);
    if (peer.fd < 0)
        die("accept");
    free(read_frame(peer.fd, &type, &n));
    write_frame(peer.fd, TAUT_FRAME_ELSEWHERE, who, strlen(who), strlen(who));
    close(peer.fd);
}

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 65536);

    if (file == NULL || text == NULL)
        die(path);
    text[fread(text, 1, 65535, file)] = '\0';
    fclose(file);
    return text;
}

/* Put an endpoint in the place of @NODE...@; frees 'text'. */
static char *replace(char *text, const char *node, const char *more,
                     const char *endpoint)
{
    char mark[80], *at;

    snprintf(mark, sizeof(mark), "@%s%s@", node, more);
    while ((at = strstr(text, mark))) {
        char *longer = calloc(1, strlen(text) + TAUT_ADDRESS_TEXT);

        sprintf(longer, "%.*s%s%s", (int)(at - text), text, endpoint,
                at + strlen(mark));
        free(text);
        text = longer;
    }
    return text;
}

static char *fill_in(char *text, const struct peer *peers)
{
    for (int i = 0; i < opt.nodes; i++) {
        text = replace(text, peers[i].node, "", peers[i].endpoint);
        text = replace(text, peers[i].node, "/ofi", peers[i].ofi);
        text = replace(text, peers[i].node, "/1", peers[i].second);
    }
    return text;
}

static char *plan_of(const struct peer *peer, const struct peer *peers)
{
    size_t n = strlen(peer->node);

    for (int i = 0; i < opt.plan_count; i++) {
        if (strncmp(opt.plans[i], peer->node, n) == 0 && opt.plans[i][n] == '=')
            return fill_in(read_file(opt.plans[i] + n + 1), peers);
    }
    return strdup("{\"v\":1,\"note\":\"\",\"tests\":[]}");
}

static void say_no(struct peer *peer)
{
    static const char text[] = "{\"why\":\"no \\u001b[2Jprobes today\"}";
    unsigned char sealed[sizeof(text) - 1 + TAUT_SEAL_OVERHEAD];

    taut_seal(sealed, peer->key, TAUT_PROTOCOL_ANY, TAUT_FRAME_REFUSED, 0, text,
              sizeof(text) - 1);
    write_frame(peer->fd, TAUT_FRAME_REFUSED, sealed, sizeof(sealed),
                sizeof(sealed));
}

static void send_oversize(int fd)
{
    static const unsigned char head[] = {0x7f, 0, 0, 0, TAUT_FRAME_PLAN};

    if (write(fd, head, sizeof(head)) < 0)
        die("write");
}

static void answer(struct peer *peer, const struct peer *peers)
{
    char *text = plan_of(peer, peers);
    size_t n = strlen(text) + TAUT_SEAL_OVERHEAD;
    unsigned char *sealed = malloc(n);
    int type = is_way("wrongtype") ? TAUT_FRAME_RESULT : TAUT_FRAME_PLAN;

    if (is_way("forge"))
        taut_seal_random(peer->key, TAUT_SEAL_KEY);
    taut_seal(sealed, peer->key, TAUT_PROTOCOL_VERSION, TAUT_FRAME_PLAN,
              is_way("replay") ? 0 : peer->sealed, text, strlen(text));
    peer->sealed++;
    if (is_way("oversize"))
        send_oversize(peer->fd);
    else if (is_way("cut"))
        write_frame(peer->fd, type, sealed, n, n / 2);
    else
        write_frame(peer->fd, type, sealed, n, n);
    if (is_way("cut"))
        shutdown(peer->fd, SHUT_RDWR);
    free(sealed);
    free(text);
}

/* Returns the type of the frame that came, NONE at the end. */
static enum taut_frame_type hear_frame(struct peer *peer)
{
    enum taut_frame_type type = TAUT_FRAME_NONE;
    size_t n;
    char *sealed = read_frame(peer->fd, &type, &n);
    char *text = calloc(1, TAUT_FRAME_MAX);

    if (sealed == NULL ||
        taut_seal_open(text, peer->key, TAUT_PROTOCOL_VERSION, type,
                       peer->opened++, (unsigned char *)sealed, n) < 0)
        type = TAUT_FRAME_NONE;
    if (type == TAUT_FRAME_RESULT)
        printf("result %s\n", text);
    else
        printf("%s %s\n", type == TAUT_FRAME_STOP ? "stop" : "closed",
               peer->node);
    free(sealed);
    free(text);
    return type;
}

/* Returns true when the survey goes on. */
static bool hear_result(struct peer *peer)
{
    enum taut_frame_type type = hear_frame(peer);

    if (type != TAUT_FRAME_STOP)
        return type == TAUT_FRAME_RESULT;
    hear_frame(peer);
    return false;
}

static void send_report(struct peer *peer)
{
    size_t n = opt.report != NULL ? strlen(opt.report) : 0;
    unsigned char *sealed = malloc(n + TAUT_SEAL_OVERHEAD);

    if (opt.report != NULL && (peer->is_owner || is_way("gossip"))) {
        taut_seal(sealed, peer->key, TAUT_PROTOCOL_VERSION, TAUT_FRAME_REPORT,
                  peer->sealed++, opt.report, n);
        write_frame(peer->fd, TAUT_FRAME_REPORT, sealed, n + TAUT_SEAL_OVERHEAD,
                    n + TAUT_SEAL_OVERHEAD);
    }
    free(sealed);
}

static void hold_survey(struct peer *peers)
{
    bool goes_on = true;

    for (int round = 0; round < opt.rounds && goes_on; round++) {
        for (int i = 0; i < opt.nodes; i++) {
            send_report(&peers[i]);
            answer(&peers[i], peers);
        }
        for (int i = 0; i < opt.nodes; i++)
            goes_on &= hear_result(&peers[i]);
        goes_on &= !is_way("hangup");
    }
    opt.plan_count = 0; /* the end */
    for (int i = 0; i < opt.nodes; i++) {
        if (!is_way("hangup"))
            answer(&peers[i], peers);
        close(peers[i].fd);
    }
}

int main(int argc, char *argv[])
{
    static struct peer peers[NODES_MAX];
    int listener;

    read_options(argc, argv);
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (taut_seal_init() < 0)
        die("sodium");
    listener = open_listener();
    for (int i = 0; i < opt.nodes && is_way("elsewhere"); i++)
        turn_away(listener);
    if (is_way("elsewhere"))
        return 0;
    for (int i = 0; i < opt.nodes; i++)
        hear(&peers[i], listener);
    if (is_way("silent"))
        sleep(WAIT_S);
    if (opt.rounds > 0) {
        hold_survey(peers);
        return 0;
    }
    bool refuses = is_way("refuse") || is_way("say-no");
    for (int i = 0; i < opt.nodes && !refuses; i++)
        answer(&peers[i], peers);
    for (int i = 0; i < opt.nodes; i++) {
        if (is_way("say-no"))
            say_no(&peers[i]);
        if (!refuses)
            hear_frame(&peers[i]);
        close(peers[i].fd);
    }
    return 0;
}
