/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the administrator sets on a node.  The same keys serve the plugstack
 * line (key=value), /etc/taut/node.conf (key=value per line) and taut-probe
 * (--key value, with '-' for '_'). */
#ifndef TAUT_PLUGIN_COMMON_OPTIONS_H
#define TAUT_PLUGIN_COMMON_OPTIONS_H

#include "wire/error.h"
#include "wire/protocol.h"

#define TAUT_BUDGET_MIN_MS 50
#define TAUT_BUDGET_MS 1000 /* prolog and epilog */
#define TAUT_LAUNCH_MS 5000 /* aprun, until the check is over */
#define TAUT_BUDGET_IDLE_MS 5000
#define TAUT_BUDGET_SURVEY_MS 20000 /* to begin one; it may last longer */

enum taut_log_level {
    TAUT_LOG_NONE = 0, /* default of the purpose */
    TAUT_LOG_QUIET,    /* errors only */
    TAUT_LOG_INFO,
    TAUT_LOG_DEBUG,
};

/* A number in 'rundir': microseconds of processor time that jobs' tasks took on
 * this node since it booted (plugin/spank/usage.h, plugin/counters/host.h). */
#define TAUT_USAGE_FILE "usage"

struct taut_options {
    char *servers;      /* host[:port][,host...]; "" = unset */
    char *user;         /* tautd runs as; name or number */
    char *probe;        /* path of taut-probe */
    char *injection;    /* NAME=VALUE for steps with --comm; "" = none */
    char *launch;       /* "aprun": from a front end over ALPS; or "" */
    char *launcher;     /* path of taut-alps, for that */
    char *interface;    /* under test, a list; "auto"; "" = by route */
    char *transport;    /* "tcp", "ofi" or "ofi,tcp" */
    char *provider;     /* of libfabric; "" = its first */
    char *domain;       /* of libfabric, a list; "" = its first */
    char *ofi_env;      /* for libfabric, "NAME=VALUE,..."; "" = none */
    char *modules;      /* folder of taut-ofi.so and taut-hwloc.so */
    char *run_as;       /* streams run as, name or number; "": the default's */
    char *rundir;       /* holds the hold-off file */
    char *munge_socket; /* "" = munge's own default */
    char *node;         /* "" = as Slurm says */
    int launch_ms;
    int budget_ms; /* 0 = default of the purpose */
    enum taut_log_level log;
};

/* Fill in the defaults.  Returns 0, or -1 with errno ENOMEM. */
int taut_options_init(struct taut_options *opts);

void taut_options_fini(struct taut_options *opts);

/* Set one option.
 *   key    '-' and '_' mean the same
 *   value  copied; checked for its form and limits
 * Returns 0, or -1 with errno ENOENT (no such key), EINVAL (value; the old
 * one stays) or ENOMEM, and 'err' saying which. */
int taut_options_set(struct taut_options *opts, const char *key,
                     const char *value, struct taut_error *err);

/* Set an option written as "key=value".  As taut_options_set. */
int taut_options_set_pair(struct taut_options *opts, const char *pair,
                          struct taut_error *err);

/* Read a file of key=value lines; '#' begins a comment line, blanks around
 * key and value are dropped.  The file and what it holds must be writable
 * by its owner only, because its values end up in a root process.
 * Returns 0, or -1 with errno (EINVAL: 'err' has path and line of the first
 * bad line; the good ones are in force). */
int taut_options_load(struct taut_options *opts, const char *path,
                      struct taut_error *err);

/* "quiet", "info" or "debug"; "" for none. */
const char *taut_log_level_name(enum taut_log_level level);

#endif
