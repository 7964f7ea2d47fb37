/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <jansson.h>

#include "advisor/bindings/json/memory.h"

#define PIECE_BYTES ((size_t)32 << 10) /* holds a HELLO */
#define ALIGN alignof(max_align_t)

struct taut_json_piece {
    struct taut_json_piece *next;
    size_t used, room; /* of 'bytes' */
    alignas(max_align_t) unsigned char bytes[];
};

static struct taut_json_memory *current;
static struct taut_json_piece *spare; /* of PIECE_BYTES, for the next tree */

static struct taut_json_piece *piece_new(size_t n)
{
    size_t room = n > PIECE_BYTES ? n : PIECE_BYTES;
    struct taut_json_piece *p = spare;

    if (p != NULL && room == PIECE_BYTES) {
        spare = NULL;
    } else {
        p = malloc(sizeof(*p) + room);
        if (p == NULL)
            return NULL;
    }
    p->used = 0;
    p->room = room;
    return p;
}

static void *take(size_t n)
{
    if (current == NULL || n > SIZE_MAX / 2)
        return NULL;
    n = (n + ALIGN - 1) / ALIGN * ALIGN;
    struct taut_json_piece *p = current->pieces;
    if (p == NULL || p->room - p->used < n) {
        p = piece_new(n);
        if (p == NULL)
            return NULL;
        p->next = current->pieces;
        current->pieces = p;
    }
    void *at = p->bytes + p->used;
    p->used += n;
    return at;
}

static void keep(void *at)
{
    (void)at;
}

void taut_json_memory_init(void)
{
    json_set_alloc_funcs(take, keep);
}

void taut_json_memory_use(struct taut_json_memory *memory)
{
    current = memory;
}

void taut_json_memory_free(struct taut_json_memory *memory)
{
    struct taut_json_piece *p;

    if (current == memory)
        current = NULL;
    while ((p = memory->pieces) != NULL) {
        memory->pieces = p->next;
        if (spare == NULL && p->room == PIECE_BYTES)
            spare = p;
        else
            free(p);
    }
}
