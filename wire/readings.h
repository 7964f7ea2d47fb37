/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readings of a node's counters as text, as HELLO and RESULT have them: a line
 * for what one source tells of one interface,
 *
 *     netdev hsn0 rx_bytes=1 tx_bytes=2 state='up' t=1700000000.100000000
 *
 * Names have letters, digits and _:+-.  A number is 0 to 2^63 - 1, a text has
 * 1 to 23 bytes from ' ' to '~' but no quote.  't' alone is seconds of the
 * source's own clock, with up to nine digits behind the point.  Limits are
 * protocol.h's. */
#ifndef TAUT_WIRE_READINGS_H
#define TAUT_WIRE_READINGS_H

#include <stddef.h>
#include <stdint.h>

#include "wire/error.h"
#include "wire/protocol.h"

/* Bytes of somebody's text; there is no NUL behind them. */
struct taut_piece {
    const char *at;
    size_t length;
};

enum taut_told {
    TAUT_TOLD_NUMBER = 1,
    TAUT_TOLD_TEXT,
    TAUT_TOLD_SECONDS,
};

struct taut_told_field {
    struct taut_piece name;
    enum taut_told kind;
    int64_t number;
    struct taut_piece text;
    double seconds; /* 0 or more, below 1e10 */
};

/* Where the reading of a text is; borrows it. */
struct taut_readings_reader {
    const char *at, *end;
    struct taut_piece source, interface; /* of this line */
    unsigned lines, numbers;             /* until here */
    unsigned fields, texts;              /* of this line */
};

void taut_readings_begin(struct taut_readings_reader *r, const char *text,
                         size_t length);

/* Go to the next line; all fields of the one before have been read.
 * Returns 1, 0 at the end of the text, or -1 with 'err' for a bad line. */
int taut_readings_next(struct taut_readings_reader *r, struct taut_error *err);

/* Read the next field of this line.
 * Returns 1, 0 at the end of the line, or -1 with 'err' for a bad field, or one
 * too many. */
int taut_readings_field(struct taut_readings_reader *r,
                        struct taut_told_field *field, struct taut_error *err);

#endif
