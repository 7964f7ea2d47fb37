/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A module that loads as libfabric does, only slower.  What it writes to the
 * file in TAUT_SLOW_MODULE says that somebody waited for it. */
#include <config.h>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((constructor)) static void load_slowly(void)
{
    const char *path = getenv("TAUT_SLOW_MODULE");
    unsigned left = 4;
    int fd;

    /* a change of user interrupts every thread */
    while (left > 0)
        left = sleep(left);
    fd = path != NULL ? open(path, O_CREAT | O_WRONLY, 0600) : -1;
    if (fd >= 0)
        close(fd);
}
