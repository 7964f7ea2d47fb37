/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Any Linux network device: sys/class/net/IF. */
#include <config.h>

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "plugin/counters/counters.h"
#include "plugin/counters/file.h"

static const struct file {
    const char *name; /* in HELLO */
    const char *path; /* below sys/class/net/IF */
} files[] = {
    {"rx_bytes", "statistics/rx_bytes"},
    {"tx_bytes", "statistics/tx_bytes"},
    {"rx_packets", "statistics/rx_packets"},
    {"tx_packets", "statistics/tx_packets"},
    {"rx_errors", "statistics/rx_errors"},
    {"tx_errors", "statistics/tx_errors"},
    {"rx_dropped", "statistics/rx_dropped"},
    {"tx_dropped", "statistics/tx_dropped"},
    {"rx_crc_errors", "statistics/rx_crc_errors"},
    {"rx_missed_errors", "statistics/rx_missed_errors"},
    {"tx_carrier_errors", "statistics/tx_carrier_errors"},
    {"carrier_changes", "carrier_changes"},
    {"carrier_down_count", "carrier_down_count"},
};

static int find_netdev(struct taut_counters *c, int root_fd)
{
    char path[96];

    taut_counters_path(path, sizeof(path), c->interface, "");
    if (faccessat(root_fd, path, F_OK, 0) < 0)
        return -1;
    snprintf(c->place, sizeof(c->place), "%.*s",
             (int)strcspn(c->interface, ":"), c->interface);
    return 0;
}

/* A device that does not know its speed says -1 or, as some print it,
 * 4294967295; without a carrier it cannot be read. */
static void read_speed(struct taut_counters *c, int dir)
{
    char text[64];
    int64_t value;

    if (taut_counters_slurp(c, dir, "speed", text, sizeof(text)) < 0 ||
        strcmp(text, "-1") == 0)
        return;
    if (taut_counters_parse(text, &value) < 0)
        taut_counters_note(c, "speed", "not a number", text);
    else if (value < UINT32_MAX)
        taut_counters_put(c, "speed_Mbps", value);
}

static void read_netdev(struct taut_counters *c, int root_fd)
{
    char path[96];
    int dir;

    taut_counters_path(path, sizeof(path), c->interface, "");
    dir = taut_counters_dir(c, root_fd, path);
    if (dir < 0)
        return;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        taut_counters_put_file(c, dir, files[i].path, files[i].name);
    read_speed(c, dir);
    taut_counters_put_line(c, dir, "operstate", "state");
    taut_counters_put_line(c, dir, "duplex", "duplex");
    close(dir);
}

void taut_counters_open_bytes(int fds[2], int root_fd, const char *interface)
{
    static const char *const rest[] = {"/statistics/rx_bytes",
                                       "/statistics/tx_bytes"};
    char path[96];

    for (int i = 0; i < 2; i++) {
        taut_counters_path(path, sizeof(path), interface, rest[i]);
        fds[i] = openat(root_fd, path, O_RDONLY | O_CLOEXEC);
    }
}

const struct taut_counter_source taut_counters_netdev = {
    .name = "netdev",
    .deadline_ms = 200,
    .find = find_netdev,
    .read = read_netdev,
};
