/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The command line of taut-probe. */
#ifndef TAUT_PLUGIN_PROBE_ARGUMENTS_H
#define TAUT_PLUGIN_PROBE_ARGUMENTS_H

#include <stdbool.h>

#include "plugin/common/job.h"
#include "plugin/common/options.h"

struct taut_arguments {
    struct taut_options opts;
    struct taut_job job;
    const char *sysroot; /* where sys/ is; "/" by default */
    const char *owner;   /* JSON: this process is shown the reports */
    bool to_syslog;
    bool has_ticket;   /* on standard input: for a node without munged */
    bool from_environ; /* job fields: a prolog script's */
    bool is_survey;    /* the word was there */
    bool wants_help, wants_version;
};

/* Called for each line of the settings file that is ignored. */
typedef void taut_arguments_warn_f(const char *text);

/* Read 'argv': a purpose (prolog, epilog, idle, --idle, survey audit, survey
 * matrix), then --key value or --key=value for every option and every job
 * field, --conf FILE,
 * --sysroot DIR, --syslog, --ticket, --from-environ (the job as Slurm tells a prolog
 * script).  The file comes first whatever its place, so that the command
 * line has the last word; an idle check and a survey read
 * TAUT_CONFDIR/node.conf if there is one.  A survey knows its job from the
 * step's environment.
 * Returns 0, or -1 with errno EINVAL and 'err'; call fini in either case. */
int taut_arguments_parse(struct taut_arguments *args, int argc, char *argv[],
                         taut_arguments_warn_f *warn, struct taut_error *err);

void taut_arguments_fini(struct taut_arguments *args);

extern const char taut_arguments_usage[];

#endif
