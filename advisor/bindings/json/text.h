/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of taut.json's encode() as it grows: pieces of JSON are put behind
 * one another.  Where memory ends, the rest is left out and 'failed' says so.
 *
 * Jansson would build a tree of all of it first, with an allocation, a hash and
 * a copy for each name and value: that took as long as all else that a row for
 * the database costs tautd. */
#ifndef TAUT_JSON_TEXT_H
#define TAUT_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct taut_json_text {
    char *at; /* owned, no NUL behind it */
    size_t used, room;
    bool failed; /* out of memory */
};

void taut_json_text_add(struct taut_json_text *t, const char *bytes, size_t n);
void taut_json_text_add_char(struct taut_json_text *t, char c);
void taut_json_text_add_integer(struct taut_json_text *t, int64_t value);

/* In 15 digits, or 17 where it would not come back the same; 'value' is finite.
 * A real without a fraction keeps ".0", so that it comes back as a real. */
void taut_json_text_add_real(struct taut_json_text *t, double value);

/* In quotes, escaped.  Returns false, with a part of it added, where it is no
 * UTF-8 (RFC 3629). */
bool taut_json_text_add_string(struct taut_json_text *t, const char *bytes,
                               size_t n);

/* It is empty again; a large one gives its memory back. */
void taut_json_text_clear(struct taut_json_text *t);

/* The memory of one text for the next: what is taken is empty, and the giver's
 * until he gives it back, whoever takes another meanwhile. */
struct taut_json_text taut_json_text_take(void);
void taut_json_text_give(struct taut_json_text *t);

#endif
