/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where jansson's trees of taut.json are: each is made, walked once and
 * thrown away as a whole, so its memory is cut from a few large pieces, one
 * after the other, and nothing is given back but all at once.
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
