/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/common/options.h"
#include "plugin/counters/file.h"
#include "plugin/counters/host.h"

#define GROUP "\nTcp:"
#define TEXT_MAX (8 * 1024) /* 1.5 kB with Linux 6.18 */

void taut_host_open(struct taut_host *h, int root_fd)
{
    const char *path = TAUT_RUNDIR "/" TAUT_USAGE_FILE;

    h->snmp_fd = openat(root_fd, "proc/self/net/snmp", O_RDONLY | O_CLOEXEC);
    h->usage_fd = openat(root_fd, path + strspn(path, "/"),
                         O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

void taut_host_close(struct taut_host *h)
{
    if (h->snmp_fd >= 0)
        close(h->snmp_fd);
    if (h->usage_fd >= 0)
        close(h->usage_fd);
    h->snmp_fd = h->usage_fd = -1;
}

/* The next word of a line behind '*at', of '*length' bytes; NULL at its end. */
static const char *next_word(const char **at, size_t *length)
{
    const char *word = *at + strspn(*at, " ");

    *length = strcspn(word, " \n");
    *at = word + *length;
    return *length > 0 ? word : NULL;
}

static bool is_word(const char *word, size_t length, const char *name)
{
    return strlen(name) == length && strncmp(word, name, length) == 0;
}

/* A group has a line of names, then one of numbers in the same order. */
int taut_host_parse_tcp(const char *text, int64_t *out, int64_t *again)
{
    const char *names = strstr(text, GROUP), *numbers, *name, *number;
    size_t name_length, number_length;

    numbers = names != NULL ? strstr(names + 1, GROUP) : NULL;
    if (numbers == NULL)
        return -1;
    names += strlen(GROUP);
    numbers += strlen(GROUP);
    *out = *again = -1;
    while ((name = next_word(&names, &name_length)) != NULL &&
           (number = next_word(&numbers, &number_length)) != NULL) {
        if (is_word(name, name_length, "OutSegs"))
            *out = strtoll(number, NULL, 10);
        else if (is_word(name, name_length, "RetransSegs"))
            *again = strtoll(number, NULL, 10);
    }
    return *out < 0 || *again < 0 ? -1 : 0;
}

/* The number in an open file, 0 where there is none. */
static int64_t number_in(int fd)
{
    char text[32];
    ssize_t n = fd < 0 ? 0 : pread(fd, text, sizeof(text) - 1, 0);
    int64_t v;

    text[n > 0 ? n : 0] = '\0';
    v = strtoll(text, NULL, 10);
    return v > 0 ? v : 0;
}

void taut_host_put(const struct taut_host *h, struct taut_counters *c)
{
    char text[TEXT_MAX];
    int64_t out, again;
    ssize_t n = h->snmp_fd < 0 ? -1
                               : pread(h->snmp_fd, text, sizeof(text) - 1, 0);

    if (n > 0) {
        text[n] = '\0';
        if (taut_host_parse_tcp(text, &out, &again) == 0) {
            taut_counters_put(c, "tcp_out", out);
            taut_counters_put(c, "tcp_retransmitted", again);
        }
    }
    taut_counters_put(c, "task_cpu_us", number_in(h->usage_fd));
}
