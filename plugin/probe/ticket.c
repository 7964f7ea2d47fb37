/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/common/clock.h"
#include "plugin/probe/ticket.h"
#include "wire/seal.h"

#define TICKET_MAX 8192 /* bytes: a credential holds a host list */

/* Standard input's first line; returns its length, or -1 with 'err'. */
static long read_line(char *text, size_t size, int64_t deadline_ns,
                      struct taut_error *err)
{
    struct pollfd pfd = {.fd = STDIN_FILENO, .events = POLLIN};
    size_t have = 0;

    while (have < size) {
        if (poll(&pfd, 1, taut_left_ms(deadline_ns)) <= 0)
            return taut_error_set(err, "no ticket came in time");
        ssize_t n = read(STDIN_FILENO, text + have, size - have);
        if (n < 0 && errno != EINTR)
            return taut_error_set(err, "ticket: %s", strerror(errno));
        have += n > 0 ? (size_t)n : 0;
        if (n == 0 || memchr(text, '\n', have) != NULL)
            return (long)have;
    }
    return taut_error_set(err, "a ticket longer than %zu bytes", size);
}

char *taut_ticket_read(unsigned char *key, int64_t deadline_ns,
                       struct taut_error *err)
{
    char text[TICKET_MAX + 1];
    long n = read_line(text, TICKET_MAX, deadline_ns, err);

    if (n < 0)
        return NULL;
    text[n] = '\0';
    char *cred = strchr(text, ' ');
    if (cred != NULL)
        *cred++ = '\0';
    if (cred == NULL || taut_unhex(key, TAUT_SEAL_KEY, text) < 0) {
        taut_error_set(err, "%s",
                       n == 0 ? "no ticket came with aprun"
                              : "standard input is not a ticket");
        return NULL;
    }
    cred[strcspn(cred, "\n")] = '\0';
    cred = strdup(cred);
    if (cred == NULL)
        taut_error_set(err, "out of memory");
    return cred;
}

char *taut_ticket_wrap(const char *cred, const unsigned char *key,
                       const char *text, struct taut_error *err)
{
    size_t n = strlen(text), head = strlen(cred) + 1;
    unsigned char *sealed = malloc(n + TAUT_SEAL_OVERHEAD);
    char *out = malloc(head + 2 * (n + TAUT_SEAL_OVERHEAD) + 1);

    if (sealed != NULL && out != NULL) {
        n = taut_seal(sealed, key, TAUT_PROTOCOL_REQUEST, TAUT_FRAME_HELLO, 0,
                      text, n);
        sprintf(out, "%s\n", cred);
        taut_hex(out + head, sealed, n);
    } else {
        taut_error_set(err, "out of memory");
        free(out);
        out = NULL;
    }
    free(sealed);
    return out;
}
