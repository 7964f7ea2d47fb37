/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut-slurm: the only program of Taut that links libslurm.
 *
 * One request line of JSON on stdin, one reply line on stdout, in order;
 * doc/internals/slurm.md lists them.  libslurm may end the process (fatal()) or
 * wait long for slurmctld; tautd only sees a helper that went away or takes
 * its time. */
#include <config.h>

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "advisor/slurm/compat.h"
#include "advisor/slurm/reply.h"

#define LINE_MAX_BYTES 65536
#define PART_ROWS 1000

static const struct {
    const char *op;
    taut_slurm_f *run;
} requests[] = {
    {"comment", taut_slurm_comment},
    {"config", taut_slurm_config},
    {"controllers", taut_slurm_controllers},
    {"drain", taut_slurm_drain},
    {"feature", taut_slurm_feature},
    {"job", taut_slurm_job},
    {"jobs", taut_slurm_jobs},
    {"nodes", taut_slurm_nodes},
    {"partitions", taut_slurm_partitions},
    {"reservations", taut_slurm_reservations},
    {"resume", taut_slurm_resume},
    {"steer", taut_slurm_steer},
    {"topology", taut_slurm_topology},
    {"will_run", taut_slurm_will_run},
};

static taut_slurm_f *find_request(const char *op)
{
    for (size_t i = 0; op != NULL && i < sizeof(requests) / sizeof(requests[0]);
         i++)
        if (strcmp(op, requests[i].op) == 0)
            return requests[i].run;
    return NULL;
}

static void add_failure(json_t *reply, int error, const char *text)
{
    taut_reply_flag(reply, "ok", 0);
    if (json_object_get(reply, "error") == NULL)
        taut_reply_text(reply, "error",
                        text != NULL ? text : slurm_strerror(error));
    taut_reply_number(reply, "errno", error);
}

/* Has its time passed?  tautd may do it until then only. */
static bool is_late(const json_t *request)
{
    const json_t *until = json_object_get(request, "until_ns");
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return json_is_integer(until) &&
           now.tv_sec * 1000000000LL + now.tv_nsec > json_integer_value(until);
}

static void answer(const json_t *request, json_t *reply)
{
    const char *op = json_string_value(json_object_get(request, "op"));
    json_t *id = json_object_get(request, "id");
    taut_slurm_f *run = find_request(op);

    json_object_set(reply, "id", id != NULL ? id : json_null());
    if (run == NULL)
        add_failure(reply, EINVAL, "no such op");
    else if (is_late(request))
        add_failure(reply, ETIMEDOUT, "too late, the lease is over");
    else if (run(request, reply) != 0)
        add_failure(reply, errno, NULL);
    else
        taut_reply_flag(reply, "ok", 1);
}

static void print_line(json_t *line)
{
    json_dumpf(line, stdout, JSON_COMPACT);
    putchar('\n');
    json_decref(line);
}

static json_t *slice(const json_t *rows, size_t from, size_t to)
{
    json_t *out = json_array();

    for (size_t i = from; i < to; i++)
        json_array_append(out, json_array_get(rows, i));
    return out;
}

/* Print all but the last rows of each array of the reply in lines of their
 * own, and leave those last ones in it: who reads is not held up by a line. */
static void print_parts(json_t *reply)
{
    const char *key;
    json_t *rows;

    json_object_foreach(reply, key, rows) {
        size_t n = json_array_size(rows), at = 0; /* 0 of what is no array */

        for (; n - at > PART_ROWS; at += PART_ROWS)
            print_line(json_pack("{s:O, s:b, s:o}", "id",
                                 json_object_get(reply, "id"), "part", 1, key,
                                 slice(rows, at, at + PART_ROWS)));
        if (at > 0)
            json_object_set_new(reply, key, slice(rows, at, n));
    }
}

/* Returns 0, or -1 if the reader has gone. */
static int handle_line(const char *line, size_t n)
{
    json_error_t error;
    json_t *request = json_loadb(line, n, JSON_REJECT_DUPLICATES, &error);
    json_t *reply = json_object();

    if (request != NULL) {
        answer(request, reply);
    } else {
        json_object_set_new(reply, "id", json_null());
        add_failure(reply, EINVAL, error.text);
    }
    print_parts(reply);
    print_line(reply);
    json_decref(request);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    if (errno != EPIPE)
        fprintf(stderr, "taut-slurm: cannot write an answer: %s\n",
                strerror(errno));
    return -1;
}

/* Read to the end of a line that is too long, and say so. */
static int skip_line(void)
{
    int c;

    while ((c = getchar()) != EOF && c != '\n')
        continue;
    return handle_line("", 0);
}

static int serve(char *line)
{
    while (fgets(line, LINE_MAX_BYTES, stdin) != NULL) {
        size_t n = strlen(line);
        bool whole = n > 0 && line[n - 1] == '\n';
        int rc = whole || feof(stdin) ? handle_line(line, n) : skip_line();
        if (rc != 0)
            return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}

int main(void)
{
    static char line[LINE_MAX_BYTES];

    /* A call that waits for slurmctld does not see the end of stdin. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* Needed since 23.02, harmless before. */
    slurm_init(NULL);
    return serve(line);
}
