/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TAUT_ADVISOR_BINDINGS_UTF8_H
#define TAUT_ADVISOR_BINDINGS_UTF8_H

#include <stddef.h>

/* Bytes of the character of UTF-8 (RFC 3629) that begins at p, of 'left' bytes
 * that are there, 1 or more; 0: there is none.  The second byte's range shuts
 * out what is longer than it must be, surrogates and what is beyond U+10FFFF. */
static inline size_t taut_utf8_length(const unsigned char *p, size_t left)
{
    unsigned char low = 0x80, high = 0xbf;
    size_t n = *p >= 0xf0 ? 4 : *p >= 0xe0 ? 3 : 2;

    if (*p < 0x80)
        return 1;
    if (*p < 0xc2 || *p > 0xf4 || left < n)
        return 0;
    if (*p == 0xe0)
        low = 0xa0;
    else if (*p == 0xed)
        high = 0x9f;
    else if (*p == 0xf0)
        low = 0x90;
    else if (*p == 0xf4)
        high = 0x8f;
    if (p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    return n;
}

/* The character of n bytes, as taut_utf8_length() found it. */
static inline unsigned taut_utf8_code(const unsigned char *p, size_t n)
{
    unsigned code = n == 1   ? p[0]
                    : n == 2 ? p[0] & 0x1fu
                    : n == 3 ? p[0] & 0x0fu
                             : p[0] & 0x07u;

    for (size_t i = 1; i < n; i++)
        code = code << 6 | (p[i] & 0x3fu);
    return code;
}

#endif
