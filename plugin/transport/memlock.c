/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <sys/resource.h>

#include "plugin/transport/memlock.h"

void taut_memlock_raise(size_t rails)
{
    rlim_t wanted = (rlim_t)rails * TAUT_MEMLOCK_RAIL_KB * 1024;
    struct rlimit limit;

    if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0 || limit.rlim_cur >= wanted)
        return;
    struct rlimit more = {.rlim_cur = wanted, .rlim_max = limit.rlim_max};
    if (more.rlim_max < wanted)
        more.rlim_max = wanted;
    if (setrlimit(RLIMIT_MEMLOCK, &more) == 0)
        return;
    limit.rlim_cur = limit.rlim_max; /* not root, or without its capability */
    (void)setrlimit(RLIMIT_MEMLOCK, &limit);
}

long taut_memlock_kb(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0 ||
        limit.rlim_cur == RLIM_INFINITY)
        return -1;
    return (long)(limit.rlim_cur / 1024);
}
