/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slurm's host list expressions: n[0-3,7],login1,rack[0-1]n[00-15].
 *
 * Our own, because Slurm's changed its types between releases and the node
 * side calls no Slurm API (facts: slurm_hostlist_create, 23.11).
 * Hostile input: the text comes out of a prolog's environment. */
#ifndef TAUT_WIRE_HOSTLIST_H
#define TAUT_WIRE_HOSTLIST_H

#include <stdbool.h>
#include <stddef.h>

#include "wire/error.h"

#define TAUT_HOSTLIST_MAX (1u << 20)    /* most names in one list */
#define TAUT_HOSTLIST_BYTES (32u << 20) /* most bytes of all its names */
#define TAUT_HOSTNAME_MAX 255           /* longest name, bytes */

struct taut_hostlist;

/* Is 'name' one that a host list may hold: 1..TAUT_HOSTNAME_MAX ASCII
 * letters, digits, '-', '_' and '.', the first not '-' or '.'?  So a name is
 * safe in a path, on a command line and in a log.  NULL is none. */
bool taut_hostname_is_valid(const char *name);

/* Expand an expression; names keep their order and leading zeros, several
 * bracket groups in one name are multiplied out, the last one fastest.  A
 * name that is given twice is in the list twice.
 *   text  not NULL; "" gives an empty list
 *   max   most names, 1..TAUT_HOSTLIST_MAX
 * Returns a list to destroy, or NULL with errno EINVAL (syntax, 'err' has
 * the column; or 'max'), E2BIG (more than 'max' names or more bytes than
 * TAUT_HOSTLIST_BYTES) or ENOMEM. */
struct taut_hostlist *taut_hostlist_parse(const char *text, size_t max,
                                          struct taut_error *err);

void taut_hostlist_destroy(struct taut_hostlist *list);

size_t taut_hostlist_count(const struct taut_hostlist *list);

/* Name number 'i', 0..count - 1; NULL beyond.  The list owns it. */
const char *taut_hostlist_name(const struct taut_hostlist *list, size_t i);

/* Compress 'n' names to an expression, sorted by prefix and number, each
 * once.  Only the digits at the end of a name go into brackets.  What comes out
 * is read back by taut_hostlist_parse().
 *   n  0..TAUT_HOSTLIST_MAX
 * Returns a string to free(), or NULL with errno EINVAL ('n', or a name that
 * is not valid) or ENOMEM. */
char *taut_hostlist_format(const char *const *names, size_t n);

#endif
