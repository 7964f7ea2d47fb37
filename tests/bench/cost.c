/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bench-cost COMMAND [ARGUMENT...]: runs it with its output thrown away, and
 * prints what it and the children that it waited for have cost: microseconds
 * of processor time, microseconds until it ended, page faults.  Exits with 1
 * where it cannot be run, or fails. */
#include <config.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin/common/clock.h"

static long long micros(struct timeval t)
{
    return t.tv_sec * 1000000LL + t.tv_usec;
}

/* vfork: what a copy of this process would cost is not the command's. */
static pid_t start(char *argv[], int nowhere)
{
    pid_t pid = vfork();

    if (pid == 0) {
        dup2(nowhere, STDOUT_FILENO);
        execv(argv[0], argv);
        _exit(127);
    }
    return pid;
}

int main(int argc, char *argv[])
{
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC), status = 0;
    int64_t start_ns = taut_now_ns();
    struct rusage used;
    pid_t pid = argc > 1 ? start(argv + 1, nowhere) : -1;

    if (pid < 0 || wait4(pid, &status, 0, &used) != pid || status != 0) {
        fprintf(stderr, "bench-cost: %s: status %d\n",
                argc > 1 ? argv[1] : "no command", status);
        return 1;
    }
    printf("%lld %lld %ld\n", micros(used.ru_utime) + micros(used.ru_stime),
           (long long)(taut_now_ns() - start_ns) / 1000, used.ru_minflt);
    return 0;
}
