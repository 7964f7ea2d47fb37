/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a fuzz target is made of; libFuzzer or replay.c calls it. */
#ifndef TAUT_TESTS_FUZZ_H
#define TAUT_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Try 'n' bytes of input; returns 0, or does not return when the code under
 * test is wrong. */
__attribute__((visibility("default"))) int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* assert() that no NDEBUG takes away. */
#define FUZZ_CHECK(what)                                                       \
    do {                                                                       \
        if (!(what)) {                                                         \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #what); \
            abort();                                                           \
        }                                                                      \
    } while (0)

#endif
