/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "plugin/common/clock.h"
#include "plugin/probe/survey.h"

#define SAME_SIGNAL_NS (TAUT_S_NS / 2)

static volatile sig_atomic_t signals;

/* One Ctrl-C may come twice, from the terminal or Slurm and from the `taut`
 * that started us: that is one signal. */
static void on_signal(int number)
{
    static volatile int64_t last_ns;
    int64_t now_ns = taut_now_ns();

    (void)number;
    if (signals == 0 || now_ns - last_ns > SAME_SIGNAL_NS)
        signals++;
    last_ns = now_ns;
}

/* Have both signals counted, but only while 'open' is the mask. */
static void catch_signals(sigset_t *open)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigset_t ours;

    sigemptyset(&action.sa_mask);
    sigemptyset(&ours);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGTERM);
    sigprocmask(SIG_BLOCK, &ours, open);
    sigdelset(open, SIGINT);
    sigdelset(open, SIGTERM);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

/* Returns 0 with something to read, or -1. */
static int wait_for_frame(const struct taut_survey *s, const sigset_t *open,
                          bool *is_stopping, struct taut_error *err)
{
    for (;;) {
        int64_t limit_ms =
            *is_stopping ? TAUT_SURVEY_STOP_MS : TAUT_SURVEY_WAIT_MS;
        int rc = taut_session_wait(s->session, open,
                                   taut_now_ns() + limit_ms * TAUT_MS_NS);

        if (rc > 0)
            return 0;
        if (rc < 0)
            return taut_error_set(err, "waiting for %s: %s", s->session->server,
                                  strerror(errno));
        if (*is_stopping && signals > 1) {
            errno = EINTR;
            return taut_error_set(err, "interrupted");
        }
        if (*is_stopping)
            continue;
        *is_stopping = true;
        if (s->is_owner &&
            taut_session_send_sealed(s->session, TAUT_FRAME_STOP, "{}",
                                     taut_now_ns() + TAUT_S_NS, err) < 0)
            return -1;
    }
}

static int bad_frame(struct taut_error *err, const char *what)
{
    taut_error_set(err, "%s", what);
    errno = EPROTO;
    return -1;
}

bool taut_survey_is_report(const char *text, size_t n)
{
    json_error_t why;
    json_t *json;
    bool is_object;

    if (strpbrk(text, "\r\n") != NULL || strlen(text) != n)
        return false;
    json = json_loadb(text, n, JSON_REJECT_DUPLICATES, &why);
    is_object = json_is_object(json);
    json_decref(json);
    return is_object;
}

/* A report goes to another program as one line. */
static int take_report(const struct taut_survey *s, const char *text, size_t n,
                       struct taut_error *err)
{
    if (!s->is_owner)
        return bad_frame(err, "REPORT to a node that is not the owner");
    if (!taut_survey_is_report(text, n))
        return bad_frame(err, "REPORT is not a JSON object in one line");
    s->show(s->arg, text);
    return 0;
}

/* Returns 1 after a plan that was carried out, 0 after an empty one. */
static int take_plan(const struct taut_survey *s, const char *text, size_t n,
                     int64_t now_ns, struct taut_error *err)
{
    struct taut_plan *plan = calloc(1, sizeof(*plan));
    int rc = -1;

    if (plan == NULL)
        return taut_error_set(err, "out of memory");
    if (taut_plan_parse(plan, text, n, err) == 0) {
        if (*plan->note)
            s->note(s->arg, plan->note);
        rc = plan->count > 0;
    }
    if (rc > 0 && s->carry_out(s->arg, plan, now_ns, err) < 0)
        rc = -1;
    free(plan);
    return rc;
}

/* Returns 1 to go on, 0 at the end, or -1. */
static int take_frame(const struct taut_survey *s, struct taut_error *err)
{
    enum taut_frame_type type = TAUT_FRAME_NONE;
    size_t max = s->is_owner ? TAUT_SURVEY_REPORT : TAUT_PLAN_BYTES;
    int64_t now_ns;
    char *text = NULL;
    long n =
        taut_session_receive_sealed(s->session, TAUT_FRAME_NONE, max, &text,
                                    &type, taut_now_ns() + 5 * TAUT_S_NS, err);
    int rc;

    if (n < 0)
        return -1;
    now_ns = taut_now_ns();
    if (type == TAUT_FRAME_PLAN)
        rc = take_plan(s, text, (size_t)n, now_ns, err);
    else if (type == TAUT_FRAME_REPORT)
        rc = take_report(s, text, (size_t)n, err) < 0 ? -1 : 1;
    else
        rc = bad_frame(err, "a frame that is neither PLAN nor REPORT");
    free(text);
    return rc;
}

int taut_survey_run(const struct taut_survey *s, struct taut_error *err)
{
    bool is_stopping = false;
    sigset_t open;
    int rc;

    catch_signals(&open);
    do {
        rc = wait_for_frame(s, &open, &is_stopping, err);
        if (rc == 0)
            rc = take_frame(s, err);
    } while (rc > 0);
    return rc;
}
