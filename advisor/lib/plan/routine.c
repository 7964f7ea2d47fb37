/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Routine tests: what is due, the stalest first.
 *
 * A component was shown last at the time (shown_at)
 *
 *   at(c) = max(well, asked - (fresh_s - retry_s))   where the test can clear c
 *           max(well, asked, crossed)                where it only crosses c
 *
 *   well     c was last seen well
 *   asked    a test that can clear c was last planned
 *   crossed  a test that crosses c, and cannot clear it, was last planned
 *
 * It is due where now - at > fresh_s.  So a component that was asked for and
 * not seen well is due again after retry_s.
 *
 * A candidate is a pair of routers, or for an anchor a pair of nodes of one
 * router.  Its age is that of the stalest component on its way (stalest), in
 * seconds; candidates that are not due are dropped.  The largest key is laid
 * out first:
 *
 *   key = min(age, MOST_STALE) / (1 + PER_LINK stages)     between routers
 *         min(age, MOST_STALE) / (1 + PER_ANCHOR)          an anchor, unless
 *                                                          doubtful: then / 1
 *
 *   stages   links of the way, of a set one, and the two ends
 *
 * Long ways are put off because a test over many links meets others' traffic.
 *
 * Candidates go into the first phase with room, in the order of their keys.  A
 * candidate whose components an earlier one has asked for is dropped then:
 * 'asked' is noted as tests are laid out, so at() has changed. */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "advisor/lib/plan/inside.h"

#define FEW_ROUTERS 8  /* all pairs of so few are looked at */
#define SOME_EACH 2    /* of more, a pair across the plan for each so many */
#define MANY_PAIRS 6   /* where routers have no neighbours with nodes */
#define LEG_MOST 2     /* links up to a corner */
#define ARM_MOST 4     /* and after it */
#define CORNERS 3      /* ways round one that are looked at */
#define PER_LINK 0.05  /* by how much a longer way is put off */
/* By how much an anchor, behind tests between neighbours, and over a switch and
 * back: what shows the link well shows the ends of its nodes as well.  These
 * have 3 and 4 stages: 1 + PER_LINK stages is 1.15 and 1.20. */
#define PER_ANCHOR 0.22
#define SAME_S 2.0     /* from what is asked to what is seen of it */
#define AHEAD 4        /* routers */
#define FEW 8          /* candidates that are sorted one by one */
#define MOST_STALE 3e6 /* s; what is older is as old */

struct candidate {
    double key;        /* bigger first */
    uint32_t from, to; /* numbers in b->router */
    uint32_t dst;      /* endpoint, where routes depend on it; else NONE */
    uint32_t port;     /* of its router, by which the way begins */
    uint8_t kind;
    uint8_t senders;
};

struct list {
    struct candidate *c;
    uint32_t n, max;
    bool failed;
};

/* When a component was shown last as far as a test may be due again: what was
 * planned and cleared nothing counts for retry_s only. */
static double shown_at(const struct taut_board *b, uint32_t c, bool is_shown)
{
    const struct taut_coverage *v = b->cov;
    double now = b->r.now;
    double at = taut_coverage_believed(taut_coverage_well(v, c), now);
    double asked = taut_coverage_believed(v->asked[c], now);
    double crossed = taut_coverage_believed(v->crossed[c], now);

    if (is_shown)
        asked -= b->r.fresh_s - b->r.retry_s;
    else if (crossed > asked)
        asked = crossed;
    return asked > at ? asked : at;
}

/* Was link l shown too long ago?  Most were seen well not long ago, and that
 * is looked at first: each time lies somewhere else in memory. */
static bool is_link_due(const struct taut_board *b, uint32_t l)
{
    uint32_t c = taut_graph_link(b->g, l);
    double now = b->r.now;

    return now - taut_coverage_believed(taut_coverage_well(b->cov, c), now) >
               b->r.fresh_s &&
           now - shown_at(b, c, true) > b->r.fresh_s;
}

/* The time of the stalest component on b->way for n senders.  Members of sets
 * are due as others are, but what a test surely crosses comes first.
 *
 *   t   min of at(c) over what is crossed for sure
 *   m   min of at(c) over members of sets
 *
 * It is t where m is not due; else min(t, just before the time from which on
 * nothing is due).  So a due member alone makes the least age that is due. */
static double stalest(const struct taut_board *b, uint32_t n, bool with_ends)
{
    const struct taut_plan_way *w = &b->way;
    double least = taut_board_expectation(b, n), old = HUGE_VAL;
    double member = HUGE_VAL, due = b->r.now - b->r.fresh_s;

    for (uint32_t i = with_ends ? 0 : 1; i < w->n - (with_ends ? 0 : 1); i++) {
        uint32_t c = w->c[i] & ~TAUT_PLAN_UNSURE;
        bool is_shown =
            c == w->c[i] && least >= b->r.good * taut_board_share(b, i, n);
        double at = shown_at(b, c, is_shown);
        if (c == w->c[i])
            old = taut_board_least(old, at);
        else
            member = taut_board_least(member, at);
    }
    return member < due ? taut_board_least(old, nextafter(due, -HUGE_VAL))
                        : old;
}

static void add(struct list *l, const struct candidate *c)
{
    if (l->n == l->max) {
        uint32_t max = 2 * l->max + 256; /* and as many to sort them */
        struct candidate *grown =
            realloc(l->c, 2 * (size_t)max * sizeof(*grown));
        if (grown == NULL) {
            l->failed = true;
            return;
        }
        l->c = grown;
        l->max = max;
    }
    l->c[l->n++] = *c;
}

static uint32_t count_at(const struct taut_board *b, uint32_t i)
{
    return b->first[i + 1] - b->first[i];
}

/* Enough senders to show the widest link of the way, where there are. */
static uint32_t senders_for(const struct taut_board *b, uint32_t from,
                            uint32_t to)
{
    uint32_t src = b->ep[b->first[from]], dst = b->ep[b->first[to]], n = 1;
    uint32_t most = count_at(b, from) < count_at(b, to) ? count_at(b, from)
                                                        : count_at(b, to);

    if (most == 1)
        return 1;
    for (uint32_t i = 1; i + 1 < b->way.n; i++) {
        uint32_t k =
            taut_board_senders(b, src, dst, b->way.c[i] & ~TAUT_PLAN_UNSURE);
        n = k > n ? k : n;
    }
    return n <= most ? n : 1;
}

/* Are the ends of a test between two routers tested in no better way?  Those
 * on a router of their own have no partner there. */
static bool with_ends(const struct taut_board *b, uint32_t from, uint32_t to)
{
    return count_at(b, from) == 1 || count_at(b, to) == 1;
}

/* A candidate from router 'from' to router 'to', if anything on the way is due.
 * 'senders' is taken into account: several show a link that one cannot. */
static void consider(struct taut_board *b, struct list *l, uint32_t from,
                     uint32_t to, uint32_t port, enum taut_plan_kind kind)
{
    struct candidate c = {.from = from,
                          .to = to,
                          .port = port,
                          .dst = TAUT_GRAPH_NONE,
                          .kind = (uint8_t)kind,
                          .senders = 1};

    uint32_t dst = b->ep[b->first[to]];
    bool by_destination = b->g->engine->by_destination;
    bool is_new = taut_board_visit(b, b->router[to]);
    if (!by_destination && !is_new && kind != TAUT_PLAN_NEIGHBOUR)
        return; /* round another corner it is the same way */
    if (by_destination)
        c.dst = dst =
            b->ep[b->first[to] + taut_board_random(b, count_at(b, to))];
    if (!taut_board_way(b, b->ep[b->first[from]], dst, &b->way) ||
        taut_board_is_long(b))
        return;
    if (c.dst == TAUT_GRAPH_NONE)
        c.senders = (uint8_t)senders_for(b, from, to);
    double age = b->r.now - stalest(b, c.senders, with_ends(b, from, to));
    if (age <= b->r.fresh_s)
        return;
    c.key = taut_board_least(age, MOST_STALE) / (1 + PER_LINK * b->way.stages);
    /* Of so few routers each that sends had better send to all its neighbours
     * at once: that leaves the others free to receive from all of theirs. */
    if (kind == TAUT_PLAN_NEIGHBOUR && b->n_routers <= FEW_ROUTERS)
        c.port = 0;
    add(l, &c);
}

/* When component c was asked for last, was it not seen well then? */
static bool is_doubtful(const struct taut_board *b, uint32_t c)
{
    const struct taut_coverage *v = b->cov;
    double asked = taut_coverage_believed(v->asked[c], b->r.now);
    double well =
        taut_coverage_believed(taut_coverage_well(v, c), b->r.now);

    return asked > 0 && asked > well + SAME_S;
}

/* One for each node of a router: it sends to the next one on it. */
static void anchors_of(struct taut_board *b, struct list *l, uint32_t i)
{
    uint32_t n = count_at(b, i);

    for (uint32_t k = 0; n > 1 && k < n; k++) {
        uint32_t src = b->ep[b->first[i] + k];
        uint32_t dst = b->ep[b->first[i] + (k + 1) % n];
        double age =
            b->r.now - taut_board_least(shown_at(b, taut_graph_tx(src), true),
                                        shown_at(b, taut_graph_rx(dst), true));
        struct candidate c = {.from = i,
                              .to = k,
                              .kind = TAUT_PLAN_ANCHOR,
                              .dst = TAUT_GRAPH_NONE,
                              .senders = 1,
                              .key = taut_board_least(age, MOST_STALE)};
        if (!is_doubtful(b, taut_graph_tx(src)) &&
            !is_doubtful(b, taut_graph_rx(dst)))
            c.key /= 1 + PER_ANCHOR;
        if (age > b->r.fresh_s)
            add(l, &c);
    }
}

/* The nearest router of the plan straight on from link 'l'; *is_due when a
 * link on the way there may be.  Most lines out of a plan lead to no node, and
 * their links are not looked at. */
static uint32_t straight_on(const struct taut_board *b, uint32_t l,
                            bool *is_due)
{
    const struct taut_plan_step *at = taut_board_line(b, l);
    uint32_t n = 0;

    *is_due = false;
    while (n < TAUT_PLAN_LINE_MOST && at[n].link != TAUT_GRAPH_NONE &&
           !taut_board_is_local(b, at[n].to))
        n++;
    if (n == TAUT_PLAN_LINE_MOST || at[n].link == TAUT_GRAPH_NONE)
        return TAUT_GRAPH_NONE;
    for (uint32_t k = 0; k <= n && !*is_due; k++)
        *is_due = is_link_due(b, at[k].link);
    return b->local[at[n].to] - 1;
}

/* If no node is straight on over link l, there may be one round a corner;
 * consider() finds the way that a route takes there.  Returns whether routes go
 * over sets here. */
static bool round_corners(struct taut_board *b, struct list *l, uint32_t i,
                          uint32_t link, uint32_t port)
{
    const struct taut_graph *g = b->g;
    uint32_t found = 0;

    for (uint32_t k = 0; k < LEG_MOST && link != TAUT_GRAPH_NONE; k++) {
        uint32_t r = g->to[link];
        uint32_t next = taut_board_next(b, link);
        if (taut_board_is_local(b, r) || !is_link_due(b, link))
            return false;
        for (uint32_t j = g->out_first[r]; j < g->out_first[r + 1]; j++)
            if (taut_board_turns(b, link, g->out[j]))
                __builtin_prefetch(taut_board_line(b, g->out[j]));
        for (uint32_t j = g->out_first[r]; j < g->out_first[r + 1]; j++) {
            uint32_t to =
                g->out[j] == next || g->out[j] == g->back[link] ||
                        !taut_board_turns(b, link, g->out[j])
                    ? TAUT_GRAPH_NONE
                    : taut_board_over(b, ARM_MOST, g->out[j]);
            if (to == TAUT_GRAPH_NONE || to == i)
                continue;
            consider(b, l, i, to, port, TAUT_PLAN_REACH);
            if (++found == CORNERS || b->way.has_sets)
                return b->way.has_sets;
        }
        link = next;
    }
    return false;
}

static void neighbours_of(struct taut_board *b, struct list *l, uint32_t i)
{
    const struct taut_graph *g = b->g;
    uint32_t r = b->router[i], found = 0;
    bool by_sets = false;

    taut_board_new_visit(b);
    for (uint32_t k = g->out_first[r]; k < g->out_first[r + 1]; k++) {
        bool is_due;
        uint32_t link = g->out[k], to = straight_on(b, link, &is_due);
        /* over sets no way is better than those tried at random */
        if (to != i && !by_sets &&
            (to == TAUT_GRAPH_NONE || b->router[to] != g->to[link]))
            by_sets = round_corners(b, l, i, link, k - g->out_first[r] + 1);
        if (to == TAUT_GRAPH_NONE || to == i)
            continue;
        found++;
        if (!is_due && !with_ends(b, i, to))
            continue;
        consider(b, l, i, to, k - g->out_first[r] + 1,
                 b->router[to] == g->to[link] ? TAUT_PLAN_NEIGHBOUR
                                              : TAUT_PLAN_REACH);
    }
    if (b->n_routers <= FEW_ROUTERS) {
        for (uint32_t to = 0; to < b->n_routers; to++)
            if (to != i)
                consider(b, l, i, to, UINT32_MAX, TAUT_PLAN_REACH);
        return;
    }
    uint32_t across = i % SOME_EACH == 0;
    for (uint32_t k = found > 0 ? across : MANY_PAIRS; k > 0; k--) {
        uint32_t to = taut_board_random(b, b->n_routers);
        if (to != i)
            consider(b, l, i, to, UINT32_MAX, TAUT_PLAN_REACH);
    }
}

/* Bigger keys first; of equal ones those that go one way, which fit together:
 * on a new machine everything is as old as can be, and most keys are equal. */
static bool is_before(const struct candidate *x, const struct candidate *y)
{
    return x->key > y->key || (x->key == y->key && x->port < y->port);
}

/* Runs of FEW, each in order. */
static void sort_runs(struct candidate *a, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        struct candidate x = a[i];
        uint32_t k = i;
        for (; k % FEW > 0 && is_before(&x, &a[k - 1]); k--)
            a[k] = a[k - 1];
        a[k] = x;
    }
}

/* Merge a[0 … m - 1] and a[m … n - 1] into 'out'. */
static void merge(const struct candidate *a, uint32_t m, uint32_t n,
                  struct candidate *out)
{
    for (uint32_t i = 0, j = m; i < m || j < n;)
        *out++ = j == n || (i < m && !is_before(&a[j], &a[i])) ? a[i++] : a[j++];
}

/* Merge sort, bottom up, n log n.  Those that are equal stay in the order in
 * which they came.  (qsort asks a function for each comparison, which was an
 * eighth of the search.)
 * Returns where they are: 'a', or 'other', which has room for them, too. */
static struct candidate *sort(struct candidate *a, struct candidate *other,
                              uint32_t n)
{
    sort_runs(a, n);
    for (uint32_t half = FEW; half < n; half *= 2) {
        for (uint32_t i = 0; i < n; i += 2 * half) {
            uint32_t rest = n - i;
            merge(a + i, half < rest ? half : rest,
                  2 * half < rest ? 2 * half : rest, other + i);
        }
        struct candidate *sorted = other;
        other = a;
        a = sorted;
    }
    return a;
}

/* ---- laying out ---- */

/* The endpoint of router i that is free in phase p and whose port was tested
 * longest ago; 'but' is not wanted. */
static uint32_t free_end(const struct taut_board *b, uint32_t p, uint32_t i,
                         bool sends, const struct taut_plan_test *taken,
                         uint32_t n)
{
    uint32_t best = TAUT_GRAPH_NONE;
    double oldest = HUGE_VAL;

    for (uint32_t k = b->first[i]; k < b->first[i + 1]; k++) {
        uint32_t e = b->ep[k];
        bool is_free = taut_board_is_free(
            b, p, e, sends ? TAUT_PLAN_SENDS : TAUT_PLAN_RECEIVES);
        for (uint32_t j = 0; j < n; j++)
            is_free = is_free && (sends ? taken[j].src : taken[j].dst) != e;
        if (!is_free)
            continue;
        double at = taut_coverage_last(b->cov, sends ? taut_graph_tx(e)
                                                     : taut_graph_rx(e));
        if (at < oldest) {
            best = e;
            oldest = at;
        }
    }
    return best;
}

static bool choose_ends(const struct taut_board *b, uint32_t p,
                        const struct candidate *c, struct taut_plan_test *t)
{
    for (uint32_t k = 0; k < c->senders; k++) {
        t[k].src = free_end(b, p, c->from, true, t, k);
        t[k].dst = c->dst != TAUT_GRAPH_NONE
                       ? c->dst
                       : free_end(b, p, c->to, false, t, k);
        if (t[k].src == TAUT_GRAPH_NONE || t[k].dst == TAUT_GRAPH_NONE)
            return false;
    }
    return true;
}

/* The way between other nodes of the same routers: only its ends differ,
 * unless routes depend on the destination itself. */
static bool move_ways(struct taut_board *b, const struct taut_plan_test *t)
{
    if (b->g->engine->by_destination)
        return taut_board_ways(b, t, false);
    b->way.c[0] = taut_graph_tx(t->src);
    b->way.c[b->way.n - 1] = taut_graph_rx(t->dst);
    if (!b->r.duplex) {
        b->back.c[0] = taut_graph_tx(t->dst);
        b->back.c[b->back.n - 1] = taut_graph_rx(t->src);
    }
    return true;
}

static bool lay_between(struct taut_board *b, const struct candidate *c,
                        struct taut_plan_test *t, uint32_t phases)
{
    for (uint32_t p = 0; p < phases; p++) {
        bool fits = choose_ends(b, p, c, t);
        for (uint32_t k = 0; fits && k < c->senders; k++)
            fits = move_ways(b, &t[k]) && taut_board_fits(b, &t[k], p);
        for (uint32_t k = 0; fits && k < c->senders; k++)
            if (move_ways(b, &t[k]))
                taut_board_put(b, &t[k], p, c->senders, t[0].src);
        if (fits)
            return true;
    }
    return false;
}

static bool lay(struct taut_board *b, const struct candidate *c,
                uint32_t phases, uint32_t flows)
{
    struct taut_plan_test t[TAUT_PLAN_MAX_SENDERS];
    bool is_anchor = c->kind == TAUT_PLAN_ANCHOR;
    uint32_t to = is_anchor ? c->from : c->to;

    t[0] = (struct taut_plan_test){.src = b->ep[b->first[c->from]],
                                   .dst = b->ep[b->first[to]],
                                   .confirms = TAUT_GRAPH_NONE,
                                   .kind = c->kind,
                                   .flows = 1,
                                   .streams = 1};
    if (c->dst != TAUT_GRAPH_NONE)
        t[0].dst = c->dst;
    if (is_anchor) {
        uint32_t n = count_at(b, c->from);
        t[0].src = b->ep[b->first[c->from] + c->to];
        t[0].dst = b->ep[b->first[c->from] + (c->to + 1) % n];
    }
    bool ends = is_anchor || with_ends(b, c->from, to);
    if (!taut_board_way(b, t[0].src, t[0].dst, &b->way) ||
        b->r.now - stalest(b, c->senders, ends) <= b->r.fresh_s)
        return false; /* a test laid out before does it */
    if (!taut_board_is_open(b, &t[0], false))
        return false;
    for (uint32_t i = 1; i + 1 < b->way.n; i++)
        if ((b->way.c[i] & TAUT_PLAN_UNSURE) != 0)
            t[0].flows = (uint8_t)flows;
    if (is_anchor)
        return taut_board_place(b, &t[0], 0, false) >= 0;
    for (uint32_t k = 1; k < c->senders; k++)
        t[k] = t[0];
    return lay_between(b, c, t, phases);
}

static void lay_all(struct taut_board *b, struct list *l, uint32_t phases,
                    uint32_t flows)
{
    const struct candidate *c =
        l->n > 0 ? sort(l->c, l->c + l->max, l->n) : NULL;

    for (uint32_t i = 0; i < l->n; i++)
        if (lay(b, &c[i], phases, flows) && b->r.first_only)
            return;
}

/* Ask for what will be looked at of the links that leave the router which comes
 * a little later: their lines and their times. */
static void look_ahead(const struct taut_board *b, uint32_t i)
{
    const struct taut_graph *g = b->g;

    if (i + 2 * AHEAD < b->n_routers)
        __builtin_prefetch(&g->out[g->out_first[b->router[i + 2 * AHEAD]]]);
    if (i + AHEAD >= b->n_routers)
        return;
    uint32_t r = b->router[i + AHEAD];
    for (uint32_t k = g->out_first[r]; k < g->out_first[r + 1]; k++) {
        uint32_t c = taut_graph_link(g, g->out[k]);
        __builtin_prefetch(taut_board_line(b, g->out[k]));
        __builtin_prefetch(&b->cov->asked[c]);
        if (b->cov->cleared != NULL)
            __builtin_prefetch(&b->cov->cleared[c]);
    }
}

/* Of all routers the stalest first; where one test is enough, router by
 * router until there is one. */
static void lay_rail(struct taut_board *b, struct list *l, uint32_t flows)
{
    uint32_t before = b->n_tests;

    l->n = 0;
    for (uint32_t i = 0; i < b->n_routers; i++) {
        look_ahead(b, i);
        anchors_of(b, l, i);
        neighbours_of(b, l, i);
        if (!b->r.first_only)
            continue;
        lay_all(b, l, b->r.phases, flows);
        l->n = 0;
        if (b->n_tests > before)
            return;
    }
    lay_all(b, l, b->r.phases, flows);
}

int taut_board_routine(struct taut_board *b, uint32_t phases, uint32_t flows)
{
    uint32_t most = b->r.phases, before = b->n_tests;
    struct list l = {.c = NULL};

    b->r.phases = phases < most ? phases : most;
    for (uint32_t rail = 0; rail < b->g->rails && b->r.phases > 0; rail++) {
        taut_board_rail(b, rail);
        lay_rail(b, &l, flows);
    }
    b->r.phases = most;
    free(l.c);
    if (l.failed) {
        errno = ENOMEM;
        return -1;
    }
    return (int)(b->n_tests - before);
}
