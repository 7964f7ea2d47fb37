/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of the unknown connections has to go. */
#include <config.h>

#include <string.h>

#include "advisor/bindings/loop/newcomers.h"

void taut_newcomers_add(struct taut_newcomers *all, struct taut_newcomer *s)
{
    TAILQ_INSERT_TAIL(all, s, link);
    s->listed = true;
}

void taut_newcomers_drop(struct taut_newcomers *all, struct taut_newcomer *s)
{
    if (s->listed)
        TAILQ_REMOVE(all, s, link);
    s->listed = false;
}

/* Are these of one address?  What follows the last colon is the port. */
static bool is_neighbour(const char *a, const char *b)
{
    const char *end_a = strrchr(a, ':'), *end_b = strrchr(b, ':');

    if (end_a == NULL || end_b == NULL)
        return strcmp(a, b) == 0;
    return end_a - a == end_b - b && memcmp(a, b, (size_t)(end_a - a)) == 0;
}

/* Of two that may go; 'a' is the older one, or NULL. */
static struct taut_newcomer *first_to_go(struct taut_newcomer *a,
                                         struct taut_newcomer *b)
{
    return a == NULL || (a->spoke && !b->spoke) ? b : a;
}

struct taut_newcomer *taut_newcomers_to_go(const struct taut_newcomers *all,
                                           const char *peer, long long most,
                                           bool full)
{
    struct taut_newcomer *s, *any = NULL, *near = NULL;
    long long count = 0;

    TAILQ_FOREACH(s, all, link)
    {
        any = first_to_go(any, s);
        if (is_neighbour(s->peer, peer)) {
            near = first_to_go(near, s);
            count++;
        }
    }
    if (count >= most)
        return near;
    return full ? any : NULL;
}
