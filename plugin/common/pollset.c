/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <stdlib.h>

#include "plugin/common/clock.h"
#include "plugin/common/pollset.h"

int taut_pollset_init(struct taut_pollset *set, size_t room)
{
    set->fds = calloc(room, sizeof(*set->fds));
    set->count = 0;
    set->room = room;
    set->wake_ns = 0;
    return set->fds != NULL ? 0 : -1;
}

void taut_pollset_fini(struct taut_pollset *set)
{
    free(set->fds);
    set->fds = NULL;
}

void taut_pollset_begin(struct taut_pollset *set, int64_t latest_ns)
{
    set->count = 0;
    set->wake_ns = latest_ns;
}

void taut_pollset_add(struct taut_pollset *set, int fd, short events)
{
    if (set->count == set->room)
        return;
    set->fds[set->count].fd = fd;
    set->fds[set->count].events = events;
    set->fds[set->count++].revents = 0;
}

void taut_pollset_wake(struct taut_pollset *set, int64_t when_ns)
{
    if (when_ns < set->wake_ns)
        set->wake_ns = when_ns;
}

/* ppoll, because a millisecond is a twentieth of a test. */
void taut_pollset_wait(struct taut_pollset *set)
{
    struct timespec wait = taut_timespec(set->wake_ns - taut_now_ns());

    (void)ppoll(set->fds, set->count, &wait, NULL);
}

bool taut_pollset_is_quiet(const struct taut_pollset *set, int fd)
{
    for (size_t i = 0; i < set->count; i++) {
        if (set->fds[i].fd == fd)
            return set->fds[i].revents == 0;
    }
    return false;
}
