/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What taut-probe says to tautd, and does for it: checks and surveys. */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/probe/probe.h"
#include "plugin/probe/survey.h"
#include "plugin/streams/runner.h"

#define RESULT_MS 40          /* of the budget, kept for RESULT */
#define SURVEY_TAIL_MS 800    /* of a survey's plan, after its last test */
#define SURVEY_RESULT_MS 5000 /* for its RESULT */

/* With the first server from number 'from' on. */
static int make_contact(struct taut_probe *p, const struct taut_lookup *l,
                        int from, const char *cred)
{
    struct taut_error why;

    if (taut_session_connect(&p->session, l->servers, from, l->server_count,
                             p->deadline_ns, &why) == 0 &&
        taut_session_send(&p->session, TAUT_FRAME_HELLO, cred, strlen(cred),
                          p->deadline_ns, &why) == 0)
        return 0;
    if (from > 0) /* somebody was there, though he does not act */
        taut_log_info(&p->log,
                      "%s, and the servers before it are not active; skipped",
                      why.text);
    else /* its host is there, or the way to it may be gone */
        taut_probe_hold_off(p, why.text, errno != ECONNREFUSED);
    return -1;
}

/* Next time the server that answered is asked first; in place of one that was
 * reached and said nothing, the one after it. */
static void remember(struct taut_probe *p, const struct taut_lookup *l,
                     bool has_answered)
{
    int i = p->session.reached + (has_answered ? 0 : 1);

    taut_recall_note(&p->recall, &l->servers[i % l->server_count]);
}

/* One that does not act has not looked at HELLO: it goes to the next.
 * Returns 0 when there is one, or -1. */
static int go_on(struct taut_probe *p, const struct taut_lookup *l,
                 const char *cred)
{
    if (p->session.reached + 1 < l->server_count)
        return make_contact(p, l, p->session.reached + 1, cred);
    taut_log_info(&p->log, "no tautd is active at the moment; skipped");
    return -1;
}

/* The text of a plan from whoever acts; its length, or -1 with errno. */
static long receive_plan(struct taut_probe *p, const struct taut_lookup *l,
                         const char *cred, char **text, struct taut_error *why)
{
    long n;

    do
        n = taut_session_receive_sealed(
            &p->session, TAUT_FRAME_PLAN, TAUT_PLAN_BYTES, text, NULL,
            p->deadline_ns - RESULT_MS * TAUT_MS_NS, why);
    while (n < 0 && p->session.is_elsewhere && go_on(p, l, cred) == 0);
    return n;
}

static void say_no_plan(struct taut_probe *p, const struct taut_error *why)
{
    bool is_closed = errno == ECONNRESET;
    bool is_refused = is_closed || errno == ECONNREFUSED;
    const char *port = is_refused ? p->port_why.text : "";

    taut_log_error(&p->log, "no plan: %s%s%s",
                   is_closed ? "the server refused this node" : why->text,
                   *port ? "; it has no port of root's: " : "", port);
}

/* Returns 0 with a checked plan, or -1: said why. */
static int get_plan(struct taut_probe *p, const struct taut_lookup *l,
                    const char *cred, struct taut_plan *plan)
{
    struct taut_error why;
    char *text = NULL;
    long n = receive_plan(p, l, cred, &text, &why);
    bool is_late = n < 0 && errno == ETIMEDOUT;
    int rc;

    p->plan_ns = taut_now_ns();
    if (n < 0 && (p->session.is_elsewhere || p->session.fd < 0)) {
        if (p->session.is_elsewhere) /* its host is there at least */
            remember(p, l, true);
        taut_holdoff_leave(&p->holdoff);
        return -1;
    }
    remember(p, l, !is_late);
    if (is_late) {
        taut_probe_hold_off(p, why.text, false);
        return -1;
    }
    /* Somebody is there: prologs that follow are worth their time. */
    taut_holdoff_leave(&p->holdoff);
    if (n < 0) {
        say_no_plan(p, &why);
        return -1;
    }
    rc = taut_plan_parse(plan, text, (size_t)n, &why);
    free(text);
    if (rc < 0)
        taut_log_error(&p->log, "%s; skipped", why.text);
    else if (*plan->note)
        taut_log_info(&p->log, "%s", plan->note);
    return rc;
}

static void send_result(struct taut_probe *p, const struct taut_result *result)
{
    struct taut_error why;
    char *text = taut_result_encode(result);

    if (text == NULL)
        return;
    if (taut_session_send_sealed(&p->session, TAUT_FRAME_RESULT, text,
                                 p->deadline_ns, &why) < 0)
        taut_log_error(&p->log, "measured, but not reported: %s", why.text);
    else
        taut_log_debug(&p->log, "%zu tests, %lld ms after the start",
                       result->plan->count,
                       (long long)((taut_now_ns() - p->start_ns) / TAUT_MS_NS));
    free(text);
}

/* Without libfabric the tests are errors; the log says once why. */
static void say_what_failed(struct taut_probe *p)
{
    struct taut_error why;

    if (p->has_said)
        return;
    p->has_said = true;
    for (size_t i = 0; i < p->rails.endpoint_count; i++) {
        struct taut_endpoint *ep = &p->rails.endpoints[i];

        if (ep->transport->kind == TAUT_TRANSPORT_OFI &&
            taut_transport_ofi_wait(ep, 0, &why) < 0) {
            taut_log_error(&p->log, "%s; nothing measured", why.text);
            return;
        }
    }
}

/* For the next check: the slowest rail's time. */
static void remember_opening(struct taut_probe *p)
{
    int most = -1;

    for (size_t i = 0; i < p->rails.endpoint_count; i++) {
        struct taut_endpoint *ep = &p->rails.endpoints[i];
        int ms = ep->transport->kind == TAUT_TRANSPORT_OFI
                     ? taut_transport_ofi_took_ms(ep)
                     : -1;
        most = ms > most ? ms : most;
    }
    taut_opening_note(&p->opening, most);
}

/* Streams run on processors next to their interfaces. */
static void run_near(struct taut_probe *p)
{
    char text[TAUT_LOCALITY_TEXT];

    if (taut_locality_bind(&p->locality, text) == 0 && *text)
        taut_log_debug(&p->log, "runs on processors %s", text);
}

static void carry_out(struct taut_probe *p, const struct taut_plan *plan,
                      int64_t deadline_ns)
{
    struct taut_runner runner = {
        .endpoints = p->rails.endpoints,
        .endpoint_count = p->rails.endpoint_count,
        .counters = &p->counters,
    };
    struct taut_measure *measures = calloc(plan->count, sizeof(*measures));
    struct taut_result result = {
        .plan = plan,
        .measures = measures,
        .readings = &p->counters.readings,
    };

    run_near(p);
    if (measures != NULL &&
        taut_runner_run(&runner, plan, p->plan_ns, deadline_ns, measures,
                        &result.refused) == 0) {
        int64_t now_ns = taut_now_ns();

        taut_probe_read_counters(p, now_ns + (p->deadline_ns - now_ns) / 2);
        say_what_failed(p);
        remember_opening(p);
        send_result(p, &result);
    }
    free(measures);
}

/* Each plan of a survey has its own time. */
static int carry_out_round(void *arg, const struct taut_plan *plan,
                           int64_t plan_ns, struct taut_error *err)
{
    struct taut_probe *p = arg;
    int last_ms = 0;

    for (size_t i = 0; i < plan->count; i++) {
        int end_ms = plan->tests[i].start_ms + plan->tests[i].dur_ms;

        if (end_ms > last_ms)
            last_ms = end_ms;
    }
    (void)err;
    p->plan_ns = plan_ns;
    p->deadline_ns =
        plan_ns + (last_ms + SURVEY_TAIL_MS + SURVEY_RESULT_MS) * TAUT_MS_NS;
    carry_out(p, plan, plan_ns + (last_ms + SURVEY_TAIL_MS) * TAUT_MS_NS);
    return 0;
}

static void show_report(void *arg, const char *line)
{
    (void)arg;
    puts(line);
    fflush(stdout);
}

static void show_note(void *arg, const char *text)
{
    struct taut_probe *p = arg;

    taut_log_info(&p->log, "%s", text);
}

void taut_probe_survey(struct taut_probe *p, const struct taut_lookup *l,
                       const char *cred)
{
    struct taut_survey survey = {
        .session = &p->session,
        .is_owner = p->args.owner != NULL,
        .arg = p,
        .carry_out = carry_out_round,
        .show = show_report,
        .note = show_note,
    };
    struct taut_error why;

    int rc = make_contact(p, l, 0, cred);

    if (rc < 0)
        return;
    alarm(0);
    do {
        taut_session_keep_alive(&p->session);
        rc = taut_survey_run(&survey, &why);
    } while (rc < 0 && p->session.is_elsewhere && go_on(p, l, cred) == 0);
    if (rc == 0)
        p->status = 0;
    else
        taut_log_error(&p->log, "%s",
                       errno == ECONNRESET ? "tautd ended the survey, or "
                                             "refused this node; its log says "
                                             "why"
                                           : why.text);
}

void taut_probe_talk(struct taut_probe *p, const struct taut_lookup *l,
                     const char *cred)
{
    struct taut_plan *plan = calloc(1, sizeof(*plan));

    if (plan != NULL && make_contact(p, l, 0, cred) == 0 &&
        get_plan(p, l, cred, plan) == 0 && plan->count > 0)
        carry_out(p, plan, p->deadline_ns - RESULT_MS * TAUT_MS_NS);
    free(plan);
}
