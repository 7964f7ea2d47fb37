/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs while Taut is built: prints a header with the lists of system calls
 * below as the kernel takes them, so that no probe has to make them at its
 * start.
 *
 * Calls that libc may make at any time (memory, threads, time, its own end) are
 * in all of them, also under names of other machines and versions. A name that
 * libseccomp does not know here is skipped. */
#include <config.h>

#include <errno.h>
#include <linux/filter.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <seccomp.h>

#include "plugin/common/confine.h"

/* what every process does, and reading what is open */
static const char *const plain_calls[] = {
    "brk",
    "clock_getres",
    "clock_gettime",
    "clock_nanosleep",
    "clone",
    "clone3",
    "close",
    "exit",
    "exit_group",
    "fcntl",
    "fstat",
    "futex",
    "getegid",
    "geteuid",
    "getgid",
    "getpid",
    "getppid",
    "getrandom",
    "gettid",
    "gettimeofday",
    "getuid",
    "kill",
    "lseek",
    "madvise",
    "membarrier",
    "mmap",
    "mprotect",
    "mremap",
    "munmap",
    "nanosleep",
    "newfstatat",
    "poll",
    "ppoll",
    "prctl",
    "pread64",
    "prlimit64",
    "read",
    "readv",
    "recv", /* as glibc has it on PowerPC */
    "recvfrom",
    "recvmsg",
    "restart_syscall",
    "rseq",
    "rt_sigaction",
    "rt_sigprocmask",
    "rt_sigreturn",
    "sched_getaffinity",
    "sched_yield",
    "send",
    "sendto",
    "set_robust_list",
    "sigaltstack",
    "statx",
    "tgkill",
    "time",
    "write",
    "writev",
};

static const char *const file_calls[] = {
    "access", "faccessat", "faccessat2", "getdents64", "lstat",
    "open",   "openat",    "readlink",   "readlinkat", "stat",
};

static const char *const stream_calls[] = {
    "accept4",
    "alarm",
    "bind",
    "connect",
    "ftruncate",
    "getpeername",
    "getsockname",
    "getsockopt",
    "ioctl",
    "listen",
    "pipe2",
    "pwrite64",
    "sched_setaffinity",
    "sendmsg",
    "setitimer",
    "setsockopt",
    "shutdown",
    "wait4",
};

/* what libraries for networks and for the machine's parts do besides */
static const char *const module_calls[] = {
    "accept",
    "arch_prctl",
    "dup",
    "dup2",
    "dup3",
    "epoll_create",
    "epoll_create1",
    "epoll_ctl",
    "epoll_pwait",
    "epoll_pwait2",
    "epoll_wait",
    "eventfd2",
    "fadvise64",
    "fallocate",
    "flock",
    "fstatfs",
    "futex_waitv",
    "get_mempolicy",
    "getcpu",
    "getcwd",
    "getpgrp",
    "getpriority",
    "getrlimit",
    "getrusage",
    "mbind",
    "memfd_create",
    "mincore",
    "mlock",
    "mlock2",
    "msync",
    "munlock",
    "pipe",
    "pselect6",
    "recvmmsg",
    "sched_get_priority_max",
    "sched_get_priority_min",
    "sched_getparam",
    "sched_getscheduler",
    "select",
    "sendmmsg",
    "set_mempolicy",
    "shmat",
    "shmctl",
    "shmdt",
    "shmget",
    "socket",
    "socketpair",
    "statfs",
    "sysinfo",
    "timerfd_create",
    "timerfd_settime",
    "umask",
    "uname",
    "unlink",
    "unlinkat",
};

#define ADD(filter, list, action)                                              \
    add(filter, list, sizeof(list) / sizeof((list)[0]), action)

static int add(scmp_filter_ctx filter, const char *const *names, size_t count,
               uint32_t action)
{
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++) {
        int number = seccomp_syscall_resolve_name(names[i]);

        if (number >= 0)
            rc = seccomp_rule_add(filter, action, number, 0);
    }
    return rc;
}

/* Streams, and a new way to syslog when it was restarted. */
static int add_sockets(scmp_filter_ctx filter)
{
    static const int families[] = {AF_INET, AF_INET6, AF_UNIX};
    int rc = 0;

    for (size_t i = 0; i < 3 && rc == 0; i++)
        rc = seccomp_rule_add(filter, SCMP_ACT_ALLOW, SCMP_SYS(socket), 1,
                              SCMP_A0(SCMP_CMP_EQ, (scmp_datum_t)families[i]));
    return rc;
}

static int add_all(scmp_filter_ctx filter, enum taut_confinement kind)
{
    int rc = ADD(filter, plain_calls, SCMP_ACT_ALLOW);

    /* libc looks for files that it can do without */
    if (rc == 0)
        rc = ADD(filter, file_calls,
                 kind == TAUT_CONFINE_STREAMS ? SCMP_ACT_ERRNO(EACCES)
                                              : SCMP_ACT_ALLOW);
    if (rc == 0 && kind != TAUT_CONFINE_READER)
        rc = ADD(filter, stream_calls, SCMP_ACT_ALLOW);
    if (rc == 0 && kind == TAUT_CONFINE_STREAMS)
        rc = add_sockets(filter);
    if (rc == 0 && kind == TAUT_CONFINE_MODULES)
        rc = ADD(filter, module_calls, SCMP_ACT_ALLOW);
    return rc;
}

/* As a tree: the kernel goes through the rules for each call that there is when
 * they are loaded, which takes longer than everything else about them. */
static void make_tree(scmp_filter_ctx filter)
{
#if SCMP_VER_MAJOR > 2 || (SCMP_VER_MAJOR == 2 && SCMP_VER_MINOR >= 5)
    /* what it cannot order it loads as it is */
    (void)seccomp_attr_set(filter, SCMP_FLTATR_CTL_OPTIMIZE, 2);
#else
    (void)filter;
#endif
}

static int make(scmp_filter_ctx *filter, enum taut_confinement kind)
{
    *filter = seccomp_init(kind == TAUT_CONFINE_MODULES ? SCMP_ACT_ERRNO(EPERM)
                                                        : SCMP_ACT_KILL_PROCESS);
    if (*filter == NULL)
        return -ENOMEM;
    make_tree(*filter);
    return add_all(*filter, kind);
}

/* What libseccomp writes is an array of struct sock_filter. */
static int print_file(FILE *file, const char *name)
{
    struct sock_filter step;

    rewind(file);
    printf("static const struct sock_filter %s_filter[] = {\n", name);
    while (fread(&step, sizeof(step), 1, file) == 1)
        printf("    {0x%02x, %u, %u, 0x%08x},\n", step.code, step.jt, step.jf,
               step.k);
    printf("};\n");
    return ferror(file) ? -EIO : 0;
}

static int print(enum taut_confinement kind, const char *name)
{
    FILE *file = tmpfile();
    scmp_filter_ctx filter = NULL;
    int rc = file != NULL ? make(&filter, kind) : -errno;

    if (rc == 0)
        rc = seccomp_export_bpf(filter, fileno(file));
    if (rc == 0)
        rc = print_file(file, name);
    seccomp_release(filter);
    if (file != NULL)
        fclose(file);
    if (rc != 0)
        fprintf(stderr, "make-filters: %s: %s\n", name, strerror(-rc));
    return rc;
}

int main(void)
{
    /* The kernel that Taut is built on may be older than those it runs on, or
     * forbid seccomp. */
    seccomp_api_set(3);
    if (print(TAUT_CONFINE_READER, "reader") != 0 ||
        print(TAUT_CONFINE_STREAMS, "streams") != 0 ||
        print(TAUT_CONFINE_MODULES, "modules") != 0)
        return 1;
    return fflush(stdout) == 0 ? 0 : 1;
}
