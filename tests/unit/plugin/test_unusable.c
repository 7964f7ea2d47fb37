/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/transport/unusable.h"
#include "tests/unit/unit.h"

#define BOOT "01234567-89ab-cdef-0123-456789abcdef"
#define LATER "11234567-89ab-cdef-0123-456789abcdef"
#define GONE "interface hsn1 has no usable address"

static char dir[32], path[64];
static struct taut_unusable u;

static void setup(void)
{
    unit_dir(dir);
    snprintf(path, sizeof(path), "%s/unusable", dir);
}

static void teardown(void)
{
    unit_remove(dir);
}

/* One check that finds the interface as 'why' says, or usable (NULL).  Returns
 * whether that is news. */
static bool check(const char *boot, const char *interface, const char *why)
{
    bool is_news;

    taut_unusable_open(&u, dir, boot);
    is_news = why != NULL ? taut_unusable_add(&u, interface, why)
                          : taut_unusable_remove(&u, interface);
    taut_unusable_close(&u);
    return is_news;
}

static long size_of_file(void)
{
    struct stat st;

    return stat(path, &st) == 0 ? (long)st.st_size : -1;
}

START_TEST(what_does_not_change_is_said_once)
{
    ck_assert(check(BOOT, "hsn1", GONE));
    ck_assert(!check(BOOT, "hsn1", GONE));
    ck_assert(!check(BOOT, "hsn1", GONE));
    ck_assert(check(BOOT, "hsn1", "interface hsn1: Permission denied"));
    ck_assert(!check(BOOT, "hsn1", "interface hsn1: Permission denied"));
}
END_TEST

START_TEST(an_interface_that_comes_back_and_goes_is_news_each_time)
{
    for (int i = 0; i < 3; i++) {
        ck_assert(check(BOOT, "hsn1", GONE));
        ck_assert(check(BOOT, "hsn1", NULL));
        ck_assert(!check(BOOT, "hsn1", NULL));
        ck_assert_int_eq(size_of_file(), 0);
    }
}
END_TEST

START_TEST(each_interface_has_its_own_news)
{
    ck_assert(check(BOOT, "hsn1", GONE));
    ck_assert(check(BOOT, "hsn11", "x"));
    ck_assert(check(BOOT, "hsn", "y"));
    ck_assert(!check(BOOT, "hsn1", GONE));
    ck_assert(check(BOOT, "hsn1", NULL));
    ck_assert(!check(BOOT, "hsn11", "x"));
    ck_assert(!check(BOOT, "hsn", "y"));
    ck_assert(!check(BOOT, "sn", NULL));
}
END_TEST

START_TEST(after_a_reboot_all_is_said_anew)
{
    ck_assert(check(BOOT, "hsn1", GONE));
    ck_assert(check(BOOT, "hsn2", GONE));
    ck_assert(check(LATER, "hsn1", GONE));
    ck_assert(!check(LATER, "hsn1", GONE));
    ck_assert(check(LATER, "hsn2", GONE));
}
END_TEST

START_TEST(a_node_without_trouble_has_no_file)
{
    ck_assert(!check(BOOT, "hsn1", NULL));
    ck_assert_int_eq(size_of_file(), -1);
}
END_TEST

START_TEST(what_cannot_be_remembered_is_said_each_time)
{
    ck_assert(check("", "hsn1", GONE));
    ck_assert(check("", "hsn1", GONE));
    ck_assert_int_eq(size_of_file(), -1);
    ck_assert(check(BOOT, "hsn 1", GONE));
    ck_assert(check(BOOT, "hsn 1", GONE));
    ck_assert(check(BOOT, "hsn1", "two\nlines"));
    ck_assert(check(BOOT, "hsn1", "two\nlines"));
    unit_remove(dir);
    ck_assert(check(BOOT, "hsn1", GONE));
    ck_assert(check(BOOT, "hsn1", GONE));
}
END_TEST

START_TEST(a_full_file_stays_as_it_is)
{
    char why[200], name[16];
    int told = 0;

    memset(why, 'x', sizeof(why) - 1);
    why[sizeof(why) - 1] = '\0';
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof(name), "hsn%d", i);
        ck_assert(check(BOOT, name, why));
    }
    for (int i = 0; i < 200; i++) {
        snprintf(name, sizeof(name), "hsn%d", i);
        told += !check(BOOT, name, why);
    }
    ck_assert_int_gt(told, 70);
    ck_assert_int_le(size_of_file(), TAUT_UNUSABLE_MAX);
}
END_TEST

static const char *const garbage[] = {
    "",
    "\n",
    "taut-unusable",
    "taut-unusable 1 " BOOT,
    "taut-unusable 1 " LATER "\nhsn1 " GONE "\n",
    "taut-unusable 2 " BOOT "\nhsn1 " GONE "\n",
    "taut-unusable 1 " BOOT "\nhsn1 " GONE,
    "taut-unusable 1 " BOOT "\nhsn1\n" GONE "\n",
    "taut-unusable 1 " BOOT " \nhsn1 " GONE "\n",
    "\377\376\n\n\n",
};

START_TEST(garbage_says_nothing_and_goes)
{
    unit_write(path, garbage[_i]);
    ck_assert(check(BOOT, "hsn1", GONE));
    ck_assert(!check(BOOT, "hsn1", GONE));
}
END_TEST

START_TEST(a_link_in_its_place_is_not_followed)
{
    char other[80];

    snprintf(other, sizeof(other), "%s/other", dir);
    unit_write(other, "precious\n");
    ck_assert_int_eq(symlink(other, path), 0);
    ck_assert(check(BOOT, "hsn1", GONE));
    ck_assert(check(BOOT, "hsn1", GONE));
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(rename(other, path), 0);
    ck_assert_int_eq(size_of_file(), 9);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("unusable");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, what_does_not_change_is_said_once);
    tcase_add_test(tc, an_interface_that_comes_back_and_goes_is_news_each_time);
    tcase_add_test(tc, each_interface_has_its_own_news);
    tcase_add_test(tc, after_a_reboot_all_is_said_anew);
    tcase_add_test(tc, a_node_without_trouble_has_no_file);
    tcase_add_test(tc, what_cannot_be_remembered_is_said_each_time);
    tcase_add_test(tc, a_full_file_stays_as_it_is);
    tcase_add_loop_test(tc, garbage_says_nothing_and_goes, 0,
                        sizeof(garbage) / sizeof(garbage[0]));
    tcase_add_test(tc, a_link_in_its_place_is_not_followed);
    return unit_run("unusable", tc);
}
