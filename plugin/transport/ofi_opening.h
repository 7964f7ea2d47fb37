/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opening libfabric, which takes its time, in a thread of its own. */
#ifndef TAUT_PLUGIN_TRANSPORT_OFI_OPENING_H
#define TAUT_PLUGIN_TRANSPORT_OFI_OPENING_H

#include <stdbool.h>

#include "plugin/transport/transport.h"

/* What the thread that opens libfabric works on.  It signals 'done' when
 * 'inner' or 'err' is there, and touches nothing afterwards. */
struct taut_ofi_opening {
    struct taut_endpoint inner; /* of taut-ofi.so */
    char *provider, *domain, *folder;
    struct taut_error err;
    int64_t began_ns;
    int64_t took_ns; /* the thread, until it was open or failed */
    int error;       /* an errno, or 0 */
    int done[2];     /* a pipe: its end means done */
    bool shares_domain; /* of the options */
    bool is_loading; /* the thread was started */
    bool is_over;    /* we have seen its end: open, or failed */
};

/* Get ready to open it for this endpoint.  Returns NULL with errno. */
struct taut_ofi_opening *
taut_ofi_make(const struct taut_endpoint *ep,
              const struct taut_transport_options *options);

/* Start the thread; an error here is reported as a failed opening. */
void taut_ofi_load(struct taut_ofi_opening *o);

/* Has the thread come to an end? Only this process knows it. */
bool taut_ofi_is_over(struct taut_ofi_opening *o);

/* Free it, unless the thread still works on it, which has it then for good. */
void taut_ofi_forget(struct taut_ofi_opening *o);

#endif
