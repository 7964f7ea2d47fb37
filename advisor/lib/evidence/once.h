/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Numbers that were met before, of the last ones: at least TAUT_ONCE_KEPT. */
#ifndef TAUT_ADVISOR_LIB_EVIDENCE_ONCE_H
#define TAUT_ADVISOR_LIB_EVIDENCE_ONCE_H

#include <stdbool.h>
#include <stdint.h>

#define TAUT_ONCE_KEPT 20000
#define TAUT_ONCE_SLOTS 32768 /* a power of 2, more than TAUT_ONCE_KEPT */

/* A word holds 64 numbers, since they come one after the other. */
struct taut_once_word {
    int64_t at;
    uint64_t bits; /* 0: free */
};

/* Two generations: the older one goes when the younger is full.  All zero is an
 * empty one. */
struct taut_once {
    struct taut_once_word word[2][TAUT_ONCE_SLOTS];
    uint32_t n; /* numbers of the younger */
    uint32_t young;
};

/* Is it new?  Then it is noted. */
bool taut_once_note(struct taut_once *o, int64_t number);

#endif
