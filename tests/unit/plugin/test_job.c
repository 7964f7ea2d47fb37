/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/common/job.h"
#include "tests/unit/unit.h"

static struct taut_job job;

static void setup(void)
{
    clearenv();
    ck_assert_int_eq(taut_job_init(&job, TAUT_PURPOSE_PROLOG), 0);
}

static void teardown(void)
{
    taut_job_fini(&job);
}

static const struct {
    const char *field, *value;
    int error;
} bad[] = {
    {"colour", "red", ENOENT},
    {"job", "", EINVAL},
    {"job", "-1", EINVAL},
    {"job", "4294967296", EINVAL},
    {"job", "1; reboot", EINVAL},
    {"uid", "root", EINVAL},
    {"restart", "1.5", EINVAL},
    {"node", "", EINVAL},
    {"node", "n1 n2", EINVAL},
    {"node", "n1\n", EINVAL},
    {"node", "../n1", EINVAL},
    {"nodes", "`reboot`", EINVAL},
    {"nodes", "n[0-3] --servers evil", EINVAL},
    {"partition", "a\"b", EINVAL},
    {"slurm", "22.05.8\033[2J", EINVAL},
};

START_TEST(a_hostile_value_is_refused)
{
    struct taut_error err;

    ck_assert_int_eq(taut_job_set(&job, bad[_i].field, bad[_i].value, &err),
                     -1);
    ck_assert_int_eq(errno, bad[_i].error);
    for (const char *p = err.text; *p; p++)
        ck_assert(*p >= ' ' && *p <= '~');
    ck_assert_uint_eq(job.id, 0);
    ck_assert_str_eq(job.node, "");
    ck_assert_str_eq(job.nodes, "");
}
END_TEST

START_TEST(a_long_node_list_is_taken)
{
    char *list = malloc(100001);

    memset(list, 'n', 100000);
    list[100000] = '\0';
    ck_assert_int_eq(taut_job_set(&job, "nodes", list, NULL), 0);
    ck_assert_uint_eq(strlen(job.nodes), 100000);
    free(list);
}
END_TEST

static const char *const needed[] = {"SLURMD_NODENAME", "SLURM_JOB_NODELIST",
                                     "SLURM_JOB_ID"};

static void set_needed(void)
{
    setenv("SLURMD_NODENAME", "n5", 1);
    setenv("SLURM_JOB_NODELIST", "n[0-7]", 1);
    setenv("SLURM_JOB_ID", "123", 1);
}

START_TEST(a_missing_variable_is_named)
{
    struct taut_error err;

    set_needed();
    unsetenv(needed[_i]);
    ck_assert_int_eq(taut_job_from_environ(&job, &err), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_msg(strstr(err.text, needed[_i]), "%s", err.text);
}
END_TEST

START_TEST(an_environment_is_read)
{
    set_needed();
    setenv("SLURM_JOB_UID", "1000", 1);
    setenv("SLURM_JOB_PARTITION", "batch", 1);
    setenv("SLURM_JOB_RESTART_COUNT", "2", 1);
    ck_assert_int_eq(taut_job_from_environ(&job, NULL), 0);
    ck_assert_uint_eq(job.id, 123);
    ck_assert_uint_eq(job.uid, 1000);
    ck_assert_uint_eq(job.restart, 2);
    ck_assert_str_eq(job.node, "n5");
    ck_assert_str_eq(job.nodes, "n[0-7]");
    ck_assert_str_eq(job.partition, "batch");
}
END_TEST

START_TEST(slurm_22_05_has_slurm_nodelist_only)
{
    set_needed();
    unsetenv("SLURM_JOB_NODELIST");
    setenv("SLURM_NODELIST", "n[1-4]", 1);
    ck_assert_int_eq(taut_job_from_environ(&job, NULL), 0);
    ck_assert_str_eq(job.nodes, "n[1-4]");
}
END_TEST

START_TEST(a_malformed_extra_is_left_out)
{
    set_needed();
    setenv("SLURM_JOB_RESTART_COUNT", "many", 1);
    setenv("SLURM_JOB_PARTITION", "a b", 1);
    ck_assert_int_eq(taut_job_from_environ(&job, NULL), 0);
    ck_assert_uint_eq(job.restart, 0);
    ck_assert_str_eq(job.partition, "");
}
END_TEST

static const char *const step_needs[] = {"SLURMD_NODENAME", "SLURM_JOB_ID",
                                         "SLURM_STEP_ID", "SLURM_PROCID"};

static void set_step(void)
{
    set_needed();
    setenv("SLURM_STEP_ID", "4", 1);
    setenv("SLURM_PROCID", "3", 1);
    setenv("SLURM_STEP_NODELIST", "n[5-6]", 1);
}

START_TEST(a_step_is_read)
{
    set_step();
    ck_assert_int_eq(taut_job_from_step(&job, NULL), 0);
    ck_assert_uint_eq(job.id, 123);
    ck_assert_uint_eq(job.step, 4);
    ck_assert_uint_eq(job.procid, 3);
    ck_assert_str_eq(job.nodes, "n[5-6]");
}
END_TEST

START_TEST(what_a_step_lacks_is_named)
{
    struct taut_error err;

    set_step();
    unsetenv(step_needs[_i]);
    ck_assert_int_eq(taut_job_from_step(&job, &err), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, step_needs[_i]));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("job");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, a_hostile_value_is_refused, 0,
                        sizeof(bad) / sizeof(bad[0]));
    tcase_add_test(tc, a_long_node_list_is_taken);
    tcase_add_loop_test(tc, a_missing_variable_is_named, 0, 3);
    tcase_add_test(tc, an_environment_is_read);
    tcase_add_test(tc, slurm_22_05_has_slurm_nodelist_only);
    tcase_add_test(tc, a_malformed_extra_is_left_out);
    tcase_add_test(tc, a_step_is_read);
    tcase_add_loop_test(tc, what_a_step_lacks_is_named, 0,
                        sizeof(step_needs) / sizeof(step_needs[0]));
    return unit_run("job", tc);
}
