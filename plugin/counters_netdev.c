/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/counters.h"

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
    {"carrier_changes", "carrier_changes"},
    {"speed_Mbps", "speed"},
};

int taut_counter_poll(int fd, int64_t *value)
{
    char text[32], *end;
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    long long v;

    if (n < 0)
        return -1;
    text[n] = '\0';
    errno = 0;
    v = strtoll(text, &end, 10);
    if (end == text || errno || (*end && *end != '\n')) {
        errno = errno ? errno : EINVAL;
        return -1;
    }
    *value = v;
    return 0;
}

/* An address label such as hsn0:1 belongs to the device hsn0. */
static int open_file(int root_fd, const char *interface, const char *path)
{
    char full[96];

    snprintf(full, sizeof full, "sys/class/net/%.*s/%s",
             (int)strcspn(interface, ":"), interface, path);
    return openat(root_fd, full, O_RDONLY | O_CLOEXEC);
}

/* A device that does not know its speed says -1, or fails to be read. */
static void read_netdev(struct taut_counters *counters, int root_fd,
                        const char *interface)
{
    memset(counters, 0, sizeof *counters);
    snprintf(counters->interface, IFNAMSIZ, "%s", interface);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        int fd = open_file(root_fd, interface, files[i].path);
        struct taut_counter *c = &counters->list[counters->count];

        if (fd < 0)
            continue;
        c->name = files[i].name;
        if (taut_counter_poll(fd, &c->value) == 0 && c->value >= 0)
            counters->count++;
        close(fd);
    }
}

static void open_netdev_bytes(int fds[2], int root_fd, const char *interface)
{
    fds[0] = open_file(root_fd, interface, "statistics/rx_bytes");
    fds[1] = open_file(root_fd, interface, "statistics/tx_bytes");
}

const struct taut_counter_source taut_counters_netdev = {
    .name = "netdev",
    .read = read_netdev,
    .open_bytes = open_netdev_bytes,
};
