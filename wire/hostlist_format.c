/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Host lists: from names back to an expression. */
#include <config.h>

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/hostlist.h"

/* Digits that surely fit 64 bits; more of them count as prefix. */
#define DIGITS_MAX 18

/* A name, cut into prefix and number. */
struct cut {
    const char *name;
    size_t prefix; /* bytes */
    size_t digits; /* bytes after the prefix, 0..DIGITS_MAX */
    uint64_t number;
};

static int cut_name(struct cut *cut, const char *name)
{
    if (!taut_hostname_is_valid(name)) {
        errno = EINVAL;
        return -1;
    }
    size_t length = strlen(name), at = length;
    while (at > 0 && length - at < DIGITS_MAX && name[at - 1] >= '0' &&
           name[at - 1] <= '9')
        at--;
    *cut = (struct cut){.name = name, .prefix = at, .digits = length - at};
    for (; at < length; at++)
        cut->number = cut->number * 10 + (uint64_t)(name[at] - '0');
    return 0;
}

static int compare_prefix(const struct cut *a, const struct cut *b)
{
    size_t shorter = a->prefix < b->prefix ? a->prefix : b->prefix;
    int order = memcmp(a->name, b->name, shorter);

    if (order == 0 && a->prefix != b->prefix)
        order = a->prefix < b->prefix ? -1 : 1;
    return order;
}

/* By prefix, names without a number first, then by number, then by zeros. */
static int compare(const void *left, const void *right)
{
    const struct cut *a = left, *b = right;
    int order = compare_prefix(a, b);

    if (order != 0)
        return order;
    if ((a->digits == 0) != (b->digits == 0))
        return a->digits == 0 ? -1 : 1;
    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return (a->digits > b->digits) - (a->digits < b->digits);
}

static size_t count_digits(uint64_t number)
{
    size_t n = 1;

    while (number >= 10) {
        number /= 10;
        n++;
    }
    return n;
}

/* Would 'next' be the number after 'last' in a range that begins as 'lo' is
 * written, with as many zeros? */
static bool continues(const struct cut *lo, const struct cut *last,
                      const struct cut *next)
{
    size_t natural = count_digits(next->number);

    return next->number == last->number + 1 &&
           next->digits == (natural > lo->digits ? natural : lo->digits);
}

static char *put(char *out, const char *text, size_t n)
{
    memcpy(out, text, n);
    return out + n;
}

static char *put_number(char *out, const struct cut *cut)
{
    return put(out, cut->name + cut->prefix, cut->digits);
}

/* Write names from..to-1, all of one prefix and with a number. */
static char *put_group(char *out, const struct cut *from, const struct cut *to)
{
    out = put(out, from->name, from->prefix);
    if (from + 1 == to)
        return put_number(out, from);
    *out++ = '[';
    while (from < to) {
        const struct cut *last = from;
        while (last + 1 < to && continues(from, last, last + 1))
            last++;
        out = put_number(out, from);
        if (last > from) {
            *out++ = '-';
            out = put_number(out, last);
        }
        *out++ = ',';
        from = last + 1;
    }
    out[-1] = ']';
    return out;
}

static const struct cut *group_end(const struct cut *from,
                                   const struct cut *end)
{
    const struct cut *to = from + 1;

    if (from->digits == 0)
        return to;
    while (to < end && compare_prefix(from, to) == 0)
        to++;
    return to;
}

/* Sort and drop what is there twice; returns how many are left. */
static size_t sort_cuts(struct cut *cuts, size_t n)
{
    size_t kept = 0;

    qsort(cuts, n, sizeof(*cuts), compare);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || compare(&cuts[kept - 1], &cuts[i]) != 0)
            cuts[kept++] = cuts[i];
    return kept;
}

/* Each name costs at most itself, a comma and a pair of brackets. */
static char *write_cuts(const struct cut *cuts, size_t n)
{
    const struct cut *end = cuts + n;
    size_t room = 1;

    for (const struct cut *c = cuts; c < end; c++)
        room += c->prefix + c->digits + 3;
    char *text = malloc(room), *out = text;
    if (text == NULL)
        return NULL;
    for (const struct cut *c = cuts; c < end;) {
        const struct cut *to = group_end(c, end);
        if (c > cuts)
            *out++ = ',';
        out = put_group(out, c, to);
        c = to;
    }
    *out = '\0';
    return text;
}

char *taut_hostlist_format(const char *const *names, size_t n)
{
    if (n > TAUT_HOSTLIST_MAX || (n > 0 && names == NULL)) {
        errno = EINVAL;
        return NULL;
    }
    struct cut *cuts = calloc(n + 1, sizeof(*cuts));
    char *text = NULL;

    if (cuts == NULL)
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (cut_name(&cuts[i], names[i]) < 0)
            goto out;
    text = write_cuts(cuts, sort_cuts(cuts, n));
out:;
    int saved = errno;
    free(cuts);
    errno = saved;
    return text;
}
