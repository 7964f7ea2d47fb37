/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <string.h>

#include "advisor/lib/evidence/once.h"

/* The word of a generation, or the free one where it belongs. */
static struct taut_once_word *find(struct taut_once_word *word, int64_t at)
{
    uint32_t i = (uint32_t)((uint64_t)at * 0x9e3779b97f4a7c15U >> 49);

    while (word[i].bits != 0 && word[i].at != at)
        i = (i + 1) % TAUT_ONCE_SLOTS;
    return &word[i];
}

bool taut_once_note(struct taut_once *o, int64_t number)
{
    int64_t at = number >> 6;
    uint64_t bit = UINT64_C(1) << (number & 63);
    struct taut_once_word *mine = find(o->word[o->young], at);

    if ((mine->bits & bit) != 0 ||
        (find(o->word[1 - o->young], at)->bits & bit) != 0)
        return false;
    if (o->n == TAUT_ONCE_KEPT) {
        o->young = 1 - o->young;
        memset(o->word[o->young], 0, sizeof(o->word[0]));
        o->n = 0;
        mine = find(o->word[o->young], at);
    }
    mine->at = at;
    mine->bits |= bit;
    o->n++;
    return true;
}
