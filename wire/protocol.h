/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The numbers of the protocol, for both sides; doc/protocol.md says what they
 * mean.  Lua has them from here, too: advisor/bindings/mod_wire.c. */
#ifndef TAUT_WIRE_PROTOCOL_H
#define TAUT_WIRE_PROTOCOL_H

#include <stdbool.h>

/* Both sides speak all from the oldest to the newest, which are this release's
 * and the one before; tautd takes the newest that its peer speaks, too.  Tests
 * make up a probe of the next version: tests/Makemodule.am. */
#ifndef TAUT_PROTOCOL_VERSION
#define TAUT_PROTOCOL_VERSION 1
#endif
#define TAUT_PROTOCOL_OLDEST 1
#define TAUT_PROTOCOL_LAST 9    /* the seal has one digit for the version */
#define TAUT_PROTOCOL_REQUEST 1 /* tickets ("taut ticket 1") and asks seal so */
#define TAUT_PROTOCOL_ANY 0     /* how REFUSED is sealed, in all versions */
#define TAUT_DEFAULT_PORT 6824
#define TAUT_USER_PORT 1024       /* below it, only root may call from a port */
#define TAUT_FRAME_MAX (4u << 20) /* largest type + payload, bytes */

enum taut_frame_type {
    TAUT_FRAME_NONE = 0,
    TAUT_FRAME_HELLO = 1,
    TAUT_FRAME_PLAN = 2,
    TAUT_FRAME_RESULT = 3,
    TAUT_FRAME_REPORT = 4,
    TAUT_FRAME_STOP = 5,
    TAUT_FRAME_ASK = 6, /* the taut command of another host, and … */
    TAUT_FRAME_ANSWER = 7,
    TAUT_FRAME_REFUSED = 8,
    TAUT_FRAME_ELSEWHERE = 9, /* this tautd does not act */
};

#define TAUT_FRAME_LAST TAUT_FRAME_ELSEWHERE

/* What a node says hello for. */
enum taut_purpose {
    TAUT_PURPOSE_NONE = 0,
    TAUT_PURPOSE_PROLOG,
    TAUT_PURPOSE_EPILOG,
    TAUT_PURPOSE_IDLE,
    TAUT_PURPOSE_AUDIT, /* surveys: a step of a job */
    TAUT_PURPOSE_MATRIX,
};

#define TAUT_PURPOSE_LAST TAUT_PURPOSE_MATRIX

/* Is it an audit or a matrix? */
bool taut_purpose_is_survey(enum taut_purpose purpose);

/* "prolog", "epilog", "idle", "audit", "matrix", and back (NONE if it is
 * none of them). */
const char *taut_purpose_name(enum taut_purpose purpose);
enum taut_purpose taut_purpose_parse(const char *name);

/* HELLO and what a node tells of itself */
#define TAUT_NODES_MAX (1u << 20)  /* names, and bytes of their list */
#define TAUT_BUDGET_MAX_MS 60000   /* from HELLO to RESULT */
#define TAUT_PLAN_RAILS 64         /* interfaces of one node */
#define TAUT_ENDPOINT_TEXT 136     /* room for an endpoint's name, with NUL */
#define TAUT_INTERFACE_TEXT 16     /* the same for an interface's */
#define TAUT_READINGS_MAX 320      /* readings of a node's counters */
#define TAUT_READINGS_NUMBERS 8192 /* numbers in all of them */
#define TAUT_COUNTER_MAX 192       /* numbers of one reading */
#define TAUT_COUNTER_NAME 40       /* bytes of a name, NUL included */
#define TAUT_COUNTER_TEXTS 6       /* texts of one reading */
#define TAUT_COUNTER_TEXT 24       /* bytes of a text, NUL included */

/* PLAN */
#define TAUT_PLAN_TESTS 64
#define TAUT_PLAN_STREAMS 16     /* of one test */
#define TAUT_PLAN_HOPS 16        /* routers asked for a test's way */
#define TAUT_PLAN_AIM 256        /* ports tried for a certain way */
#define TAUT_PLAN_NOTE 200       /* bytes of its note, NUL included */
#define TAUT_PLAN_START_MS 10000 /* a test begins at most so long after it */
#define TAUT_PLAN_PORT 1024      /* streams go to no port below it */
#define TAUT_ENOUGH_WORD '+'     /* of a receiver that has seen enough: */
#define TAUT_ENOUGH_PARTS 3      /* first parts of its window */
#define TAUT_TEST_MIN_MS 5       /* length of a test … */
#define TAUT_TEST_MAX_MS 2000    /* … from, to */

#define TAUT_REFUSED_WHY 200 /* bytes of REFUSED's reason, NUL included */

/* ASK and ANSWER */
#define TAUT_ASK_MAX (1u << 19)    /* bytes of a request */
#define TAUT_ANSWER_MAX (1u << 26) /* bytes of all its ANSWERs */

/* Sealing */
#define TAUT_SEAL_KEY 32 /* bytes of a session key */
#define TAUT_TOKEN 16    /* bytes of a stream's token */

#endif
