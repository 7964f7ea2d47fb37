/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Packing tests into phases: first fit.  (Phases of tests that do not meet are
 * those of Ezell, CUG 2013.)
 *
 * A component carries one test of a phase, or one group of deliberate
 * senders.  Without 'duplex' a node does one thing at a time, a router that
 * sends into the fabric receives nothing from it, and no test's data meets
 * another's acknowledgements.
 *
 * A test from a to b, on the routers r and s, with the way W and the way of its
 * acknowledgements V, fits into phase p where
 *
 *                     duplex              else
 *   busy[a]           no SENDS            0
 *   busy[b]           no RECEIVES         0
 *   role[r], r != s   any                 no RECEIVES
 *   role[s], r != s   any                 no SENDS
 *   users[c] on W     0                   0 (so no ACK either)
 *   users[c] on V     any                 0 but for ACK
 *
 * W and V have every member of a set: it is not known which one the test takes.
 * A test goes into the first phase that has room, at the cost of one look at W
 * and V for each phase before. */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/plan/inside.h"

#define ACK 0x80 /* of users[]; the other bits count senders, up to 8 */

/* How many senders fill so much of link c that it can be cleared:
 *
 *   k = ceil(good cap(c) / min(cap(tx), cap(rx)))
 *
 * Where k is more than the rules allow, one sender does as well as several:
 * none of them shows c. */
uint32_t taut_board_senders(const struct taut_board *b, uint32_t src,
                            uint32_t dst, uint32_t c)
{
    double tx = b->g->capacity[taut_graph_tx(src)];
    double rx = b->g->capacity[taut_graph_rx(dst)];
    double ends = tx < rx ? tx : rx, need = b->r.good * b->g->capacity[c];

    if (c < 2 * b->g->endpoints || ends >= need || ends <= 0)
        return 1;
    double k = ceil(need / ends);
    return k <= b->r.senders ? (uint32_t)k : 1;
}

/* ---- does it fit ---- */

/* Two nodes of one router use none of its links: its role is not asked. */
static bool ends_fit(const struct taut_board *b, uint32_t p,
                     const struct taut_plan_test *t)
{
    uint32_t r = b->g->at[t->src], s = b->g->at[t->dst];

    return taut_board_is_free(b, p, t->src, TAUT_PLAN_SENDS) &&
           taut_board_is_free(b, p, t->dst, TAUT_PLAN_RECEIVES) &&
           (b->r.duplex || r == s ||
            ((b->role[p][r] & TAUT_PLAN_RECEIVES) == 0 &&
             (b->role[p][s] & TAUT_PLAN_SENDS) == 0));
}

static bool ways_fit(const struct taut_board *b, uint32_t p)
{
    const uint8_t *users = b->users[p];

    for (uint32_t i = 0; i < b->way.n; i++)
        if (users[b->way.c[i] & ~TAUT_PLAN_UNSURE] != 0)
            return false;
    if (b->r.duplex)
        return true;
    for (uint32_t i = 0; i < b->back.n; i++)
        if ((users[b->back.c[i] & ~TAUT_PLAN_UNSURE] & ~ACK) != 0)
            return false;
    return true;
}

/* Is nothing on the way held by another plan, or out of probing time
 * (coverage.c)? */
static bool is_allowed(const struct taut_board *b,
                       const struct taut_plan_way *way, bool urgent)
{
    const struct taut_coverage *v = b->cov;
    bool is_held = v->busy_most > b->r.now; /* by some plan, something */

    if (v->link_time <= 0 && !is_held)
        return true;
    for (uint32_t i = 0; i < way->n; i++) {
        uint32_t c = way->c[i] & ~TAUT_PLAN_UNSURE;
        if ((is_held && taut_coverage_believed(v->busy_until[c], b->r.now) >
                            b->r.now) ||
            !taut_coverage_allows(v, c, b->r.test_s, b->r.now, urgent))
            return false;
    }
    return true;
}

/* ---- laying out ---- */

static int tests_room(struct taut_board *b, uint32_t n)
{
    if (b->n_tests + n <= b->max_tests)
        return 0;
    uint32_t max = 2 * (b->n_tests + n) + 64;
    struct taut_plan_test *t = realloc(b->tests, max * sizeof(*t));
    if (t == NULL) {
        errno = ENOMEM;
        return -1;
    }
    b->tests = t;
    b->max_tests = max;
    return 0;
}

/* What a test with n senders asks about.  E is what one of them can reach, the
 * smallest share on the way, in bytes/s.  A component that is crossed for sure
 * is
 *
 *   asked     where E >= good * share(c): the test can clear it
 *   crossed   else: the test is too narrow for it
 *
 * A member of a set is met by its share of the flows: of all 'set' members on
 * the way each counts as crossed with the chance min(1, 2 flows / set).  That
 * is flows / m on a way over two sets of m members, one up and one down. */
static void note_asked(struct taut_board *b, uint32_t n, uint32_t flows)
{
    const struct taut_plan_way *w = &b->way;
    struct taut_coverage *v = b->cov;
    double e = taut_board_expectation(b, n), set = 0;

    for (uint32_t i = 0; i < w->n; i++)
        set += (w->c[i] & TAUT_PLAN_UNSURE) != 0;
    for (uint32_t i = 0; i < w->n; i++) {
        uint32_t c = w->c[i] & ~TAUT_PLAN_UNSURE;
        double share = taut_board_share(b, i, n);
        if ((w->c[i] & TAUT_PLAN_UNSURE) != 0) {
            if (taut_board_random(b, (uint32_t)set) < 2 * flows)
                v->crossed[c] = b->r.now;
        } else if (e >= b->r.good * share) {
            v->asked[c] = b->r.now;
        } else {
            v->crossed[c] = b->r.now;
        }
    }
}

/* Note what phase p uses.  Where the list cannot grow, all of the board is
 * wiped in the end. */
static void note_used(struct taut_board *b, uint32_t p,
                      const struct taut_plan_way *way)
{
    if (b->n_used + way->n > b->max_used) {
        size_t max = 2 * (b->n_used + way->n) + 1024;
        uint64_t *used = realloc(b->used, max * sizeof(*used));
        if (used == NULL) {
            b->has_more = true;
            return;
        }
        b->used = used;
        b->max_used = max;
    }
    for (uint32_t i = 0; i < way->n; i++)
        b->used[b->n_used++] =
            (uint64_t)p << 32 | (way->c[i] & ~TAUT_PLAN_UNSURE);
}

void taut_board_wipe_used(struct taut_board *b)
{
    for (size_t i = 0; i < b->n_used; i++)
        b->users[b->used[i] >> 32][(uint32_t)b->used[i]] = 0;
    for (int p = 0; b->has_more && p < TAUT_PLAN_MAX_PHASES; p++)
        if (b->users[p] != NULL)
            memset(b->users[p], 0, b->g->components);
    b->n_used = 0;
    b->has_more = false;
}

/* b->way and b->back are those of t. */
static void use(struct taut_board *b, const struct taut_plan_test *t)
{
    const struct taut_graph *g = b->g;
    uint8_t *users = b->users[t->phase];

    for (uint32_t i = 0; i < b->way.n; i++)
        users[b->way.c[i] & ~TAUT_PLAN_UNSURE]++;
    for (uint32_t i = 0; !b->r.duplex && i < b->back.n; i++)
        users[b->back.c[i] & ~TAUT_PLAN_UNSURE] |= ACK;
    note_used(b, t->phase, &b->way);
    if (!b->r.duplex)
        note_used(b, t->phase, &b->back);
    b->busy[t->phase][t->src % g->nodes] |= TAUT_PLAN_SENDS;
    b->busy[t->phase][t->dst % g->nodes] |= TAUT_PLAN_RECEIVES;
    if (g->at[t->src] != g->at[t->dst]) {
        b->role[t->phase][g->at[t->src]] |= TAUT_PLAN_SENDS;
        b->role[t->phase][g->at[t->dst]] |= TAUT_PLAN_RECEIVES;
    }
}

void taut_board_use(struct taut_board *b, const struct taut_plan_test *t)
{
    if (taut_board_way(b, t->src, t->dst, &b->way) &&
        (b->r.duplex || taut_board_way(b, t->dst, t->src, &b->back)))
        use(b, t);
}

/* May phase p have tests of several streams at once?  Such a phase takes as
 * long as 1 + wide others.  It may where it is one already, or where that many
 * of the phases are still unused; put() takes them off. */
static bool may_be_wide(const struct taut_board *b, uint32_t p)
{
    uint32_t top = b->top > p + 1 ? b->top : p + 1;

    return (b->wide >> p & 1) != 0 || top + b->r.wide <= b->r.phases;
}

void taut_board_put(struct taut_board *b, const struct taut_plan_test *t,
                    uint32_t p, uint32_t n, uint32_t group)
{
    struct taut_plan_test *kept = &b->tests[b->n_tests++];

    if (t->streams > 1 && (b->wide >> p & 1) == 0) {
        b->wide |= UINT64_C(1) << p;
        b->r.phases -= b->r.wide;
    }
    if (p + 1 > b->top)
        b->top = p + 1;
    *kept = *t;
    kept->phase = (uint8_t)p;
    kept->senders = (uint8_t)n;
    kept->group = group;
    use(b, kept);
    if (!b->r.first_only) /* that one is only thought of */
        note_asked(b, n, t->flows);
}

bool taut_board_fits(const struct taut_board *b, const struct taut_plan_test *t,
                     uint32_t p)
{
    return ends_fit(b, p, t) && ways_fit(b, p) &&
           (t->streams <= 1 || may_be_wide(b, p));
}

bool taut_board_is_open(struct taut_board *b, const struct taut_plan_test *t,
                        bool urgent)
{
    return is_allowed(b, &b->way, urgent) &&
           (b->r.duplex || taut_board_way(b, t->dst, t->src, &b->back)) &&
           tests_room(b, TAUT_PLAN_MAX_SENDERS) == 0;
}

bool taut_board_ways(struct taut_board *b, const struct taut_plan_test *t,
                     bool urgent)
{
    return taut_board_way(b, t->src, t->dst, &b->way) &&
           taut_board_is_open(b, t, urgent);
}

int taut_board_place(struct taut_board *b, const struct taut_plan_test *t,
                     uint32_t from, bool urgent)
{
    if (!taut_board_ways(b, t, urgent))
        return -1;
    for (uint32_t p = from; p < b->r.phases; p++)
        if (taut_board_fits(b, t, p)) {
            taut_board_put(b, t, p, 1, t->src);
            return (int)p;
        }
    return -1;
}

/* Do all of the group fit there?  Their ways differ in their ends only, but
 * what the first leaves of a phase is not for the second to find taken. */
static bool group_fits(struct taut_board *b, const struct taut_plan_test *t,
                       uint32_t n, uint32_t p, bool urgent)
{
    for (uint32_t i = 0; i < n; i++)
        if (!taut_board_ways(b, &t[i], urgent) || !taut_board_fits(b, &t[i], p))
            return false;
    return true;
}

int taut_board_place_group(struct taut_board *b, const struct taut_plan_test *t,
                           uint32_t n, uint32_t from, bool urgent)
{
    if (n == 1)
        return taut_board_place(b, t, from, urgent);
    for (uint32_t p = from; p < b->r.phases; p++) {
        if (!group_fits(b, t, n, p, urgent))
            continue;
        for (uint32_t i = 0; i < n; i++)
            if (taut_board_ways(b, &t[i], urgent))
                taut_board_put(b, &t[i], p, n, t[0].src);
        return (int)p;
    }
    return -1;
}
