/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Slurm's host list expressions: n[0-3,7],login1,rack[0-1]n[00-15].
 *
 * Our own, because Slurm's changed its types between releases and the node
 * side calls no Slurm API (facts: slurm_hostlist_create, 23.11).
 * Hostile input: the text comes out of a prolog's environment. */
#ifndef TAUT_WIRE_HOSTLIST_H
#define TAUT_WIRE_HOSTLIST_H

#include <stddef.h>

#include "wire/error.h"

#define TAUT_HOSTLIST_MAX (1u << 20)   /* most names in one list */
#define TAUT_HOSTNAME_MAX 255          /* longest name, bytes */

struct taut_hostlist;

/* Expand an expression; names keep their order and leading zeros, several
 * bracket groups in one name are multiplied out.
 *   text  not NULL; "" gives an empty list
 *   max   most names, 1..TAUT_HOSTLIST_MAX
 * Returns a list to destroy, or NULL with errno EINVAL (syntax; 'err' has
 * the column), E2BIG (more than 'max' names) or ENOMEM. */
struct taut_hostlist *taut_hostlist_parse(const char *text, size_t max,
                                          struct taut_error *err);

void taut_hostlist_destroy(struct taut_hostlist *list);

size_t taut_hostlist_count(const struct taut_hostlist *list);

/* Name number 'i', 0..count - 1; NULL beyond.  The list owns it. */
const char *taut_hostlist_name(const struct taut_hostlist *list, size_t i);

/* Number of 'name' in the list, or -1. */
long taut_hostlist_find(const struct taut_hostlist *list, const char *name);

/* Compress 'n' names to an expression, sorted by prefix and number, each
 * once.  Returns a string to free(), or NULL with errno EINVAL or ENOMEM. */
char *taut_hostlist_format(const char *const *names, size_t n);

#endif
