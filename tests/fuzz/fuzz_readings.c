/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a node tells of its counters, read as tautd reads it. */
#include <config.h>

#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "wire/readings.h"

static void check_piece(struct taut_piece piece, const uint8_t *data, size_t n,
                        size_t room)
{
    const char *text = (const char *)data;

    FUZZ_CHECK(piece.at >= text && piece.at + piece.length <= text + n);
    FUZZ_CHECK(piece.length > 0 && piece.length < room);
    for (size_t i = 0; i < piece.length; i++)
        FUZZ_CHECK(piece.at[i] >= ' ' && piece.at[i] <= '~');
}

static void check_field(const struct taut_told_field *f, const uint8_t *data,
                        size_t n)
{
    check_piece(f->name, data, n, TAUT_COUNTER_NAME);
    if (f->kind == TAUT_TOLD_TEXT)
        check_piece(f->text, data, n, TAUT_COUNTER_TEXT);
    else if (f->kind == TAUT_TOLD_NUMBER)
        FUZZ_CHECK(f->number >= 0);
    else
        FUZZ_CHECK(f->kind == TAUT_TOLD_SECONDS && f->seconds >= 0 &&
                   f->seconds < 1e10);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct taut_readings_reader r;
    struct taut_error err = {""};
    struct taut_told_field f;
    int more, field;

    taut_readings_begin(&r, (const char *)data, n);
    while ((more = taut_readings_next(&r, &err)) > 0) {
        check_piece(r.source, data, n, TAUT_COUNTER_NAME);
        check_piece(r.interface, data, n, TAUT_INTERFACE_TEXT);
        while ((field = taut_readings_field(&r, &f, &err)) > 0)
            check_field(&f, data, n);
        if (field < 0)
            break;
    }
    FUZZ_CHECK(r.lines <= TAUT_READINGS_MAX + 1);
    FUZZ_CHECK(r.numbers <= TAUT_READINGS_NUMBERS + 1);
    FUZZ_CHECK((more != 0) == (err.text[0] != '\0'));
    return 0;
}
