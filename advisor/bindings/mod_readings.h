/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.readings, between its files. */
#ifndef TAUT_ADVISOR_BINDINGS_MOD_READINGS_H
#define TAUT_ADVISOR_BINDINGS_MOD_READINGS_H

#include "advisor/bindings/host.h"
#include "wire/readings.h"

/* What the catalogue says of a name: `kinds` is source → name → one of these. */
enum taut_reading_kind {
    TAUT_READING_UNKNOWN = 0, /* the catalogue does not have it */
    TAUT_READING_COUNT,
    TAUT_READING_STATE, /* a number, but no count */
    TAUT_READING_TEXT,
    TAUT_READING_TRAFFIC,    /* a count whose growth is harmless */
    TAUT_READING_SATURATING, /* the same, which stands still at its top … */
    TAUT_READING_HARMLESS,   /* a count, and never more than that */
};

#define TAUT_READING_TOP INT64_C(0xffffffff) /* … or shows more */

/* What `kinds` at that index says of the name at the top, of the source whose
 * names these are. */
enum taut_reading_kind taut_reading_kind(lua_State *L, int index);

/* Is the field what the catalogue takes it for? */
bool taut_reading_fits(enum taut_reading_kind kind,
                       const struct taut_told_field *f);

void taut_reading_push(lua_State *L, struct taut_piece piece);

/* only_traffic(was, now, kinds[, want_rows]): mod_readings_traffic.c. */
int taut_readings_only_traffic(lua_State *L);

#endif
