/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/common/options.h"
#include "tests/unit/unit.h"

static struct taut_options opts;
static char dir[32];

static void setup(void)
{
    ck_assert_int_eq(taut_options_init(&opts), 0);
    unit_dir(dir);
}

static void teardown(void)
{
    taut_options_fini(&opts);
    unit_remove(dir);
}

static const struct {
    const char *pair;
    int error;
    const char *says;
} bad[] = {
    {"", EINVAL, "expected key=value"},
    {"=x", EINVAL, "expected key=value"},
    {"servers", EINVAL, "expected key=value"},
    {"colour=red", ENOENT, "unknown option 'colour'"},
    {"servers=", EINVAL, "expected host[:port][,host...]"},
    {"servers=a b", EINVAL, "expected host"},
    {"servers=$(reboot)", EINVAL, "expected host"},
    {"budget_ms=", EINVAL, "expected 50..60000"},
    {"budget_ms=49", EINVAL, "expected 50..60000"},
    {"budget_ms=60001", EINVAL, "expected 50..60000"},
    {"budget_ms=1s", EINVAL, "expected 50..60000"},
    {"launch_ms=0", EINVAL, "launch_ms=0: expected 50..60000"},
    {"launch=srun", EINVAL, "launch=srun: expected aprun"},
    {"launcher=taut-alps", EINVAL, "expected an absolute path"},
    {"interface=../../etc", EINVAL, "expected a network interface"},
    {"interface=..", EINVAL, "expected a network interface"},
    {"interface=abcdefghijklmnop", EINVAL, "expected a network interface"},
    {"run_as=a/b", EINVAL, "expected a user name"},
    {"rundir=run", EINVAL, "expected an absolute path"},
    {"probe=taut-probe", EINVAL, "expected an absolute path"},
    {"injection=70", EINVAL, "expected NAME=VALUE"},
    {"ofi_env=", EINVAL, "ofi_env=: expected NAME=VALUE[,...]"},
    {"ofi_env=LD_PRELOAD=/tmp/x.so", EINVAL, "names that begin with FI_"},
    {"ofi_env=FI_UNIVERSE_SIZE", EINVAL, "expected NAME=VALUE"},
    {"ofi_env=FI_UNIVERSE_SIZE=16,", EINVAL, "expected NAME=VALUE"},
    {"ofi_env=FI_PROVIDER=verbs,PATH=/tmp", EINVAL, "expected NAME=VALUE"},
    {"ofi_env=FI_TCP_IFACE=$(reboot)", EINVAL, "expected NAME=VALUE"},
    {"log=loud", EINVAL, "expected quiet, info or debug"},
};

START_TEST(a_bad_option_is_named_and_the_default_stays)
{
    struct taut_error err;

    ck_assert_int_eq(taut_options_set_pair(&opts, bad[_i].pair, &err), -1);
    ck_assert_int_eq(errno, bad[_i].error);
    ck_assert_msg(strstr(err.text, bad[_i].says), "%s", err.text);
    ck_assert_str_eq(opts.servers, "");
    ck_assert_str_eq(opts.user, "slurm");
    ck_assert_str_eq(opts.run_as, "");
    ck_assert_int_eq(opts.budget_ms, 0);
    ck_assert_int_eq(opts.log, TAUT_LOG_NONE);
}
END_TEST

START_TEST(every_option_can_be_set)
{
    static const char *const good[] = {
        "servers=head,10.0.0.1:7000,[fd00::1]:7001",
        "user=taut",
        "budget_ms=700",
        "launch=aprun",
        "launch_ms=9000",
        "probe=/opt/taut-probe",
        "interface=hsn0",
        "run_as=65534",
        "rundir=/run/t",
        "munge_socket=/run/m.s",
        "injection=A_B=70",
        "ofi_env=FI_PROVIDER=verbs;ofi_rxm,FI_VERBS_IFACE=ib0,IBV_FORK_SAFE=1",
        "node=n1",
        "log=debug",
    };

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        ck_assert_int_eq(taut_options_set_pair(&opts, good[i], NULL), 0);
    ck_assert_str_eq(opts.servers, "head,10.0.0.1:7000,[fd00::1]:7001");
    ck_assert_str_eq(opts.munge_socket, "/run/m.s");
    ck_assert_str_eq(opts.injection, "A_B=70");
    ck_assert_int_eq(opts.budget_ms, 700);
    ck_assert_str_eq(opts.launch, "aprun");
    ck_assert_int_eq(opts.launch_ms, 9000);
    ck_assert_int_eq(opts.log, TAUT_LOG_DEBUG);
}
END_TEST

START_TEST(dash_and_underscore_are_the_same)
{
    ck_assert_int_eq(taut_options_set(&opts, "run-as", "x", NULL), 0);
    ck_assert_str_eq(opts.run_as, "x");
    ck_assert_int_eq(taut_options_set(&opts, "run", "x", NULL), -1);
    ck_assert_int_eq(taut_options_set(&opts, "run-as-", "x", NULL), -1);
}
END_TEST

START_TEST(a_file_without_mistakes_is_read)
{
    char path[64];

    snprintf(path, sizeof(path), "%s/conf", dir);
    unit_write(path, "# a comment\n\n  servers = head:7000 \n"
                     "budget_ms=300\n\tlog=quiet");
    ck_assert_int_eq(taut_options_load(&opts, path, NULL), 0);
    ck_assert_str_eq(opts.servers, "head:7000");
    ck_assert_int_eq(opts.budget_ms, 300);
    ck_assert_int_eq(opts.log, TAUT_LOG_QUIET);
}
END_TEST

START_TEST(a_bad_line_is_named_and_the_others_count)
{
    struct taut_error err;
    char path[64], text[3000], expected[128];

    snprintf(path, sizeof(path), "%s/conf", dir);
    memset(text, 'x', sizeof(text));
    snprintf(text, 64, "servers=head\nbudget_ms=fast\n");
    text[strlen(text)] = '#';
    strcpy(text + 2000, "\nuser=taut\n");
    unit_write(path, text);
    ck_assert_int_eq(taut_options_load(&opts, path, &err), -1);
    ck_assert_int_eq(errno, EINVAL);
    snprintf(expected, sizeof(expected), "%s:2: budget_ms=fast", path);
    ck_assert_msg(!strncmp(err.text, expected, strlen(expected)), "%s",
                  err.text);
    ck_assert_str_eq(opts.servers, "head");
    ck_assert_str_eq(opts.user, "taut");
}
END_TEST

START_TEST(a_file_others_can_write_is_refused)
{
    char path[64];

    ck_assert_int_eq(taut_options_load(&opts, "/nonexistent", NULL), -1);
    ck_assert_int_eq(errno, ENOENT);
    snprintf(path, sizeof(path), "%s/conf", dir);
    unit_write(path, "servers=head\n");
    ck_assert_int_eq(chmod(path, 0666), 0);
    ck_assert_int_eq(taut_options_load(&opts, path, NULL), -1);
    ck_assert_int_eq(errno, EPERM);
    ck_assert_str_eq(opts.servers, "");
}
END_TEST

START_TEST(a_file_of_another_user_is_refused)
{
    struct taut_error err;
    char path[64];

    if (geteuid() != 0)
        return; /* nobody else can give a file away */
    snprintf(path, sizeof(path), "%s/conf", dir);
    unit_write(path, "servers=head\n");
    ck_assert_int_eq(chown(path, 65534, 0), 0);
    ck_assert_int_eq(taut_options_load(&opts, path, &err), -1);
    ck_assert_int_eq(errno, EPERM);
    ck_assert_ptr_nonnull(strstr(err.text, "owned by uid 65534, expected"));
    ck_assert_str_eq(opts.servers, "");
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("options");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, a_bad_option_is_named_and_the_default_stays, 0,
                        sizeof(bad) / sizeof(bad[0]));
    tcase_add_test(tc, every_option_can_be_set);
    tcase_add_test(tc, dash_and_underscore_are_the_same);
    tcase_add_test(tc, a_file_without_mistakes_is_read);
    tcase_add_test(tc, a_bad_line_is_named_and_the_others_count);
    tcase_add_test(tc, a_file_others_can_write_is_refused);
    tcase_add_test(tc, a_file_of_another_user_is_refused);
    return unit_run("options", tc);
}
