/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A small fixed piece of work that says how fast this machine is just now:
 * integers, pointers that miss the caches, hashing.  Prints the milliseconds
 * of processor time it took; units.lua adds a bit of Lua. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { STEPS = 20000000, PLACES = 1 << 19, JUMPS = 2000000, BYTES = 1 << 20 };

static uint64_t next(uint64_t x)
{
    return x * 6364136223846793005U + 1442695040888963407U;
}

static uint64_t integers(void)
{
    uint64_t x = 1;

    for (int i = 0; i < STEPS; i++)
        x = next(x) ^ x >> 29;
    return x;
}

/* One cycle over all places (Sattolo), 4 MB. */
static uint64_t pointers(void)
{
    uint64_t *to = malloc(PLACES * sizeof(*to)), x = 1, at = 0;

    if (to == NULL)
        exit(1);
    for (uint64_t i = 0; i < PLACES; i++)
        to[i] = i;
    for (uint64_t i = PLACES - 1; i > 0; i--) {
        x = next(x);
        uint64_t j = (x >> 33) % i, keep = to[i];
        to[i] = to[j];
        to[j] = keep;
    }
    for (int i = 0; i < JUMPS; i++)
        at = to[at];
    free(to);
    return at;
}

/* FNV-1a over a megabyte, a few times. */
static uint64_t hashing(void)
{
    static unsigned char text[BYTES];
    uint64_t h = 14695981039346656037U;

    for (int i = 0; i < BYTES; i++)
        text[i] = (unsigned char)(i * 7);
    for (int n = 0; n < 8; n++)
        for (int i = 0; i < BYTES; i++)
            h = (h ^ text[i]) * 1099511628211U;
    return h;
}

int main(void)
{
    volatile uint64_t sum = integers() + pointers() + hashing();

    (void)sum;
    printf("%.3f\n", (double)clock() * 1e3 / CLOCKS_PER_SEC);
    return 0;
}
