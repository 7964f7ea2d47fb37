/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small checks and conversions of text that comes from outside. */
#ifndef TAUT_PLUGIN_COMMON_TEXT_H
#define TAUT_PLUGIN_COMMON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Read a whole decimal number.
 *   text      digits only; NULL, "", signs and spaces are refused
 *   min, max  smallest and largest value accepted
 * Returns 0, or -1 with errno EINVAL or ERANGE; 'value' is then untouched. */
int taut_text_number(const char *text, uint64_t min, uint64_t max,
                     uint64_t *value);

/* True if 'text' has 1..'max' bytes, each a letter, a digit or one of
 * 'extra'. */
bool taut_text_is_made_of(const char *text, const char *extra, size_t max);

/* Replace control characters and bytes above 126 by '?', in place. */
void taut_text_clean(char *text);

/* Replace the string '*slot' owns by a copy of 'text'.
 * Returns 0, or -1 with errno ENOMEM. */
int taut_text_replace(char **slot, const char *text);

#endif
