/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PLAN: what tautd asks a node to test. */
#ifndef TAUT_PLUGIN_PLAN_H
#define TAUT_PLUGIN_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "plugin/address.h"
#include "wire/error.h"
#include "wire/seal.h"

#define TAUT_PLAN_TESTS 64
#define TAUT_PLAN_STREAMS 16          /* of one test */
#define TAUT_PLAN_BYTES (128u * 1024) /* largest PLAN, sealed */
#define TAUT_PLAN_NOTE 200

enum taut_role {
    TAUT_ROLE_NONE = 0,
    TAUT_ROLE_SEND,
    TAUT_ROLE_RECV,
};

struct taut_plan_test {
    int64_t id;
    enum taut_role role;
    struct taut_address peer; /* of a sender; else empty */
    unsigned char token[TAUT_TOKEN];
    int start_ms; /* after the PLAN came, 0..10000 */
    int dur_ms;   /* 5..2000 */
    int streams;  /* 1..TAUT_PLAN_STREAMS */
};

struct taut_plan {
    size_t count;
    struct taut_plan_test tests[TAUT_PLAN_TESTS];
    char note[TAUT_PLAN_NOTE]; /* printable, or "" */
};

/* Read a PLAN's JSON text; every field is checked, and two tests with one
 * id or one token are refused.
 *   text, n  need not end in NUL; from the network
 *   plan     written on success only
 * Returns 0, or -1 with errno EINVAL or EPROTO (another protocol version)
 * and 'err' naming test, field and limit. */
int taut_plan_parse(struct taut_plan *plan, const char *text, size_t n,
                    struct taut_error *err);

#endif
