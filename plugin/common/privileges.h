/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Becoming an ordinary user for good. */
#ifndef TAUT_PLUGIN_COMMON_PRIVILEGES_H
#define TAUT_PLUGIN_COMMON_PRIVILEGES_H

#include <stdbool.h>
#include <sys/types.h>

#include "wire/error.h"

struct taut_user {
    uid_t uid;
    gid_t gid;    /* primary group */
    bool is_else; /* TAUT_USER_ELSE for want of TAUT_USER */
};

/* Look up a user by name or number; may block on the name service.  A number
 * that no entry has gets the group of the same number.
 * Returns 0, or -1 with errno ENOENT or the name service's, and 'err'. */
int taut_user_find(struct taut_user *user, const char *name,
                   struct taut_error *err);

/* The user that streams run as where the site names none: TAUT_USER if
 * /etc/passwd has it, else TAUT_USER_ELSE, who may have other processes, too.
 * Returns as taut_user_find(). */
#define TAUT_USER "taut"
#define TAUT_USER_ELSE "nobody"
int taut_user_default(struct taut_user *user, struct taut_error *err);

/* Returns 0, or -1 with errno EINVAL and 'err' when uid or gid is 0. */
int taut_privileges_check(const struct taut_user *user, struct taut_error *err);

/* Give up what no program that is executed could gain back: nothing for one
 * that executes none.  Children inherit it, so that done before a fork() it is
 * done once; taut_privileges_drop() does the rest of it. */
void taut_privileges_bound(void);

/* Drop groups, group and user ids, capabilities and the way back, and forbid
 * gaining privileges by exec.  Does nothing but the last when not root.
 *   user  uid and gid other than 0
 * Returns 0, or -1 with errno (EINVAL: uid or gid 0) and 'err'; the process
 * must then not go on. */
int taut_privileges_drop(const struct taut_user *user, struct taut_error *err);

#endif
