/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut-probe: one check of this node's part of a job, or of an idle node, or
 * its part of a survey.
 *
 * Everything that needs root comes first (the credential, the hold-off
 * file), then privileges are dropped, then the network is used.  Whatever
 * goes wrong is said in one line and is no failure: the status is 0, but for
 * a survey's owner that could not take part (3). */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <syslog.h>
#include <unistd.h>

#include "plugin/common/address.h"
#include "plugin/common/clock.h"
#include "plugin/common/holdoff.h"
#include "plugin/common/log.h"
#include "plugin/common/privileges.h"
#include "plugin/counters/reader.h"
#include "plugin/probe/arguments.h"
#include "plugin/probe/hello.h"
#include "plugin/probe/locality.h"
#include "plugin/probe/lookup.h"
#include "plugin/probe/rails.h"
#include "plugin/probe/session.h"
#include "plugin/probe/survey.h"
#include "plugin/streams/runner.h"

#define RESULT_MS 40          /* of the budget, kept for RESULT */
#define SURVEY_TAIL_MS 800    /* of a survey's plan, after its last test */
#define SURVEY_RESULT_MS 5000 /* for its RESULT */

struct probe {
    struct taut_arguments args;
    struct taut_log log;
    int64_t start_ns, deadline_ns;
    int64_t plan_ns; /* when PLAN came */
    int root_fd;
    int status;               /* of the process */
    bool has_said;            /* why transports failed */
    bool has_said_unreadable; /* which counters */
    char boot[TAUT_BOOT_ID_LEN + 1];
    struct taut_rails rails;
    struct taut_counters_reader counters;
    struct taut_locality locality;
    struct taut_holdoff holdoff;
    struct taut_session session;
};

/* The network, or what the way to it needs, does not answer: later checks
 * shall cost nothing for a while. */
static void hold_off(struct probe *p, const char *why)
{
    bool is_first = false;
    int seconds;

    if (p->args.is_survey) {
        taut_log_error(&p->log, "%s", why);
        return;
    }
    seconds = taut_holdoff_enter(&p->holdoff, &is_first);
    if (seconds < 0)
        taut_log_error(&p->log, "%s; no hold-off: %s", why, strerror(errno));
    else if (is_first)
        taut_log_error(&p->log, "%s; no checks for %d s", why, seconds);
    else
        taut_log_debug(&p->log, "%s; no checks for %d s", why, seconds);
}

/* A share of the budget, in percent of the whole, counted from now. */
static int64_t share_ns(const struct probe *p, int percent)
{
    return taut_now_ns() + p->args.opts.budget_ms * TAUT_MS_NS * percent / 100;
}

/* The users and servers, or NULL: said why. */
static struct taut_lookup *look_up(struct probe *p)
{
    struct taut_error why;
    struct taut_lookup *l =
        taut_lookup_run(&p->args.opts, share_ns(p, 40), &why);

    if (l == NULL && (errno == ETIMEDOUT || errno == EHOSTUNREACH))
        hold_off(p, why.text);
    else if (l == NULL)
        taut_log_error(&p->log, "%s; skipped", why.text);
    return l;
}

static int open_transport(struct probe *p, enum taut_transport_kind kind,
                          struct taut_error *why)
{
    const struct taut_options *o = &p->args.opts;

    return taut_rails_open(&p->rails, kind, o->provider, o->domain, o->modules,
                           why);
}

/* libfabric, and TCP where that fails and the site wants it so: only then
 * is libfabric waited for. */
static int open_ofi(struct probe *p, struct taut_error *why)
{
    size_t count = p->rails.endpoint_count;
    int rc = open_transport(p, TAUT_TRANSPORT_OFI, why);

    if (strchr(p->args.opts.transport, ',') == NULL)
        return rc;
    for (size_t i = count; i < p->rails.endpoint_count && rc == 0; i++)
        rc = taut_transport_ofi_wait(&p->rails.endpoints[i], share_ns(p, 60),
                                     why);
    if (rc == 0)
        return 0;
    taut_log_error(&p->log, "%s; TCP instead", why->text);
    taut_rails_close(&p->rails);
    return open_transport(p, TAUT_TRANSPORT_TCP, why);
}

static void say_unusable(struct probe *p)
{
    for (size_t i = 0; i < p->rails.count; i++) {
        if (*p->rails.list[i].why.text)
            taut_log_error(&p->log, "%s; not tested",
                           p->rails.list[i].why.text);
    }
}

static int find_rails(struct probe *p, const struct taut_lookup *l)
{
    struct taut_error why;
    int rc = taut_rails_find(&p->rails, p->args.opts.interface, &l->servers[0],
                             p->root_fd, &why);

    if (rc < 0)
        taut_log_error(&p->log, "%s; skipped", why.text);
    return rc;
}

/* An idle check and a prolog accept streams, an epilog does not. */
static int open_rails(struct probe *p)
{
    struct taut_error why;
    int rc = 0;

    if (p->args.job.purpose != TAUT_PURPOSE_EPILOG)
        rc = strcmp(p->args.opts.transport, "tcp") != 0
                 ? open_ofi(p, &why)
                 : open_transport(p, TAUT_TRANSPORT_TCP, &why);
    if (rc < 0)
        taut_log_error(&p->log, "%s; skipped", why.text);
    else
        say_unusable(p);
    return rc;
}

static void open_node(struct probe *p)
{
    struct taut_error why;

    if (!p->args.is_survey &&
        taut_holdoff_open(&p->holdoff, p->args.opts.rundir, &why) < 0)
        taut_log_debug(&p->log, "no hold-off: %s", why.text);
    p->root_fd = open(p->args.sysroot, O_PATH | O_DIRECTORY | O_CLOEXEC);
    taut_boot_id(p->boot);
}

/* What cannot be read is said once, and left out. */
static void read_counters(struct probe *p, int64_t deadline_ns)
{
    struct taut_error why;

    if (taut_counters_ask(&p->counters, deadline_ns, &why) == 0 ||
        p->has_said_unreadable)
        return;
    p->has_said_unreadable = true;
    taut_log_error(&p->log, "%s", why.text);
}

static void open_counters(struct probe *p, const struct taut_lookup *l)
{
    const char *names[TAUT_PLAN_RAILS];
    struct taut_error why;

    for (size_t i = 0; i < p->rails.count; i++)
        names[i] = p->rails.list[i].interface;
    if (taut_counters_open(&p->counters, names, p->rails.count, p->root_fd,
                           l->is_root ? &l->run_as : NULL, &why) < 0)
        taut_log_error(&p->log, "%s", why.text);
}

/* HELLO in its credential, or NULL: said why. */
static char *make_hello(struct probe *p, uid_t tautd)
{
    struct taut_hello hello = {
        .job = &p->args.job,
        .rails = &p->rails,
        .readings = &p->counters.readings,
        .boot = p->boot,
        .owner = p->args.owner,
        .budget_ms = taut_left_ms(p->deadline_ns),
    };
    struct taut_error why;
    char *text, *cred;

    memcpy(hello.key, p->session.key, sizeof(hello.key));
    text = taut_hello_encode(&hello);
    if (text == NULL) {
        taut_log_error(&p->log, "HELLO: %s",
                       errno == EINVAL ? "--owner is no JSON object"
                                       : strerror(errno));
        return NULL;
    }
    cred = taut_hello_wrap(text, tautd, p->args.opts.munge_socket,
                           share_ns(p, 40), &why);
    if (cred == NULL)
        hold_off(p, why.text);
    free(text);
    return cred;
}

static int make_contact(struct probe *p, const struct taut_lookup *l,
                        const char *cred)
{
    struct taut_error why;

    if (taut_session_connect(&p->session, l->servers, l->server_count,
                             p->deadline_ns, &why) == 0 &&
        taut_session_send(&p->session, TAUT_FRAME_HELLO, cred, strlen(cred),
                          p->deadline_ns, &why) == 0)
        return 0;
    hold_off(p, why.text);
    return -1;
}

/* Returns 0 with a checked plan, or -1: said why. */
static int get_plan(struct probe *p, struct taut_plan *plan)
{
    struct taut_error why;
    char *text = NULL;
    long n = taut_session_receive_sealed(
        &p->session, TAUT_FRAME_PLAN, TAUT_PLAN_BYTES, &text, NULL,
        p->deadline_ns - RESULT_MS * TAUT_MS_NS, &why);
    int rc;

    p->plan_ns = taut_now_ns();
    if (n < 0 && errno == ETIMEDOUT) {
        hold_off(p, why.text);
        return -1;
    }
    /* Somebody is there: prologs that follow are worth their time. */
    taut_holdoff_leave(&p->holdoff);
    if (n < 0) {
        taut_log_error(&p->log, "no plan: %s",
                       errno == ECONNRESET ? "the server refused this node"
                                           : why.text);
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

static void send_result(struct probe *p, const struct taut_result *result)
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
static void say_what_failed(struct probe *p)
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

/* Streams run on processors next to their interfaces. */
static void run_near(struct probe *p)
{
    char text[TAUT_LOCALITY_TEXT];

    if (taut_locality_bind(&p->locality, text) == 0 && *text)
        taut_log_debug(&p->log, "runs on processors %s", text);
}

static void find_near(struct probe *p)
{
    const char *names[TAUT_PLAN_RAILS];

    for (size_t i = 0; i < p->rails.count; i++)
        names[i] = p->rails.list[i].interface;
    if (p->args.job.purpose != TAUT_PURPOSE_EPILOG)
        taut_locality_begin(&p->locality, names, p->rails.count, p->root_fd,
                            p->args.sysroot, p->args.opts.modules);
}

static void carry_out(struct probe *p, const struct taut_plan *plan,
                      int64_t deadline_ns)
{
    struct taut_runner runner = {
        .endpoints = p->rails.endpoints,
        .endpoint_count = p->rails.endpoint_count,
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

        read_counters(p, now_ns + (p->deadline_ns - now_ns) / 2);
        say_what_failed(p);
        send_result(p, &result);
    }
    free(measures);
}

/* Each plan of a survey has its own time. */
static int carry_out_round(void *arg, const struct taut_plan *plan,
                           int64_t plan_ns, struct taut_error *err)
{
    struct probe *p = arg;
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
    struct probe *p = arg;

    taut_log_info(&p->log, "%s", text);
}

/* It lasts as long as tautd wants: no alarm ends it. */
static void serve_survey(struct probe *p, const struct taut_lookup *l,
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

    if (make_contact(p, l, cred) < 0)
        return;
    alarm(0);
    taut_session_keep_alive(&p->session);
    if (taut_survey_run(&survey, &why) == 0)
        p->status = 0;
    else
        taut_log_error(&p->log, "%s",
                       errno == ECONNRESET ? "tautd ended the survey, or "
                                             "refused this node; its log says "
                                             "why"
                                           : why.text);
}

static void talk(struct probe *p, const struct taut_lookup *l, const char *cred)
{
    struct taut_plan *plan = calloc(1, sizeof(*plan));

    if (plan != NULL && make_contact(p, l, cred) == 0 &&
        get_plan(p, plan) == 0 && plan->count > 0)
        carry_out(p, plan, p->deadline_ns - RESULT_MS * TAUT_MS_NS);
    free(plan);
}

/* Everything that needs root. Returns the credential, or NULL: said why. */
static char *prepare(struct probe *p, const struct taut_lookup *l)
{
    struct taut_error why;
    char *cred;

    if (l->is_root && taut_privileges_check(&l->run_as, &why) < 0) {
        taut_log_error(&p->log, "%s; skipped", why.text);
        return NULL;
    }
    if (find_rails(p, l) < 0)
        return NULL;
    open_counters(p, l); /* it forks: before libfabric is loaded */
    read_counters(p, share_ns(p, 15));
    if (open_rails(p) < 0)
        return NULL;
    find_near(p);
    taut_rails_open_gauges(&p->rails, p->root_fd);
    cred = make_hello(p, l->tautd.uid);
    if (cred != NULL && l->is_root &&
        taut_privileges_drop(&l->run_as, &why) < 0) {
        taut_log_error(&p->log, "%s; skipped", why.text);
        free(cred);
        return NULL;
    }
    return cred;
}

static void check(struct probe *p)
{
    struct taut_lookup *l;
    char *cred;

    open_node(p);
    l = look_up(p);
    if (l == NULL)
        return;
    cred = prepare(p, l);
    if (cred != NULL && p->args.is_survey)
        serve_survey(p, l, cred);
    else if (cred != NULL)
        talk(p, l, cred);
    free(cred);
    free(l);
}

static void init(struct probe *p, int64_t start_ns)
{
    const struct taut_job *job = &p->args.job;

    p->start_ns = start_ns;
    p->deadline_ns = start_ns + p->args.opts.budget_ms * TAUT_MS_NS;
    p->root_fd = p->holdoff.fd = -1;
    taut_rails_init(&p->rails);
    taut_counters_init(&p->counters);
    p->log.level = p->args.opts.log;
    p->log.to_syslog = p->args.to_syslog;
    p->log.to_stderr = p->args.is_survey;
    p->status = p->args.owner != NULL ? 3 : 0;
    if (p->args.is_survey)
        snprintf(p->log.where, sizeof(p->log.where), "taut: %s: ", job->node);
    else if (job->purpose == TAUT_PURPOSE_IDLE)
        snprintf(p->log.where, sizeof(p->log.where), "idle check of %s",
                 job->node);
    else
        snprintf(p->log.where, sizeof(p->log.where), "job %u on %s", job->id,
                 job->node);
    taut_session_init(&p->session);
}

/* A thread that still loads libfabric holds the loader's lock, which exit()
 * would wait for. */
static bool is_loading(struct probe *p)
{
    for (size_t i = 0; i < p->rails.endpoint_count; i++) {
        struct taut_endpoint *ep = &p->rails.endpoints[i];

        if (ep->transport != NULL &&
            ep->transport->kind == TAUT_TRANSPORT_OFI &&
            taut_transport_ofi_wait(ep, 0, NULL) < 0 && errno == ETIMEDOUT)
            return true;
    }
    return false;
}

static void fini(struct probe *p)
{
    bool leave = is_loading(p);

    taut_session_fini(&p->session);
    taut_counters_close(&p->counters);
    taut_holdoff_close(&p->holdoff);
    taut_rails_fini(&p->rails);
    if (p->root_fd >= 0)
        close(p->root_fd);
    fflush(stdout);
    if (leave)
        _exit(p->status);
}

/* The last resort when nobody is there to kill us at one and a half times
 * the budget, as the plugin does: SIGALRM ends us at twice the budget. */
static void set_hard_stop(int budget_ms)
{
    struct itimerval stop = {
        .it_value =
            {
                .tv_sec = budget_ms / 500,
                .tv_usec = budget_ms % 500 * 2000,
            },
    };

    signal(SIGALRM, SIG_DFL);
    signal(SIGPIPE, SIG_IGN);
    setitimer(ITIMER_REAL, &stop, NULL);
}

static int run(struct probe *p, int64_t start_ns)
{
    set_hard_stop(p->args.opts.budget_ms);
    if (p->args.to_syslog)
        openlog("taut", LOG_NDELAY, LOG_DAEMON);
    if (taut_seal_init() < 0) {
        printf("error: no source of random bytes; skipped\n");
        return 1;
    }
    init(p, start_ns);
    if (!p->args.is_survey && taut_holdoff_is_on(p->args.opts.rundir))
        taut_log_debug(&p->log, "holding off");
    else
        check(p);
    fini(p);
    return p->status;
}

static void warn(const char *text)
{
    printf("error: %s; ignored\n", text);
}

static void warn_stderr(const char *text)
{
    fprintf(stderr, "taut: %s; ignored\n", text);
}

int main(int argc, char *argv[])
{
    int64_t start_ns = taut_now_ns();
    bool is_survey = argc > 1 && strcmp(argv[1], "survey") == 0;
    struct taut_error why;
    struct probe p;
    int rc = 0;

    memset(&p, 0, sizeof(p));
    if (taut_arguments_parse(&p.args, argc, argv,
                             is_survey ? warn_stderr : warn, &why) < 0) {
        fprintf(is_survey ? stderr : stdout, "%s: %s\n",
                is_survey ? "taut" : "error", why.text);
        rc = 2;
    } else if (p.args.wants_help) {
        fputs(taut_arguments_usage, stdout);
    } else if (p.args.wants_version) {
        printf("taut-probe %s\n", PACKAGE_VERSION);
    } else {
        fflush(stdout);
        rc = run(&p, start_ns);
    }
    taut_arguments_fini(&p.args);
    return rc;
}
