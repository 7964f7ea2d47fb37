/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/counters/file.h"

#define SECONDS_MAX INT64_C(9000000000) /* what nanoseconds have room for */
#define NS INT64_C(1000000000)

static int fail(int error)
{
    errno = error;
    return -1;
}

/* Digits at the start of 'text'.  Returns what follows, or NULL with errno
 * ERANGE or EINVAL. */
static const char *digits(const char *text, int64_t *value)
{
    int64_t v = 0;
    const char *p = text;

    for (; isdigit((unsigned char)*p); p++) {
        int digit = *p - '0';

        if (v > (INT64_MAX - digit) / 10) {
            errno = ERANGE;
            return NULL;
        }
        v = v * 10 + digit;
    }
    if (p == text) {
        errno = *p == '-' && isdigit((unsigned char)p[1]) ? ERANGE : EINVAL;
        return NULL;
    }
    *value = v;
    return p;
}

/* The same with a fraction, in thousandths: "2.5" is 2500. */
static const char *thousandths(const char *text, int64_t *value)
{
    int64_t v, unit = 100;
    const char *p = digits(text, &v);

    if (p == NULL)
        return NULL;
    if (v > INT64_MAX / 1000 - 1) {
        errno = ERANGE;
        return NULL;
    }
    v *= 1000;
    if (*p == '.' && isdigit((unsigned char)p[1])) {
        for (p++; isdigit((unsigned char)*p); p++, unit /= 10)
            v += (*p - '0') * unit;
    }
    *value = v;
    return p;
}

int taut_counters_parse(const char *text, int64_t *value)
{
    int64_t v;
    const char *end = digits(text, &v);

    if (end == NULL)
        return -1;
    if (*end)
        return fail(EINVAL);
    *value = v;
    return 0;
}

/* Nine digits after the point, or fewer. */
static const char *fraction_ns(const char *p, int64_t *ns)
{
    int64_t unit = NS / 10;

    *ns = 0;
    if (*p != '.')
        return p;
    for (p++; isdigit((unsigned char)*p); p++, unit /= 10)
        *ns += (*p - '0') * unit;
    return p;
}

int taut_counters_parse_stamped(const char *text, int64_t *value, int64_t *t_ns)
{
    int64_t v, s, ns;
    const char *p = digits(text, &v);

    if (p == NULL)
        return -1;
    if (*p == '@') {
        p = digits(p + 1, &s);
        if (p == NULL)
            return -1;
        p = fraction_ns(p, &ns);
        if (*p)
            return fail(EINVAL);
        if (s > SECONDS_MAX)
            return fail(ERANGE);
        *t_ns = s * NS + ns;
    } else if (*p) {
        return fail(EINVAL);
    }
    *value = v;
    return 0;
}

int taut_counters_parse_transfers(const char *text, int64_t *MTps)
{
    int64_t v;
    const char *p = thousandths(text, &v);

    if (p == NULL)
        return -1;
    if (strncmp(p, " GT/s", 5) != 0 || (p[5] && p[5] != ' '))
        return fail(EINVAL);
    *MTps = v;
    return 0;
}

int taut_counters_parse_rate(const char *text, int64_t *Mbps, char *width,
                             char *speed)
{
    static const char unit[] = " Gb/sec (";
    int64_t v;
    const char *p = thousandths(text, &v), *blank, *end;

    if (p == NULL)
        return -1;
    if (strncmp(p, unit, sizeof(unit) - 1) != 0)
        return fail(EINVAL);
    p += sizeof(unit) - 1;
    blank = strchr(p, ' ');
    end = strchr(p, ')');
    if (end == NULL || end[1])
        return fail(EINVAL);
    width[0] = speed[0] = '\0';
    if (blank == NULL || blank > end)
        blank = end; /* "4X" alone, as before speeds had names */
    else
        snprintf(speed, TAUT_COUNTER_TEXT, "%.*s", (int)(end - blank - 1),
                 blank + 1);
    snprintf(width, TAUT_COUNTER_TEXT, "%.*s", (int)(blank - p), p);
    *Mbps = v;
    return 0;
}

int taut_counters_parse_keyed(const char *text, const char *key, int64_t *value)
{
    size_t n = strlen(key);

    for (const char *p = text; p != NULL; p = strchr(p, '\n')) {
        int64_t v;
        const char *end;

        p += *p == '\n';
        if (strncmp(p, key, n) != 0 || p[n] != ' ')
            continue;
        end = digits(p + n + 1, &v);
        if (end == NULL)
            return -1;
        if (*end && *end != '\n')
            return fail(EINVAL);
        *value = v;
        return 0;
    }
    return fail(EINVAL);
}
