/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the two processes of `taut-probe pair' say to each other: lines of JSON
 * over a TCP connection, after both have shown that they know the key. */
#ifndef TAUT_PLUGIN_PAIR_CONTROL_H
#define TAUT_PLUGIN_PAIR_CONTROL_H

#include <jansson.h>

#include "wire/error.h"

#define TAUT_PAIR_PORT 6826     /* beside tautd's */
#define TAUT_PAIR_WAIT_S 60     /* for the other to come */
#define TAUT_PAIR_ANSWER_S 30   /* for a line */
#define TAUT_PAIR_LINE 65536    /* bytes of one, at most */
#define TAUT_PAIR_KEY_LEAST 16  /* characters, … */
#define TAUT_PAIR_KEY_MOST 64

struct taut_control {
    int fd; /* -1: none */
    char line[TAUT_PAIR_LINE];
    size_t have; /* of it, unread */
};

/* Wait for a caller who knows 'key', on any address.
 * Returns 0, or -1 with 'err': no node called within TAUT_PAIR_WAIT_S. */
int taut_control_await(struct taut_control *c, int port, const char *key,
                       struct taut_error *err);

/* Call 'host', until it listens, for TAUT_PAIR_WAIT_S at most.
 * Returns as above; also where it does not know the key. */
int taut_control_call(struct taut_control *c, const char *host, int port,
                      const char *key, struct taut_error *err);

/* Send one line; takes 'json' over, and NULL is an error.  Returns 0, or -1 with
 * 'err'. */
int taut_control_put(struct taut_control *c, json_t *json,
                     struct taut_error *err);

/* The next line, for the caller to give away, or NULL with 'err'. */
json_t *taut_control_get(struct taut_control *c, struct taut_error *err);

void taut_control_close(struct taut_control *c);

#endif
