/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between which routers a component can be tested: those whose routes to its
 * far end cross it, and those its near end reaches over it, nearest first.
 *
 * Let link l lead from u to v.  Router r is up of l where the route from r to v
 * crosses l; router s is down of l where the route from u to s does.  A pair
 * (r, s) is a good guess for a test of l; a plan asks the route of each pair it
 * uses in any case.
 *
 * They are found by following links outward from the component, as long as
 * routes go on crossing it.  On all machines whose routes are made of routes
 * these are all: if r is up of l, so is each router on the way from r to u.
 * The search is breadth-first, and looks at the links of ENDS_MOST routers at
 * most.
 *
 * TAUT_PLAN_ENDS_KEPT components with ENDS_MOST routers of four bytes on each
 * side are 4 MB. */
#include <config.h>

#include <stdlib.h>
#include <string.h>

#include "advisor/lib/plan/inside.h"

#define ENDS_MOST 64    /* routers kept on each side */
#define DESTINATIONS 64 /* nodes of a router whose routes are looked at */
#define SAMPLES 48      /* routers of the plan looked at beyond these */
#define SAMPLED 6       /* and kept */

/* May a route from r to s take link l? */
static bool crosses(struct taut_board *b, uint32_t r, uint32_t s, uint32_t l)
{
    const struct taut_graph *g = b->g;
    uint32_t first = g->on_first[s], n = g->on_first[s + 1] - first;

    if (!g->engine->by_destination || n == 0)
        return taut_graph_crosses(g, r, s, TAUT_GRAPH_NONE, l, &b->route);
    for (uint32_t i = 0; i < n && i < DESTINATIONS; i++)
        if (taut_graph_crosses(g, r, s, g->on[first + i], l, &b->route))
            return true;
    return false;
}

/* Routers up or down of link l into out[]; returns how many.  out[] is the
 * queue of the search, too: nearest first. */
static uint32_t search(struct taut_board *b, uint32_t l, bool up, uint32_t *out)
{
    const struct taut_graph *g = b->g;
    const uint32_t *first = up ? g->in_first : g->out_first;
    const uint32_t *link = up ? g->in : g->out;
    uint32_t n = 1;

    taut_board_new_visit(b);
    out[0] = up ? g->from[l] : g->to[l];
    taut_board_visit(b, out[0]);
    for (uint32_t i = 0; i < n && n < ENDS_MOST; i++)
        for (uint32_t k = first[out[i]]; k < first[out[i] + 1] && n < ENDS_MOST;
             k++) {
            uint32_t r = up ? g->from[link[k]] : g->to[link[k]];
            if (!taut_board_visit(b, r))
                continue;
            if (up ? crosses(b, r, g->to[l], l) : crosses(b, g->from[l], r, l))
                out[n++] = r;
        }
    return n;
}

void taut_board_forget_ends(struct taut_board *b, uint32_t c)
{
    if (b->ends[c] == NULL)
        return;
    free(b->ends[c]->up);
    free(b->ends[c]);
    b->ends[c] = NULL;
}

/* A place for c among those whose ends are kept.  Who was there the longest
 * goes, but a suspect, which every plan asks about, is passed over.  After half
 * a round of suspects one of them goes, so that the search ends. */
static void make_room(struct taut_board *b, uint32_t c)
{
    for (uint32_t tries = 0;; tries++) {
        uint32_t *at = &b->with_ends[b->n_ends++ % TAUT_PLAN_ENDS_KEPT];
        if (*at != 0) {
            uint32_t old = *at - 1;
            if ((b->mark[old] & TAUT_PLAN_SUSPECT) != 0 &&
                tries < TAUT_PLAN_ENDS_KEPT / 2)
                continue;
            taut_board_forget_ends(b, old);
        }
        *at = c + 1;
        return;
    }
}

struct taut_plan_ends *taut_board_ends(struct taut_board *b, uint32_t c)
{
    uint32_t down[ENDS_MOST];

    if (b->ends[c] != NULL)
        return b->ends[c];
    uint32_t n = search(b, c - 2 * b->g->endpoints, false, down);
    struct taut_plan_ends *e =
        malloc(sizeof(*e) + (size_t)n * sizeof(e->down[0]));
    if (e == NULL)
        return NULL;
    *e = (struct taut_plan_ends){.n_down = n};
    memcpy(e->down, down, n * sizeof(*down));
    make_room(b, c);
    b->ends[c] = e;
    return e;
}

bool taut_board_ends_up(struct taut_board *b, uint32_t c,
                        struct taut_plan_ends *e)
{
    uint32_t up[ENDS_MOST];

    if (e->up != NULL)
        return true;
    uint32_t n = search(b, c - 2 * b->g->endpoints, true, up);
    e->up = malloc(n * sizeof(*up));
    if (e->up == NULL)
        return false;
    memcpy(e->up, up, n * sizeof(*up));
    e->n_up = n;
    return true;
}

/* Asked for each suspect and plan, mostly in vain. */
static uint32_t pick(const struct taut_board *b, const uint32_t *router,
                     uint32_t n, uint32_t *out, uint32_t most)
{
    uint32_t found = 0;

    for (uint32_t i = 0; i < n && found < most; i++)
        if (taut_board_is_local(b, router[i]))
            out[found++] = b->local[router[i]] - 1;
    return found;
}

/* None of the nearest takes part: some of those that do, as it happens.
 * Without any it is as before a look. */
static uint32_t pick_any(struct taut_board *b, uint32_t l, bool up,
                         uint32_t *out)
{
    const struct taut_graph *g = b->g;
    uint64_t before = b->random;
    uint32_t n = 0;

    for (uint32_t k = 0; k < SAMPLES && n < SAMPLED; k++) {
        uint32_t i = taut_board_random(b, b->n_routers), r = b->router[i];
        bool is_new = true;
        for (uint32_t j = 0; j < n; j++)
            is_new = is_new && out[j] != i;
        if (is_new &&
            (up ? crosses(b, r, g->to[l], l) : crosses(b, g->from[l], r, l)))
            out[n++] = i;
    }
    if (n == 0)
        b->random = before;
    return n;
}

#define FEW_ROUTERS 64 /* asked one by one if they are up or down of a link */

/* Are there routers of the plan on both sides of link l?  So it is asked before
 * its ends are looked for, which takes longer, and mostly in vain; not where the
 * destination decides, since each of a router's nodes would have to be tried. */
static bool has_sides(struct taut_board *b, uint32_t l)
{
    const struct taut_graph *g = b->g;
    bool up = false, down = false;

    if (b->n_routers > FEW_ROUTERS || g->engine->by_destination)
        return true;
    for (uint32_t i = 0; i < b->n_routers && !(up && down); i++) {
        uint32_t r = b->router[i];
        up = up || r == g->from[l] || crosses(b, r, g->to[l], l);
        down = down || r == g->to[l] || crosses(b, g->from[l], r, l);
    }
    return up && down;
}

/* Up to 'most' routers on each side.  What is cheap and mostly says no comes
 * first: routes of the plan's few routers, those down of c, those up of it. */
static bool pick_ends(struct taut_board *b, uint32_t c, uint32_t most,
                      struct taut_plan_pick *p)
{
    const struct taut_graph *g = b->g;
    struct taut_plan_ends *e;

    if (c < 2 * g->endpoints) {
        uint32_t node = c / 2 % g->nodes;
        if (!b->is_here[node] || g->at[c / 2] == TAUT_GRAPH_NONE ||
            b->n_nodes < 2)
            return false;
        p->n_up = p->n_down = 0;
        return true;
    }
    uint32_t l = c - 2 * g->endpoints;
    if (b->ends[c] == NULL && !has_sides(b, l))
        return false;
    e = taut_board_ends(b, c);
    if (e == NULL)
        return false;
    p->n_down = pick(b, e->down, e->n_down, p->down, most);
    if (p->n_down == 0 && e->n_down < ENDS_MOST)
        return false;
    if (!taut_board_ends_up(b, c, e))
        return false;
    p->n_up = pick(b, e->up, e->n_up, p->up, most);
    /* what was not found may be further away than was looked */
    if (p->n_up == 0 && p->n_down > 0 && e->n_up == ENDS_MOST)
        p->n_up = pick_any(b, l, true, p->up);
    if (p->n_down == 0 && p->n_up > 0 && e->n_down == ENDS_MOST)
        p->n_down = pick_any(b, l, false, p->down);
    return p->n_up > 0 && p->n_down > 0;
}

bool taut_board_pick_ends(struct taut_board *b, uint32_t c,
                          struct taut_plan_pick *p)
{
    return pick_ends(b, c, TAUT_PLAN_PICK, p);
}

bool taut_board_has_ends(struct taut_board *b, uint32_t c)
{
    struct taut_plan_pick p;

    return pick_ends(b, c, 1, &p);
}

/* ---- who can help ---- */

struct helpers {
    uint32_t *node, n, most;
};

static void add_router(const struct taut_board *b, struct helpers *h,
                       uint32_t i)
{
    for (uint32_t k = b->first[i]; k < b->first[i + 1] && h->n < h->most; k++) {
        uint32_t node = b->ep[k] % b->g->nodes;
        bool is_new = true;
        for (uint32_t j = 0; j < h->n; j++)
            is_new = is_new && h->node[j] != node;
        if (is_new)
            h->node[h->n++] = node;
    }
}

/* Of a port: its node, those on its router, those one link on, any others. */
static void add_near(struct taut_board *b, struct helpers *h, uint32_t e)
{
    const struct taut_graph *g = b->g;
    uint32_t r = g->at[e];

    h->node[h->n++] = e % g->nodes;
    add_router(b, h, b->local[r] - 1);
    for (uint32_t k = g->out_first[r]; k < g->out_first[r + 1]; k++)
        if (b->local[g->to[g->out[k]]] != 0)
            add_router(b, h, b->local[g->to[g->out[k]]] - 1);
    for (uint32_t k = 0; k < 4 * h->most && h->n < h->most; k++)
        add_router(b, h, taut_board_random(b, b->n_routers));
}

uint32_t taut_board_helpers(struct taut_board *b, uint32_t c, uint32_t *node,
                            uint32_t most)
{
    struct helpers h = {node, 0, most};
    struct taut_plan_pick p;

    if (most == 0)
        return 0;
    for (uint32_t rail = 0; rail < b->g->rails && h.n == 0; rail++) {
        taut_board_rail(b, rail);
        if ((c < 2 * b->g->endpoints && c / 2 / b->g->nodes != rail) ||
            !taut_board_pick_ends(b, c, &p))
            continue;
        if (c < 2 * b->g->endpoints)
            add_near(b, &h, c / 2);
        for (uint32_t i = 0; i < p.n_up || i < p.n_down; i++) {
            if (i < p.n_up)
                add_router(b, &h, p.up[i]);
            if (i < p.n_down)
                add_router(b, &h, p.down[i]);
        }
    }
    return h.n;
}
