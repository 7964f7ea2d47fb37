/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut-ib: the only program of Taut that sends InfiniBand management
 * datagrams.
 *
 * One request line of JSON on stdin; parts of the answer, and last the reply,
 * a line each, on stdout; doc/internals/fabric.md lists them.  What libibumad,
 * libibmad or a device may do, hang or end the process, stays in here. */
#include <config.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "advisor/ib/request.h"
#include "advisor/ib/umad.h"

static const struct {
    const char *op;
    taut_ib_request_f *run;
} requests[] = {
    {"mcast", taut_ib_mcast},
    {"sm", taut_ib_sm},
    {"sweep", taut_ib_sweep},
};

int taut_ib_number(const json_t *request, const char *key, long least,
                   long most, long fallback, long *value,
                   struct taut_error *err)
{
    const json_t *given = json_object_get(request, key);
    json_int_t n = json_integer_value(given);

    if (given == NULL || json_is_null(given)) {
        *value = fallback;
        return 0;
    }
    if (!json_is_integer(given) || n < least || n > most)
        return taut_error_set(err,
                              "%s: expected a whole number from %ld to %ld",
                              key, least, most);
    *value = (long)n;
    return 0;
}

int taut_ib_begin(const json_t *request, struct taut_umad **umad,
                  struct taut_mads **mads, struct taut_error *err)
{
    const char *ca = json_string_value(json_object_get(request, "ca"));
    long port, max, per_peer, tries, timeout_ms, time_s;

    if (taut_ib_number(request, "port", 0, 254, 0, &port, err) != 0 ||
        taut_ib_number(request, "mads", 1, TAUT_MADS_MAX, 16, &max, err) != 0 ||
        taut_ib_number(request, "per_node", 1, TAUT_MADS_MAX, 4, &per_peer,
                       err) != 0 ||
        taut_ib_number(request, "tries", 1, 10, 3, &tries, err) != 0 ||
        taut_ib_number(request, "timeout_ms", 1, 10000, 250, &timeout_ms,
                       err) != 0 ||
        taut_ib_number(request, "time_s", 1, 3600, 60, &time_s, err) != 0)
        return -1;
    *umad = taut_umad_open(ca, (int)port, err);
    if (*umad == NULL)
        return -1;
    struct taut_mad_port at = taut_umad_port(*umad);
    struct taut_mads_options options = {
        .max = (unsigned)max,
        .per_peer = (unsigned)per_peer,
        .tries = (unsigned)tries,
        .timeout_ms = (unsigned)timeout_ms,
        .time_ns = (uint64_t)time_s * 1000000000,
    };
    *mads = taut_mads_create(&at, &options);
    return *mads != NULL ? 0 : taut_error_set(err, "out of memory");
}

/* ---- lines ---- */

static int put_line(json_t *line)
{
    int rc = json_dumpf(line, stdout, JSON_COMPACT);

    if (putchar('\n') == EOF)
        rc = -1;
    json_decref(line);
    return rc;
}

static int answer(const json_t *request, json_t *reply, struct taut_error *err)
{
    const char *op = json_string_value(json_object_get(request, "op"));

    for (size_t i = 0; op != NULL && i < sizeof(requests) / sizeof(requests[0]);
         i++)
        if (strcmp(op, requests[i].op) == 0)
            return requests[i].run(request, reply, err);
    return taut_error_set(err, "no such op: %s", op != NULL ? op : "none");
}

/* Returns 0, or -1 if the reader has gone. */
static int handle_line(const char *line, size_t n)
{
    struct taut_error err = {""};
    json_error_t error;
    json_t *request = json_loadb(line, n, JSON_REJECT_DUPLICATES, &error);
    json_t *reply = json_object(), *id = json_object_get(request, "id");
    int rc = request != NULL ? answer(request, reply, &err)
                             : taut_error_set(&err, "%s", error.text);

    json_object_set(reply, "id", id != NULL ? id : json_null());
    json_object_set_new(reply, "ok", json_boolean(rc == 0));
    if (rc != 0)
        json_object_set_new(reply, "error", json_string(err.text));
    json_decref(request);
    rc = put_line(reply);
    return fflush(stdout) == 0 ? rc : -1;
}

/* Lines may be long: mcast names every port it asks for. */
int main(void)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t n;
    int rc = 0;

    /* A call that hangs does not see the end of stdin. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (rc == 0 && (n = getline(&line, &size, stdin)) > 0)
        rc = handle_line(line, (size_t)n);
    free(line);
    return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
