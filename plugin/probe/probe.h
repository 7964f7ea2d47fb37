/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of taut-probe, for its own files: probe.c holds the program,
 * prepare.c what needs root, talk.c what is said to tautd. */
#ifndef TAUT_PLUGIN_PROBE_PROBE_H
#define TAUT_PLUGIN_PROBE_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/common/clock.h"
#include "plugin/common/holdoff.h"
#include "plugin/common/log.h"
#include "plugin/counters/reader.h"
#include "plugin/probe/arguments.h"
#include "plugin/probe/locality.h"
#include "plugin/probe/lookup.h"
#include "plugin/probe/rails.h"
#include "plugin/probe/session.h"
#include "plugin/transport/opening_time.h"

struct taut_probe {
    struct taut_arguments args;
    struct taut_log log;
    int64_t start_ns, deadline_ns;
    int64_t plan_ns; /* when PLAN came */
    int root_fd;
    int status;               /* of the process */
    bool has_said;            /* why transports failed */
    bool has_said_unreadable; /* which counters */
    char *ticket;             /* credential; NULL where munged is */
    char boot[TAUT_BOOT_ID_LEN + 1];
    int user_port; /* taut_user_port() */
    struct taut_rails rails;
    struct taut_counters_reader counters;
    struct taut_locality locality;
    struct taut_holdoff holdoff;
    struct taut_recall recall;
    struct taut_opening_time opening;
    struct taut_session session;
    struct taut_error port_why; /* why it has none of root's ports, or "" */
};

/* A time at that share of the budget, in percent of the whole, from now. */
static inline int64_t taut_probe_share_ns(const struct taut_probe *p,
                                          int percent)
{
    return taut_now_ns() + p->args.opts.budget_ms * TAUT_MS_NS * percent / 100;
}

/* The network, or what the way to it needs, does not answer: later checks
 * shall cost nothing for a while.
 *   grows  for twice as long each time (holdoff.h) */
void taut_probe_hold_off(struct taut_probe *p, const char *why, bool grows);

/* Read the counters of this node.  What cannot be read is said once, and left
 * out. */
void taut_probe_read_counters(struct taut_probe *p, int64_t deadline_ns);

/* Everything that needs root, which is then given up.  Returns the credential
 * with HELLO, or NULL: said why. */
char *taut_probe_prepare(struct taut_probe *p, const struct taut_lookup *l);

/* A check: HELLO, and what the plan asks for. */
void taut_probe_talk(struct taut_probe *p, const struct taut_lookup *l,
                     const char *cred);

/* A survey.  It lasts as long as tautd wants: no alarm ends it. */
void taut_probe_survey(struct taut_probe *p, const struct taut_lookup *l,
                       const char *cred);

#endif
