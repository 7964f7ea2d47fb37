/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bench-floor: the least that a controller can do for a HELLO, as a measure for
 * what tautd does.
 *
 *   bench-floor ADDR:PORT MUNGE-SOCKET
 *
 * Each caller's HELLO is decoded by MUNGE, answered by an empty PLAN under its
 * key, and forgotten; one after the other, in one thread, with nothing checked
 * and nothing kept.  Prints "ready"; runs until it gets SIGTERM. */
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

#include <munge.h>

#include "wire/frame.h"
#include "wire/seal.h"

#define BACKLOG 4096
#define KEY_FIELD "\"key\":\""

static void die(const char *what, const char *why)
{
    fprintf(stderr, "bench-floor: %s: %s\n", what, why);
    exit(1);
}

static int listen_at(char *where)
{
    static const int one = 1;
    struct sockaddr_in at = {.sin_family = AF_INET};
    char *colon = strrchr(where, ':');

    if (colon == NULL)
        die(where, "no ADDR:PORT");
    *colon = '\0';
    at.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    if (inet_pton(AF_INET, where, &at.sin_addr) != 1)
        die(where, "no address");
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (fd < 0 || bind(fd, (const void *)&at, sizeof(at)) != 0 ||
        listen(fd, BACKLOG) != 0)
        die("listen", strerror(errno));
    return fd;
}

/* The HELLO of a caller as a text, NULL where he sent none. */
static char *read_hello(int fd)
{
    unsigned char head[TAUT_FRAME_HEAD];
    struct taut_frame frame;
    struct taut_error err;
    char *cred;

    if (recv(fd, head, sizeof(head), MSG_WAITALL) != sizeof(head) ||
        taut_frame_decode(&frame, head, TAUT_FRAME_MAX, &err) != 0)
        return NULL;
    cred = calloc(1, frame.length + 1);
    if (cred != NULL &&
        recv(fd, cred, frame.length, MSG_WAITALL) == (ssize_t)frame.length)
        return cred;
    free(cred);
    return NULL;
}

/* The key that is in a credential.  Returns false where munged takes none. */
static bool open_hello(const char *cred, munge_ctx_t ctx, unsigned char *key)
{
    char hex[2 * TAUT_SEAL_KEY + 1] = "";
    void *payload = NULL;
    int length = 0;
    uid_t uid;
    gid_t gid;
    bool ok = munge_decode(cred, ctx, &payload, &length, &uid, &gid) ==
              EMUNGE_SUCCESS;
    const char *at = ok && payload != NULL
                         ? memmem(payload, (size_t)length, KEY_FIELD,
                                  strlen(KEY_FIELD))
                         : NULL;

    if (at != NULL)
        snprintf(hex, sizeof(hex), "%s", at + strlen(KEY_FIELD));
    free(payload);
    return at != NULL && taut_unhex(key, TAUT_SEAL_KEY, hex) == 0;
}

static void answer(int fd, const unsigned char *key)
{
    char text[100];
    unsigned char out[TAUT_FRAME_HEAD + TAUT_SEAL_OVERHEAD + sizeof(text)];
    int n = snprintf(text, sizeof(text), "{\"note\":\"\",\"tests\":[],\"v\":%d}",
                     TAUT_PROTOCOL_VERSION);
    size_t sealed =
        taut_seal(out + TAUT_FRAME_HEAD, key, TAUT_PROTOCOL_VERSION,
                  TAUT_FRAME_PLAN, 0, text, (size_t)n);

    taut_frame_encode(out, TAUT_FRAME_PLAN, sealed);
    if (send(fd, out, TAUT_FRAME_HEAD + sealed, MSG_NOSIGNAL) < 0)
        perror("bench-floor: send");
}

int main(int argc, char **argv)
{
    munge_ctx_t ctx = munge_ctx_create();
    unsigned char key[TAUT_SEAL_KEY];
    static const struct timeval silence = {.tv_sec = 2};

    if (argc != 3 || ctx == NULL || taut_seal_init() != 0)
        die("usage", "bench-floor ADDR:PORT MUNGE-SOCKET");
    munge_ctx_set(ctx, MUNGE_OPT_SOCKET, argv[2]);
    int port = listen_at(argv[1]);
    puts("ready");
    fflush(stdout);
    for (;;) {
        int fd = accept4(port, NULL, NULL, SOCK_CLOEXEC);
        char *cred = NULL;

        if (fd >= 0) {
            setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &silence, sizeof(silence));
            cred = read_hello(fd);
        }

        if (cred != NULL && open_hello(cred, ctx, key))
            answer(fd, key);
        free(cred);
        if (fd >= 0)
            close(fd);
    }
}
