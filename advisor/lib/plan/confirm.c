/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tests that decide about one component.
 *
 * Of all pairs of nodes (a, b) whose way crosses component c, the cheapest is
 * tested, then the next, and so on.  The cost says how little a test tells:
 *
 *   cost(a, b) = sum over other links l of the way  (LINK + M(l))
 *              + COST_FOREIGN  for each link out of a router without nodes of
 *                              the plan
 *              + COST_NARROW   for each link with cap(l) < good cap(c)
 *              + sum over the ends, tx of a and rx of b, that are not c
 *                              (M + SEEN min(times, SEEN_MOST))
 *              + COST_RIVAL_ACK  for each rival on the way back, where a node
 *                              does one thing at a time
 *
 *   M(x)   COST_SUSPECT if x is another suspect, plus COST_RIVAL if x is one of
 *          the components that the test ought to tell apart from c
 *   LINK   COST_LINK, of a tx or rx COST_LINK_PORT
 *   SEEN   COST_SEEN, of a tx or rx COST_SEEN_PORT
 *   times  that tests of c used the node already
 *
 * What the numbers say of a link's tests: a rival is worth ten suspects, since
 * a test over both tells nothing of a tie.  A suspect is worth 6 links, a link
 * that is too narrow 8.  A node that was not used yet is worth less than 2
 * links.  Of a tx or rx it may be worth 36: only its far ends can bear witness.
 *
 * All that depends on routers only is reckoned once for each pair of routers
 * (links_cost, ack_cost), of which there are PAIRS_MOST at most; the ends are
 * added for each pair of their nodes. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "advisor/lib/plan/inside.h"

/* What a pair costs as evidence. */
#define COST_LINK 50      /* each link on the way to a link … */
#define COST_LINK_PORT 10 /* … and to a tx or rx */
#define COST_SUSPECT 300  /* another suspect on the way */
#define COST_RIVAL 3000   /* one that the test ought to tell apart */
#define COST_RIVAL_ACK 1500
#define COST_SEEN 15      /* per time a node was used already for a link … */
#define COST_SEEN_PORT 60 /* … and a far end for a tx or rx … */
#define SEEN_MOST 6       /* … as far as it makes a difference */
#define COST_FOREIGN 20   /* a link that leaves a router of somebody else */
#define COST_NARROW 400   /* a link too narrow to show what is asked about */

#define NEAR_LINKS 3   /* on a way that tells much */
#define OTHERS_MOST 48 /* far ends of a tx or rx that are looked at */
#define PAIRS_MOST (TAUT_PLAN_PICK * TAUT_PLAN_PICK)

struct pair {
    uint32_t from, to; /* numbers in b->router */
    uint32_t dst;      /* endpoint, where routes depend on it; else NONE */
    uint32_t cost;
};

struct choice {
    uint32_t src, dst, cost;
};

static bool is_on(const struct taut_plan_way *w, uint32_t c)
{
    for (uint32_t i = 0; i < w->n; i++)
        if ((w->c[i] & ~TAUT_PLAN_UNSURE) == c)
            return true;
    return false;
}

static uint32_t mark_cost(uint8_t mark)
{
    return ((mark & TAUT_PLAN_SUSPECT) != 0 ? COST_SUSPECT : 0) +
           ((mark & TAUT_PLAN_RIVAL) != 0 ? COST_RIVAL : 0);
}

/* Cost of the links on b->way, but for c.  Of a set every member counts. */
static uint32_t links_cost(const struct taut_board *b, uint32_t c)
{
    const struct taut_graph *g = b->g;
    uint32_t each = c < 2 * g->endpoints ? COST_LINK_PORT : COST_LINK, cost = 0;

    for (uint32_t i = 1; i + 1 < b->way.n; i++) {
        uint32_t on = b->way.c[i] & ~TAUT_PLAN_UNSURE;
        uint32_t from = g->from[on - 2 * g->endpoints];
        cost += on == c ? 0 : each + mark_cost(b->mark[on]);
        cost += b->local[from] == 0 ? COST_FOREIGN : 0;
        cost += g->capacity[on] < b->r.good * g->capacity[c] ? COST_NARROW : 0;
    }
    return cost;
}

static uint32_t ends_cost(const struct taut_board *b, uint32_t src,
                          uint32_t dst, uint32_t c)
{
    uint32_t tx = taut_graph_tx(src), rx = taut_graph_rx(dst), n = b->g->nodes;
    uint32_t at_src = b->seen[src % n], at_dst = b->seen[dst % n];
    uint32_t each = c < 2 * b->g->endpoints ? COST_SEEN_PORT : COST_SEEN;

    at_src = at_src < SEEN_MOST ? at_src : SEEN_MOST;
    at_dst = at_dst < SEEN_MOST ? at_dst : SEEN_MOST;

    return (tx == c ? 0 : mark_cost(b->mark[tx]) + each * at_src) +
           (rx == c ? 0 : mark_cost(b->mark[rx]) + each * at_dst);
}

/* Acknowledgements that meet a rival leave the tie where it is. */
static uint32_t ack_cost(struct taut_board *b, uint32_t src, uint32_t dst)
{
    uint32_t cost = 0;

    if (b->r.duplex || !taut_board_way(b, dst, src, &b->back))
        return 0;
    for (uint32_t i = 0; i < b->back.n; i++)
        if ((b->mark[b->back.c[i] & ~TAUT_PLAN_UNSURE] & TAUT_PLAN_RIVAL) != 0)
            cost += COST_RIVAL_ACK;
    return cost;
}

/* ---- candidates ---- */

/* A pair of routers whose way to 'dst' takes link c. */
static uint32_t add_pair(struct taut_board *b, uint32_t c, uint32_t from,
                         uint32_t to, uint32_t dst, struct pair *list)
{
    uint32_t src = b->ep[b->first[from]];
    bool by_dst = b->g->engine->by_destination;

    if (!taut_board_way(b, src, dst, &b->way) || !is_on(&b->way, c) ||
        taut_board_is_long(b))
        return 0;
    list[0] = (struct pair){.from = from,
                            .to = to,
                            .dst = by_dst ? dst : TAUT_GRAPH_NONE,
                            .cost = links_cost(b, c) + ack_cost(b, src, dst)};
    return 1;
}

/* Pairs of routers whose way takes link c: each router of the pick that is up
 * of it with each that is down of it, nearest first.  Where the destination
 * decides the route, each node of the far router is a pair of its own. */
static uint32_t link_pairs(struct taut_board *b, uint32_t c,
                           const struct taut_plan_pick *p, struct pair *list)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->n_up; i++)
        for (uint32_t k = 0; k < p->n_down; k++) {
            uint32_t to = p->down[k], e = b->first[to];
            uint32_t last =
                b->g->engine->by_destination ? b->first[to + 1] : e + 1;
            for (; p->up[i] != to && e < last && n < PAIRS_MOST; e++)
                n += add_pair(b, c, p->up[i], to, b->ep[e], &list[n]);
        }
    return n;
}

/* Routers that a tx or rx is tested with: its own, those one link on, and some
 * more of the plan. */
static uint32_t port_pairs(struct taut_board *b, uint32_t c, struct pair *list)
{
    const struct taut_graph *g = b->g;
    uint32_t e = c / 2, r = g->at[e], own = b->local[r] - 1, n = 0;
    uint32_t to[OTHERS_MOST], m = 0;
    bool sends = (c & 1) == 0;

    if (b->first[own + 1] - b->first[own] > 1)
        to[m++] = own;
    if (b->n_routers <= OTHERS_MOST) {
        for (uint32_t i = 0; i < b->n_routers; i++)
            if (i != own)
                to[m++] = i;
    } else {
        for (uint32_t k = g->out_first[r];
             k < g->out_first[r + 1] && m < OTHERS_MOST / 2; k++)
            if (b->local[g->to[g->out[k]]] != 0)
                to[m++] = b->local[g->to[g->out[k]]] - 1;
        while (m < OTHERS_MOST) {
            uint32_t i = taut_board_random(b, b->n_routers);
            if (i != own)
                to[m++] = i;
        }
    }
    for (uint32_t i = 0; i < m; i++) {
        uint32_t far = b->ep[b->first[to[i]]];
        if (to[i] == own) {
            list[n++] =
                (struct pair){.from = own, .to = own, .dst = TAUT_GRAPH_NONE};
        } else if (taut_board_way(b, sends ? e : far, sends ? far : e,
                                  &b->way) &&
                   !taut_board_is_long(b)) {
            list[n++] = (struct pair){
                .from = sends ? own : to[i],
                .to = sends ? to[i] : own,
                .dst = TAUT_GRAPH_NONE,
                .cost = links_cost(b, c) +
                        ack_cost(b, sends ? e : far, sends ? far : e)};
        }
    }
    return n;
}

/* The nodes of the cheapest pair; nodes of one router differ in their own ports
 * and in how often they were used.  Costs of ends are not negative: a pair of
 * routers that is no cheaper than the best pair of nodes is passed over. */
static struct choice cheapest(const struct taut_board *b, uint32_t c,
                              const struct pair *list, uint32_t n)
{
    struct choice best = {.cost = UINT32_MAX};

    for (uint32_t i = 0; i < n; i++) {
        if (list[i].cost >= best.cost)
            continue;
        for (uint32_t j = b->first[list[i].from];
             j < b->first[list[i].from + 1]; j++)
            for (uint32_t k = b->first[list[i].to];
                 k < b->first[list[i].to + 1]; k++) {
                uint32_t src = b->ep[j], dst = b->ep[k];
                bool is_dst =
                    list[i].dst == TAUT_GRAPH_NONE || list[i].dst == dst;
                bool is_it = c >= 2 * b->g->endpoints ||
                             ((c & 1) == 0 ? src : dst) == c / 2;
                uint32_t cost = list[i].cost + ends_cost(b, src, dst, c);
                if (is_it && is_dst && src != dst && cost < best.cost)
                    best = (struct choice){src, dst, cost};
            }
    }
    return best;
}

/* ---- laying out ---- */

static void note_seen(struct taut_board *b, uint32_t e, uint32_t by)
{
    uint32_t v = (uint32_t)b->seen[e % b->g->nodes] + by;

    b->seen[e % b->g->nodes] =
        (uint8_t)(v < TAUT_PLAN_SEEN_MAX ? v : TAUT_PLAN_SEEN_MAX);
}

/* Other nodes of the same two routers, to send at the same time. */
static uint32_t companions(const struct taut_board *b, struct taut_plan_test *t,
                           uint32_t want)
{
    uint32_t from = b->local[b->g->at[t[0].src]] - 1, n = 1;
    uint32_t to = b->local[b->g->at[t[0].dst]] - 1;
    uint32_t j = b->first[from], k = b->first[to];

    while (n < want) {
        while (j < b->first[from + 1] && b->ep[j] == t[0].src)
            j++;
        while (k < b->first[to + 1] && b->ep[k] == t[0].dst)
            k++;
        if (j >= b->first[from + 1] || k >= b->first[to + 1])
            return 1;
        t[n] = t[0];
        t[n].src = b->ep[j++];
        t[n++].dst = b->ep[k++];
    }
    return n;
}

/* One stream first, then several at once in a later phase, where these are
 * wanted.  Either both tests are laid out or none: one alone does not tell busy
 * from broken.  The n senders of a wide link are laid out as a group each
 * time. */
static bool lay_pair(struct taut_board *b, const struct taut_plan_want *w,
                     const struct choice *x)
{
    struct taut_plan_test t[TAUT_PLAN_MAX_SENDERS];

    t[0] = (struct taut_plan_test){.src = x->src,
                                   .dst = x->dst,
                                   .confirms = w->c,
                                   .kind = (uint8_t)w->kind,
                                   .flows = (uint8_t)w->flows,
                                   .streams = 1};
    uint32_t n = companions(b, t, taut_board_senders(b, x->src, x->dst, w->c));
    int p = taut_board_place_group(b, t, n, 0, true);
    if (p < 0)
        return false;
    if (w->streams > 1) {
        for (uint32_t i = 0; i < n; i++)
            t[i].streams = (uint8_t)w->streams;
        if (taut_board_place_group(b, t, n, (uint32_t)p + 1, true) < 0) {
            taut_board_take_back(b, n);
            return false;
        }
    }
    return true;
}

static bool has_anchor(const struct taut_board *b, uint32_t e, bool sends)
{
    for (uint32_t i = 0; i < b->n_tests; i++)
        if (b->tests[i].kind == TAUT_PLAN_ANCHOR &&
            (sends ? b->tests[i].src : b->tests[i].dst) == e)
            return true;
    return false;
}

/* No fabric link lies between nodes of one router: whatever else the test of a
 * link accuses, its ends are decided by these. */
static void lay_anchor(struct taut_board *b, uint32_t e, bool sends)
{
    uint32_t i = b->local[b->g->at[e]] - 1;

    if (has_anchor(b, e, sends))
        return;
    for (uint32_t k = b->first[i]; k < b->first[i + 1]; k++) {
        struct taut_plan_test t = {.src = sends ? e : b->ep[k],
                                   .dst = sends ? b->ep[k] : e,
                                   .confirms = TAUT_GRAPH_NONE,
                                   .kind = TAUT_PLAN_ANCHOR,
                                   .flows = 1,
                                   .streams = 1};
        if (b->ep[k] != e && taut_board_place(b, &t, 0, true) >= 0)
            return;
    }
}

static uint32_t candidates(struct taut_board *b, uint32_t c, struct pair *list)
{
    struct taut_plan_pick p;
    bool is_port = c < 2 * b->g->endpoints;

    for (uint32_t rail = is_port ? c / 2 / b->g->nodes : 0; rail < b->g->rails;
         rail++) {
        taut_board_rail(b, rail);
        uint32_t n = !taut_board_pick_ends(b, c, &p) ? 0
                     : is_port ? port_pairs(b, c, list)
                               : link_pairs(b, c, &p, list);
        if (n > 0 || is_port)
            return n;
    }
    return 0;
}

/* Over a long way nearly every test meets somebody: one at a time. */
static bool is_far(struct taut_board *b, const struct taut_plan_want *w,
                   const struct choice *x)
{
    return w->c >= 2 * b->g->endpoints &&
           taut_board_way(b, x->src, x->dst, &b->way) &&
           b->way.stages > NEAR_LINKS + 2;
}

/* What makes sense of a test over links: anchors for its ends, and a look at
 * the neighbourhood of each router on the way. */
static void lay_beside(struct taut_board *b, const struct taut_plan_want *w,
                       const struct choice *x)
{
    if (w->around == 0 || w->c < 2 * b->g->endpoints)
        return;
    lay_anchor(b, x->src, true);
    lay_anchor(b, x->dst, false);
    taut_board_around(b, x->src, x->dst, w);
}

static void mark_rivals(struct taut_board *b, const struct taut_plan_want *w,
                        bool yes)
{
    for (uint32_t i = 0; i < w->n_rivals; i++) {
        uint8_t *mark = &b->mark[w->rival[i]];
        *mark =
            (uint8_t)(yes ? *mark | TAUT_PLAN_RIVAL : *mark & ~TAUT_PLAN_RIVAL);
    }
}

static void begin_seen(struct taut_board *b, const struct taut_plan_want *w)
{
    for (uint32_t i = 0; i < w->n_seen; i++)
        note_seen(b, w->seen[i].node, w->seen[i].times);
}

static void end_seen(struct taut_board *b, const struct taut_plan_want *w)
{
    for (uint32_t i = 0; i < w->n_seen; i++)
        b->seen[w->seen[i].node] = 0;
    for (uint32_t i = 0; i < b->n_nodes; i++)
        b->seen[b->node[i]] = 0;
}

/* Greedy: the cheapest pair; then the cheapest of all, where using the first
 * one's nodes again costs SEEN; and so on, until there are enough.  Each pair
 * that is wanted allows four tries. */
static uint32_t lay_pairs(struct taut_board *b, struct taut_plan_want w)
{
    struct pair list[PAIRS_MOST];
    uint32_t n = candidates(b, w.c, list), laid = 0, tries = 0;

    while (n > 0 && laid < w.pairs && tries++ < 4 * w.pairs) {
        struct choice x = cheapest(b, w.c, list, n);
        if (x.cost == UINT32_MAX)
            break;
        if (w.around > 0 && is_far(b, &w, &x))
            w.pairs = 1;
        bool ok = lay_pair(b, &w, &x);
        /* where there was no room, others are tried first */
        note_seen(b, x.src, ok ? 1 : 3);
        note_seen(b, x.dst, ok ? 1 : 3);
        if (!ok)
            continue;
        laid++;
        lay_beside(b, &w, &x);
        if (b->r.first_only)
            break;
    }
    return laid;
}

int taut_board_confirm(struct taut_board *b, const struct taut_plan_want *w)
{
    mark_rivals(b, w, true);
    begin_seen(b, w);
    uint32_t laid = lay_pairs(b, *w);
    end_seen(b, w);
    mark_rivals(b, w, false);
    return (int)laid;
}
