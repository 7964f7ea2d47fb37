/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <sodium.h>

#include "plugin/common/clock.h"
#include "plugin/pair/control.h"

#define RETRY_MS 200
#define CALLERS_MOST 100 /* that do not know the key */
#define HASH_BYTES 32
#define HASH_TEXT (2 * HASH_BYTES + 1)

static int fail(struct taut_error *err, const char *doing)
{
    taut_error_set(err, "%s: %s", doing, strerror(errno));
    return -1;
}

static void set_limits(int fd)
{
    struct timeval limit = {.tv_sec = TAUT_PAIR_ANSWER_S};

    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

/* ---- lines ---- */

int taut_control_put(struct taut_control *c, json_t *json,
                     struct taut_error *err)
{
    char *text = json != NULL ? json_dumps(json, JSON_COMPACT) : NULL;
    size_t n = text != NULL ? strlen(text) : 0, done = 0;

    json_decref(json);
    if (text == NULL)
        return taut_error_set(err, "out of memory");
    text[n++] = '\n'; /* in place of the end */
    while (done < n) {
        ssize_t k = send(c->fd, text + done, n - done, MSG_NOSIGNAL);

        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            break;
        done += (size_t)k;
    }
    free(text);
    return done == n ? 0 : fail(err, "send to the other node");
}

json_t *taut_control_get(struct taut_control *c, struct taut_error *err)
{
    for (;;) {
        char *end = memchr(c->line, '\n', c->have);
        ssize_t n;

        if (end != NULL) {
            size_t length = (size_t)(end - c->line);
            json_t *json = json_loadb(c->line, length, 0, NULL);

            c->have -= length + 1;
            memmove(c->line, end + 1, c->have);
            if (!json_is_object(json)) {
                json_decref(json);
                taut_error_set(err, "the other node does not speak as "
                                    "'taut-probe pair' does");
                return NULL;
            }
            return json;
        }
        if (c->have == sizeof(c->line)) {
            taut_error_set(err, "a line of the other node is longer than %d",
                           TAUT_PAIR_LINE);
            return NULL;
        }
        n = recv(c->fd, c->line + c->have, sizeof(c->line) - c->have, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            if (n == 0)
                taut_error_set(err, "the other node has ended");
            else if (errno == EAGAIN)
                taut_error_set(err, "the other node has sent nothing for %d s",
                               TAUT_PAIR_ANSWER_S);
            else
                fail(err, "read from the other node");
            return NULL;
        }
        c->have += (size_t)n;
    }
}

void taut_control_close(struct taut_control *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
    c->have = 0;
}

/* ---- the key ---- */

/* A proof of who knows the key, for a challenge of the other's:
 *   hash(key, who || challenge) */
static void prove(char *text, const char *key, char who, const char *challenge)
{
    unsigned char hash[HASH_BYTES];
    crypto_generichash_state st;

    crypto_generichash_init(&st, (const void *)key, strlen(key), sizeof(hash));
    crypto_generichash_update(&st, (const void *)&who, 1);
    crypto_generichash_update(&st, (const void *)challenge, strlen(challenge));
    crypto_generichash_final(&st, hash, sizeof(hash));
    sodium_bin2hex(text, HASH_TEXT, hash, sizeof(hash));
}

static void challenge(char *text)
{
    unsigned char noise[HASH_BYTES];

    randombytes_buf(noise, sizeof(noise));
    sodium_bin2hex(text, HASH_TEXT, noise, sizeof(noise));
}

static bool is_right(const json_t *line, const char *expected)
{
    const char *proof = json_string_value(json_object_get(line, "proof"));

    return proof != NULL && strlen(proof) == strlen(expected) &&
           sodium_memcmp(proof, expected, strlen(expected)) == 0;
}

/* Both challenge, both prove: the key is never sent, and no answer of an
 * earlier talk is of use.  'who' is 'c' of the caller, 'l' of the listener. */
static int agree(struct taut_control *c, const char *key, char who,
                 struct taut_error *err)
{
    char mine[HASH_TEXT], proof[HASH_TEXT];
    const char *theirs;
    json_t *line;
    bool is_known;

    challenge(mine);
    if (taut_control_put(c, json_pack("{s:i, s:s}", "pair", 1, "challenge", mine),
                         err) < 0)
        return -1;
    line = taut_control_get(c, err);
    if (line == NULL)
        return -1;
    theirs = json_string_value(json_object_get(line, "challenge"));
    prove(proof, key, who, theirs != NULL ? theirs : "");
    json_decref(line);
    if (taut_control_put(c, json_pack("{s:s}", "proof", proof), err) < 0)
        return -1;
    line = taut_control_get(c, err);
    if (line == NULL)
        return -1;
    prove(proof, key, who == 'c' ? 'l' : 'c', mine);
    is_known = is_right(line, proof);
    json_decref(line);
    return is_known ? 0
                    : taut_error_set(err, "the other node has another key");
}

/* ---- coming together ---- */

static int listen_on(int port, struct taut_error *err)
{
    struct sockaddr_in6 any = {.sin6_family = AF_INET6,
                               .sin6_port = htons((uint16_t)port),
                               .sin6_addr = in6addr_any};
    struct sockaddr_in any4 = {.sin_family = AF_INET,
                               .sin_port = htons((uint16_t)port)};
    int one = 1, no = 0, fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_six = fd >= 0;

    if (!is_six)
        fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return fail(err, "socket");
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (is_six)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
    if (bind(fd, is_six ? (const void *)&any : (const void *)&any4,
             is_six ? sizeof(any) : sizeof(any4)) == 0 &&
        listen(fd, 4) == 0)
        return fd;
    taut_error_set(err, "port %d: %s", port, strerror(errno));
    close(fd);
    return -1;
}

int taut_control_await(struct taut_control *c, int port, const char *key,
                       struct taut_error *err)
{
    int64_t until_ns = taut_now_ns() + TAUT_PAIR_WAIT_S * TAUT_S_NS;
    int listener = listen_on(port, err);
    struct pollfd pfd = {.fd = listener, .events = POLLIN};

    c->fd = -1;
    if (listener < 0)
        return -1;
    taut_error_set(err, "no node called port %d within %d s", port,
                   TAUT_PAIR_WAIT_S);
    for (int i = 0; i < CALLERS_MOST && c->fd < 0; i++) {
        if (poll(&pfd, 1, taut_left_ms(until_ns)) <= 0)
            break;
        c->fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (c->fd < 0)
            continue;
        set_limits(c->fd);
        if (agree(c, key, 'l', err) < 0)
            taut_control_close(c);
    }
    close(listener);
    return c->fd >= 0 ? 0 : -1;
}

static int connect_once(const struct addrinfo *list)
{
    for (const struct addrinfo *a = list; a != NULL; a = a->ai_next) {
        int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), why;

        if (fd < 0)
            continue;
        set_limits(fd); /* of connect, too */
        if (connect(fd, a->ai_addr, a->ai_addrlen) == 0)
            return fd;
        why = errno;
        close(fd);
        errno = why;
    }
    return -1;
}

int taut_control_call(struct taut_control *c, const char *host, int port,
                      const char *key, struct taut_error *err)
{
    int64_t until_ns = taut_now_ns() + TAUT_PAIR_WAIT_S * TAUT_S_NS;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
    char text[8];
    int rc;

    c->fd = -1;
    snprintf(text, sizeof(text), "%d", port);
    rc = getaddrinfo(host, text, &hints, &list);
    if (rc != 0)
        return taut_error_set(err, "%s: %s", host, gai_strerror(rc));
    while ((c->fd = connect_once(list)) < 0 && taut_now_ns() < until_ns)
        poll(NULL, 0, RETRY_MS);
    freeaddrinfo(list);
    if (c->fd < 0) {
        taut_error_set(err, "%s, port %d: %s", host, port, strerror(errno));
        return -1;
    }
    if (agree(c, key, 'c', err) == 0)
        return 0;
    taut_control_close(c);
    return -1;
}
