/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sealed messages and hex: nothing opens but what was sealed.  The first byte
 * says which byte of a good message is spoilt, the rest is the message. */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "wire/seal.h"

#define NOW TAUT_PROTOCOL_VERSION

static const unsigned char key[TAUT_SEAL_KEY] = {7};

static void check_forged(const uint8_t *data, size_t n)
{
    char *out = malloc(n + 1);

    FUZZ_CHECK(out != NULL);
    for (int type = TAUT_FRAME_HELLO; type <= TAUT_FRAME_LAST; type++) {
        errno = 0;
        FUZZ_CHECK(taut_seal_open(out, key, NOW, (enum taut_frame_type)type, n,
                                  data, n) == -1);
        FUZZ_CHECK(errno == EBADMSG);
    }
    free(out);
}

static void check_sealed(const uint8_t *data, size_t n, size_t spoil)
{
    size_t room = n + TAUT_SEAL_OVERHEAD;
    unsigned char *sealed = malloc(room);
    char *out = malloc(n + 1);

    FUZZ_CHECK(sealed != NULL && out != NULL);
    FUZZ_CHECK(taut_seal(sealed, key, NOW, TAUT_FRAME_PLAN, spoil, data, n) ==
               room);
    FUZZ_CHECK(taut_seal_open(out, key, NOW, TAUT_FRAME_PLAN, spoil, sealed,
                              room) == (long)n);
    FUZZ_CHECK(n == 0 || memcmp(out, data, n) == 0);
    FUZZ_CHECK(taut_seal_open(out, key, NOW, TAUT_FRAME_PLAN, spoil + 1, sealed,
                              room) == -1);
    sealed[spoil % room] ^= 0x10;
    FUZZ_CHECK(taut_seal_open(out, key, NOW, TAUT_FRAME_PLAN, spoil, sealed,
                              room) == -1);
    free(out);
    free(sealed);
}

static void check_hex(const uint8_t *data, size_t n)
{
    char *text = malloc(2 * n + 1);
    unsigned char *back = malloc(n + 1);

    FUZZ_CHECK(text != NULL && back != NULL);
    taut_hex(text, data, n);
    FUZZ_CHECK(taut_unhex(back, n, text) == 0);
    FUZZ_CHECK(n == 0 || memcmp(back, data, n) == 0);

    /* And as text: either refused or hex that says the same. */
    memcpy(text, data, n);
    text[n] = '\0';
    size_t half = strlen(text) / 2;
    if (taut_unhex(back, half, text) == 0)
        FUZZ_CHECK(strlen(text) == 2 * half &&
                   strspn(text, "0123456789abcdefABCDEF") == 2 * half);
    free(back);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    FUZZ_CHECK(taut_seal_init() == 0);
    check_forged(data, n);
    if (n == 0)
        return 0;
    check_sealed(data + 1, n - 1, data[0]);
    check_hex(data, n);
    return 0;
}
