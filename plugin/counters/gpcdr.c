/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The router of a Cray XE, XK (Gemini) or XC (Aries), as its kernel module
 * gpcdr tells of it: one file for each set of metrics. */
#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "plugin/common/clock.h"
#include "plugin/counters/counters.h"
#include "plugin/counters/file.h"

#define SETS "sys/devices/virtual/gni/gpcdr0/metricsets"
#define FILE_MAX 16384

/* Gemini has the first and the last, Aries all but the first; a site may
 * have others made, which are not read. */
static const char *const sets[] = {
    "links",          "linktraffic",    "linkstalled",
    "linksendstatus", "linkrecvstatus", "nic",
};

/* Those of a link or tile have a suffix, those of the NIC have none. */
static const char *const of_links[] = {
    "traffic",        "packets",        "inq_stall", "credit_stall",
    "sendlinkstatus", "recvlinkstatus", "stalled",
};
static const char *const of_nic[] = {
    "totaloutput_optA", "totaloutput_optB", "totalinput",  "fmaout",
    "bteout_optA",      "bteout_optB",      "totaloutput", "bteout",
};

static bool is_one_of(const char *name, size_t n, const char *const *list,
                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(list[i]) == n && memcmp(list[i], name, n) == 0)
            return true;
    }
    return false;
}

/* "X+", or a tile "0RC". */
static bool is_suffix(const char *text)
{
    if (text[0] >= 'X' && text[0] <= 'Z')
        return (text[1] == '+' || text[1] == '-') && text[2] == '\0';
    return text[0] == '0' && text[1] >= '0' && text[1] <= '4' &&
           text[2] >= '0' && text[2] <= '7' && text[3] == '\0';
}

static bool is_known(const char *name)
{
    const char *colon = strchr(name, ':');

    if (colon != NULL)
        return is_suffix(colon + 1) &&
               is_one_of(name, (size_t)(colon - name), of_links,
                         sizeof(of_links) / sizeof(of_links[0]));
    return is_one_of(name, strlen(name), of_nic,
                     sizeof(of_nic) / sizeof(of_nic[0]));
}

static bool put_time(struct taut_counters *c, int64_t value, const char *unit)
{
    int64_t ns = 0;

    if (unit != NULL && strcmp(unit, "ms") == 0)
        ns = TAUT_MS_NS;
    else if (unit != NULL &&
             (strcmp(unit, "s") == 0 || strcmp(unit, "seconds") == 0))
        ns = TAUT_S_NS;
    if (ns == 0 || value > INT64_MAX / ns)
        return false;
    c->t_ns = value * ns;
    return true;
}

/* Returns false when the line is not understood. */
static bool take_line(struct taut_counters *c, char *line)
{
    char *rest = NULL, *name = strtok_r(line, " \t", &rest);
    char *number = strtok_r(NULL, " \t", &rest);
    char *unit = strtok_r(NULL, " \t", &rest);
    int64_t value;

    if (name == NULL)
        return true; /* an empty line */
    if (number == NULL || taut_counters_parse(number, &value) < 0)
        return false;
    if (strcmp(name, "timestamp") == 0)
        return put_time(c, value, unit);
    if (is_known(name))
        taut_counters_put(c, name, value);
    return true;
}

void taut_counters_parse_gpcdr(struct taut_counters *c, const char *path,
                               char *text)
{
    for (char *line = text; line != NULL;) {
        char *end = strchr(line, '\n');
        char copy[25];

        if (end != NULL)
            *end = '\0';
        snprintf(copy, sizeof(copy), "%.24s", line);
        if (!take_line(c, line))
            taut_counters_note(c, path, "not \"NAME VALUE UNIT\"", copy);
        line = end != NULL ? end + 1 : NULL;
    }
}

static int find_gpcdr(struct taut_counters *c, int root_fd)
{
    if (faccessat(root_fd, SETS, F_OK, 0) < 0)
        return -1;
    snprintf(c->place, sizeof(c->place), "gpcdr0");
    return 0;
}

static void read_gpcdr(struct taut_counters *c, int root_fd)
{
    char path[32], text[FILE_MAX];
    int dir = taut_counters_dir(c, root_fd, SETS);

    if (dir < 0)
        return;
    for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++) {
        snprintf(path, sizeof(path), "%s/metrics", sets[i]);
        if (taut_counters_slurp(c, dir, path, text, sizeof(text)) > 0)
            taut_counters_parse_gpcdr(c, path, text);
    }
    close(dir);
}

const struct taut_counter_source taut_counters_gpcdr = {
    .name = "gpcdr",
    .deadline_ms = 250,
    .is_nodes = true,
    .find = find_gpcdr,
    .read = read_gpcdr,
};
