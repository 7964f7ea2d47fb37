/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Memory of jansson's trees in taut.json. Each tree is made, walked once and
 * freed as a whole. So its memory is cut from a few large pieces, one after the
 * other, and all is freed at once.
 *
 * jansson's functions have no argument for it, so the tree that is being made
 * is named to all of jansson in this process by taut_json_memory_use(). */
#ifndef TAUT_JSON_MEMORY_H
#define TAUT_JSON_MEMORY_H

struct taut_json_piece;

struct taut_json_memory {
    struct taut_json_piece *pieces; /* the newest first; NULL at first */
};

/* Let jansson in this process have its memory like that, from now on.  Nothing
 * may have been made by it before. */
void taut_json_memory_init(void);

/* What jansson makes from now on is part of 'memory'; with NULL it gets none. */
void taut_json_memory_use(struct taut_json_memory *memory);

/* All of it goes; harmless when repeated. */
void taut_json_memory_free(struct taut_json_memory *memory);

#endif
