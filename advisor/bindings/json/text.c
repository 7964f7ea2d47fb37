/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/bindings/json/text.h"
#include "advisor/bindings/utf8.h"

#define FIRST_BYTES ((size_t)4 << 10)
#define KEEP_BYTES ((size_t)256 << 10) /* a batch of rows */
#define WHOLE_MAX 1e15 /* whole reals below have at most 15 digits */

/* Room for n bytes more. */
static bool reserve(struct taut_json_text *t, size_t n)
{
    size_t room = t->room > 0 ? t->room : FIRST_BYTES;

    if (t->failed || n > SIZE_MAX / 4 - t->used) {
        t->failed = true;
        return false;
    }
    if (t->used + n <= t->room)
        return true;
    while (room < t->used + n)
        room *= 2;
    char *at = realloc(t->at, room);
    if (at == NULL) {
        t->failed = true;
        return false;
    }
    t->at = at;
    t->room = room;
    return true;
}

void taut_json_text_add(struct taut_json_text *t, const char *bytes, size_t n)
{
    if (n == 0 || !reserve(t, n))
        return;
    memcpy(t->at + t->used, bytes, n);
    t->used += n;
}

void taut_json_text_add_char(struct taut_json_text *t, char c)
{
    if (reserve(t, 1))
        t->at[t->used++] = c;
}

void taut_json_text_add_integer(struct taut_json_text *t, int64_t value)
{
    char digits[24];
    char *end = digits + sizeof(digits), *p = end;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    do
        *--p = (char)('0' + rest % 10);
    while ((rest /= 10) > 0);
    if (value < 0)
        *--p = '-';
    taut_json_text_add(t, p, (size_t)(end - p));
}

/* "1e+05" becomes "1e5", as jansson has it; returns the length then. */
static int shorten_exponent(char *digits, int n)
{
    char *e = strchr(digits, 'e');

    if (e == NULL)
        return n;
    char *to = e + 1, *from = to;
    if (*from == '-')
        to++;
    from++;
    while (*from == '0' && from[1] != '\0')
        from++;
    memmove(to, from, strlen(from) + 1);
    return (int)strlen(digits);
}

void taut_json_text_add_real(struct taut_json_text *t, double value)
{
    char digits[40];

    if (fabs(value) < WHOLE_MAX && value == trunc(value) &&
        !(value == 0 && signbit(value))) {
        taut_json_text_add_integer(t, (int64_t)value);
        taut_json_text_add(t, ".0", 2);
        return;
    }
    int n = snprintf(digits, sizeof(digits), "%.15g", value);
    if (strtod(digits, NULL) != value)
        n = snprintf(digits, sizeof(digits), "%.17g", value);
    n = shorten_exponent(digits, n);
    taut_json_text_add(t, digits, (size_t)n);
    if (strpbrk(digits, ".e") == NULL)
        taut_json_text_add(t, ".0", 2);
}

/* ---- strings ---- */

static void add_escaped(struct taut_json_text *t, unsigned char c)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const char *found = c != 0 ? strchr(from, c) : NULL;
    char text[8];

    if (found != NULL) {
        text[0] = '\\';
        text[1] = to[found - from];
        taut_json_text_add(t, text, 2);
        return;
    }
    snprintf(text, sizeof(text), "\\u%04X", c);
    taut_json_text_add(t, text, 6);
}

/* How many bytes from 'at' on go as they are; *ok is false where one is no
 * UTF-8. */
static size_t plain_run(const unsigned char *p, size_t at, size_t n, bool *ok)
{
    size_t end = at;

    while (end < n && *ok) {
        if (p[end] >= 0x80) {
            size_t length = taut_utf8_length(p + end, n - end);
            *ok = length > 0;
            end += length;
        } else if (p[end] < ' ' || p[end] == '"' || p[end] == '\\') {
            break;
        } else {
            end++;
        }
    }
    return end - at;
}

bool taut_json_text_add_string(struct taut_json_text *t, const char *bytes,
                               size_t n)
{
    const unsigned char *p = (const unsigned char *)bytes;
    bool ok = true;

    taut_json_text_add_char(t, '"');
    for (size_t at = 0; at < n;) {
        size_t run = plain_run(p, at, n, &ok);

        if (!ok)
            return false;
        taut_json_text_add(t, bytes + at, run);
        at += run;
        if (at < n)
            add_escaped(t, p[at++]);
    }
    taut_json_text_add_char(t, '"');
    return true;
}

static struct taut_json_text spare;

void taut_json_text_clear(struct taut_json_text *t)
{
    if (t->room > KEEP_BYTES) {
        free(t->at);
        t->at = NULL;
        t->room = 0;
    }
    t->used = 0;
    t->failed = false;
}

struct taut_json_text taut_json_text_take(void)
{
    struct taut_json_text t = spare;

    spare = (struct taut_json_text){.at = NULL};
    return t;
}

void taut_json_text_give(struct taut_json_text *t)
{
    taut_json_text_clear(t);
    free(spare.at);
    spare = *t;
    *t = (struct taut_json_text){.at = NULL};
}
