/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut-probe: one check of this node's part of a job, or of an idle node, or
 * its part of a survey.
 *
 * Everything that needs root comes first (the credential, the hold-off
 * file), then privileges are dropped, then the network is used.  Any error is
 * reported in one line and is not a failure: the status is 0, except for a
 * survey's owner that could not take part (3). */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "plugin/probe/probe.h"
#include "plugin/probe/ticket.h"
#include "wire/root_port.h"

void taut_probe_hold_off(struct taut_probe *p, const char *why, bool grows)
{
    bool is_first = false;
    int seconds;

    if (p->args.is_survey) {
        taut_log_error(&p->log, "%s", why);
        return;
    }
    seconds = taut_holdoff_enter(&p->holdoff, grows, &is_first);
    if (seconds < 0)
        taut_log_error(&p->log, "%s; no hold-off: %s", why, strerror(errno));
    else if (is_first)
        taut_log_error(&p->log, "%s; no checks for %d s", why, seconds);
    else
        taut_log_debug(&p->log, "%s; no checks for %d s", why, seconds);
}

/* The users and servers, or NULL: said why. */
static struct taut_lookup *look_up(struct taut_probe *p)
{
    struct taut_error why;
    struct taut_lookup *l =
        taut_lookup_run(&p->args.opts, taut_probe_share_ns(p, 40), &why);

    if (l == NULL && (errno == ETIMEDOUT || errno == EHOSTUNREACH))
        taut_probe_hold_off(p, why.text, true);
    else if (l == NULL)
        taut_log_error(&p->log, "%s; skipped", why.text);
    return l;
}

static void open_node(struct taut_probe *p)
{
    struct taut_error why;

    if (!p->args.is_survey &&
        taut_holdoff_open(&p->holdoff, p->args.opts.rundir, &why) < 0)
        taut_log_debug(&p->log, "no hold-off: %s", why.text);
    if (strcmp(p->args.opts.transport, "tcp") != 0)
        taut_opening_open(&p->opening, p->args.opts.rundir);
    p->root_fd = open(p->args.sysroot, O_PATH | O_DIRECTORY | O_CLOEXEC);
    taut_boot_id(p->boot);
    p->user_port = taut_user_port(p->root_fd);
}

/* A front end gave it; its key is the session's. */
static bool take_ticket(struct taut_probe *p)
{
    struct taut_error why;

    if (!p->args.has_ticket)
        return true;
    p->ticket = taut_ticket_read(p->session.key, p->deadline_ns, &why);
    if (p->ticket == NULL)
        taut_log_error(&p->log, "%s; skipped", why.text);
    return p->ticket != NULL;
}

static void check(struct taut_probe *p)
{
    struct taut_lookup *l;
    char *cred;

    if (!take_ticket(p))
        return;
    open_node(p);
    l = look_up(p);
    if (l == NULL)
        return;
    if (!p->args.is_survey && l->server_count > 1)
        taut_recall_open(&p->recall, p->args.opts.rundir);
    taut_recall_order(&p->recall, l->servers, l->server_count);
    cred = taut_probe_prepare(p, l);
    if (cred != NULL && p->args.is_survey)
        taut_probe_survey(p, l, cred);
    else if (cred != NULL)
        taut_probe_talk(p, l, cred);
    free(cred);
    free(l);
}

static void init(struct taut_probe *p, int64_t start_ns)
{
    const struct taut_job *job = &p->args.job;

    p->start_ns = start_ns;
    p->deadline_ns = start_ns + p->args.opts.budget_ms * TAUT_MS_NS;
    p->root_fd = p->holdoff.fd = p->recall.fd = p->opening.fd = -1;
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

static void fini(struct taut_probe *p)
{
    bool leave = taut_rails_are_loading(&p->rails);

    free(p->ticket);
    taut_session_fini(&p->session);
    taut_counters_close(&p->counters);
    taut_holdoff_close(&p->holdoff);
    taut_recall_close(&p->recall);
    taut_opening_close(&p->opening);
    taut_rails_fini(&p->rails);
    if (p->root_fd >= 0)
        close(p->root_fd);
    fflush(stdout);
    if (leave)
        _exit(p->status);
}

/* An application that fails has ALPS test its nodes. */
static void end_well(int number)
{
    (void)number;
    _exit(0);
}

/* The last resort if no plugin kills us at one and a half times the budget:
 * SIGALRM ends us at twice the budget. */
static void set_hard_stop(int budget_ms, bool as_application)
{
    struct itimerval stop = {
        .it_value =
            {
                .tv_sec = budget_ms / 500,
                .tv_usec = budget_ms % 500 * 2000,
            },
    };

    signal(SIGALRM, as_application ? end_well : SIG_DFL);
    if (as_application)
        signal(SIGTERM, end_well);
    signal(SIGPIPE, SIG_IGN);
    setitimer(ITIMER_REAL, &stop, NULL);
}

static int run(struct taut_probe *p, int64_t start_ns)
{
    set_hard_stop(p->args.opts.budget_ms, p->args.has_ticket);
    if (p->args.to_syslog) {
        openlog("taut", LOG_NDELAY, LOG_DAEMON);
        tzset(); /* which reads a file */
    }
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

/* Output must have been written; a reader that has gone is not an error. */
static int check_output(int rc)
{
    errno = 0;
    if ((fflush(stdout) == 0 && !ferror(stdout)) || errno == EPIPE)
        return rc;
    fprintf(stderr, "taut-probe: cannot write the output: %s\n",
            errno != 0 ? strerror(errno) : "write error");
    return rc != 0 ? rc : 1;
}

#ifdef __SANITIZE_ADDRESS__
/* Leaks are looked for by tracing this process, which nobody may who has given
 * root up; the unit tests look for them. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0:abort_on_error=1";
}
#endif

/* `taut-probe pair' is a program of its own beside this one, since nothing of
 * it belongs into a prolog.  Returns the exit status where it cannot start. */
static int become_pair(char *argv[])
{
    static const char name[] = "taut-pair";
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - sizeof(name));

    while (n > 0 && path[n - 1] != '/')
        n--;
    if (n > 0) {
        memcpy(path + n, name, sizeof(name));
        execv(path, argv);
    }
    fprintf(stderr, "taut-probe: %s: %s\n", name, strerror(errno));
    return 2;
}

int main(int argc, char *argv[])
{
    int64_t start_ns = taut_now_ns();
    bool is_survey = argc > 1 && strcmp(argv[1], "survey") == 0;
    struct taut_error why;
    struct taut_probe p;
    int rc = 0;

    mallopt(M_ARENA_MAX, 1); /* no heap of its own for each short thread */
    if (argc > 1 && strcmp(argv[1], "pair") == 0)
        return become_pair(argv + 1);
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
    rc = p.args.has_ticket ? 0 : check_output(rc);
    taut_arguments_fini(&p.args);
    return rc;
}
