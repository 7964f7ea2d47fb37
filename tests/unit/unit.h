/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What several unit tests share. */
#ifndef TAUT_TESTS_UNIT_H
#define TAUT_TESTS_UNIT_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

/* Run one case as a suite; what main() returns. */
static inline int unit_run(const char *name, TCase *tc)
{
    Suite *suite = suite_create(name);
    SRunner *runner = srunner_create(suite);
    int failed;

    suite_add_tcase(suite, tc);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* A fresh directory, to be named in 'path' (32 bytes). */
static inline void unit_dir(char *path)
{
    snprintf(path, 32, "/tmp/taut-unit-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(path));
}

/* Make the /sys of a recorded node, tests/data/sysfs/NODE, below 'path'. */
static inline void unit_sysfs(const char *node, const char *path)
{
    const char *top = getenv("TAUT_SRCDIR");
    char command[512];

    snprintf(command, sizeof(command), "'%s/tests/data/sysfs/unpack' %s '%s'",
             top != NULL ? top : ".", node, path);
    ck_assert_int_eq(system(command), 0);
}

static inline void unit_remove(const char *path)
{
    char command[64];

    snprintf(command, sizeof(command), "rm -rf '%s'", path);
    ck_assert_int_eq(system(command), 0);
}

static inline void unit_write(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

#endif
