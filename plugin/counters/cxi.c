/* SPDX-License-Identifier: GPL-2.0-or-later */
/* HPE Slingshot: sys/class/cxi/cxiN/device. */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "plugin/common/clock.h"
#include "plugin/counters/counters.h"
#include "plugin/counters/file.h"

#define TRAFFIC_CLASSES 8
#define RESTARTS 10 /* that the driver remembers */

static const char *const telemetry[] = {
    "hni_sts_rx_ok_octets",    "hni_sts_tx_ok_octets",
    "hni_pcs_good_cw",         "hni_pcs_corrected_cw",
    "hni_pcs_uncorrected_cw",  "hni_llr_rx_replay_event",
    "hni_llr_tx_replay_event", "pct_spt_timeouts",
    "pct_sct_timeouts",        "pct_no_tct_nacks",
    "pct_no_trs_nacks",        "pct_no_mst_nacks",
    "pct_retry_srb_requests",  "pct_trs_rsp_nack_drops",
};

/* One of each kind for each traffic class; told as their sum. */
static const char *const paused[] = {"hni_rx_paused", "hni_tx_paused"};

static int find_cxi(struct taut_counters *c, int root_fd)
{
    char path[96];

    taut_counters_path(path, sizeof(path), c->interface, "/device/cxi");
    return taut_counters_first(c, root_fd, path, c->place, 32);
}

/* Returns 0, or -1: not there, or noted. */
static int read_stamped(struct taut_counters *c, int dir, const char *name,
                        int64_t *value)
{
    char path[64], text[64];

    snprintf(path, sizeof(path), "telemetry/%s", name);
    if (taut_counters_slurp(c, dir, path, text, sizeof(text)) < 0)
        return -1;
    if (taut_counters_parse_stamped(text, value, &c->t_ns) == 0)
        return 0;
    taut_counters_note(
        c, path,
        errno == ERANGE ? "beyond all limits" : "not \"VALUE@SECONDS\"", text);
    return -1;
}

static void put_sum(struct taut_counters *c, int dir, const char *name)
{
    char file[40];
    int64_t sum = 0, value;

    for (int i = 0; i < TRAFFIC_CLASSES; i++) {
        snprintf(file, sizeof(file), "%s_%d", name, i);
        /* What is missing would look like a fall of the sum. */
        if (read_stamped(c, dir, file, &value) < 0 || value > INT64_MAX - sum)
            return;
        sum += value;
    }
    taut_counters_put(c, name, sum);
}

static void put_telemetry(struct taut_counters *c, int dir)
{
    int64_t value;

    for (size_t i = 0; i < sizeof(telemetry) / sizeof(telemetry[0]); i++) {
        if (read_stamped(c, dir, telemetry[i], &value) == 0)
            taut_counters_put(c, telemetry[i], value);
    }
    for (size_t i = 0; i < sizeof(paused) / sizeof(paused[0]); i++)
        put_sum(c, dir, paused[i]);
}

/* Times of the last restarts by this node's clock, in seconds since 1970; 0
 * is none.  The telemetry's stamps are of the same clock. */
static void put_restarts(struct taut_counters *c, int dir)
{
    int64_t now = c->t_ns >= 0 ? c->t_ns / TAUT_S_NS : (int64_t)time(NULL);
    int64_t last = 0, in_1h = 0, in_10h = 0, when;
    char path[32], text[32];
    int known = 0;

    for (int i = 0; i < RESTARTS; i++) {
        snprintf(path, sizeof(path), "link_restarts/time_%d", i);
        if (taut_counters_slurp(c, dir, path, text, sizeof(text)) < 0)
            continue;
        if (taut_counters_parse(text, &when) < 0) {
            taut_counters_note(c, path, "not a time", text);
            continue;
        }
        known++;
        last = when > last ? when : last;
        in_1h += when > now - 3600 && when <= now;
        in_10h += when > now - 36000 && when <= now;
    }
    if (known < RESTARTS)
        return;
    taut_counters_put(c, "link_restart_last", last);
    taut_counters_put(c, "link_restarts_1h", in_1h);
    taut_counters_put(c, "link_restarts_10h", in_10h);
}

static void read_cxi(struct taut_counters *c, int root_fd)
{
    char path[96];
    int dir;

    snprintf(path, sizeof(path), "sys/class/cxi/%s/device", c->place);
    dir = taut_counters_dir(c, root_fd, path);
    if (dir < 0)
        return;
    taut_counters_put_line(c, dir, "port/link", "state");
    taut_counters_put_line(c, dir, "port/speed", "speed");
    put_telemetry(c, dir);
    put_restarts(c, dir);
    taut_counters_put_file(c, dir, "properties/pcie_corr_err", "pcie_corr_err");
    taut_counters_put_file(c, dir, "properties/pcie_uncorr_err",
                           "pcie_uncorr_err");
    close(dir);
}

const struct taut_counter_source taut_counters_cxi = {
    .name = "cxi",
    .deadline_ms = 250,
    .find = find_cxi,
    .read = read_cxi,
};
