/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libfabric (1.11 to 1.17 at least) reads /proc/kallsyms twice when it is
 * opened, to see what the kernel can do with the memory of GPUs.  That is a
 * quarter of a second on a kernel of 2026, and we send from host memory
 * only.  libfabric finds this fopen before libc's, because taut-ofi.so is
 * loaded with RTLD_DEEPBIND. */
#include <config.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef FILE *fopen_f(const char *path, const char *mode);

__attribute__((visibility("default"))) FILE *fopen(const char *path,
                                                   const char *mode)
{
    static fopen_f *next;
    void *symbol;

    if (next == NULL) {
        symbol = dlsym(RTLD_NEXT, "fopen");
        memcpy(&next, &symbol, sizeof(next));
    }
    return next(strcmp(path, "/proc/kallsyms") != 0 ? path : "/dev/null", mode);
}
