/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "plugin/common/holdoff.h"
#include "tests/unit/unit.h"

static char dir[32], path[64];

static void setup(void)
{
    unit_dir(dir);
    snprintf(path, sizeof(path), "%s/holdoff", dir);
}

static void teardown(void)
{
    unit_remove(dir);
}

/* A line that expires 'in' seconds from now. */
static void write_line(long in, int step, const char *boot)
{
    char line[128], own[TAUT_BOOT_ID_LEN + 1];
    struct timespec now;

    taut_boot_id(own);
    clock_gettime(CLOCK_BOOTTIME, &now);
    snprintf(line, sizeof(line), "taut-holdoff 1 %lld %d %s\n",
             (long long)now.tv_sec + in, step, boot != NULL ? boot : own);
    unit_write(path, line);
}

static const char *const garbage[] = {
    "",
    "\n",
    "taut-holdoff",
    "taut-holdoff 2 99 60 x",
    "taut-holdoff 1 9223372036854775807 60 x",
    "\377\376\375",
};

START_TEST(garbage_is_no_holdoff)
{
    unit_write(path, garbage[_i]);
    ck_assert(!taut_holdoff_is_on(dir));
}
END_TEST

START_TEST(no_file_or_no_folder_is_no_holdoff)
{
    ck_assert(!taut_holdoff_is_on(dir));
    ck_assert(!taut_holdoff_is_on("/nonexistent"));
    ck_assert_int_eq(mkdir(path, 0755), 0);
    ck_assert(!taut_holdoff_is_on(dir));
}
END_TEST

START_TEST(a_link_is_not_followed)
{
    char target[64];
    struct taut_holdoff h;

    snprintf(target, sizeof(target), "%s/passwd", dir);
    ck_assert_int_eq(symlink(target, path), 0);
    ck_assert_int_eq(taut_holdoff_open(&h, dir, NULL), -1);
    ck_assert_int_eq(h.fd, -1);
    ck_assert_int_eq(access(target, F_OK), -1);
    ck_assert_int_eq(taut_holdoff_enter(&h, true, NULL), -1);
    taut_holdoff_leave(&h);
    taut_holdoff_close(&h);
}
END_TEST

START_TEST(it_ends_by_itself)
{
    write_line(30, 60, NULL);
    ck_assert(taut_holdoff_is_on(dir));
    write_line(0, 60, NULL);
    ck_assert(!taut_holdoff_is_on(dir));
}
END_TEST

START_TEST(a_reboot_voids_it)
{
    write_line(30, 60, "01234567-89ab-cdef-0123-456789abcdef");
    ck_assert(!taut_holdoff_is_on(dir));
}
END_TEST

START_TEST(none_lasts_longer_than_its_step)
{
    write_line(3000, 60, NULL);
    ck_assert(!taut_holdoff_is_on(dir));
    write_line(3000, 5000, NULL);
    ck_assert(!taut_holdoff_is_on(dir));
}
END_TEST

START_TEST(steps_double_up_to_a_quarter_of_an_hour)
{
    static const int steps[] = {60, 120, 240, 480, 900, 900};
    struct taut_holdoff h;
    bool first;

    for (int i = 0; i < 6; i++) {
        ck_assert_int_eq(taut_holdoff_open(&h, dir, NULL), 0);
        ck_assert_int_eq(taut_holdoff_enter(&h, true, &first), steps[i]);
        ck_assert_int_eq(first, i == 0);
        taut_holdoff_close(&h);
        ck_assert(taut_holdoff_is_on(dir));
    }
    ck_assert_int_eq(taut_holdoff_open(&h, dir, NULL), 0);
    taut_holdoff_leave(&h);
    taut_holdoff_close(&h);
    ck_assert(!taut_holdoff_is_on(dir));
    ck_assert_int_eq(taut_holdoff_open(&h, dir, NULL), 0);
    ck_assert_int_eq(taut_holdoff_enter(&h, true, &first), 60);
    ck_assert(first);
    taut_holdoff_close(&h);
}
END_TEST

START_TEST(the_folder_is_made)
{
    struct taut_holdoff h;
    char below[64];

    snprintf(below, sizeof(below), "%s/run", dir);
    ck_assert_int_eq(taut_holdoff_open(&h, below, NULL), 0);
    taut_holdoff_close(&h);
    ck_assert_int_eq(access(below, F_OK), 0);
}
END_TEST

/* Past bug: for a quarter of an hour after tautd was back nothing was tested,
 * where it had been away for long. */
START_TEST(steps_stay_where_nothing_is_wrong_here)
{
    struct taut_holdoff h;

    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(taut_holdoff_open(&h, dir, NULL), 0);
        ck_assert_int_eq(taut_holdoff_enter(&h, false, NULL), 60);
        taut_holdoff_close(&h);
    }
    ck_assert_int_eq(taut_holdoff_open(&h, dir, NULL), 0);
    ck_assert_int_eq(taut_holdoff_enter(&h, true, NULL), 120);
    ck_assert_int_eq(taut_holdoff_enter(&h, false, NULL), 60);
    taut_holdoff_close(&h);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("holdoff");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, garbage_is_no_holdoff, 0,
                        sizeof(garbage) / sizeof(garbage[0]));
    tcase_add_test(tc, no_file_or_no_folder_is_no_holdoff);
    tcase_add_test(tc, a_link_is_not_followed);
    tcase_add_test(tc, it_ends_by_itself);
    tcase_add_test(tc, a_reboot_voids_it);
    tcase_add_test(tc, none_lasts_longer_than_its_step);
    tcase_add_test(tc, steps_double_up_to_a_quarter_of_an_hour);
    tcase_add_test(tc, steps_stay_where_nothing_is_wrong_here);
    tcase_add_test(tc, the_folder_is_made);
    return unit_run("holdoff", tc);
}
