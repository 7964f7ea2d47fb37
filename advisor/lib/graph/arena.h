/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of an object that is given back all at once. */
#ifndef TAUT_ADVISOR_LIB_GRAPH_ARENA_H
#define TAUT_ADVISOR_LIB_GRAPH_ARENA_H

#include <stdbool.h>
#include <stddef.h>

/* All zero to begin with. */
struct taut_arena {
    struct taut_arena_piece *last;
    bool is_short; /* something could not be had */
};

/* n zeroed objects of so many bytes, or NULL with is_short and ENOMEM: so
 * many may be taken one after the other before is_short is looked at. */
void *taut_arena_take(struct taut_arena *a, size_t n, size_t bytes);

/* An array of n of what 'pointer' points to. */
#define TAUT_TAKE(a, pointer, n)                                               \
    ((pointer) = taut_arena_take((a), (n), sizeof(*(pointer))))

/* Give all of it back; errno stays. */
void taut_arena_free(struct taut_arena *a);

/* Returns 0; or -1 with ENOMEM where something could not be had: then all has
 * been given back. */
int taut_arena_check(struct taut_arena *a);

#endif
