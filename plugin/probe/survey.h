/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A node's part of a survey (audit, matrix): plans come one after the other
 * over one connection, and each is answered with a result.  One node of the
 * step, the owner, is also sent reports, and may ask for an early end. */
#ifndef TAUT_PLUGIN_PROBE_SURVEY_H
#define TAUT_PLUGIN_PROBE_SURVEY_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/common/plan.h"
#include "plugin/probe/session.h"
#include "wire/error.h"

#define TAUT_SURVEY_WAIT_MS 900000        /* between two frames of tautd */
#define TAUT_SURVEY_STOP_MS 40000         /* the same, once it shall end */
#define TAUT_SURVEY_REPORT TAUT_FRAME_MAX /* largest REPORT, sealed */

struct taut_survey {
    struct taut_session *session; /* HELLO was sent; borrowed */
    bool is_owner;
    void *arg; /* of the two functions */

    /* Run a plan that holds tests and send its RESULT.
     * Returns 0, or -1 with 'err'. */
    int (*carry_out)(void *arg, const struct taut_plan *plan, int64_t plan_ns,
                     struct taut_error *err);

    /* Show a report, one line of JSON without its newline; the owner only. */
    void (*show)(void *arg, const char *line);

    /* Show a plan's note. */
    void (*note)(void *arg, const char *text);
};

/* Is this the text of a REPORT: a JSON object in one line without NUL?
 *   text  'n' bytes and a NUL */
bool taut_survey_is_report(const char *text, size_t n);

/* Serve a survey until tautd ends it with an empty plan.  SIGINT and SIGTERM
 * end it cleanly: what runs is finished first, and the owner asks tautd to
 * stop; a second one ends it at once.  Both are handled from here on, for
 * the life of the process.
 * Returns 0, or -1 with errno and 'err': ETIMEDOUT, ECONNRESET (tautd has
 * gone, or refused this node), EINTR (a second signal), EPROTO, EINVAL. */
int taut_survey_run(const struct taut_survey *s, struct taut_error *err);

#endif
