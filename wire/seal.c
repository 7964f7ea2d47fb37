/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sealing with libsodium.  The additional data are "taut" with the version's
 * digit, the frame type and the frame's number, so that a PLAN cannot be
 * passed off as a RESULT, nor that of one round as that of another. */
#include <config.h>

#include <assert.h>
#include <errno.h>
#include <string.h>

#include <sodium.h>

#include "wire/seal.h"

#define NONCE crypto_aead_xchacha20poly1305_ietf_NPUBBYTES
#define TAG crypto_aead_xchacha20poly1305_ietf_ABYTES
#define MARK_LEN 5
#define AD_LEN (MARK_LEN + 1 + 8)

static_assert(NONCE + TAG == TAUT_SEAL_OVERHEAD, "doc/protocol.md, Sealing");
static_assert(TAUT_PROTOCOL_VERSION <= TAUT_PROTOCOL_LAST,
              "a version has one digit");
static_assert(crypto_aead_xchacha20poly1305_ietf_KEYBYTES == TAUT_SEAL_KEY,
              "doc/protocol.md, HELLO");

int taut_seal_init(void)
{
    if (sodium_init() < 0) {
        errno = ENOSYS;
        return -1;
    }
    return 0;
}

void taut_seal_random(void *buf, size_t n)
{
    randombytes_buf(buf, n);
}

static void write_additional_data(unsigned char ad[AD_LEN], int version,
                                  enum taut_frame_type type, uint64_t seq)
{
    const unsigned char mark[MARK_LEN] = {'t', 'a', 'u', 't',
                                          (unsigned char)('0' + version)};

    memcpy(ad, mark, MARK_LEN);
    ad[MARK_LEN] = (unsigned char)type;
    for (int i = 0; i < 8; i++)
        ad[MARK_LEN + 1 + i] = (unsigned char)(seq >> (56 - 8 * i));
}

size_t taut_seal(unsigned char *out, const unsigned char *key, int version,
                 enum taut_frame_type type, uint64_t seq, const void *text,
                 size_t n)
{
    unsigned char ad[AD_LEN];
    unsigned long long written = 0;

    write_additional_data(ad, version, type, seq);
    randombytes_buf(out, NONCE);
    crypto_aead_xchacha20poly1305_ietf_encrypt(out + NONCE, &written, text, n,
                                               ad, AD_LEN, NULL, out, key);
    return NONCE + (size_t)written;
}

long taut_seal_open(void *out, const unsigned char *key, int version,
                    enum taut_frame_type type, uint64_t seq,
                    const unsigned char *sealed, size_t n)
{
    unsigned char ad[AD_LEN];
    unsigned long long written = 0;

    write_additional_data(ad, version, type, seq);
    if (n < TAUT_SEAL_OVERHEAD ||
        crypto_aead_xchacha20poly1305_ietf_decrypt(
            out, &written, NULL, sealed + NONCE, n - NONCE, ad, AD_LEN,
            sealed, key) != 0) {
        errno = EBADMSG;
        return -1;
    }
    return (long)written;
}

void taut_hex(char *out, const void *bytes, size_t n)
{
    sodium_bin2hex(out, 2 * n + 1, bytes, n);
}

/* Value of a hex digit, or -1; not isxdigit(), which asks the locale. */
static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

int taut_unhex(void *bytes, size_t n, const char *text)
{
    unsigned char *out = bytes;

    for (size_t i = 0; i < 2 * n; i++) {
        if (digit(text[i]) < 0) { /* the NUL of a short text included */
            errno = EINVAL;
            return -1;
        }
    }
    if (text[2 * n] != '\0') {
        errno = EINVAL;
        return -1;
    }
    for (size_t i = 0; i < n; i++)
        out[i] =
            (unsigned char)(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
    return 0;
}
