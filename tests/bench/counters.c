/* SPDX-License-Identifier: GPL-2.0-or-later */
/* bench-counters ROOT ROUNDS INTERFACE...: reads the counters of a node as
 * taut-probe does, again and again.  Prints, for each round, the time from
 * before the reader is started until all is read, and of a second reading,
 * in nanoseconds; and last what each source opened for each interface. */
#include <config.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/common/clock.h"
#include "plugin/counters/reader.h"

#define LIMIT_NS (10 * TAUT_S_NS)

static void die(const char *what, const char *why)
{
    fprintf(stderr, "bench-counters: %s: %s\n", what, why);
    exit(1);
}

static void ask(struct taut_counters_reader *r)
{
    struct taut_error why;

    if (taut_counters_ask(r, taut_now_ns() + LIMIT_NS, &why) < 0)
        die("read", why.text);
}

static void print_files(const struct taut_counters_reader *r)
{
    for (size_t i = 0; i < r->readings.count; i++) {
        const struct taut_counters *c = r->readings.list[i];

        printf("files %s %s %u %u %zu\n", c->source, c->interface, c->opens,
               c->reads, c->count + c->text_count);
    }
}

static void run_round(int root_fd, const char *const *names, size_t n,
                      bool is_last)
{
    struct taut_counters_reader reader;
    struct taut_error why;
    int64_t start_ns = taut_now_ns(), first_ns, second_ns;

    if (taut_counters_open(&reader, names, n, root_fd, NULL, &why) < 0)
        die("start", why.text);
    reader.patience = 50; /* what takes long is to be seen */
    ask(&reader);
    first_ns = taut_now_ns();
    ask(&reader);
    second_ns = taut_now_ns();
    printf("round %lld %lld\n", (long long)(first_ns - start_ns),
           (long long)(second_ns - first_ns));
    if (is_last)
        print_files(&reader);
    taut_counters_close(&reader);
}

int main(int argc, char *argv[])
{
    int root_fd, rounds = argc > 3 ? atoi(argv[2]) : 0;

    if (rounds < 1)
        die("usage", "bench-counters ROOT ROUNDS INTERFACE...");
    root_fd = open(argv[1], O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root_fd < 0)
        die(argv[1], "no such directory");
    for (int i = 0; i < rounds; i++)
        run_round(root_fd, (const char *const *)argv + 3, (size_t)argc - 3,
                  i == rounds - 1);
    close(root_fd);
    return 0;
}
