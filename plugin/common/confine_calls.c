/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Loads what make_filters.c has made of its lists of system calls. */
#include <config.h>

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "plugin/common/confine.h"

#ifdef HAVE_SECCOMP
#include "plugin/common/confine_filters.h"

#define PROGRAM(list)                                                          \
    {                                                                          \
        .len = sizeof(list) / sizeof((list)[0]),                               \
        .filter = (struct sock_filter *)(void *)(list)                         \
    }

static int load(enum taut_confinement kind)
{
    static const struct sock_fprog programs[] = {
        [TAUT_CONFINE_READER] = PROGRAM(reader_filter),
        [TAUT_CONFINE_STREAMS] = PROGRAM(streams_filter),
        [TAUT_CONFINE_MODULES] = PROGRAM(modules_filter),
    };

    /* without it only root may */
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &programs[kind], 0, 0);
}
#else
#define load(kind) ((void)(kind), errno = ENOSYS, -1)
#endif

int taut_confine_calls(enum taut_confinement kind)
{
    return load(kind);
}
