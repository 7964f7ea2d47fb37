/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bytes of one connection, read frame by frame as tautd reads them. */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "wire/frame.h"

/* Small enough that a fuzzer gets past it in both directions. */
#define LIMIT 1024

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    unsigned char again[TAUT_FRAME_HEAD];
    struct taut_error err = {""};
    struct taut_frame frame;

    while (n >= TAUT_FRAME_HEAD) {
        errno = 0;
        if (taut_frame_decode(&frame, data, LIMIT, &err) < 0) {
            FUZZ_CHECK(errno == EPROTO);
            FUZZ_CHECK(err.text[0] != '\0');
            return 0;
        }
        FUZZ_CHECK(frame.length < LIMIT);
        FUZZ_CHECK(taut_frame_encode(again, frame.type, frame.length) == 0);
        FUZZ_CHECK(memcmp(again, data, TAUT_FRAME_HEAD) == 0);
        if (n - TAUT_FRAME_HEAD < frame.length)
            return 0; /* the rest has not come yet */
        data += TAUT_FRAME_HEAD + frame.length;
        n -= TAUT_FRAME_HEAD + frame.length;
    }
    return 0;
}
