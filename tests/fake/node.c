/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process of a survey that does not keep to it, in the place of taut-probe,
 * or one of another node's prolog.
 *
 *   fake-node PURPOSE WAY [--key value]...   (options of taut-probe)
 *
 * It knows its job from the step's environment.  WAY is
 *   boast   says that each of its tests went at RATE; sends and reads nothing
 *   accuse  the same at a fifth of that
 *   silent  takes plans, never answers
 *   garble  answers with a RESULT that makes no sense */
#include <config.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/common/clock.h"
#include "plugin/common/options.h"
#include "plugin/common/plan.h"
#include "plugin/probe/hello.h"
#include "plugin/probe/lookup.h"
#include "plugin/probe/rails.h"
#include "plugin/probe/session.h"
#include "plugin/transport/transport.h"

#define RATE_BPS INT64_C(12500000)
#define WAIT_NS (60 * TAUT_S_NS)

static struct taut_error why;

static void die(const char *what)
{
    fprintf(stderr, "fake-node: %s: %s\n", what, why.text);
    exit(1);
}

static void read_options(struct taut_options *opts, int argc, char *argv[])
{
    taut_options_init(opts);
    for (int i = 3; i + 1 < argc; i += 2) {
        if (taut_options_set(opts, argv[i] + 2, argv[i + 1], &why) < 0)
            die(argv[i]);
    }
}

static void say_hello(struct taut_session *s, const struct taut_options *opts,
                      const struct taut_job *job)
{
    static const struct taut_readings none;
    static struct taut_rails rails;
    char *text, *cred;
    struct taut_lookup *l =
        taut_lookup_run(opts, taut_now_ns() + WAIT_NS, &why);
    struct taut_hello hello = {.job = job,
                               .rails = &rails,
                               .readings = &none,
                               .boot = "",
                               .budget_ms = 1000};

    if (l == NULL)
        die("look up");
    taut_rails_init(&rails);
    if (taut_rails_find(&rails, opts->interface, &l->servers[0],
                        open("/", O_PATH | O_CLOEXEC), &why) < 0 ||
        taut_rails_open(&rails, TAUT_TRANSPORT_TCP, NULL, &why) < 0)
        die("endpoint");
    taut_session_init(s);
    memcpy(hello.key, s->key, sizeof(hello.key));
    text = taut_hello_encode(&hello);
    cred = taut_hello_wrap(text, l->tautd.uid, opts->munge_socket,
                           taut_now_ns() + WAIT_NS, &why);
    if (cred == NULL ||
        (geteuid() == 0 &&
         taut_session_bind(s, l->servers, l->server_count, &why) < 0) ||
        taut_session_connect(s, l->servers, 0, l->server_count,
                             taut_now_ns() + WAIT_NS, &why) < 0 ||
        taut_session_send(s, TAUT_FRAME_HELLO, cred, strlen(cred),
                          taut_now_ns() + WAIT_NS, &why) < 0)
        die("HELLO");
    free(text);
    free(cred);
    free(l);
}

static void boast(FILE *out, const struct taut_test *t, int64_t rate_Bps)
{
    int64_t window_ns = t->dur_ms * TAUT_MS_NS * 4 / 5;

    fprintf(out,
            "{\"id\":%lld,\"role\":\"%s\",\"bytes\":%lld,\"window_ns\":%lld}",
            (long long)t->id, t->role == TAUT_ROLE_SEND ? "send" : "recv",
            (long long)(rate_Bps * (window_ns / 1000) / 1000000),
            (long long)window_ns);
}

static void answer(struct taut_session *s, const struct taut_plan *plan,
                   const char *way)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);

    fprintf(out, "{\"v\":1,\"refused\":0,\"tests\":[");
    for (size_t i = 0; i < plan->count; i++) {
        fputs(i > 0 ? "," : "", out);
        boast(out, &plan->tests[i],
              strcmp(way, "accuse") == 0 ? RATE_BPS / 5 : RATE_BPS);
    }
    fputs("]}", out);
    fclose(out);
    if (strcmp(way, "garble") == 0)
        memset(text, '[', n / 2);
    if (taut_session_send_sealed(s, TAUT_FRAME_RESULT, text,
                                 taut_now_ns() + WAIT_NS, &why) < 0)
        die("RESULT");
    free(text);
}

int main(int argc, char *argv[])
{
    static struct taut_plan plan;
    struct taut_options opts;
    struct taut_session session;
    struct taut_job job;

    if (argc < 3 || taut_seal_init() < 0 ||
        taut_job_init(&job, taut_purpose_parse(argv[1])) < 0)
        return 2;
    read_options(&opts, argc, argv);
    if (taut_job_from_step(&job, &why) < 0)
        die("environment");
    say_hello(&session, &opts, &job);
    for (;;) {
        char *text;
        long n = taut_session_receive_sealed(&session, TAUT_FRAME_PLAN,
                                             TAUT_PLAN_BYTES, &text, NULL,
                                             taut_now_ns() + WAIT_NS, &why);

        if (n < 0 || taut_plan_parse(&plan, text, (size_t)n, &why) < 0)
            die("PLAN");
        free(text);
        if (plan.count == 0)
            return 0;
        usleep((useconds_t)(plan.tests[plan.count - 1].start_ms + 100) * 1000);
        if (strcmp(argv[2], "silent") != 0)
            answer(&session, &plan, argv[2]);
    }
}
