/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plugin/common/confine.h"

/* ---- Landlock: its numbers, which libc's headers may be too old for ---- */

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif
#define ASK_VERSION 1u
#define RULE_PATH_BENEATH 1
#define READ_FILE (1u << 2)
#define READ_DIR (1u << 3)
#define SCOPE_ABSTRACT_SOCKETS 1u
#define SCOPE_SIGNALS 2u

struct ruleset {
    uint64_t files, ports, scope;
};

struct path_rule {
    uint64_t allowed;
    int32_t fd;
} __attribute__((packed));

/* All that a version can forbid with files. */
static uint64_t all_of(long version)
{
    static const uint64_t masks[] = {0x1fff, 0x3fff, 0x7fff, 0x7fff, 0xffff};

    return masks[version < 5 ? version - 1 : 4];
}

/* Older kernels know less of the structure. */
static size_t size_of(long version)
{
    if (version >= 6)
        return sizeof(struct ruleset);
    return version >= 4 ? offsetof(struct ruleset, scope)
                        : offsetof(struct ruleset, ports);
}

static void allow(int rules, int root_fd, const char *path, uint64_t what)
{
    struct path_rule rule = {
        .allowed = what,
        .fd = openat(root_fd, path, O_PATH | O_CLOEXEC),
    };

    if (rule.fd < 0)
        return;
    syscall(SYS_landlock_add_rule, rules, RULE_PATH_BENEATH, &rule, 0);
    close(rule.fd);
}

/* Returns the version of Landlock, or 0 when there is none. */
static long confine_files(enum taut_confinement kind, int root_fd)
{
    long version =
        syscall(SYS_landlock_create_ruleset, NULL, (size_t)0, ASK_VERSION);
    struct ruleset all;
    long rules, rc;

    if (version < 1)
        return 0;
    all.files = all_of(version);
    all.ports = 0;
    /* who started a process must be able to end it; a reader starts none */
    all.scope = SCOPE_ABSTRACT_SOCKETS |
                (kind == TAUT_CONFINE_READER ? SCOPE_SIGNALS : 0);
    rules = syscall(SYS_landlock_create_ruleset, &all, size_of(version), 0u);
    if (rules < 0)
        return 0;
    if (kind == TAUT_CONFINE_READER)
        allow((int)rules, root_fd, "sys", READ_FILE | READ_DIR);
    if (kind == TAUT_CONFINE_MODULES) {
        allow((int)rules, AT_FDCWD, "/", READ_FILE | READ_DIR);
        allow((int)rules, AT_FDCWD, "/dev", all.files);
    }
    rc = syscall(SYS_landlock_restrict_self, (int)rules, 0u);
    close((int)rules);
    return rc < 0 ? 0 : version;
}

/* ---- all of it ---- */

void taut_confine(enum taut_confinement kind, int root_fd, char *text)
{
    const struct rlimit none = {0, 0};
    size_t used = 0;
    long version;

    text[0] = '\0';
#ifdef __SANITIZE_ADDRESS__
    /* It reads files, and traces the process at its end: which another user's
     * may not be that was root's before. */
    prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
    return;
#endif
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    setrlimit(RLIMIT_CORE, &none);
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    version = confine_files(kind, root_fd);
    if (version > 0)
        used = (size_t)snprintf(text, TAUT_CONFINE_TEXT, "Landlock %ld, ",
                                version);
    if (taut_confine_calls(kind) == 0)
        snprintf(text + used, TAUT_CONFINE_TEXT - used, "seccomp");
    else if (used > 0)
        text[used - 2] = '\0';
}
