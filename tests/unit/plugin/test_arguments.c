/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/probe/arguments.h"
#include "tests/unit/unit.h"

#define ARGS(...)                                                              \
    (char *[])                                                                 \
    {                                                                          \
        (char *)"taut-probe", __VA_ARGS__, NULL                                \
    }

static struct taut_arguments args;
static char warned[300];

static void warn(const char *text)
{
    snprintf(warned, sizeof(warned), "%s", text);
}

static int parse(char *argv[], struct taut_error *err)
{
    int argc = 0;

    while (argv[argc] != NULL)
        argc++;
    warned[0] = '\0';
    return taut_arguments_parse(&args, argc, argv, warn, err);
}

static void setup(void)
{
    clearenv();
}

static void teardown(void)
{
    taut_arguments_fini(&args);
}

START_TEST(a_mistake_is_named)
{
    static const struct {
        char *argv[6];
        const char *says;
    } bad[] = {
        {{(char *)"p"}, "purpose"},
        {{(char *)"p", (char *)"dance"}, "unknown purpose 'dance'"},
        {{(char *)"p", (char *)"prolog"}, "node name"},
        {{(char *)"p", (char *)"audit"}, "expected 'survey'"},
        {{(char *)"p", (char *)"survey"}, "audit or matrix"},
        {{(char *)"p", (char *)"survey", (char *)"idle"}, "expected 'survey'"},
        {{(char *)"p", (char *)"idle", (char *)"--owner={}"}, "--owner"},
        {{(char *)"p", (char *)"prolog", (char *)"--node"}, "missing"},
        {{(char *)"p", (char *)"prolog", (char *)"--", (char *)"x"}, "missing"},
        {{(char *)"p", (char *)"prolog", (char *)"--colour", (char *)"red"},
         "unknown option 'colour'"},
        {{(char *)"p", (char *)"prolog", (char *)"--budget-ms=x"},
         "budget_ms=x"},
        {{(char *)"p", (char *)"prolog", (char *)"--job", (char *)"x"},
         "job 'x'"},
    };
    struct taut_error err;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        ck_assert_int_eq(parse((char **)(void *)bad[i].argv, &err), -1);
        ck_assert_msg(strstr(err.text, bad[i].says), "%s", err.text);
        taut_arguments_fini(&args);
    }
}
END_TEST

START_TEST(a_prolog_is_read)
{
    ck_assert_int_eq(
        parse(ARGS("prolog", "--servers", "head", "--budget-ms=900", "--job",
                   "7", "--node", "n1", "--nodes", "n[1-2]", "--run-as", "x",
                   "--syslog", "--sysroot", "/s"),
              NULL),
        0);
    ck_assert_int_eq(args.job.purpose, TAUT_PURPOSE_PROLOG);
    ck_assert_str_eq(args.opts.servers, "head");
    ck_assert_int_eq(args.opts.budget_ms, 900);
    ck_assert_int_eq(args.opts.log, TAUT_LOG_INFO);
    ck_assert_uint_eq(args.job.id, 7);
    ck_assert_str_eq(args.job.nodes, "n[1-2]");
    ck_assert_str_eq(args.sysroot, "/s");
    ck_assert(args.to_syslog);
}
END_TEST

START_TEST(an_idle_check_needs_the_node_name_only)
{
    setenv("SLURMD_NODENAME", "n9", 1);
    ck_assert_int_eq(parse(ARGS("--idle", "--servers", "head"), NULL), 0);
    ck_assert_int_eq(args.job.purpose, TAUT_PURPOSE_IDLE);
    ck_assert_str_eq(args.job.node, "n9");
    ck_assert_str_eq(args.job.nodes, "n9");
    ck_assert_int_eq(args.opts.budget_ms, TAUT_BUDGET_IDLE_MS);
    ck_assert_int_eq(args.opts.log, TAUT_LOG_QUIET);
    ck_assert_uint_eq(args.job.id, 0);
}
END_TEST

START_TEST(the_command_line_outdoes_the_file)
{
    char dir[32], path[64];

    unit_dir(dir);
    snprintf(path, sizeof(path), "%s/conf", dir);
    unit_write(path, "servers=a\nuser=b\nnode=n3\ncolour=red\n");
    ck_assert_int_eq(
        parse(ARGS("idle", "--servers", "c", "--conf", path), NULL), 0);
    ck_assert_str_eq(args.opts.servers, "c");
    ck_assert_str_eq(args.opts.user, "b");
    ck_assert_str_eq(args.job.node, "n3");
    ck_assert_msg(strstr(warned, ":4: unknown option 'colour'"), "%s", warned);
    unit_remove(dir);
}
END_TEST

START_TEST(a_script_passes_slurms_environment)
{
    setenv("SLURMD_NODENAME", "n9", 1);
    setenv("SLURM_NODELIST", "n[8-9]", 1);
    setenv("SLURM_JOB_ID", "12", 1);
    ck_assert_int_eq(parse(ARGS("epilog", "--from-environ"), NULL), 0);
    ck_assert_uint_eq(args.job.id, 12);
    ck_assert_str_eq(args.job.nodes, "n[8-9]");
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("arguments");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, a_mistake_is_named);
    tcase_add_test(tc, a_prolog_is_read);
    tcase_add_test(tc, an_idle_check_needs_the_node_name_only);
    tcase_add_test(tc, the_command_line_outdoes_the_file);
    tcase_add_test(tc, a_script_passes_slurms_environment);
    return unit_run("arguments", tc);
}
