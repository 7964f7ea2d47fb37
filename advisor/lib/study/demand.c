/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/study/demand.h"

struct taut_demand *taut_demand_create(uint32_t places)
{
    struct taut_demand *d = calloc(1, sizeof(*d));

    if (d != NULL)
        d->places = places;
    return d;
}

void taut_demand_destroy(struct taut_demand *d)
{
    int saved = errno;

    if (d != NULL)
        free(d->pair);
    free(d);
    errno = saved;
}

static int grow(struct taut_demand *d)
{
    size_t room = d->room > 0 ? 2 * d->room : 1024;

    if (d->room >= TAUT_DEMAND_MAX_PAIRS) {
        errno = EOVERFLOW;
        return -1;
    }
    struct taut_demand_pair *p = realloc(d->pair, room * sizeof(*p));
    if (p == NULL)
        return -1;
    d->pair = p;
    d->room = room;
    return 0;
}

int taut_demand_add(struct taut_demand *d, uint32_t from, uint32_t to,
                    double bytes, double messages)
{
    if (from != to) {
        if (d->n == d->room && grow(d) < 0)
            return -1;
        d->pair[d->n++] = (struct taut_demand_pair){from, to, bytes, messages};
        d->is_sealed = false;
    } else {
        d->inside_bytes += bytes;
        d->inside_messages += messages;
    }
    d->bytes += bytes;
    d->messages += messages;
    return 0;
}

/* ---- stencils ---- */

/* What the ranks of one place send to others, until it is another's turn. */
struct row {
    double *bytes, *messages; /* [places], all 0 between rows */
    uint32_t *touched;
    uint32_t n;
    uint32_t from;
};

static int row_init(struct row *r, uint32_t places)
{
    r->bytes = calloc(places, sizeof(*r->bytes));
    r->messages = calloc(places, sizeof(*r->messages));
    r->touched = calloc(places, sizeof(*r->touched));
    r->n = 0;
    return r->bytes && r->messages && r->touched ? 0 : -1;
}

static void row_fini(struct row *r)
{
    free(r->bytes);
    free(r->messages);
    free(r->touched);
}

static inline void row_add(struct row *r, uint32_t to, double bytes)
{
    if (r->messages[to] == 0)
        r->touched[r->n++] = to;
    r->bytes[to] += bytes;
    r->messages[to] += 1;
}

static int row_flush(struct row *r, struct taut_demand *d)
{
    int rc = 0;

    for (uint32_t i = 0; i < r->n && rc == 0; i++) {
        uint32_t to = r->touched[i];
        rc = taut_demand_add(d, r->from, to, r->bytes[to], r->messages[to]);
        r->bytes[to] = r->messages[to] = 0;
    }
    r->n = 0;
    return rc;
}

/* Rank at an offset from 'at', or -1 where there is none. */
static int64_t neighbour(const struct taut_stencil *s, const int *at,
                         const int *offset)
{
    int64_t rank = 0;

    for (uint32_t k = 0; k < s->dims; k++) {
        int len = (int)s->length[k], x = at[k] + offset[k];
        if (x < 0 || x >= len) {
            if (!s->periodic)
                return -1;
            x = ((x % len) + len) % len;
        }
        rank = rank * len + x;
    }
    return rank;
}

static void advance(const struct taut_stencil *s, int *at)
{
    for (uint32_t k = s->dims; k-- > 0;) {
        if (++at[k] < (int)s->length[k])
            return;
        at[k] = 0;
    }
}

static void add_rank(const struct taut_stencil *s, uint32_t rank, const int *at,
                     struct row *r)
{
    for (uint32_t i = 0; i < s->offsets; i++) {
        int64_t other = neighbour(s, at, s->offset + (size_t)i * s->dims);
        if (other >= 0 && other != rank)
            row_add(r, s->place[other], s->bytes[i]);
    }
}

int taut_demand_stencil(struct taut_demand *d, const struct taut_stencil *s)
{
    int at[TAUT_STENCIL_MAX_DIMS] = {0}, rc;
    uint32_t ranks = 1;
    struct row r;

    for (uint32_t k = 0; k < s->dims; k++)
        ranks *= s->length[k];
    rc = row_init(&r, d->places);
    for (uint32_t i = 0; rc == 0 && i < ranks; i++, advance(s, at)) {
        if (i == 0 || s->place[i] != r.from) {
            rc = row_flush(&r, d);
            r.from = s->place[i];
        }
        add_rank(s, i, at, &r);
    }
    if (rc == 0)
        rc = row_flush(&r, d);
    row_fini(&r);
    return rc;
}

int taut_demand_all(struct taut_demand *d, const uint32_t *ranks, double bytes)
{
    for (uint32_t a = 0; a < d->places; a++)
        for (uint32_t b = 0; ranks[a] > 0 && b < d->places; b++) {
            double n = (double)ranks[a] * (ranks[b] - (a == b ? 1 : 0));
            if (ranks[b] > 0 && n > 0 &&
                taut_demand_add(d, a, b, n * bytes, n) < 0)
                return -1;
        }
    return 0;
}

int taut_demand_busiest(const struct taut_demand *d, double *bytes)
{
    double *out = calloc((size_t)d->places * 2, sizeof(*out));

    if (out == NULL)
        return -1;
    for (size_t i = 0; i < d->n; i++) {
        out[d->pair[i].from] += d->pair[i].bytes;
        out[d->places + d->pair[i].to] += d->pair[i].bytes;
    }
    *bytes = 0;
    for (size_t p = 0; p < (size_t)d->places * 2; p++)
        *bytes = out[p] > *bytes ? out[p] : *bytes;
    free(out);
    return 0;
}

/* ---- sealing: a counting sort by destination, then by source ---- */

static int sort_by(struct taut_demand *d, struct taut_demand_pair *out,
                   bool by_from)
{
    size_t *first = calloc((size_t)d->places + 1, sizeof(*first));

    if (first == NULL)
        return -1;
    for (size_t i = 0; i < d->n; i++)
        first[(by_from ? d->pair[i].from : d->pair[i].to) + 1]++;
    for (uint32_t p = 0; p < d->places; p++)
        first[p + 1] += first[p];
    for (size_t i = 0; i < d->n; i++)
        out[first[by_from ? d->pair[i].from : d->pair[i].to]++] = d->pair[i];
    free(first);
    memcpy(d->pair, out, d->n * sizeof(*out));
    return 0;
}

static void join_equals(struct taut_demand *d)
{
    size_t kept = 0;

    for (size_t i = 0; i < d->n; i++) {
        struct taut_demand_pair *p = &d->pair[i];
        struct taut_demand_pair *last = kept > 0 ? &d->pair[kept - 1] : NULL;
        if (last != NULL && last->from == p->from && last->to == p->to) {
            last->bytes += p->bytes;
            last->messages += p->messages;
        } else {
            d->pair[kept++] = *p;
        }
    }
    d->n = kept;
}

int taut_demand_seal(struct taut_demand *d)
{
    if (d->is_sealed || d->n == 0) {
        d->is_sealed = true;
        return 0;
    }
    struct taut_demand_pair *room = malloc(d->n * sizeof(*room));
    int rc = room == NULL ? -1 : 0;
    if (rc == 0 && (rc = sort_by(d, room, false)) == 0)
        rc = sort_by(d, room, true);
    free(room);
    if (rc == 0) {
        join_equals(d);
        d->is_sealed = true;
    }
    return rc;
}
