/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The descriptors of one round of the poll loop, and when it must end. */
#ifndef TAUT_PLUGIN_COMMON_POLLSET_H
#define TAUT_PLUGIN_COMMON_POLLSET_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct taut_pollset {
    struct pollfd *fds;
    size_t count;
    size_t room;
    int64_t wake_ns; /* earliest time somebody asked for */
};

/* Room for 'room' descriptors.  Returns 0, or -1 with errno ENOMEM. */
int taut_pollset_init(struct taut_pollset *set, size_t room);

void taut_pollset_fini(struct taut_pollset *set);

/* Begin a round that ends at 'latest_ns' at the latest. */
void taut_pollset_begin(struct taut_pollset *set, int64_t latest_ns);

/* Watch 'fd' for 'events' (0 watches for errors only). */
void taut_pollset_add(struct taut_pollset *set, int fd, short events);

/* Ask for the round to end at 'when_ns'. */
void taut_pollset_wake(struct taut_pollset *set, int64_t when_ns);

/* Wait for something to happen. */
void taut_pollset_wait(struct taut_pollset *set);

/* Was 'fd' watched in this round, and nothing happened to it? */
bool taut_pollset_is_quiet(const struct taut_pollset *set, int fd);

#endif
