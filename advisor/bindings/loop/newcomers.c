/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which of the unknown connections has to go. */
#include <config.h>

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/bindings/loop/newcomers.h"

struct taut_origin {
    char address[80]; /* the first member: tsearch's key */
    long long count;
    struct taut_newcomer_list silent, spoke;
};

static int by_address(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* What follows the last colon is the port. */
static void address_of(char *address, size_t size, const char *peer)
{
    const char *end = strrchr(peer, ':');
    size_t n = end != NULL ? (size_t)(end - peer) : strlen(peer);

    if (n >= size)
        n = size - 1;
    memcpy(address, peer, n);
    address[n] = '\0';
}

static struct taut_origin *find(const struct taut_newcomers *all,
                                const char *peer)
{
    char address[sizeof(((struct taut_origin *)0)->address)];
    struct taut_origin *const *at;

    address_of(address, sizeof(address), peer);
    at = tfind(address, &all->origins, by_address);
    return at != NULL ? *at : NULL;
}

static struct taut_origin *insert(struct taut_newcomers *all, const char *peer)
{
    struct taut_origin *from = calloc(1, sizeof(*from));

    if (from == NULL)
        return NULL;
    address_of(from->address, sizeof(from->address), peer);
    TAILQ_INIT(&from->silent);
    TAILQ_INIT(&from->spoke);
    if (tsearch(from, &all->origins, by_address) == NULL) {
        free(from);
        errno = ENOMEM;
        return NULL;
    }
    return from;
}

void taut_newcomers_init(struct taut_newcomers *all)
{
    TAILQ_INIT(&all->silent);
    TAILQ_INIT(&all->spoke);
    all->speaking = 0;
    all->origins = NULL;
    all->largest = NULL;
}

int taut_newcomers_add(struct taut_newcomers *all, struct taut_newcomer *s,
                       const char *peer)
{
    struct taut_origin *from = find(all, peer);

    if (from == NULL)
        from = insert(all, peer);
    if (from == NULL)
        return -1;
    from->count++;
    if (all->largest == NULL || from->count >= all->largest->count)
        all->largest = from;
    s->from = from;
    s->spoke = false;
    TAILQ_INSERT_TAIL(&all->silent, s, link);
    TAILQ_INSERT_TAIL(&from->silent, s, near);
    return 0;
}

static void take_out(struct taut_newcomers *all, struct taut_newcomer *s)
{
    TAILQ_REMOVE(s->spoke ? &all->spoke : &all->silent, s, link);
    TAILQ_REMOVE(s->spoke ? &s->from->spoke : &s->from->silent, s, near);
}

void taut_newcomers_spoke(struct taut_newcomers *all, struct taut_newcomer *s)
{
    if (s->from == NULL || s->spoke)
        return;
    take_out(all, s);
    s->spoke = true;
    all->speaking++;
    TAILQ_INSERT_TAIL(&all->spoke, s, link);
    TAILQ_INSERT_TAIL(&s->from->spoke, s, near);
}

void taut_newcomers_drop(struct taut_newcomers *all, struct taut_newcomer *s)
{
    if (s->from == NULL)
        return;
    take_out(all, s);
    all->speaking -= s->spoke;
    if (--s->from->count == 0) {
        if (all->largest == s->from)
            all->largest = NULL;
        tdelete(s->from, &all->origins, by_address);
        free(s->from);
    }
    s->from = NULL;
}

static struct taut_newcomer *first(const struct taut_newcomer_list *silent,
                                   const struct taut_newcomer_list *spoke)
{
    struct taut_newcomer *s = TAILQ_FIRST(silent);

    return s != NULL ? s : TAILQ_FIRST(spoke);
}

struct taut_newcomer *taut_newcomers_to_go(const struct taut_newcomers *all,
                                           const char *peer, long long most,
                                           bool full)
{
    const struct taut_origin *from = find(all, peer);

    if (from != NULL && from->count >= most)
        return first(&from->silent, &from->spoke);
    if (full && all->largest != NULL && all->largest->count > 1)
        return first(&all->largest->silent, &all->largest->spoke);
    return full ? first(&all->silent, &all->spoke) : NULL;
}
