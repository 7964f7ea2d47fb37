/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "plugin/transport/ofi_env.h"

/* Each peer of a check has a queue pair; the completion queue has room for what
 * FI_UNIVERSE_SIZE of them may have under way.  Over rxe ofi_rxm pins 36 MB an
 * endpoint with its own sizes, and 12 MB with these; without receives for all
 * peers together libfabric 1.17 crashes when it connects. */
static const struct {
    const char *name, *value;
} modest[] = {
    {"FI_UNIVERSE_SIZE", "64"},
    {"FI_OFI_RXM_MSG_TX_SIZE", "64"},
    {"FI_OFI_RXM_MSG_RX_SIZE", "64"},
    {"FI_OFI_RXM_TX_SIZE", "64"},
    {"FI_OFI_RXM_RX_SIZE", "64"},
    {"FI_OFI_RXM_BUFFER_SIZE", "4096"}, /* more goes by rendezvous */
    {"FI_OFI_RXM_USE_SRX", "1"},
};

int taut_ofi_env_apply(const char *settings)
{
    char *copy = strdup(settings), *rest = copy, *one;
    int rc = copy == NULL ? -1 : 0;

    while (rc == 0 && (one = strsep(&rest, ",")) != NULL) {
        char *value = strchr(one, '=');
        if (value == NULL)
            continue;
        *value++ = '\0';
        rc = setenv(one, value, 1);
    }
    free(copy);
    for (size_t i = 0; rc == 0 && i < sizeof(modest) / sizeof(modest[0]); i++)
        rc = setenv(modest[i].name, modest[i].value, 0);
    return rc;
}
