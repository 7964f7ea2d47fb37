/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Becoming an ordinary user for good. */
#ifndef TAUT_PLUGIN_COMMON_PRIVILEGES_H
#define TAUT_PLUGIN_COMMON_PRIVILEGES_H

#include <sys/types.h>

#include "wire/error.h"

struct taut_user {
    uid_t uid;
    gid_t gid; /* primary group */
};

/* Look up a user by name or number; may block on the name service.  A number
 * that no entry has gets the group of the same number.
 * Returns 0, or -1 with errno ENOENT or the name service's, and 'err'. */
int taut_user_find(struct taut_user *user, const char *name,
                   struct taut_error *err);

/* Returns 0, or -1 with errno EINVAL and 'err' when uid or gid is 0. */
int taut_privileges_check(const struct taut_user *user, struct taut_error *err);

/* Drop groups, group and user ids and the way back, and forbid gaining
 * privileges by exec.  Does nothing but the last when not root.
 *   user  uid and gid other than 0
 * Returns 0, or -1 with errno (EINVAL: uid or gid 0) and 'err'; the process
 * must then not go on. */
int taut_privileges_drop(const struct taut_user *user, struct taut_error *err);

#endif
