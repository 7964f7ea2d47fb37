/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What streams over libfabric read from peers: the first byte says whether
 * the rest is a message or the line with an address. */
#include <config.h>

#include <errno.h>
#include <string.h>

#include "plugin/transport/ofi/head.h"
#include "tests/fuzz/fuzz.h"
#include "wire/seal.h"

static void check_message(const uint8_t *data, size_t n)
{
    struct taut_ofi_head head;

    errno = 0;
    if (taut_ofi_head_parse(&head, data, n) < 0) {
        FUZZ_CHECK(errno == EPROTO);
        return;
    }
    FUZZ_CHECK(head.length + sizeof(head) == n);
    FUZZ_CHECK(head.type > TAUT_OFI_NONE && head.type <= TAUT_OFI_RESET);
    if (head.type == TAUT_OFI_OPEN)
        FUZZ_CHECK(head.length <= TAUT_OFI_NAME_BYTES);
}

static void check_line(const uint8_t *data, size_t n)
{
    unsigned char name[TAUT_OFI_NAME_BYTES];
    char *text = malloc(n + 1), again[2 * TAUT_OFI_NAME_BYTES + 1];
    int length;

    FUZZ_CHECK(text != NULL);
    memcpy(text, data, n);
    text[n] = '\0';
    errno = 0;
    length = taut_ofi_name_parse(name, text);
    if (length < 0) {
        FUZZ_CHECK(errno == EINVAL);
    } else {
        FUZZ_CHECK(strlen(text) == 2 * (size_t)length);
        taut_hex(again, name, (size_t)length);
        for (char *p = text; *p; p++)
            *p = *p >= 'A' && *p <= 'F' ? (char)(*p - 'A' + 'a') : *p;
        FUZZ_CHECK(strcmp(again, text) == 0);
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    uint8_t *exact;

    if (n == 0)
        return 0;
    exact = malloc(n); /* so that a sanitizer sees the end */
    FUZZ_CHECK(exact != NULL);
    memcpy(exact, data + 1, n - 1);
    if (data[0] & 1)
        check_line(exact, n - 1);
    else
        check_message(exact, n - 1);
    free(exact);
    return 0;
}
