/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/counters/netstat.h"

#define GROUP "TcpExt:"
#define TEXT_MAX (16 * 1024) /* 4 kB with Linux 6.18 */

int taut_netstat_open(void)
{
    return open("/proc/self/net/netstat", O_RDONLY | O_CLOEXEC);
}

static bool is_pruning(const char *name, size_t length)
{
    static const char *const names[] = {"PruneCalled", "RcvPruned", "OfoPruned",
                                        "TCPRcvQDrop"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strlen(names[i]) == length && strncmp(names[i], name, length) == 0)
            return true;
    }
    return false;
}

/* The next word of a line behind '*at', of '*length' bytes; NULL at its end. */
static const char *next_word(const char **at, size_t *length)
{
    const char *word = *at + strspn(*at, " ");

    *length = strcspn(word, " \n");
    *at = word + *length;
    return *length > 0 ? word : NULL;
}

/* A group has a line of names, then one of numbers in the same order. */
int64_t taut_netstat_parse_pruned(const char *text)
{
    const char *names = strstr(text, GROUP), *numbers, *name, *number;
    size_t name_length, number_length;
    int64_t sum = -1;

    numbers = names != NULL ? strstr(names + 1, "\n" GROUP) : NULL;
    if (numbers == NULL)
        return -1;
    names += strlen(GROUP);
    numbers += strlen("\n" GROUP);
    while ((name = next_word(&names, &name_length)) != NULL &&
           (number = next_word(&numbers, &number_length)) != NULL) {
        if (is_pruning(name, name_length))
            sum = (sum > 0 ? sum : 0) + strtoll(number, NULL, 10);
    }
    return sum;
}

int64_t taut_netstat_pruned(int fd)
{
    char text[TEXT_MAX];
    ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof(text) - 1, 0);

    if (n <= 0)
        return -1;
    text[n] = '\0';
    return taut_netstat_parse_pruned(text);
}
