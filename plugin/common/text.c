/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/common/text.h"

int taut_text_number(const char *text, uint64_t min, uint64_t max,
                     uint64_t *value)
{
    uint64_t v = 0;

    if (text == NULL || !*text || strspn(text, "0123456789") != strlen(text)) {
        errno = EINVAL;
        return -1;
    }
    for (const char *p = text; *p; p++) {
        unsigned digit = (unsigned)(*p - '0');

        if (v > (UINT64_MAX - digit) / 10) {
            errno = ERANGE;
            return -1;
        }
        v = v * 10 + digit;
    }
    if (v < min || v > max) {
        errno = ERANGE;
        return -1;
    }
    *value = v;
    return 0;
}

/* Not isalnum(): the host program may have set a locale. */
static bool is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9');
}

bool taut_text_is_made_of(const char *text, const char *extra, size_t max)
{
    size_t n = 0;

    if (text == NULL)
        return false;
    for (; text[n]; n++) {
        if (n == max || (!is_plain(text[n]) && strchr(extra, text[n]) == NULL))
            return false;
    }
    return n > 0;
}

void taut_text_clean(char *text)
{
    for (unsigned char *p = (unsigned char *)text; *p; p++) {
        if (*p < 32 || *p > 126)
            *p = '?';
    }
}

int taut_text_replace(char **slot, const char *text)
{
    char *copy = strdup(text);

    if (copy == NULL)
        return -1;
    free(*slot);
    *slot = copy;
    return 0;
}
