/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every box of every shape, in rows along the last dimension.
 *
 * For given extents in all other dimensions, the sums over the slabs up to each
 * place of the last one make a row per position. The content of a box is then
 * one difference of two numbers of a row, for any last extent. */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/boxes/inside.h"

/* Boxes whose bad cables are added up in one search; beyond it all cables of
 * the routers inside stand for them, though some lead out. */
#define BAD_BUDGET 50000

/* Numbers of a row looked at together, so that the compiler uses vectors
 * without being told to. */
#define LANES 8

/* A side is at most so many times that of a cube of the largest volume. */
#define LONGEST 1.5

struct rows {
    const struct taut_boxes *b;
    struct taut_boxes_request request;
    uint32_t last;  /* the last dimension */
    uint32_t width; /* cells of a row */
    uint32_t count; /* rows */
    uint32_t outer; /* routers of a box at last extent 1 */
    uint32_t extent[TAUT_BOXES_MAX_DIMS];
    uint32_t *free, *total, *near; /* [count * width]; the latter two or NULL */
    double limit;                  /* largest volume */
    double longest;                /* side */
    uint32_t budget;
    struct taut_box *found;
    size_t n, room;
};

static void rows_fini(struct rows *s)
{
    free(s->free);
    free(s->total);
    free(s->near);
}

static int rows_init(struct rows *s, const struct taut_boxes *b,
                     const struct taut_boxes_request *r)
{
    size_t most = b->routers / b->length[b->dims - 1];

    *s = (struct rows){.b = b, .request = *r, .last = b->dims - 1};
    s->width = b->span[s->last] + 1;
    s->budget = BAD_BUDGET;
    s->limit = b->routers;
    s->longest = b->routers;
    most *= s->width;
    s->free = malloc(most * sizeof(*s->free));
    if (r->whole)
        s->total = malloc(most * sizeof(*s->total));
    if (b->near_sum != NULL)
        s->near = malloc(most * sizeof(*s->near));
    if (s->free == NULL || (r->whole && s->total == NULL) ||
        (b->near_sum != NULL && s->near == NULL)) {
        rows_fini(s);
        errno = ENOMEM;
        return -1;
    }
    return 0;
}

/* Coordinates of row number i. */
static void row_at(const struct rows *s, uint32_t i, uint32_t *at)
{
    for (uint32_t d = s->last; d-- > 0;) {
        uint32_t n = taut_boxes_positions(s->b, d, s->extent[d]);
        at[d] = i % n;
        i /= n;
    }
}

/* row = a - b */
static void set_difference(uint32_t *restrict row, const uint32_t *restrict a,
                           const uint32_t *restrict b, uint32_t n)
{
    uint32_t z = 0;

    for (; z + LANES <= n; z += LANES)
        for (uint32_t k = 0; k < LANES; k++)
            row[z + k] = a[z + k] - b[z + k];
    for (; z < n; z++)
        row[z] = a[z] - b[z];
}

/* row += a - b */
static void add_difference(uint32_t *restrict row, const uint32_t *restrict a,
                           const uint32_t *restrict b, uint32_t n)
{
    uint32_t z = 0;

    for (; z + LANES <= n; z += LANES)
        for (uint32_t k = 0; k < LANES; k++)
            row[z + k] += a[z + k] - b[z + k];
    for (; z < n; z++)
        row[z] += a[z] - b[z];
}

/* One row of the slabs' sums: over all corners, two that differ in the first
 * dimension at a time. */
static void fill_row(const struct rows *s, const uint32_t *sum,
                     const uint32_t *at, uint32_t *row)
{
    uint32_t d = s->last;

    if (d == 0)
        memcpy(row, sum, s->width * sizeof(*row));
    for (uint32_t k = 0; d > 0 && k < 1U << (d - 1); k++) {
        size_t i = at[0] * s->b->step[0];
        size_t side = s->extent[0] * s->b->step[0];
        uint32_t odd = (d - 1) & 1;
        for (uint32_t j = 1; j < d; j++) {
            uint32_t bit = k >> (j - 1) & 1;
            i += (at[j] + bit * s->extent[j]) * s->b->step[j];
            odd ^= bit;
        }
        const uint32_t *plus = sum + i + (odd ? 0 : side);
        const uint32_t *minus = sum + i + (odd ? side : 0);
        (k == 0 ? set_difference : add_difference)(row, plus, minus, s->width);
    }
}

static void fill_rows(struct rows *s)
{
    uint32_t at[TAUT_BOXES_MAX_DIMS] = {0};

    s->count = 1;
    for (uint32_t d = 0; d < s->last; d++)
        s->count *= taut_boxes_positions(s->b, d, s->extent[d]);
    for (uint32_t i = 0; i < s->count; i++) {
        size_t first = (size_t)i * s->width;
        row_at(s, i, at);
        fill_row(s, s->b->free_sum, at, s->free + first);
        if (s->total != NULL)
            fill_row(s, s->b->total_sum, at, s->total + first);
        if (s->near != NULL)
            fill_row(s, s->b->near_sum, at, s->near + first);
    }
}

/* Does a box with last extent e at place z of a row hold what is wanted? */
static inline bool holds(const struct rows *s, size_t z, uint32_t e)
{
    uint32_t n = s->free[z + e] - s->free[z];

    return n >= s->request.count &&
           (s->total == NULL || n == s->total[z + e] - s->total[z]);
}

/* Is there a box with last extent e among n of a row that holds enough? */
static bool row_holds(const struct rows *s, size_t first, uint32_t n,
                      uint32_t e)
{
    const uint32_t *row = s->free + first;
    int32_t count = (int32_t)s->request.count, hit[LANES] = {0}, any = 0;
    uint32_t z = 0;

    for (; z + LANES <= n; z += LANES)
        for (uint32_t k = 0; k < LANES; k++)
            hit[k] |= (int32_t)(row[z + k + e] - row[z + k]) >= count;
    for (; z < n; z++)
        any |= (int32_t)(row[z + e] - row[z]) >= count;
    for (uint32_t k = 0; k < LANES; k++)
        any |= hit[k];
    return any != 0;
}

static bool any_holds(const struct rows *s, uint32_t e)
{
    uint32_t n = taut_boxes_positions(s->b, s->last, e);

    for (uint32_t i = 0; i < s->count; i++) {
        size_t first = (size_t)i * s->width;
        if (!row_holds(s, first, n, e))
            continue;
        for (uint32_t z = 0; s->total != NULL && z < n; z++)
            if (holds(s, first + z, e))
                return true;
        if (s->total == NULL)
            return true;
    }
    return false;
}

/* ---- the best of a shape ---- */

/* Least number of free nodes to spare in a row, UINT32_MAX where no box
 * holds enough: what lacks some is a number that large, too. */
static uint32_t least_spare(const struct rows *s, size_t first, uint32_t n,
                            uint32_t e)
{
    const uint32_t *row = s->free + first;
    uint32_t least = UINT32_MAX;

    for (uint32_t z = 0; z < n; z++) {
        uint32_t spare = row[z + e] - row[z] - s->request.count;
        least = spare < least ? spare : least;
    }
    return least > INT32_MAX ? UINT32_MAX : least;
}

/* Add up the bad cables of small boxes; those of the routers inside will do
 * for large ones, of which few cables lead out. */
static double bad_at(struct rows *s, size_t z, const uint32_t *at, uint32_t e)
{
    uint32_t near = s->near != NULL ? s->near[z + e] - s->near[z] : 0;

    if (near == 0)
        return 0;
    if (s->budget == 0 || s->outer * e > 64)
        return near / 16.0;
    s->budget--;
    return taut_boxes_bad(s->b, at, s->extent);
}

static void look(struct rows *s, size_t first, uint32_t *at, uint32_t e,
                 struct taut_box *best)
{
    uint32_t n = taut_boxes_positions(s->b, s->last, e);

    for (uint32_t z = 0; z < n; z++) {
        if (!holds(s, first + z, e))
            continue;
        uint32_t held = s->free[first + z + e] - s->free[first + z];
        if (best->free > 0 && best->bad == 0 && held >= best->free)
            continue;
        at[s->last] = z;
        double bad = bad_at(s, first + z, at, e);
        if (best->free > 0 &&
            (bad > best->bad || (bad == best->bad && held >= best->free)))
            continue;
        memcpy(best->at, at, sizeof(best->at));
        best->free = held;
        best->bad = bad;
    }
}

/* May a row have something better? */
static bool is_worth(const struct rows *s, size_t first, uint32_t n, uint32_t e,
                     const struct taut_box *best)
{
    uint32_t spare = least_spare(s, first, n, e);

    if (spare == UINT32_MAX)
        return false;
    return best->free == 0 || best->bad > 0 ||
           s->request.count + spare < best->free;
}

static int keep(struct rows *s, const struct taut_box *box)
{
    if (s->n == s->room) {
        size_t room = s->room > 0 ? 2 * s->room : 256;
        struct taut_box *more = realloc(s->found, room * sizeof(*more));
        if (more == NULL)
            return -1;
        s->found = more;
        s->room = room;
    }
    s->found[s->n++] = *box;
    return 0;
}

/* The best box with last extent e, if there is one, is kept. */
static int look_at_shape(struct rows *s, uint32_t e)
{
    struct taut_box best = {.volume = s->outer * e};
    uint32_t at[TAUT_BOXES_MAX_DIMS] = {0};
    uint32_t n = taut_boxes_positions(s->b, s->last, e);

    s->extent[s->last] = e;
    for (uint32_t i = 0; i < s->count; i++) {
        size_t first = (size_t)i * s->width;
        if (!is_worth(s, first, n, e, &best))
            continue;
        row_at(s, i, at);
        look(s, first, at, e, &best);
    }
    if (best.free == 0)
        return 0;
    memcpy(best.extent, s->extent, sizeof(best.extent));
    best.total = taut_boxes_sum(s->b, s->b->total_sum, best.at, best.extent);
    if (best.bad > 0)
        best.bad = taut_boxes_bad(s->b, best.at, best.extent);
    return keep(s, &best);
}

/* ---- all shapes ---- */

/* The next extents of all but the last dimension; false after the last. */
static bool next_shape(struct rows *s)
{
    s->outer = 1;
    for (uint32_t d = s->last; d-- > 0;) {
        uint32_t e = taut_boxes_next_extent(s->b, d, s->extent[d]);
        s->extent[d] = e > 0 ? e : 1;
        if (e > 0) {
            for (uint32_t k = 0; k < s->last; k++)
                s->outer *= s->extent[k];
            return true;
        }
    }
    return false;
}

static void first_shape(struct rows *s)
{
    for (uint32_t d = 0; d < s->last; d++)
        s->extent[d] = 1;
    s->outer = 1;
}

/* Is an extent longer than is worth a look?  A whole ring counts as half. */
static bool is_long(const struct rows *s, uint32_t d, uint32_t e)
{
    bool whole = s->b->wraps[d] && e == s->b->length[d];

    return (whole ? e / 2 : e) > s->longest;
}

/* The last extents to try, ascending: what is too small for any number of
 * free nodes, beyond the limit or too long is not among them.  Returns how
 * many. */
static uint32_t list_extents(const struct rows *s, uint32_t most, uint32_t *e)
{
    uint32_t n = 0, next = 0;

    for (uint32_t d = 0; d < s->last; d++)
        if (is_long(s, d, s->extent[d]))
            return 0;
    while ((next = taut_boxes_next_extent(s->b, s->last, next)) > 0)
        if ((uint64_t)s->outer * next * most >= s->request.count &&
            (double)s->outer * next <= s->limit && !is_long(s, s->last, next))
            e[n++] = next;
    return n;
}

/* The smallest of these at which the rows hold enough, 0 where there is
 * none.  A longer box holds no less; but with 'whole' it may hold what is
 * not free, so that then each is looked at. */
static uint32_t least_extent(const struct rows *s, const uint32_t *e,
                             uint32_t n)
{
    uint32_t low = 0, high = n;

    if (s->total != NULL) {
        while (low < n && !any_holds(s, e[low]))
            low++;
        return low < n ? e[low] : 0;
    }
    if (n == 0 || !any_holds(s, e[n - 1]))
        return 0;
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        if (any_holds(s, e[mid]))
            high = mid;
        else
            low = mid + 1;
    }
    return e[low];
}

/* The most nodes a router has, so that small shapes need not be looked at. */
static uint32_t most_per_router(const struct taut_boxes *b)
{
    uint32_t most = 0;

    for (uint32_t r = 0; r < b->routers; r++)
        most = b->free[r] > most ? b->free[r] : most;
    return most;
}

/* How long sides may be after a shape was found that sets the limit: its own
 * are not too long. */
static double longest_side(const struct rows *s, uint32_t last)
{
    double own = last;
    uint32_t dims = 0;

    for (uint32_t d = 0; d < s->last; d++)
        own = s->extent[d] > own ? s->extent[d] : own;
    for (uint32_t d = 0; d < s->b->dims; d++)
        dims += s->b->length[d] > 1;
    double side = LONGEST * pow(s->limit, 1.0 / (dims > 0 ? dims : 1)) + 1;
    return side > own ? side : own;
}

/* Look at the shapes with these outer extents; the limit may fall. */
static uint32_t try_shape(struct rows *s, uint32_t most, uint32_t *extents)
{
    uint32_t n = list_extents(s, most, extents);

    if (n == 0)
        return 0;
    fill_rows(s);
    uint32_t e = least_extent(s, extents, n);
    double volume = (double)s->outer * e;
    double limit = volume * s->request.room;
    limit = limit > volume + 1 ? limit : volume + 1;
    if (e > 0 && limit < s->limit) {
        s->limit = limit;
        s->longest = longest_side(s, e);
    }
    return e;
}

/* Cubes first: what they hold makes most of the others too large. */
static void try_cubes(struct rows *s, uint32_t most, uint32_t *extents)
{
    bool is_longer = true;

    first_shape(s);
    while (is_longer && try_shape(s, most, extents) == 0) {
        is_longer = false;
        s->outer = 1;
        for (uint32_t d = 0; d < s->last; d++) {
            uint32_t e = taut_boxes_next_extent(s->b, d, s->extent[d]);
            is_longer = is_longer || e > 0;
            s->extent[d] = e > 0 ? e : s->extent[d];
            s->outer *= s->extent[d];
        }
    }
}

/* All shapes with these outer extents that hold enough. */
static int find_in(struct rows *s, uint32_t most, uint32_t *extents)
{
    uint32_t from = try_shape(s, most, extents);

    if (from == 0)
        return 0;
    uint32_t n = list_extents(s, most, extents);
    for (uint32_t i = 0; i < n; i++)
        if (extents[i] >= from && look_at_shape(s, extents[i]) < 0)
            return -1;
    return 0;
}

/* The limit may have fallen after a shape was found. */
static void drop_large(struct rows *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++)
        if (s->found[i].volume <= s->limit)
            s->found[n++] = s->found[i];
    s->n = n;
}

static int find(struct rows *s, uint32_t most)
{
    uint32_t *extents = calloc(s->b->length[s->last], sizeof(*extents));
    int rc = extents != NULL ? 0 : -1;

    if (rc == 0) {
        try_cubes(s, most, extents);
        first_shape(s);
        do
            rc = find_in(s, most, extents);
        while (rc == 0 && next_shape(s));
        drop_large(s);
    }
    free(extents);
    return rc;
}

int taut_boxes_search(const struct taut_boxes *b,
                      const struct taut_boxes_request *r, struct taut_box **out,
                      size_t *n)
{
    uint32_t most = most_per_router(b);
    struct rows s;

    *out = NULL;
    *n = 0;
    if (r->count < 1 || !(r->room >= 1)) {
        errno = EINVAL;
        return -1;
    }
    if (rows_init(&s, b, r) < 0)
        return -1;
    int rc = find(&s, most);
    rows_fini(&s);
    if (rc < 0) {
        free(s.found);
        errno = ENOMEM;
        return -1;
    }
    *out = s.found;
    *n = s.n;
    return 0;
}
