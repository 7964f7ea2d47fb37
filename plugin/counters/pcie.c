/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The PCI Express link of an interface: sys/class/net/IF/device, and the port
 * above it, whose link is the same one seen from the host. */
#include <config.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "plugin/counters/counters.h"
#include "plugin/counters/file.h"

#define LANES_UNKNOWN 255

static const struct {
    const char *name, *file, *key; /* the line with the sum */
} aer[] = {
    {"aer_correctable", "aer_dev_correctable", "TOTAL_ERR_COR"},
    {"aer_nonfatal", "aer_dev_nonfatal", "TOTAL_ERR_NONFATAL"},
    {"aer_fatal", "aer_dev_fatal", "TOTAL_ERR_FATAL"},
};

/* Two network devices of one card share its link: the device's own name
 * tells. */
static int find_pcie(struct taut_counters *c, int root_fd)
{
    char path[96], link[256];
    const char *slash;
    ssize_t n;

    taut_counters_path(path, sizeof(path), c->interface,
                       "/device/current_link_width");
    if (faccessat(root_fd, path, F_OK, 0) < 0)
        return -1;
    taut_counters_path(path, sizeof(path), c->interface, "/device");
    n = readlinkat(root_fd, path, link, sizeof(link) - 1);
    link[n > 0 ? n : 0] = '\0';
    slash = strrchr(link, '/');
    snprintf(c->place, sizeof(c->place), "%.40s",
             slash != NULL && slash[1] != '.' && slash[1] ? slash + 1
                                                          : c->interface);
    return 0;
}

/* Returns the lanes, or 0 when they are not known. */
static int64_t read_lanes(struct taut_counters *c, int dir, const char *file)
{
    char text[32];
    int64_t lanes;

    if (taut_counters_slurp(c, dir, file, text, sizeof(text)) < 0)
        return 0;
    if (taut_counters_parse(text, &lanes) < 0) {
        taut_counters_note(c, file, "not a number of lanes", text);
        return 0;
    }
    return lanes < LANES_UNKNOWN ? lanes : 0;
}

/* Returns MT/s, or 0 when they are not known. */
static int64_t read_speed(struct taut_counters *c, int dir, const char *file)
{
    char text[32];
    int64_t MTps = 0;

    if (taut_counters_slurp(c, dir, file, text, sizeof(text)) < 0 ||
        strncmp(text, "Unknown", 7) == 0)
        return 0;
    if (taut_counters_parse_transfers(text, &MTps) < 0)
        taut_counters_note(c, file, "not \"N GT/s\"", text);
    return MTps;
}

/* What both ends can do; one of them may not tell. */
static int64_t both(int64_t card, int64_t slot)
{
    return slot > 0 && (card == 0 || slot < card) ? slot : card;
}

static void put_known(struct taut_counters *c, const char *name, int64_t value)
{
    if (value > 0)
        taut_counters_put(c, name, value);
}

static void put_aer(struct taut_counters *c, int dir, size_t i)
{
    char text[2048];
    int64_t value;

    if (taut_counters_slurp(c, dir, aer[i].file, text, sizeof(text)) < 0)
        return;
    if (taut_counters_parse_keyed(text, aer[i].key, &value) == 0)
        taut_counters_put(c, aer[i].name, value);
    else
        taut_counters_note(c, aer[i].file, "has no sum", text);
}

static void read_pcie(struct taut_counters *c, int root_fd)
{
    char path[96];
    int dir;

    taut_counters_path(path, sizeof(path), c->interface, "/device");
    dir = taut_counters_dir(c, root_fd, path);
    if (dir < 0)
        return;
    put_known(c, "lanes", read_lanes(c, dir, "current_link_width"));
    put_known(c, "speed_MTps", read_speed(c, dir, "current_link_speed"));
    put_known(c, "max_lanes",
              both(read_lanes(c, dir, "max_link_width"),
                   read_lanes(c, dir, "../max_link_width")));
    put_known(c, "max_speed_MTps",
              both(read_speed(c, dir, "max_link_speed"),
                   read_speed(c, dir, "../max_link_speed")));
    for (size_t i = 0; i < sizeof(aer) / sizeof(aer[0]); i++)
        put_aer(c, dir, i);
    close(dir);
}

const struct taut_counter_source taut_counters_pcie = {
    .name = "pcie",
    .deadline_ms = 200,
    .find = find_pcie,
    .read = read_pcie,
};
