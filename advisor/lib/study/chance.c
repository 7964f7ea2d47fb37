/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "advisor/lib/study/chance.h"

#define MOST_STRETCHES 32
#define FEW 24 /* values up to which insertion is quicker than qsort */

int taut_chance_init(struct taut_chance *c, uint32_t n, uint32_t room)
{
    memset(c, 0, n * sizeof(*c));
    for (uint32_t i = 0; i < n; i++) {
        c[i].room = room;
        c[i].one = malloc((size_t)room * sizeof(*c[i].one));
        if (c[i].one == NULL) {
            taut_chance_fini(c, i);
            return -1;
        }
    }
    return 0;
}

void taut_chance_fini(struct taut_chance *c, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        free(c[i].one);
}

static int by_value(const void *a, const void *b)
{
    const struct taut_chance_one *x = a, *y = b;

    return (x->value > y->value) - (x->value < y->value);
}

void taut_chance_sort(struct taut_chance *c)
{
    if (c->n > FEW) {
        qsort(c->one, c->n, sizeof(*c->one), by_value);
        return;
    }
    for (uint32_t i = 1; i < c->n; i++) {
        struct taut_chance_one v = c->one[i];
        uint32_t j = i;
        for (; j > 0 && c->one[j - 1].value > v.value; j--)
            c->one[j] = c->one[j - 1];
        c->one[j] = v;
    }
}

double taut_chance_most(const struct taut_chance *const *c, uint32_t n)
{
    double most = 0;

    for (uint32_t i = 0; i < n; i++)
        if (c[i]->n > 0 && c[i]->one[c[i]->n - 1].value > most)
            most = c[i]->one[c[i]->n - 1].value;
    return most;
}

static double mean(const struct taut_chance *c)
{
    double sum = 0;

    for (uint32_t i = 0; i < c->n; i++)
        sum += c->one[i].value * c->one[i].weight;
    return sum;
}

/* The largest is v or less when each is: the product of what is v or less of
 * each, which grows from value to value. */
double taut_chance_of_most(const struct taut_chance *const *c, uint32_t n)
{
    uint32_t at[MOST_STRETCHES] = {0};
    double below[MOST_STRETCHES] = {0}, sum = 0, before = 0;

    if (n == 1)
        return mean(c[0]);
    for (;;) {
        uint32_t next = n;
        for (uint32_t i = 0; i < n; i++)
            if (at[i] < c[i]->n &&
                (next == n ||
                 c[i]->one[at[i]].value < c[next]->one[at[next]].value))
                next = i;
        if (next == n)
            return sum;
        double v = c[next]->one[at[next]].value, all = 1;
        below[next] += c[next]->one[at[next]++].weight;
        for (uint32_t i = 0; i < n; i++)
            all *= below[i];
        sum += v * (all - before);
        before = all;
    }
}
