/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <stdlib.h>

#include <munge.h>

#include "advisor/lib/os/munge_sign.h"

char *taut_munge_sign(const void *bytes, size_t n, uid_t uid,
                      const char *socket, struct taut_error *err)
{
    munge_ctx_t ctx = munge_ctx_create();
    munge_err_t rc = EMUNGE_SUCCESS;
    char *cred = NULL;

    if (ctx == NULL) {
        taut_error_set(err, "munge: out of memory");
        return NULL;
    }
    if (socket != NULL)
        rc = munge_ctx_set(ctx, MUNGE_OPT_SOCKET, socket);
    if (rc == EMUNGE_SUCCESS)
        rc = munge_ctx_set(ctx, MUNGE_OPT_UID_RESTRICTION, uid);
    if (rc == EMUNGE_SUCCESS)
        rc = munge_encode(&cred, ctx, bytes, (int)n);
    if (rc != EMUNGE_SUCCESS) {
        const char *why = munge_ctx_strerror(ctx);

        taut_error_set(err, "munge: %s",
                       why != NULL ? why : munge_strerror(rc));
        free(cred);
        cred = NULL;
    }
    munge_ctx_destroy(ctx);
    return cred;
}
