/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <sodium.h>

#include "plugin/common/clock.h"
#include "plugin/common/confine.h"
#include "plugin/common/privileges.h"
#include "plugin/pair/ends.h"
#include "plugin/streams/runner.h"
#include "plugin/transport/memlock.h"

#define OPEN_S 20    /* for libfabric */
#define LEAD_MS 200  /* to connect */
#define LIMIT_MS 3000
#define MANY_STREAMS 4
#define TRIES 2

/* ---- the rails ---- */

static bool uses_ofi(const struct taut_pair_ends *ends)
{
    return strcmp(ends->opts.transport, "tcp") != 0;
}

static enum taut_transport_kind kind_of(const struct taut_pair_ends *ends)
{
    return uses_ofi(ends) ? TAUT_TRANSPORT_OFI : TAUT_TRANSPORT_TCP;
}

static int give_up_root(struct taut_pair_ends *ends, struct taut_error *err)
{
    struct taut_user user = {.uid = 0};
    char by[TAUT_CONFINE_TEXT];
    int rc = 0;

    if (geteuid() == 0) {
        rc = *ends->opts.run_as ? taut_user_find(&user, ends->opts.run_as, err)
                                : taut_user_default(&user, err);
        if (rc < 0 || taut_privileges_check(&user, err) < 0)
            return -1;
        taut_privileges_bound();
    }
    if (uses_ofi(ends))
        taut_memlock_raise(ends->rails.count);
    if (geteuid() == 0)
        rc = taut_privileges_drop(&user, err);
    if (rc == 0)
        taut_confine(TAUT_CONFINE_MODULES, ends->root_fd, by);
    return rc;
}

static int wait_for_ofi(struct taut_pair_ends *ends, struct taut_error *err)
{
    int64_t until_ns = taut_now_ns() + OPEN_S * TAUT_S_NS;

    for (size_t i = 0; i < ends->rails.endpoint_count; i++)
        if (taut_transport_ofi_wait(&ends->rails.endpoints[i], until_ns, err) <
            0)
            return -1;
    return 0;
}

/* VmPin of /proc/self/status, kB; -1: not known. */
static long pinned_kb(int status_fd)
{
    char text[4096];
    ssize_t n = status_fd < 0 ? -1
                              : pread(status_fd, text, sizeof(text) - 1, 0);
    const char *at;

    if (n <= 0)
        return -1;
    text[n] = '\0';
    at = strstr(text, "VmPin:");
    return at != NULL ? strtol(at + 6, NULL, 10) : -1;
}

int taut_ends_open(struct taut_pair_ends *ends, struct taut_error *err)
{
    struct taut_transport_options own = {ends->opts.provider, ends->opts.domain,
                                         ends->opts.ofi_env, ends->opts.modules,
                                         false};
    struct taut_address nobody = {.length = 0};
    const char *interface = ends->opts.interface;
    int status_fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC), rc;

    taut_rails_init(&ends->rails);
    ends->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    rc = taut_rails_find(&ends->rails, *interface ? interface : "auto", &nobody,
                         ends->root_fd, err);
    if (rc == 0)
        rc = taut_rails_open(&ends->rails, kind_of(ends), &own, err);
    if (rc == 0) {
        taut_rails_open_gauges(&ends->rails, ends->root_fd);
        rc = give_up_root(ends, err);
    }
    if (rc == 0 && uses_ofi(ends)) {
        taut_rails_load(&ends->rails);
        rc = wait_for_ofi(ends, err);
    }
    ends->pinned_kb = pinned_kb(status_fd);
    if (status_fd >= 0)
        close(status_fd);
    return rc;
}

void taut_ends_close(struct taut_pair_ends *ends)
{
    taut_rails_fini(&ends->rails);
    if (ends->root_fd >= 0)
        close(ends->root_fd);
}

/* ---- one test ---- */

/* What both ends do, and what came of it at one of them; as JSON it goes to the
 * other. */
struct job {
    int rail, streams, ms;
    enum taut_mode mode;
    enum taut_role role;
    char peer[TAUT_ENDPOINT_TEXT]; /* of a sender */
    unsigned char token[TAUT_TOKEN];
};

struct outcome {
    double Bps;     /* -1: none */
    double half_ns; /* of the round trip; -1: none */
    double cpu_ms;
    char error[TAUT_RESULT_ERROR];
};

static int64_t processor_ns(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * TAUT_S_NS +
           (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
}

static void make_plan(struct taut_plan *plan, const struct taut_pair_ends *ends,
                      const struct job *job)
{
    struct taut_test *t = &plan->tests[0];

    memset(plan, 0, sizeof(*plan));
    plan->count = 1;
    t->id = 1;
    t->role = job->role;
    t->mode = job->mode;
    t->transport = kind_of(ends);
    t->rail = job->rail;
    t->start_ms = LEAD_MS;
    t->dur_ms = job->ms;
    t->streams = job->streams;
    snprintf(t->peer, sizeof(t->peer), "%s", job->peer);
    memcpy(t->token, job->token, TAUT_TOKEN);
}

static void run_job(struct taut_pair_ends *ends, const struct job *job,
                    struct outcome *out)
{
    static struct taut_plan plan;
    static struct taut_measure m;
    struct taut_runner runner = {.endpoints = ends->rails.endpoints,
                                 .endpoint_count = ends->rails.endpoint_count};
    int64_t now_ns = taut_now_ns(), cpu_ns = processor_ns();
    unsigned refused;

    *out = (struct outcome){.Bps = -1, .half_ns = -1};
    make_plan(&plan, ends, job);
    if (taut_runner_run(&runner, &plan, now_ns,
                        now_ns + (job->ms + LIMIT_MS) * TAUT_MS_NS, &m,
                        &refused) < 0) {
        snprintf(out->error, sizeof(out->error), "%s", strerror(errno));
        return;
    }
    out->cpu_ms = (double)(processor_ns() - cpu_ns) / 1e6;
    snprintf(out->error, sizeof(out->error), "%s", m.error);
    if (!*m.error && m.window_ns > 0)
        out->Bps = (double)m.bytes * 1e9 / (double)m.window_ns;
    if (!*m.error && m.lat_n > 0)
        out->half_ns = (double)m.lat_median_ns;
}

/* ---- as JSON ---- */

static json_t *job_to_json(const struct job *job)
{
    char token[2 * TAUT_TOKEN + 1];

    sodium_bin2hex(token, sizeof(token), job->token, TAUT_TOKEN);
    return json_pack("{s:i, s:i, s:i, s:b, s:b, s:s, s:s}", "rail", job->rail,
                     "streams", job->streams, "ms", job->ms, "latency",
                     job->mode == TAUT_MODE_LATENCY, "send",
                     job->role == TAUT_ROLE_SEND, "peer", job->peer, "token",
                     token);
}

static int job_from_json(struct job *job, json_t *json, struct taut_error *err)
{
    int is_latency, is_sender;
    const char *peer, *token;
    size_t length;

    memset(job, 0, sizeof(*job));
    if (json_unpack(json, "{s:i, s:i, s:i, s:b, s:b, s:s, s:s}", "rail",
                    &job->rail, "streams", &job->streams, "ms", &job->ms,
                    "latency", &is_latency, "send", &is_sender, "peer", &peer,
                    "token", &token) < 0)
        return taut_error_set(err, "the other node asks for no test");
    if (job->streams < 1 || job->streams > TAUT_PLAN_STREAMS || job->ms < 5 ||
        job->ms > 2000 || strlen(peer) >= sizeof(job->peer) ||
        sodium_hex2bin(job->token, TAUT_TOKEN, token, strlen(token), NULL,
                       &length, NULL) != 0 ||
        length != TAUT_TOKEN)
        return taut_error_set(err, "a test of the other node is out of limits");
    job->mode = is_latency ? TAUT_MODE_LATENCY : TAUT_MODE_STREAM;
    job->role = is_sender ? TAUT_ROLE_SEND : TAUT_ROLE_RECV;
    snprintf(job->peer, sizeof(job->peer), "%s", peer);
    return 0;
}

static json_t *outcome_to_json(const struct outcome *out)
{
    return json_pack("{s:f, s:f, s:f, s:s}", "Bps", out->Bps, "half_ns",
                     out->half_ns, "cpu_ms", out->cpu_ms, "error", out->error);
}

static void outcome_from_json(struct outcome *out, json_t *json)
{
    const char *error = "";

    *out = (struct outcome){.Bps = -1, .half_ns = -1};
    if (json_unpack(json, "{s:F, s:F, s:F, s:s}", "Bps", &out->Bps, "half_ns",
                    &out->half_ns, "cpu_ms", &out->cpu_ms, "error", &error) < 0)
        error = "the other node says nothing of it";
    snprintf(out->error, sizeof(out->error), "%s", error);
}

/* What each says of itself when they have met. */
static json_t *self_to_json(struct taut_pair_ends *ends)
{
    int ms = uses_ofi(ends) && ends->rails.endpoint_count > 0
                 ? taut_transport_ofi_took_ms(&ends->rails.endpoints[0])
                 : -1;

    return json_pack("{s:o, s:i, s:I, s:b}", "endpoints",
                     taut_rails_endpoints_to_json(&ends->rails), "open_ms", ms,
                     "pinned_kb", (json_int_t)ends->pinned_kb, "ofi",
                     uses_ofi(ends));
}

static int complain(const char *text)
{
    fprintf(stderr, "taut-probe pair: %s\n", text);
    return 2;
}

/* ---- the one that is called ---- */

int taut_ends_serve(struct taut_pair_ends *ends, struct taut_control *control)
{
    struct taut_error why;
    json_t *line = NULL;
    const char *error;

    if (taut_control_put(control, self_to_json(ends), &why) < 0 ||
        (line = taut_control_get(control, &why)) == NULL)
        return complain(why.text);
    error = json_string_value(json_object_get(line, "error"));
    if (error != NULL)
        taut_error_set(&why, "the other node: %s", error);
    json_decref(line);
    if (error != NULL)
        return complain(why.text);
    while ((line = taut_control_get(control, &why))) {
        struct outcome out;
        struct job job;
        int rc = job_from_json(&job, line, &why);

        if (rc < 0 && json_object_get(line, "over") != NULL) {
            json_decref(line);
            return 0;
        }
        json_decref(line);
        if (rc < 0)
            break;
        run_job(ends, &job, &out);
        if (taut_control_put(control, outcome_to_json(&out), &why) < 0)
            break;
    }
    return complain(why.text);
}

/* ---- the one that leads ---- */

struct talk {
    struct taut_pair_ends *ends;
    struct taut_control *control;
    const char *other;
    char own[65];
    json_t *self, *far; /* what each said of itself */
    int failed;         /* tests without a figure */
    struct taut_error why;
};

static const char *endpoint_of(json_t *side, int rail, const char *what)
{
    json_t *list = json_object_get(side, "endpoints");
    const char *text = json_string_value(
        json_object_get(json_array_get(list, (size_t)rail), what));

    return text != NULL ? text : "";
}

/* Both ends of one test; 'out' is the sender's and the receiver's. */
static int test_once(struct talk *t, const struct job *mine,
                     struct outcome out[2])
{
    bool is_sender = mine->role == TAUT_ROLE_SEND;
    const char *transport = uses_ofi(t->ends) ? "ofi" : "tcp";
    struct job theirs = *mine;
    json_t *line;

    theirs.role = is_sender ? TAUT_ROLE_RECV : TAUT_ROLE_SEND;
    snprintf(theirs.peer, sizeof(theirs.peer), "%s",
             is_sender ? "" : endpoint_of(t->self, mine->rail, transport));
    if (taut_control_put(t->control, job_to_json(&theirs), &t->why) < 0)
        return -1;
    run_job(t->ends, mine, &out[!is_sender]);
    line = taut_control_get(t->control, &t->why);
    if (line == NULL)
        return -1;
    outcome_from_json(&out[is_sender], line);
    json_decref(line);
    return 0;
}

static bool has_figure(const struct job *job, const struct outcome out[2])
{
    return job->mode == TAUT_MODE_LATENCY ? out[0].half_ns >= 0
                                          : out[1].Bps > 0;
}

/* The best of some tests: what other traffic leaves is less.  Where the first
 * TRIES have no figure, nor will others. */
static int test_best(struct talk *t, struct job *job, struct outcome best[2])
{
    const char *transport = uses_ofi(t->ends) ? "ofi" : "tcp";

    snprintf(job->peer, sizeof(job->peer), "%s",
             job->role == TAUT_ROLE_SEND
                 ? endpoint_of(t->far, job->rail, transport)
                 : "");
    best[0] = best[1] = (struct outcome){.Bps = -1, .half_ns = -1};
    for (int i = 0; i < t->ends->repeat; i++) {
        struct outcome out[2];
        bool is_better;

        randombytes_buf(job->token, sizeof(job->token));
        if (test_once(t, job, out) < 0)
            return -1;
        is_better = job->mode == TAUT_MODE_LATENCY
                        ? out[0].half_ns >= 0 && (best[0].half_ns < 0 ||
                                                  out[0].half_ns <
                                                      best[0].half_ns)
                        : out[1].Bps > best[1].Bps;
        if (is_better || i == 0)
            memcpy(best, out, sizeof(out));
        if (!has_figure(job, best) && i + 1 == TRIES)
            break;
    }
    return 0;
}

static void rate_text(char *text, size_t room, double Bps)
{
    if (Bps <= 0)
        snprintf(text, room, "-");
    else if (Bps >= 1e9)
        snprintf(text, room, "%.2f GB/s", Bps / 1e9);
    else
        snprintf(text, room, "%.1f MB/s", Bps / 1e6);
}

static void figure_text(char *text, size_t room, const struct job *job,
                        const struct outcome out[2])
{
    if (job->mode != TAUT_MODE_LATENCY)
        rate_text(text, room, out[1].Bps);
    else if (out[0].half_ns < 0)
        snprintf(text, room, "-");
    else
        snprintf(text, room, "%.1f us", 2 * out[0].half_ns / 1e3);
}

static void complain_of(struct talk *t, const struct job *job,
                        const struct outcome out[2])
{
    const char *error = *out[0].error ? out[0].error : out[1].error;

    if (has_figure(job, out))
        return;
    t->failed++;
    fprintf(stderr, "taut-probe pair: rail %d, %s to %s: %s\n", job->rail + 1,
            job->role == TAUT_ROLE_SEND ? t->own : t->other,
            job->role == TAUT_ROLE_SEND ? t->other : t->own,
            *error ? error : "nothing arrived");
}

/* One row: both ways. */
static int test_row(struct talk *t, int rail, enum taut_mode mode, int streams)
{
    struct outcome there[2], back[2];
    struct job job = {.rail = rail, .streams = streams, .ms = t->ends->ms,
                      .mode = mode, .role = TAUT_ROLE_SEND};
    char figures[2][24], what[24], processor[32] = "";

    if (test_best(t, &job, there) < 0)
        return -1;
    figure_text(figures[0], sizeof(figures[0]), &job, there);
    complain_of(t, &job, there);
    job.role = TAUT_ROLE_RECV;
    if (test_best(t, &job, back) < 0)
        return -1;
    figure_text(figures[1], sizeof(figures[1]), &job, back);
    complain_of(t, &job, back);
    if (mode == TAUT_MODE_LATENCY)
        snprintf(what, sizeof(what), "round trip");
    else
        snprintf(what, sizeof(what), "%d stream%s", streams,
                 streams == 1 ? "" : "s");
    if (there[1].Bps >= 0)
        snprintf(processor, sizeof(processor), "%.1f and %.1f ms",
                 there[0].cpu_ms, there[1].cpu_ms);
    printf("%-4d  %-12.12s  %-10s  %-12s  %-12s  %s\n", rail + 1,
           t->ends->rails.list[rail].interface, what, figures[0], figures[1],
           processor);
    fflush(stdout);
    return 0;
}

static void say_libfabric(const struct talk *t, json_t *side, const char *name)
{
    json_int_t ms = json_integer_value(json_object_get(side, "open_ms"));
    json_int_t kb = json_integer_value(json_object_get(side, "pinned_kb"));

    if (!uses_ofi(t->ends))
        return;
    printf("libfabric%s%s on %s: open after %lld ms",
           *t->ends->opts.provider ? ", " : "", t->ends->opts.provider, name,
           (long long)ms);
    if (kb >= 0)
        printf(", %lld kB pinned", (long long)kb);
    printf("\n");
}

static int test_all(struct talk *t)
{
    size_t far = json_array_size(json_object_get(t->far, "endpoints"));
    size_t rails = t->ends->rails.count < far ? t->ends->rails.count : far;
    char heads[2][140];

    if (t->ends->rails.count != far)
        fprintf(stderr, "taut-probe pair: %s has %zu rails, %s %zu\n", t->own,
                t->ends->rails.count, t->other, far);
    snprintf(heads[0], sizeof(heads[0]), "%.10s>%.10s", t->own, t->other);
    snprintf(heads[1], sizeof(heads[1]), "%.10s>%.10s", t->other, t->own);
    printf("RAIL  INTERFACE     TEST        %-12.12s  %-12.12s  PROCESSOR\n",
           heads[0], heads[1]);
    for (size_t i = 0; i < rails; i++) {
        if (test_row(t, (int)i, TAUT_MODE_STREAM, 1) < 0 ||
            test_row(t, (int)i, TAUT_MODE_STREAM, MANY_STREAMS) < 0 ||
            test_row(t, (int)i, TAUT_MODE_LATENCY, 1) < 0)
            return -1;
    }
    return taut_control_put(t->control, json_pack("{s:b}", "over", 1), &t->why);
}

/* Do both speak of the same transport? */
static int check_far(struct talk *t)
{
    const char *error = json_string_value(json_object_get(t->far, "error"));

    if (error != NULL)
        return taut_error_set(&t->why, "%s: %s", t->other, error);
    if (json_is_true(json_object_get(t->far, "ofi")) != uses_ofi(t->ends))
        return taut_error_set(&t->why, "%s has another transport: node.conf, "
                              "or --transport, on both", t->other);
    return 0;
}

int taut_ends_lead(struct taut_pair_ends *ends, struct taut_control *control,
                   const char *name)
{
    struct talk t = {.ends = ends, .control = control, .other = name};
    int rc = 2;

    if (gethostname(t.own, sizeof(t.own)) < 0)
        snprintf(t.own, sizeof(t.own), "here");
    t.own[strcspn(t.own, ".")] = '\0';
    if (getenv("SLURMD_NODENAME") != NULL)
        snprintf(t.own, sizeof(t.own), "%s", getenv("SLURMD_NODENAME"));
    t.self = self_to_json(ends);
    if (t.self != NULL &&
        taut_control_put(control, json_incref(t.self), &t.why) == 0 &&
        (t.far = taut_control_get(control, &t.why)) != NULL &&
        check_far(&t) == 0) {
        say_libfabric(&t, t.self, t.own);
        say_libfabric(&t, t.far, name);
        rc = test_all(&t) < 0 ? 2 : t.failed > 0;
    }
    if (rc == 2)
        complain(t.why.text);
    json_decref(t.self);
    json_decref(t.far);
    return rc;
}
