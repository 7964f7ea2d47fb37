/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What one stretch of a way may be loaded with, and how likely; and the most
 * of several stretches that are chosen independently of each other. */
#ifndef TAUT_ADVISOR_LIB_STUDY_CHANCE_H
#define TAUT_ADVISOR_LIB_STUDY_CHANCE_H

#include <stddef.h>
#include <stdint.h>

struct taut_chance_one {
    double value;  /* >= 0 */
    double weight; /* > 0; their sum is 1 */
};

struct taut_chance {
    uint32_t n, room;
    struct taut_chance_one *one; /* ascending by value, once sorted */
};

/* Room for 'room' values in each of n.  Returns 0, or -1 with ENOMEM. */
int taut_chance_init(struct taut_chance *c, uint32_t n, uint32_t room);
void taut_chance_fini(struct taut_chance *c, uint32_t n);

static inline void taut_chance_put(struct taut_chance *c, double value,
                                   double weight)
{
    c->one[c->n++] = (struct taut_chance_one){value, weight};
}

void taut_chance_sort(struct taut_chance *c);

/* Expected value of the largest of n sorted ones, each drawn by itself. */
double taut_chance_of_most(const struct taut_chance *const *c, uint32_t n);

/* The largest value there may be. */
double taut_chance_most(const struct taut_chance *const *c, uint32_t n);

#endif
