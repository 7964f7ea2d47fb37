/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/probe/arguments.h"

#define CONF_PATH TAUT_CONFDIR "/node.conf"

const char taut_arguments_usage[] =
    "usage: taut-probe prolog|epilog|idle|survey audit|survey matrix\n"
    "           --servers HOST[:PORT][,...]\n"
    "           [--user NAME] [--budget-ms N] [--interface IF[,...]|auto]\n"
    "           [--transport tcp|ofi|ofi,tcp] [--provider P] [--domain D]\n"
    "           [--ofi-env NAME=VALUE[,...]]\n"
    "           [--run-as NAME] [--rundir DIR] [--munge-socket PATH]\n"
    "           [--log quiet|info|debug] [--syslog] [--conf FILE]\n"
    "           [--job N] [--restart N] [--uid N] [--partition NAME]\n"
    "           [--node NAME] [--nodes HOSTLIST] [--slurm VERSION]\n"
    "           [--ticket] [--from-environ] [--sysroot DIR] [--modules DIR]\n"
    "           [--owner JSON]\n"
    "       taut-probe pair --help\n";

struct cursor {
    int argc, at;
    char **argv;
};

static int bad(struct taut_error *err, const char *what, const char *arg)
{
    taut_error_set(err, "%s '%.60s'", what, arg);
    errno = EINVAL;
    return -1;
}

/* Take "--key value" or "--key=value" apart; 'key' has room for 32 bytes. */
static const char *take_value(struct cursor *c, char *key)
{
    const char *arg = c->argv[c->at] + 2, *eq = strchr(arg, '=');
    size_t n = eq != NULL ? (size_t)(eq - arg) : strlen(arg);

    if (n == 0 || n > 31)
        return NULL;
    memcpy(key, arg, n);
    key[n] = '\0';
    if (eq != NULL)
        return eq + 1;
    return c->at + 1 < c->argc ? c->argv[++c->at] : NULL;
}

static int set_value(struct taut_arguments *args, const char *key,
                     const char *value, struct taut_error *err)
{
    if (strcmp(key, "conf") == 0)
        return 0; /* was read before */
    if (strcmp(key, "sysroot") == 0) {
        args->sysroot = value;
        return 0;
    }
    if (strcmp(key, "owner") == 0) {
        args->owner = value;
        return 0;
    }
    /* "node" is both: the job's field wins, the option is for the file. */
    if (strcmp(key, "node") != 0 &&
        taut_options_set(&args->opts, key, value, err) == 0)
        return 0;
    if (strcmp(key, "node") != 0 && errno != ENOENT)
        return -1;
    return taut_job_set(&args->job, key, value, err);
}

static int set_flag(struct taut_arguments *args, const char *arg)
{
    if (strcmp(arg, "--idle") == 0)
        args->job.purpose = TAUT_PURPOSE_IDLE;
    else if (strcmp(arg, "--syslog") == 0)
        args->to_syslog = true;
    else if (strcmp(arg, "--ticket") == 0)
        args->has_ticket = true;
    else if (strcmp(arg, "--from-environ") == 0)
        args->from_environ = true;
    else if (strcmp(arg, "--help") == 0)
        args->wants_help = true;
    else if (strcmp(arg, "--version") == 0)
        args->wants_version = true;
    else
        return -1;
    return 0;
}

static int parse_one(struct taut_arguments *args, struct cursor *c,
                     struct taut_error *err)
{
    const char *arg = c->argv[c->at], *value;
    char key[32];

    if (strcmp(arg, "survey") == 0) {
        args->is_survey = true;
        return 0;
    }
    if (strncmp(arg, "--", 2) != 0) {
        args->job.purpose = taut_purpose_parse(arg);
        return args->job.purpose ? 0 : bad(err, "unknown purpose", arg);
    }
    if (set_flag(args, arg) == 0)
        return 0;
    value = take_value(c, key);
    if (value == NULL)
        return bad(err, "a value is missing after", arg);
    return set_value(args, key, value, err);
}

/* The file that an earlier look at the command line finds, or NULL. */
static const char *find_conf(int argc, char *argv[])
{
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--conf=", 7) == 0)
            return argv[i] + 7;
        if (strcmp(argv[i], "--conf") == 0 && i + 1 < argc)
            return argv[i + 1];
        if (strcmp(argv[i], "idle") == 0 || strcmp(argv[i], "--idle") == 0 ||
            strcmp(argv[i], "survey") == 0) {
            const char *later = find_conf(argc - i, argv + i);

            return later != NULL ? later : CONF_PATH;
        }
    }
    return NULL;
}

static void load_conf(struct taut_arguments *args, const char *path,
                      taut_arguments_warn_f *warn)
{
    struct taut_error why;

    if (taut_options_load(&args->opts, path, &why) == 0)
        return;
    if (errno != ENOENT || strcmp(path, CONF_PATH) != 0)
        warn(why.text);
}

static int default_budget_ms(const struct taut_arguments *args)
{
    if (args->is_survey)
        return TAUT_BUDGET_SURVEY_MS;
    return args->job.purpose == TAUT_PURPOSE_IDLE ? TAUT_BUDGET_IDLE_MS
                                                  : TAUT_BUDGET_MS;
}

/* "survey" and the two purposes belong together. */
static int check_purpose(const struct taut_arguments *args,
                         struct taut_error *err)
{
    if (!args->job.purpose)
        return bad(err, "expected a purpose:",
                   args->is_survey ? "audit or matrix"
                                   : "prolog, epilog, idle or survey");
    if (args->is_survey != taut_purpose_is_survey(args->job.purpose))
        return bad(err, "expected 'survey' before audit or matrix, not before",
                   taut_purpose_name(args->job.purpose));
    if (args->owner != NULL && !args->is_survey)
        return bad(err, "only of a survey:", "--owner");
    return 0;
}

static int set_defaults(struct taut_arguments *args, struct taut_error *err)
{
    bool is_idle = args->job.purpose == TAUT_PURPOSE_IDLE;
    const char *name = getenv("SLURMD_NODENAME");

    if (!args->opts.budget_ms)
        args->opts.budget_ms = default_budget_ms(args);
    if (!args->opts.log)
        args->opts.log = is_idle ? TAUT_LOG_QUIET : TAUT_LOG_INFO;
    if (args->is_survey)
        return taut_job_from_step(&args->job, err);
    if (args->from_environ)
        return taut_job_from_environ(&args->job, err);
    if (!*args->job.node && *args->opts.node)
        name = args->opts.node;
    if (!*args->job.node && name != NULL &&
        taut_job_set(&args->job, "node", name, err) < 0)
        return -1;
    if (!*args->job.node)
        return bad(err, "no node name:", "--node or SLURMD_NODENAME");
    if (!*args->job.nodes)
        return taut_job_set(&args->job, "nodes", args->job.node, err);
    return 0;
}

int taut_arguments_parse(struct taut_arguments *args, int argc, char *argv[],
                         taut_arguments_warn_f *warn, struct taut_error *err)
{
    struct cursor c = {.argc = argc, .at = 1, .argv = argv};
    const char *conf = find_conf(argc, argv);

    memset(args, 0, sizeof(*args));
    args->sysroot = "/";
    if (taut_options_init(&args->opts) < 0 ||
        taut_job_init(&args->job, TAUT_PURPOSE_NONE) < 0)
        return taut_error_set(err, "out of memory");
    if (conf != NULL)
        load_conf(args, conf, warn);
    for (; c.at < argc; c.at++) {
        if (parse_one(args, &c, err) < 0)
            return -1;
    }
    if (args->wants_help || args->wants_version)
        return 0;
    if (check_purpose(args, err) < 0)
        return -1;
    return set_defaults(args, err);
}

void taut_arguments_fini(struct taut_arguments *args)
{
    taut_options_fini(&args->opts);
    taut_job_fini(&args->job);
}
