/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "advisor/lib/graph/arena.h"

struct taut_arena_piece {
    struct taut_arena_piece *before;
    max_align_t data[];
};

void *taut_arena_take(struct taut_arena *a, size_t n, size_t bytes)
{
    struct taut_arena_piece *piece = NULL;
    size_t all;

    if (!__builtin_mul_overflow(n, bytes, &all) &&
        !__builtin_add_overflow(all, sizeof(*piece), &all))
        piece = calloc(1, all);
    if (piece == NULL) {
        a->is_short = true;
        errno = ENOMEM;
        return NULL;
    }
    piece->before = a->last;
    a->last = piece;
    return piece->data;
}

void taut_arena_free(struct taut_arena *a)
{
    int saved = errno;

    while (a->last != NULL) {
        struct taut_arena_piece *piece = a->last;
        a->last = piece->before;
        free(piece);
    }
    errno = saved;
}

int taut_arena_check(struct taut_arena *a)
{
    if (!a->is_short)
        return 0;
    taut_arena_free(a);
    return -1;
}
