/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PLAN: what tautd asks a node to test. */
#ifndef TAUT_PLUGIN_COMMON_PLAN_H
#define TAUT_PLUGIN_COMMON_PLAN_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/error.h"
#include "wire/protocol.h"
#include "wire/seal.h"

#define TAUT_PLAN_BYTES (128u * 1024) /* largest PLAN, sealed */

enum taut_role {
    TAUT_ROLE_NONE = 0,
    TAUT_ROLE_SEND,
    TAUT_ROLE_RECV,
};

enum taut_transport_kind {
    TAUT_TRANSPORT_NONE = 0,
    TAUT_TRANSPORT_TCP,
    TAUT_TRANSPORT_OFI,
};

enum taut_mode {
    TAUT_MODE_NONE = 0,
    TAUT_MODE_STREAM,  /* as much as goes through */
    TAUT_MODE_LATENCY, /* small messages, there and back */
};

/* Ports are wanted that lead by a certain link: those whose packets router
 * number 'hop' answers from this address. */
struct taut_aim {
    int hop;   /* 1..TAUT_PLAN_HOPS; 0 = any way will do */
    int first; /* ports to try, from this one on */
    int count; /* 1..TAUT_PLAN_AIM */
    char address[INET6_ADDRSTRLEN];
};

struct taut_test {
    int64_t id;
    enum taut_role role;
    enum taut_mode mode;
    enum taut_transport_kind transport;
    int rail;                      /* 0 is the first of HELLO's endpoints */
    char peer[TAUT_ENDPOINT_TEXT]; /* of a sender, as HELLO told it; or "" */
    unsigned char token[TAUT_TOKEN];
    int start_ms; /* after the PLAN came, 0..TAUT_PLAN_START_MS */
    int dur_ms;   /* TAUT_TEST_MIN_MS..TAUT_TEST_MAX_MS */
    int streams;  /* 1..TAUT_PLAN_STREAMS; 1 for latency */
    int64_t enough_Bps; /* a test that surely reaches it may end; 0 = none */
    int ports[TAUT_PLAN_STREAMS]; /* the sender's streams leave by; 0 = any */
    int trace; /* routers to ask which way the first goes, 0..16 */
    struct taut_aim aim;
};

struct taut_plan {
    int version; /* of the protocol */
    size_t count;
    struct taut_test tests[TAUT_PLAN_TESTS];
    char note[TAUT_PLAN_NOTE]; /* printable, or "" */
};

/* "tcp", "ofi", and back (NONE if it is neither). */
const char *taut_transport_name(enum taut_transport_kind kind);
enum taut_transport_kind taut_transport_parse(const char *name);

/* Read a PLAN's JSON text; every field is checked, and two tests with one
 * id or one token are refused.
 *   text, n  need not end in NUL; from the network
 *   plan     written on success only
 * Returns 0, or -1 with errno EINVAL or EPROTO (another protocol version)
 * and 'err' naming test, field and limit. */
int taut_plan_parse(struct taut_plan *plan, const char *text, size_t n,
                    struct taut_error *err);

#endif
