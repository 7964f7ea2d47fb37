/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SPANK plugin: runs taut-probe in the prolog and the epilog of every job, and
 * gives srun, sbatch and salloc the option --comm.
 *
 * With launch=aprun, on a front end over ALPS, it does so from slurmstepd of
 * the batch script instead, by way of taut-alps: in the prolog the reservation
 * is not confirmed yet, and SLURMD_NODENAME is not a node of the job.
 *
 * A job never suffers from Taut, so the hooks return 0 whatever happens:
 * Slurm before 25.05 fails a prolog for a negative return, later releases
 * for any return but 0.  No function of libslurm is called, only SPANK's.
 * Written for Slurm 22.05 to 26.05, and 17.02, which runs over ALPS. */
#include <config.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The tree is built with hidden visibility; what SPANK looks up by name,
 * and what it gives to us, is not. */
#pragma GCC visibility push(default)
#include <stdint.h> /* which spank.h of 17.02 wants, as it wants slurm.h */

#include <slurm/slurm.h>
#include <slurm/spank.h>

SPANK_PLUGIN(taut, 1)
#pragma GCC visibility pop

#include "plugin/common/clock.h"
#include "plugin/common/comm.h"
#include "plugin/common/holdoff.h"
#include "plugin/common/job.h"
#include "plugin/common/options.h"
#include "plugin/spank/child.h"
#include "plugin/spank/usage.h"

#define ARGV_MAX 48
#define LAUNCH_END_MS 300      /* for taut-alps to end by itself */
#define NODES_MAX (128 * 1024) /* bytes of a host list in the environment */

struct hook {
    int64_t start_ns, stop_ns;
    struct taut_options opts;
    struct taut_job job;
    char where[TAUT_ERROR_MAX]; /* "job 123 on n5" */
};

static void log_bad_option(const struct hook *h, const char *text)
{
    if (h->job.purpose == TAUT_PURPOSE_PROLOG)
        slurm_error("taut: plugstack.conf: %s; ignored", text);
}

static void read_options(struct hook *h, int ac, char *av[])
{
    struct taut_error why;

    for (int i = 0; i < ac; i++) {
        if (taut_options_set_pair(&h->opts, av[i], &why) < 0)
            log_bad_option(h, why.text);
    }
    if (!h->opts.budget_ms)
        h->opts.budget_ms = TAUT_BUDGET_MS;
}

static void read_version(struct hook *h, spank_t sp)
{
    char built[32];
    char *text = NULL;

    if (spank_get_item(sp, S_SLURM_VERSION, &text) == ESPANK_SUCCESS &&
        text != NULL && taut_job_set(&h->job, "slurm", text, NULL) == 0)
        return;
    snprintf(built, sizeof(built), "%d.%02d.%d",
             SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER),
             SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER),
             SLURM_VERSION_MICRO(SLURM_VERSION_NUMBER));
    taut_job_set(&h->job, "slurm", built, NULL);
}

/* For a message when the environment, which says the same, is wanting. */
static void read_items(struct hook *h, spank_t sp)
{
    uint32_t id;
    uid_t uid;

    if (spank_get_item(sp, S_JOB_ID, &id) == ESPANK_SUCCESS)
        h->job.id = id;
    if (spank_get_item(sp, S_JOB_UID, &uid) == ESPANK_SUCCESS)
        h->job.uid = uid;
    read_version(h, sp);
}

static void log_line(void *arg, const char *line)
{
    const struct hook *h = arg;

    if (strncmp(line, "error: ", 7) == 0)
        slurm_error("taut: %s: %s", h->where, line + 7);
    else if (strncmp(line, "debug: ", 7) == 0 && h->opts.log != TAUT_LOG_DEBUG)
        slurm_debug("taut: %s: %s", h->where, line + 7);
    else
        slurm_info("taut: %s: %s", h->where, line);
}

struct args {
    const char *argv[ARGV_MAX + 1];
    size_t count;
    char numbers[6][24];
    size_t number_count;
};

static void add(struct args *a, const char *flag, const char *value)
{
    if (!*value || a->count + 2 > ARGV_MAX)
        return;
    a->argv[a->count++] = flag;
    a->argv[a->count++] = value;
}

/* What is usual need not be said. */
static void add_unless(struct args *a, const char *flag, const char *value,
                       const char *usual)
{
    if (strcmp(value, usual) != 0)
        add(a, flag, value);
}

static void add_number(struct args *a, const char *flag, long long value)
{
    char *text = a->numbers[a->number_count++];

    snprintf(text, sizeof(a->numbers[0]), "%lld", value);
    add(a, flag, text);
}

static void make_args(struct args *a, const struct hook *h)
{
    const struct taut_options *o = &h->opts;
    const struct taut_job *j = &h->job;
    long long left_ms =
        o->budget_ms - (taut_now_ns() - h->start_ns) / TAUT_MS_NS;

    if (*o->launch)
        left_ms = o->budget_ms; /* it begins on the node */
    if (left_ms < TAUT_BUDGET_MIN_MS)
        left_ms = TAUT_BUDGET_MIN_MS;
    memset(a, 0, sizeof(*a));
    a->argv[a->count++] = *o->launch ? o->launcher : o->probe;
    if (*o->launch)
        a->argv[a->count++] = "launch";
    a->argv[a->count++] = taut_purpose_name(j->purpose);
    if (*o->launch) {
        add(a, "--probe", o->probe);
        add_number(a, "--launch-ms", o->launch_ms);
    }
    add(a, "--servers", o->servers);
    add(a, "--user", o->user);
    add_number(a, "--budget-ms", left_ms);
    add_number(a, "--job", j->id);
    add(a, "--node", j->node);
    add(a, "--nodes", j->nodes);
    add(a, "--interface", o->interface);
    add_number(a, "--restart", j->restart);
    add_number(a, "--uid", j->uid);
    add(a, "--partition", j->partition);
    add(a, "--run-as", o->run_as);
    add(a, "--rundir", o->rundir);
    add(a, "--munge-socket", o->munge_socket);
    add(a, "--slurm", j->slurm);
    add(a, "--log", taut_log_level_name(o->log));
    add_unless(a, "--transport", o->transport, "tcp");
    add(a, "--provider", o->provider);
    add(a, "--domain", o->domain);
    add(a, "--ofi-env", o->ofi_env);
    add_unless(a, "--modules", o->modules, TAUT_LIBEXECDIR);
}

/* A probe that hung would cost every job the whole budget. */
static void hold_off(const struct hook *h)
{
    struct taut_holdoff holdoff;

    if (taut_holdoff_open(&holdoff, h->opts.rundir, NULL) == 0)
        taut_holdoff_enter(&holdoff, true, NULL);
    taut_holdoff_close(&holdoff);
}

static void log_report(const struct hook *h,
                       const struct taut_child_report *report)
{
    const char *probe = *h->opts.launch ? h->opts.launcher : h->opts.probe;
    const char *where = h->where;

    if (report->dropped)
        slurm_error("taut: %s: %u more lines of output dropped", where,
                    report->dropped);
    switch (report->end) {
    case TAUT_CHILD_EXITED:
        if (report->value)
            slurm_error("taut: %s: %s ended with status %d", where, probe,
                        report->value);
        break;
    case TAUT_CHILD_SIGNALED:
        slurm_error("taut: %s: %s died of signal %d (%s)", where, probe,
                    report->value, strsignal(report->value));
        break;
    case TAUT_CHILD_STOPPED:
        slurm_error("taut: %s: %s killed, not done after %d ms", where, probe,
                    (int)((h->stop_ns - h->start_ns) / TAUT_MS_NS));
        hold_off(h);
        break;
    case TAUT_CHILD_SPEWED:
        slurm_error("taut: %s: %s killed, it wrote more than %u bytes", where,
                    probe, TAUT_CHILD_OUTPUT_MAX);
        break;
    case TAUT_CHILD_GONE:
    case TAUT_CHILD_NONE:
        break;
    }
}

static void run_probe(struct hook *h)
{
    struct taut_child_report report;
    struct taut_error why;
    struct args args;
    int stop_ms = *h->opts.launch ? h->opts.launch_ms + LAUNCH_END_MS
                                  : h->opts.budget_ms * 3 / 2;

    h->stop_ns = h->start_ns + stop_ms * TAUT_MS_NS;
    make_args(&args, h);
    if (taut_child_run(args.argv, h->stop_ns, log_line, h, &report, &why) < 0)
        slurm_error("taut: %s: cannot run %s; skipped", h->where, why.text);
    else
        log_report(h, &report);
}

/* In slurmstepd only the batch script's: the other steps are aprun's. */
static bool is_script(spank_t sp)
{
    uint32_t step;

    return spank_context() == S_CTX_REMOTE &&
           spank_get_item(sp, S_JOB_STEPID, &step) == ESPANK_SUCCESS &&
           step == SLURM_BATCH_SCRIPT;
}

static void check_launched(struct hook *h, spank_t sp)
{
    char *nodes = calloc(1, NODES_MAX);
    struct taut_error why = {"SLURM_JOB_NODELIST is not set"};

    read_items(h, sp);
    snprintf(h->where, sizeof(h->where), "job %u", h->job.id);
    if (nodes != NULL &&
        spank_getenv(sp, "SLURM_JOB_NODELIST", nodes, NODES_MAX) ==
            ESPANK_SUCCESS &&
        taut_job_set(&h->job, "nodes", nodes, &why) == 0)
        run_probe(h);
    else
        slurm_error("taut: %s: %s; skipped", h->where, why.text);
    free(nodes);
}

static void check_job(struct hook *h, spank_t sp)
{
    struct taut_error why;

    read_items(h, sp);
    if (taut_job_from_environ(&h->job, &why) < 0) {
        slurm_error("taut: job %u: %s; skipped", h->job.id, why.text);
        return;
    }
    snprintf(h->where, sizeof(h->where), "job %u on %.200s", h->job.id,
             h->job.node);
    run_probe(h);
}

static void check(struct hook *h, spank_t sp)
{
    if (!*h->opts.servers)
        slurm_error("taut: plugstack.conf: no servers= given; skipped");
    else if (taut_holdoff_is_on(h->opts.rundir))
        return;
    else if (*h->opts.launch)
        check_launched(h, sp);
    else
        check_job(h, sp);
}

/* Of a job's hooks and its script's, which are both called, one has to do. */
static int run_hook(spank_t sp, int ac, char *av[], enum taut_purpose purpose,
                    bool in_script)
{
    struct hook h = {.start_ns = taut_now_ns()};

    if (taut_options_init(&h.opts) < 0 || taut_job_init(&h.job, purpose) < 0)
        goto out;
    read_options(&h, ac, av);
    if (in_script == (*h.opts.launch != '\0'))
        check(&h, sp);
out:
    taut_job_fini(&h.job);
    taut_options_fini(&h.opts);
    return 0;
}

/* srun, sbatch and salloc say what is wrong and go on: what is not a pattern
 * steers nothing. */
static int on_comm(int val, const char *optarg, int remote)
{
    struct taut_error why;

    (void)val;
    if (!remote && taut_comm_check(optarg, &why) < 0)
        slurm_info("taut: %s; ignored", why.text);
    return 0;
}

/* Not exported as spank_options[]: that would hide the option from prologs. */
static struct spank_option comm_option = {
    .name = (char *)"comm",
    .arginfo = (char *)"PATTERN[:KEY=VALUE,...]",
    .usage = (char *)"the job communicates heavily, in this pattern (see "
                     "taut(1)): it may be steered to nodes that suit",
    .has_arg = 1,
    .val = 0,
    .cb = on_comm,
};

/* Where the site says so, a step with --comm is told to inject less: the
 * variable is the site's, and what the user set stays. */
static void set_injection(spank_t sp, int ac, char *av[])
{
    struct hook h = {.start_ns = 0};
    char name[64], *pattern = NULL;

    if (spank_option_getopt(sp, &comm_option, &pattern) != ESPANK_SUCCESS ||
        taut_options_init(&h.opts) < 0)
        return;
    read_options(&h, ac, av);
    size_t n = strcspn(h.opts.injection, "=");
    if (h.opts.injection[0] != '\0' && n < sizeof name) {
        memcpy(name, h.opts.injection, n);
        name[n] = '\0';
        spank_setenv(sp, name, h.opts.injection + n + 1, 0);
    }
    taut_options_fini(&h.opts);
}

/* The processor time of tasks that have ended, for `taut why`; what other
 * children of slurmstepd took is little.  Called for each task, so only what
 * came since the last one counts. */
static void add_usage(int ac, char *av[])
{
    static int64_t counted_us; /* slurmstepd calls from one thread */
    struct hook h = {.start_ns = 0};
    int64_t us = taut_usage_of_children();

    if (us <= counted_us || taut_options_init(&h.opts) < 0)
        return;
    read_options(&h, ac, av);
    if (taut_usage_add(h.opts.rundir, us - counted_us) == 0)
        counted_us = us;
    taut_options_fini(&h.opts);
}

#pragma GCC visibility push(default)
/* In slurmstepd too, which complains of unknown options. */
int slurm_spank_init(spank_t sp, int ac, char *av[])
{
    spank_context_t context = spank_context();

    (void)ac, (void)av;
    if (context == S_CTX_LOCAL || context == S_CTX_ALLOCATOR ||
        context == S_CTX_REMOTE)
        spank_option_register(sp, &comm_option);
    return 0;
}

/* In slurmstepd, before a step's tasks. */
int slurm_spank_user_init(spank_t sp, int ac, char *av[])
{
    if (spank_context() == S_CTX_REMOTE)
        set_injection(sp, ac, av);
    return 0;
}

/* In slurmstepd, when a task has ended. */
int slurm_spank_task_exit(spank_t sp, int ac, char *av[])
{
    (void)sp;
    if (spank_context() == S_CTX_REMOTE)
        add_usage(ac, av);
    return 0;
}

int slurm_spank_job_prolog(spank_t sp, int ac, char *av[])
{
    return run_hook(sp, ac, av, TAUT_PURPOSE_PROLOG, false);
}

int slurm_spank_job_epilog(spank_t sp, int ac, char *av[])
{
    return run_hook(sp, ac, av, TAUT_PURPOSE_EPILOG, false);
}

/* In slurmstepd as root, the reservation being confirmed. */
int slurm_spank_init_post_opt(spank_t sp, int ac, char *av[])
{
    return is_script(sp) ? run_hook(sp, ac, av, TAUT_PURPOSE_PROLOG, true) : 0;
}

int slurm_spank_exit(spank_t sp, int ac, char *av[])
{
    return is_script(sp) ? run_hook(sp, ac, av, TAUT_PURPOSE_EPILOG, true) : 0;
}
#pragma GCC visibility pop
