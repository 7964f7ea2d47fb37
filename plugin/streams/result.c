/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include <jansson.h>

#include "plugin/streams/result.h"
#include "wire/frame.h"

static void set_known(json_t *object, const char *key, int64_t value)
{
    if (value >= 0)
        json_object_set_new(object, key, json_integer(value));
}

static void set_parts(json_t *object, const struct taut_measure *m)
{
    json_t *array = json_array();

    for (int i = 0; i < m->parts; i++)
        json_array_append_new(array, json_integer(m->sub_bytes[i]));
    json_object_set_new(object, "sub_bytes", array);
}

static void set_latency(json_t *object, const struct taut_measure *m)
{
    json_t *lat;

    if (m->lat_n < 0)
        return;
    lat = json_object();
    json_object_set_new(lat, "n", json_integer(m->lat_n));
    set_known(lat, "median", m->lat_median_ns);
    set_known(lat, "p99", m->lat_p99_ns);
    json_object_set_new(object, "lat_ns", lat);
}

static void set_way(json_t *object, const struct taut_way *way)
{
    json_t *array;

    if (way->hops == 0)
        return;
    array = json_array();
    for (int i = 0; i < way->hops; i++)
        json_array_append_new(array, json_string(way->answer[i]));
    json_object_set_new(object, "way", array);
}

static void set_account(json_t *object, const struct taut_account *account)
{
    set_known(object, "segments", account->segments);
    set_known(object, "resent", account->resent);
    set_known(object, "resent_bytes", account->resent_bytes);
    set_known(object, "spurious", account->spurious);
    set_known(object, "reordered", account->reordered);
    set_known(object, "marked", account->marked);
    set_known(object, "unacked", account->unacked);
    set_known(object, "min_rtt_ns", account->min_rtt_ns);
    set_known(object, "disordered", account->disordered);
    if (*account->congestion)
        json_object_set_new(object, "congestion",
                            json_string(account->congestion));
}

static json_t *encode_test(const struct taut_test *test,
                           const struct taut_measure *m)
{
    json_t *object = json_object();

    json_object_set_new(object, "id", json_integer(test->id));
    json_object_set_new(
        object, "role",
        json_string(test->role == TAUT_ROLE_SEND ? "send" : "recv"));
    if (*m->error) {
        json_object_set_new(object, "error", json_string(m->error));
        return object;
    }
    set_way(object, &m->way);
    set_known(object, "aimed", m->aimed);
    set_known(object, "trace_ns", m->trace_ns);
    set_known(object, "bytes", m->bytes);
    set_known(object, "window_ns", m->window_ns);
    set_known(object, "total_bytes", m->total_bytes);
    if (test->role == TAUT_ROLE_RECV)
        set_parts(object, m);
    set_latency(object, m);
    set_known(object, "looks", m->looks);
    set_known(object, "rtt_ns", m->rtt_ns);
    set_known(object, "mean_rtt_ns", m->mean_rtt_ns);
    set_account(object, &m->account);
    set_known(object, "pruned", m->pruned);
    set_known(object, "busy_ns", m->busy_ns);
    if (m->strangers > 0 || m->full > 0) {
        set_known(object, "strangers", m->strangers);
        set_known(object, "full", m->full);
    }
    set_known(object, "delay_ns", m->delay_ns);
    set_known(object, "foreign_bytes", m->foreign_bytes);
    set_known(object, "port_lost", m->port_losses.lost);
    set_known(object, "port_discards", m->port_losses.discards);
    set_known(object, "port_packets", m->port_losses.packets);
    set_known(object, "port_ns", m->port.ns);
    set_known(object, "port_data_bytes", m->port.data);
    set_known(object, "port_with_bytes", m->port.with);
    set_known(object, "port_back_bytes", m->port.back);
    return object;
}

char *taut_result_encode(const struct taut_result *result)
{
    json_t *tests = json_array(), *root;
    char *text = NULL, *readings;

    for (size_t i = 0; i < result->plan->count; i++)
        json_array_append_new(
            tests, encode_test(&result->plan->tests[i], &result->measures[i]));
    readings = taut_readings_text(result->readings);
    root = json_pack("{s:i, s:i, s:s, s:o}", "v", result->plan->version,
                     "refused", (int)result->refused, "readings",
                     readings != NULL ? readings : "", "tests", tests);
    free(readings);
    if (root != NULL)
        text = json_dumps(root, JSON_COMPACT);
    json_decref(root);
    if (text == NULL)
        errno = ENOMEM;
    return text;
}
