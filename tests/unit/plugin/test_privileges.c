/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "plugin/common/privileges.h"
#include "tests/unit/unit.h"

START_TEST(an_unknown_user_is_named)
{
    struct taut_user user;
    struct taut_error err;

    ck_assert_int_eq(taut_user_find(&user, "no-such-user-1", &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "no-such-user-1"));
    ck_assert_int_eq(taut_user_find(&user, "4294967295", &err), -1);
}
END_TEST

START_TEST(a_number_is_a_user)
{
    struct taut_user user;

    ck_assert_int_eq(taut_user_find(&user, "54321", NULL), 0);
    ck_assert_uint_eq(user.uid, 54321);
    ck_assert_uint_eq(user.gid, 54321);
    ck_assert_int_eq(taut_user_find(&user, "root", NULL), 0);
    ck_assert_uint_eq(user.uid, 0);
}
END_TEST

START_TEST(streams_do_not_run_as_root)
{
    struct taut_user root = {.uid = 0}, half = {.uid = 65534};

    ck_assert_int_eq(taut_privileges_drop(&root, NULL), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_int_eq(taut_privileges_drop(&half, NULL), -1);
}
END_TEST

START_TEST(there_is_no_way_back)
{
    struct taut_user nobody = {.uid = 65534, .gid = 65534};

    ck_assert_int_eq(taut_privileges_drop(&nobody, NULL), 0);
    ck_assert_int_eq(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), 1);
    ck_assert_int_ne(geteuid(), 0);
    ck_assert_int_eq(setuid(0), -1);
    ck_assert_int_eq(prctl(PR_CAPBSET_READ, CAP_CHOWN, 0, 0, 0), 0);
    ck_assert_int_eq(prctl(PR_CAPBSET_READ, CAP_SETPCAP, 0, 0, 0), 0);
    ck_assert_int_eq(getgroups(0, NULL), 0);
}
END_TEST

/* Whether it was emptied before, or is emptied by dropping. */
START_TEST(no_capability_can_be_gained)
{
    struct taut_user nobody = {.uid = 65534, .gid = 65534};
    unsigned long i;
    int has;

    if (_i == 1 && geteuid() == 0)
        taut_privileges_bound();
    ck_assert_int_eq(taut_privileges_drop(&nobody, NULL), 0);
    for (i = 0; (has = prctl(PR_CAPBSET_READ, i, 0, 0, 0)) >= 0; i++)
        ck_assert_int_eq(has, 0);
    ck_assert_uint_gt(i, CAP_SETPCAP);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("privileges");

    tcase_add_test(tc, an_unknown_user_is_named);
    tcase_add_test(tc, a_number_is_a_user);
    tcase_add_test(tc, streams_do_not_run_as_root);
    /* In a process of its own, which CK_FORK=no does not give. */
    if (geteuid() == 0 && getenv("CK_FORK") == NULL) {
        tcase_add_test(tc, there_is_no_way_back);
        tcase_add_loop_test(tc, no_capability_can_be_gained, 0, 2);
    }
    return unit_run("privileges", tc);
}
