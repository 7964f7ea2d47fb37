/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <stdbool.h>
#include <string.h>

#include "wire/readings.h"

#define TEXT_OF_IT(x) #x
#define TEXT_OF(x) TEXT_OF_IT(x)

#define FIELDS_MAX (TAUT_COUNTER_MAX + TAUT_COUNTER_TEXTS + 1) /* and t */
#define DIGITS_MAX 19 /* zeros in front count, too */
#define SECONDS_MAX INT64_C(10000000000)

/* ---- pieces ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_name(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) ||
           c == '_' || c == ':' || c == '+' || c == '-';
}

static bool is_mark(char c)
{
    return c > ' ' && c <= '~' && c != '/';
}

static bool is_text(char c)
{
    return c >= ' ' && c <= '~' && c != '\'';
}

/* All that follows of such characters. */
static struct taut_piece take(struct taut_readings_reader *r,
                              bool (*is_one)(char c))
{
    struct taut_piece piece = {.at = r->at};

    while (r->at < r->end && is_one(*r->at))
        r->at++;
    piece.length = (size_t)(r->at - piece.at);
    return piece;
}

static bool take_one(struct taut_readings_reader *r, char c)
{
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static bool take_number(struct taut_readings_reader *r, int64_t *value)
{
    const char *begin = r->at;
    int64_t v = 0;

    for (; r->at < r->end && is_digit(*r->at); r->at++) {
        int digit = *r->at - '0';

        if (v > (INT64_MAX - digit) / 10)
            return false;
        v = v * 10 + digit;
    }
    *value = v;
    return r->at > begin && r->at - begin <= DIGITS_MAX;
}

/* "12" or "12.25", nine digits behind the point at most. */
static bool take_seconds(struct taut_readings_reader *r, double *seconds)
{
    int64_t whole, part = 0;
    double unit = 1;

    if (!take_number(r, &whole) || whole >= SECONDS_MAX)
        return false;
    if (take_one(r, '.')) {
        const char *begin = r->at;

        if (!take_number(r, &part) || r->at - begin > 9)
            return false;
        for (; begin < r->at; begin++)
            unit *= 10;
    }
    *seconds = (double)whole + (double)part / unit;
    return true;
}

static bool take_text(struct taut_readings_reader *r, struct taut_piece *text)
{
    *text = take(r, is_text);
    return text->length > 0 && text->length < TAUT_COUNTER_TEXT &&
           take_one(r, '\'');
}

/* ---- fields ---- */

static const char *read_value(struct taut_readings_reader *r,
                              struct taut_told_field *f)
{
    if (f->name.length == 1 && *f->name.at == 't') {
        f->kind = TAUT_TOLD_SECONDS;
        return take_seconds(r, &f->seconds) ? NULL : "seconds";
    }
    if (take_one(r, '\'')) {
        f->kind = TAUT_TOLD_TEXT;
        if (++r->texts > TAUT_COUNTER_TEXTS)
            return "no more texts: there are 6";
        return take_text(r, &f->text) ? NULL : "a text of 1 to 23 bytes";
    }
    f->kind = TAUT_TOLD_NUMBER;
    if (++r->numbers > TAUT_READINGS_NUMBERS)
        return "no more numbers: there are " TEXT_OF(TAUT_READINGS_NUMBERS);
    return take_number(r, &f->number) ? NULL : "a whole number";
}

int taut_readings_field(struct taut_readings_reader *r,
                        struct taut_told_field *field, struct taut_error *err)
{
    const char *wanted;

    if (r->at == r->end || take_one(r, '\n'))
        return 0;
    memset(field, 0, sizeof(*field));
    if (take_one(r, ' '))
        field->name = take(r, is_name);
    if (field->name.length == 0 || field->name.length >= TAUT_COUNTER_NAME ||
        !take_one(r, '='))
        return taut_error_set(err, "%.*s: invalid counter name",
                              (int)r->interface.length, r->interface.at);
    if (++r->fields > FIELDS_MAX)
        return taut_error_set(err, "%.*s: more than %d fields",
                              (int)r->interface.length, r->interface.at,
                              FIELDS_MAX);
    wanted = read_value(r, field);
    if (wanted == NULL)
        return 1;
    return taut_error_set(err, "%.*s: %.*s: expected %s",
                          (int)r->interface.length, r->interface.at,
                          (int)field->name.length, field->name.at, wanted);
}

/* ---- lines ---- */

void taut_readings_begin(struct taut_readings_reader *r, const char *text,
                         size_t length)
{
    memset(r, 0, sizeof(*r));
    r->at = text;
    r->end = text + length;
}

int taut_readings_next(struct taut_readings_reader *r, struct taut_error *err)
{
    if (r->at == r->end)
        return 0;
    if (++r->lines > TAUT_READINGS_MAX)
        return taut_error_set(err, "expected at most %d readings",
                              TAUT_READINGS_MAX);
    r->fields = r->texts = 0;
    r->source = take(r, is_name);
    if (r->source.length == 0 || r->source.length >= TAUT_COUNTER_NAME ||
        !take_one(r, ' '))
        return taut_error_set(err, "line %u: expected a source", r->lines);
    r->interface = take(r, is_mark);
    if (r->interface.length == 0 || r->interface.length >= TAUT_INTERFACE_TEXT)
        return taut_error_set(err, "line %u: expected an interface", r->lines);
    return 1;
}
