/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "plugin/transport/ofi/head.h"
#include "wire/seal.h"

static bool is_length_right(const struct taut_ofi_head *head)
{
    switch ((enum taut_ofi_type)head->type) {
    case TAUT_OFI_OPEN:
        return head->length > 0 && head->length <= TAUT_OFI_NAME_BYTES;
    case TAUT_OFI_DATA:
        return head->length > 0;
    case TAUT_OFI_OPENED:
    case TAUT_OFI_ACK:
    case TAUT_OFI_RESET:
        return head->length == 0;
    case TAUT_OFI_NONE:
        break;
    }
    return false;
}

int taut_ofi_head_parse(struct taut_ofi_head *head, const unsigned char *bytes,
                        size_t n)
{
    if (n >= sizeof(*head)) {
        memcpy(head, bytes, sizeof(*head));
        if (head->length == n - sizeof(*head) && is_length_right(head))
            return 0;
    }
    errno = EPROTO;
    return -1;
}

int taut_ofi_name_parse(unsigned char name[TAUT_OFI_NAME_BYTES],
                        const char *text)
{
    size_t n = strlen(text) / 2;

    if (n > 0 && n <= TAUT_OFI_NAME_BYTES && taut_unhex(name, n, text) == 0)
        return (int)n;
    errno = EINVAL;
    return -1;
}
