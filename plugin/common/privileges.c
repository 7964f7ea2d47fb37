/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "plugin/common/privileges.h"
#include "plugin/common/text.h"

#define PASSWD_ENTRY_MAX 16384

static int find_by_number(struct taut_user *user, uid_t uid)
{
    char room[PASSWD_ENTRY_MAX];
    struct passwd pw, *found = NULL;

    user->uid = uid;
    user->gid = (gid_t)uid;
    if (getpwuid_r(uid, &pw, room, sizeof(room), &found) == 0 && found != NULL)
        user->gid = found->pw_gid;
    return 0;
}

int taut_user_find(struct taut_user *user, const char *name,
                   struct taut_error *err)
{
    char room[PASSWD_ENTRY_MAX];
    struct passwd pw, *found = NULL;
    uint64_t number;
    int rc;

    if (taut_text_number(name, 0, UINT32_MAX - 1, &number) == 0)
        return find_by_number(user, (uid_t)number);
    rc = getpwnam_r(name, &pw, room, sizeof(room), &found);
    if (rc != 0 || found == NULL) {
        errno = rc ? rc : ENOENT;
        return taut_error_set(err, "user '%.60s': %s", name,
                              rc ? strerror(rc) : "no such user");
    }
    user->uid = found->pw_uid;
    user->gid = found->pw_gid;
    return 0;
}

/* Only the file is asked: a directory service would be asked for a name that
 * it may not have at each job's start. */
int taut_user_default(struct taut_user *user, struct taut_error *err)
{
    FILE *file = fopen("/etc/passwd", "re");
    char room[PASSWD_ENTRY_MAX];
    struct passwd pw, *found = NULL;

    while (file != NULL &&
           fgetpwent_r(file, &pw, room, sizeof(room), &found) == 0) {
        if (strcmp(pw.pw_name, TAUT_USER) != 0)
            continue;
        user->uid = pw.pw_uid;
        user->gid = pw.pw_gid;
        fclose(file);
        return 0;
    }
    if (file != NULL)
        fclose(file);
    user->is_else = true;
    return taut_user_find(user, TAUT_USER_ELSE, err);
}

int taut_privileges_check(const struct taut_user *user, struct taut_error *err)
{
    if (user->uid != 0 && user->gid != 0)
        return 0;
    errno = EINVAL;
    return taut_error_set(err, "run_as: streams do not run as root");
}

/* To ask is five times cheaper than to drop what is not there. */
void taut_privileges_bound(void)
{
    int has;

    for (unsigned long i = 0; (has = prctl(PR_CAPBSET_READ, i, 0, 0, 0)) >= 0;
         i++) {
        if (has)
            prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
    }
}

int taut_privileges_drop(const struct taut_user *user, struct taut_error *err)
{
    if (taut_privileges_check(user, err) < 0)
        return -1;
    if (geteuid() == 0)
        taut_privileges_bound();
    if (geteuid() == 0 && (setgroups(0, NULL) < 0 ||
                           setresgid(user->gid, user->gid, user->gid) < 0 ||
                           setresuid(user->uid, user->uid, user->uid) < 0))
        return taut_error_set(err, "cannot become uid %u: %s",
                              (unsigned)user->uid, strerror(errno));
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return taut_error_set(err, "no_new_privs: %s", strerror(errno));
    return 0;
}
