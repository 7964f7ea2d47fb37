/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/common/clock.h"
#include "plugin/transport/ofi_env.h"
#include "plugin/transport/ofi_opening.h"

/* taut-ofi.so answers some calls of libfabric itself (kallsyms.c), so
 * libfabric must look there before it looks into libc.  The address
 * sanitizer cannot work with this. */
#ifndef __SANITIZE_ADDRESS__
#define OFI_BIND RTLD_DEEPBIND
#else
#define OFI_BIND 0
#endif

static void free_opening(struct taut_ofi_opening *o)
{
    if (o == NULL)
        return;
    for (int i = 0; i < 2; i++) {
        if (o->done[i] >= 0)
            close(o->done[i]);
    }
    free(o->provider);
    free(o->domain);
    free(o->folder);
    free(o);
}

static const struct taut_transport *load(const char *folder,
                                         struct taut_error *err)
{
    const struct taut_transport *table;
    char path[PATH_MAX];
    void *library;

    snprintf(path, sizeof(path), "%s/taut-ofi.so", folder);
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL | OFI_BIND);
    if (library == NULL) {
        taut_error_set(err, "transport ofi: %s", dlerror());
        errno = ENOENT;
        return NULL;
    }
    table = dlsym(library, TAUT_TRANSPORT_MODULE_SYMBOL);
    if (table == NULL) {
        taut_error_set(err, "transport ofi: %s is not a transport module",
                       path);
        dlclose(library);
        errno = ENOTSUP;
    }
    return table;
}

static void *run_opening(void *arg)
{
    struct taut_ofi_opening *o = arg;
    struct taut_transport_options options = {
        .provider = o->provider, .domain = o->domain, .folder = o->folder,
        .shares_domain = o->shares_domain};
    const struct taut_transport *table = load(o->folder, &o->err);

    if (table == NULL || table->open(&o->inner, &options, &o->err) < 0)
        o->error = errno ? errno : EIO;
    o->took_ns = taut_now_ns() - o->began_ns;
    close(o->done[1]);
    return NULL;
}

struct taut_ofi_opening *
taut_ofi_make(const struct taut_endpoint *ep,
              const struct taut_transport_options *options)
{
    struct taut_ofi_opening *o = calloc(1, sizeof(*o));

    if (o == NULL)
        return NULL;
    o->inner = *ep;
    o->inner.transport = NULL;
    o->inner.fd = o->done[0] = o->done[1] = -1;
    o->provider = strdup(options->provider);
    o->domain = strdup(options->domain);
    o->folder = strdup(options->folder);
    o->shares_domain = options->shares_domain;
    if (o->provider != NULL && o->domain != NULL && o->folder != NULL &&
        taut_ofi_env_apply(options->env != NULL ? options->env : "") == 0 &&
        pipe2(o->done, O_CLOEXEC) == 0)
        return o;
    free_opening(o);
    return NULL;
}

void taut_ofi_load(struct taut_ofi_opening *o)
{
    pthread_t thread;

    o->began_ns = taut_now_ns();
    int rc = pthread_create(&thread, NULL, run_opening, o);

    if (rc == 0) {
        o->is_loading = true;
        pthread_detach(thread);
        return;
    }
    o->is_over = true;
    o->error = rc;
    taut_error_set(&o->err, "cannot start a thread for libfabric: %s",
                   strerror(rc));
}

bool taut_ofi_is_over(struct taut_ofi_opening *o)
{
    struct pollfd pfd = {.fd = o->done[0], .events = POLLIN};

    if (!o->is_over && poll(&pfd, 1, 0) > 0) {
        o->done[1] = -1; /* the thread has closed it */
        o->is_over = true;
    }
    return o->is_over;
}

void taut_ofi_forget(struct taut_ofi_opening *o)
{
    if (o->is_over || !o->is_loading)
        free_opening(o);
}
