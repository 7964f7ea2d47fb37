/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sweep: find everything, read all counters, print one line per node. */
#include <config.h>

#include <errno.h>
#include <string.h>
#include <time.h>

#include "advisor/ib/describe.h"
#include "advisor/ib/fabric.h"
#include "advisor/ib/request.h"
#include "advisor/ib/umad.h"

json_t *taut_ib_counts(const struct taut_mads *mads)
{
    const struct taut_mads_counts *c = taut_mads_counts(mads);
    json_t *out = json_object();

    json_object_set_new(out, "sent", json_integer((json_int_t)c->sent));
    json_object_set_new(out, "answered", json_integer((json_int_t)c->answered));
    json_object_set_new(out, "refused", json_integer((json_int_t)c->refused));
    json_object_set_new(out, "lost", json_integer((json_int_t)c->lost));
    json_object_set_new(out, "retried", json_integer((json_int_t)c->retried));
    json_object_set_new(out, "strays", json_integer((json_int_t)c->strays));
    json_object_set_new(out, "skipped", json_integer((json_int_t)c->skipped));
    return out;
}

static double clock_s(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* What of a sweep that went wrong is still worth having. */
static int run(struct taut_ib_fabric *fabric, struct taut_mads *mads,
               const json_t *request, json_t *reply, struct taut_error *err)
{
    bool counters = !json_is_false(json_object_get(request, "counters"));
    bool traffic = json_is_true(json_object_get(request, "traffic"));

    int rc = taut_ib_discover(fabric, mads, 0);

    json_object_set_new(reply, "counted", json_real(clock_s(CLOCK_REALTIME)));
    json_object_set_new(reply, "counted_mono",
                        json_real(clock_s(CLOCK_MONOTONIC)));
    if (rc == 0 && counters)
        rc = taut_ib_read_counters(fabric, mads, traffic);
    if (fabric->no_memory)
        return taut_error_set(err, "out of memory after %u nodes",
                              fabric->node_count);
    if (fabric->local == NULL)
        return taut_error_set(err, "this host's own port: %s", strerror(errno));
    json_object_set_new(reply, "incomplete", json_boolean(rc != 0));
    if (rc != 0)
        json_object_set_new(reply, "why",
                            errno == ETIMEDOUT
                                ? json_string("the time for a sweep was up")
                                : json_string(strerror(errno)));
    return 0;
}

/* { "id": …, "part": … }, a line for each. */
static int print_nodes(const json_t *request,
                       const struct taut_ib_fabric *fabric)
{
    json_t *id = json_object_get(request, "id");

    for (const struct taut_ib_node *n = fabric->nodes; n != NULL; n = n->next) {
        fputs("{\"id\":", stdout);
        if (id != NULL)
            json_dumpf(id, stdout, JSON_ENCODE_ANY | JSON_COMPACT);
        else
            fputs("null", stdout);
        fputs(",\"part\":", stdout);
        taut_ib_print_node(stdout, n);
        fputs("}\n", stdout);
    }
    return ferror(stdout) ? -1 : 0;
}

static void add_summary(json_t *reply, const struct taut_ib_fabric *fabric,
                        const struct taut_mads *mads)
{
    json_object_set_new(reply, "nodes", json_integer(fabric->node_count));
    json_object_set_new(reply, "local", taut_ib_guid(fabric->local->guid));
    json_object_set_new(reply, "local_port", json_integer(fabric->local_port));
    json_object_set_new(reply, "clashes", taut_ib_describe_clashes(fabric));
    json_object_set_new(reply, "mads", taut_ib_counts(mads));
    json_object_set_new(reply, "end", json_real(clock_s(CLOCK_REALTIME)));
    json_object_set_new(reply, "end_mono", json_real(clock_s(CLOCK_MONOTONIC)));
}

int taut_ib_sweep(const json_t *request, json_t *reply, struct taut_error *err)
{
    struct taut_umad *umad = NULL;
    struct taut_mads *mads = NULL;
    struct taut_ib_fabric *fabric = NULL;
    int rc = -1;

    json_object_set_new(reply, "begin", json_real(clock_s(CLOCK_REALTIME)));
    if (taut_ib_begin(request, &umad, &mads, err) != 0)
        goto out;
    fabric = taut_ib_fabric_create();
    if (fabric == NULL) {
        taut_error_set(err, "out of memory");
        goto out;
    }
    if (run(fabric, mads, request, reply, err) != 0)
        goto out;
    add_summary(reply, fabric, mads);
    rc = print_nodes(request, fabric);
out:
    taut_mads_destroy(mads);
    taut_ib_fabric_destroy(fabric);
    taut_umad_close(umad);
    return rc;
}
