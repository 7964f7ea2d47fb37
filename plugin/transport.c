/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "plugin/transport.h"

/* taut-ofi.so answers some calls of libfabric itself (ofi_kallsyms.c), so
 * libfabric must look there before it looks into libc.  The address
 * sanitizer cannot work with this. */
#if defined(__SANITIZE_ADDRESS__)
#define OFI_BIND 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define OFI_BIND 0
#endif
#endif
#ifndef OFI_BIND
#define OFI_BIND RTLD_DEEPBIND
#endif

static const struct taut_transport *load_ofi(const char *folder,
                                             struct taut_error *err)
{
    const struct taut_transport *table;
    char path[PATH_MAX];
    void *library;

    snprintf(path, sizeof path, "%s/taut-ofi.so", folder);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL | OFI_BIND);
    if (!library) {
        taut_error_set(err, "transport ofi: %s", dlerror());
        errno = ENOENT;
        return NULL;
    }
    table = dlsym(library, TAUT_TRANSPORT_OFI_SYMBOL);
    if (!table || table->kind != TAUT_TRANSPORT_OFI) {
        taut_error_set(err, "transport ofi: %s is none", path);
        dlclose(library);
        errno = ENOTSUP;
        return NULL;
    }
    return table;
}

const struct taut_transport *taut_transport_load(enum taut_transport_kind kind,
                                                 const char *folder,
                                                 struct taut_error *err)
{
    switch (kind) {
    case TAUT_TRANSPORT_TCP:
        return &taut_transport_tcp;
    case TAUT_TRANSPORT_OFI:
        return load_ofi(folder, err);
    case TAUT_TRANSPORT_NONE:
        break;
    }
    taut_error_set(err, "transport %d is not known", (int)kind);
    errno = ENOTSUP;
    return NULL;
}
