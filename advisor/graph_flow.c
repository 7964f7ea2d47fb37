/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <stdlib.h>

#include "advisor/graph_flow.h"

#define NONE TAUT_GRAPH_NONE
#define LITTLE 1e-9 /* of a node's capacity: no flow worth looking for */

/* Which capacities hold, and which way the flow goes. */
struct setting {
    bool outward;
    bool healthy; /* everything, whatever g->left says */
    uint32_t c;   /* this component has 'left' of its capacity; or NONE */
    double left;
};

struct flow {
    const struct taut_graph *g;
    struct setting set;
    uint32_t node;
    double *on_link; /* [links] where link_run says that it is of this run */
    double *taken;   /* [routers] into the endpoints there; the same */
    uint32_t *link_run, *taken_run;
    uint32_t run;
    uint32_t *seen;  /* [routers] == round: reached in this one */
    uint32_t *via;   /* [routers] link by which */
    uint32_t *queue; /* [routers] */
    uint32_t round;
    bool only_home; /* the whole machine is on the node's own routers */
};

static void flow_destroy(struct flow *f)
{
    if (f == NULL)
        return;
    free(f->on_link);
    free(f->taken);
    free(f->link_run);
    free(f->taken_run);
    free(f->seen);
    free(f->via);
    free(f->queue);
    free(f);
}

static struct flow *flow_create(const struct taut_graph *g)
{
    struct flow *f = calloc(1, sizeof(*f));

    if (f == NULL)
        return NULL;
    f->g = g;
    f->on_link = calloc((size_t)g->links + 1, sizeof(*f->on_link));
    f->taken = calloc(g->routers, sizeof(*f->taken));
    f->link_run = calloc((size_t)g->links + 1, sizeof(*f->link_run));
    f->taken_run = calloc(g->routers, sizeof(*f->taken_run));
    f->seen = calloc(g->routers, sizeof(*f->seen));
    f->via = calloc(g->routers, sizeof(*f->via));
    f->queue = calloc(g->routers, sizeof(*f->queue));
    if (f->on_link && f->taken && f->link_run && f->taken_run && f->seen &&
        f->via && f->queue)
        return f;
    flow_destroy(f);
    errno = ENOMEM;
    return NULL;
}

/* ---- capacities ---- */

static double capacity(const struct taut_graph *g, const struct setting *s,
                       uint32_t c)
{
    if (c == s->c)
        return g->capacity[c] * s->left;
    return g->capacity[c] * (s->healthy ? 1 : g->left[c]);
}

/* Of an endpoint, into the fabric or out of it. */
static uint32_t port(const struct setting *s, uint32_t e, bool is_source)
{
    return is_source == s->outward ? taut_graph_tx(e) : taut_graph_rx(e);
}

static double on_link(const struct flow *f, uint32_t l)
{
    return f->link_run[l] == f->run ? f->on_link[l] : 0;
}

static double taken(const struct flow *f, uint32_t r)
{
    return f->taken_run[r] == f->run ? f->taken[r] : 0;
}

static bool is_home(const struct flow *f, uint32_t r)
{
    for (uint32_t k = 0; k < f->g->rails; k++)
        if (f->g->at[k * f->g->nodes + f->node] == r)
            return true;
    return false;
}

/* What the endpoints on a router take. */
static double takes(const struct flow *f, uint32_t r)
{
    const struct taut_graph *g = f->g;
    double sum = 0;

    if (is_home(f, r) && !f->only_home)
        return 0;
    for (uint32_t i = g->on_first[r]; i < g->on_first[r + 1]; i++)
        if (g->on[i] % g->nodes != f->node)
            sum += capacity(g, &f->set, port(&f->set, g->on[i], false));
    return sum;
}

/* ---- augmenting paths ---- */

static void reach(struct flow *f, uint32_t r, uint32_t via, uint32_t *last)
{
    if (f->seen[r] == f->round)
        return;
    f->seen[r] = f->round;
    f->via[r] = via;
    f->queue[(*last)++] = r;
}

/* In the direction of the flow a link leads from 'tail' to 'head'. */
static uint32_t head(const struct flow *f, uint32_t l)
{
    return f->set.outward ? f->g->to[l] : f->g->from[l];
}

static uint32_t tail(const struct flow *f, uint32_t l)
{
    return f->set.outward ? f->g->from[l] : f->g->to[l];
}

static double room(const struct flow *f, uint32_t l)
{
    return capacity(f->g, &f->set, taut_graph_link(f->g, l)) - on_link(f, l);
}

static void reach_from(struct flow *f, uint32_t r, double little,
                       uint32_t *last)
{
    const struct taut_graph *g = f->g;

    for (uint32_t i = g->out_first[r]; i < g->out_first[r + 1]; i++) {
        uint32_t l = g->out[i];
        if ((f->set.outward ? room(f, l) : on_link(f, l)) > little)
            reach(f, g->to[l], l, last);
    }
    for (uint32_t i = g->in_first[r]; i < g->in_first[r + 1]; i++) {
        uint32_t l = g->in[i];
        if ((f->set.outward ? on_link(f, l) : room(f, l)) > little)
            reach(f, g->from[l], l, last);
    }
}

/* The nearest router whose endpoints take more, from one rail's router. */
static uint32_t find_sink(struct flow *f, uint32_t start, double little)
{
    uint32_t last = 0;

    f->round++;
    reach(f, start, NONE, &last);
    for (uint32_t i = 0; i < last; i++) {
        uint32_t r = f->queue[i];
        if (takes(f, r) - taken(f, r) > little)
            return r;
        reach_from(f, r, little, &last);
    }
    return NONE;
}

/* The router before r on the path that was found, and what fits there. */
static uint32_t step_back(const struct flow *f, uint32_t r, double *fits)
{
    uint32_t l = f->via[r];
    bool forward = head(f, l) == r;

    *fits = forward ? room(f, l) : on_link(f, l);
    return forward ? tail(f, l) : head(f, l);
}

static void push(struct flow *f, uint32_t sink, double amount)
{
    f->taken[sink] = taken(f, sink) + amount;
    f->taken_run[sink] = f->run;
    for (uint32_t r = sink; f->via[r] != NONE;) {
        uint32_t l = f->via[r];
        double ignored;
        uint32_t before = step_back(f, r, &ignored);
        f->on_link[l] = on_link(f, l) + (head(f, l) == r ? amount : -amount);
        f->link_run[l] = f->run;
        r = before;
    }
}

static double augment(struct flow *f, uint32_t sink, double amount)
{
    double fits = takes(f, sink) - taken(f, sink);

    amount = fits < amount ? fits : amount;
    for (uint32_t r = sink; f->via[r] != NONE;) {
        r = step_back(f, r, &fits);
        amount = fits < amount ? fits : amount;
    }
    push(f, sink, amount);
    return amount;
}

static double flow_of_rail(struct flow *f, uint32_t rail)
{
    const struct taut_graph *g = f->g;
    uint32_t e = rail * g->nodes + f->node;
    double most, little, sum = 0;

    if (g->at[e] == NONE)
        return 0;
    most = capacity(g, &f->set, port(&f->set, e, true));
    little = LITTLE * g->capacity[port(&f->set, e, true)];
    while (most - sum > little) {
        uint32_t sink = find_sink(f, g->at[e], little);
        if (sink == NONE)
            break;
        sum += augment(f, sink, most - sum);
    }
    return sum;
}

static bool has_only_home(struct flow *f)
{
    const struct taut_graph *g = f->g;

    for (uint32_t e = 0; e < g->endpoints; e++)
        if (g->at[e] != NONE && !is_home(f, g->at[e]))
            return false;
    return true;
}

/* What one rail took stays taken for the next; earlier rails give way where
 * that helps, since their flow can be turned round. */
static double run(struct flow *f, uint32_t node, const struct setting *s)
{
    double sum = 0;

    f->node = node;
    f->set = *s;
    f->only_home = has_only_home(f);
    f->run++;
    for (uint32_t k = 0; k < f->g->rails; k++)
        sum += flow_of_rail(f, k);
    return sum;
}

int taut_flow_of_node(const struct taut_graph *g, uint32_t node, bool outward,
                      uint32_t c, double left, double *flow)
{
    struct setting s = {
        .outward = outward, .healthy = c == NONE, .c = c, .left = left};
    struct flow *f = flow_create(g);

    if (f == NULL)
        return -1;
    *flow = run(f, node, &s);
    flow_destroy(f);
    return 0;
}

/* ---- behind ---- */

static bool is_behind(struct flow *f, uint32_t node, bool outward, uint32_t c,
                      double left, double share)
{
    struct setting s = {.outward = outward, .healthy = true, .c = NONE};
    double whole = run(f, node, &s);

    s.healthy = false;
    double as_is = run(f, node, &s);
    s.c = c;
    s.left = left;
    double with_c = run(f, node, &s);
    return with_c < share * whole && with_c < as_is * (1 - LITTLE);
}

/* The routers whose nodes a link can cut off: those before it (outward) or
 * behind it, so far as the endpoints on the way do not take what the nodes
 * send.  A cut that a link is part of has all of that way on one side. */
struct suspects {
    uint32_t *list, count;
    double *cost; /* [routers] of the way; < 0: not reached */
};

static double endpoints_take(const struct taut_graph *g,
                             const struct setting *s, uint32_t r)
{
    double sum = 0;

    for (uint32_t i = g->on_first[r]; i < g->on_first[r + 1]; i++)
        sum += capacity(g, s, port(s, g->on[i], false));
    return sum;
}

static double largest_source(const struct taut_graph *g,
                             const struct setting *s)
{
    double most = 0;

    for (uint32_t i = 0; i < g->nodes; i++) {
        double sum = 0;
        for (uint32_t k = 0; k < g->rails; k++)
            sum += g->capacity[port(s, k * g->nodes + i, true)];
        most = sum > most ? sum : most;
    }
    return most;
}

/* One router's neighbours, one step further from the link.  Returns whether
 * any of them can be had for less than before. */
static bool suspect_before(const struct taut_graph *g, const struct setting *s,
                           struct suspects *sus, uint32_t r, double most)
{
    double cost = sus->cost[r] + endpoints_take(g, s, r);
    const uint32_t *first = s->outward ? g->in_first : g->out_first;
    bool any = false;

    for (uint32_t k = first[r]; cost < most && k < first[r + 1]; k++) {
        uint32_t p = s->outward ? g->from[g->in[k]] : g->to[g->out[k]];
        if (sus->cost[p] >= 0 && sus->cost[p] <= cost)
            continue;
        if (sus->cost[p] < 0)
            sus->list[sus->count++] = p;
        sus->cost[p] = cost;
        any = true;
    }
    return any;
}

static void suspect_from(const struct taut_graph *g, const struct setting *s,
                         struct suspects *sus, uint32_t start, double most)
{
    bool again = true;

    for (uint32_t r = 0; r < g->routers; r++)
        sus->cost[r] = -1;
    sus->cost[start] = 0;
    sus->list[0] = start;
    sus->count = 1;
    while (again) {
        again = false;
        for (uint32_t i = 0; i < sus->count; i++)
            again |= suspect_before(g, s, sus, sus->list[i], most);
    }
}

/* Marks the nodes behind link c in one direction.  Nodes on one router are
 * alike when they have one rail of the same capacity. */
static void mark_router(struct flow *f, uint32_t r, const struct setting *s,
                        double share, bool *marked)
{
    const struct taut_graph *g = f->g;
    double last = -1;
    bool behind = false;

    for (uint32_t i = g->on_first[r]; i < g->on_first[r + 1]; i++) {
        uint32_t e = g->on[i], node = e % g->nodes;
        double cap =
            capacity(g, &(struct setting){.c = NONE}, port(s, e, true));
        if (marked[node])
            continue;
        if (cap != last || g->rails > 1)
            behind = is_behind(f, node, s->outward, s->c, s->left, share);
        marked[node] = behind;
        last = cap;
    }
}

static int mark_link(struct flow *f, struct setting *s, double share,
                     bool *marked)
{
    const struct taut_graph *g = f->g;
    struct suspects sus = {
        .list = malloc(g->routers * sizeof(*sus.list)),
        .cost = malloc(g->routers * sizeof(*sus.cost)),
    };
    uint32_t l = s->c - 2 * g->endpoints;
    int rc = sus.list != NULL && sus.cost != NULL ? 0 : -1;

    if (rc == 0)
        suspect_from(g, s, &sus, s->outward ? g->from[l] : g->to[l],
                     share * largest_source(g, s));
    for (uint32_t i = 0; rc == 0 && i < sus.count; i++)
        mark_router(f, sus.list[i], s, share, marked);
    free(sus.list);
    free(sus.cost);
    return rc;
}

static int mark(struct flow *f, uint32_t c, double left, double share,
                bool *marked)
{
    const struct taut_graph *g = f->g;
    struct setting s = {.outward = true, .c = c, .left = left};

    if (c < 2 * g->endpoints) {
        uint32_t node = c / 2 % g->nodes;
        marked[node] = is_behind(f, node, c % 2 == 0, c, left, share);
        return 0;
    }
    if (mark_link(f, &s, share, marked) < 0)
        return -1;
    s.outward = false;
    return mark_link(f, &s, share, marked);
}

int taut_flow_behind(const struct taut_graph *g, uint32_t c, double left,
                     double share, uint32_t *nodes)
{
    struct flow *f = flow_create(g);
    bool *marked = calloc(g->nodes, sizeof(*marked));
    int n = -1;

    if (f != NULL && marked != NULL && mark(f, c, left, share, marked) == 0) {
        n = 0;
        for (uint32_t i = 0; i < g->nodes; i++)
            if (marked[i])
                nodes[n++] = i;
    }
    flow_destroy(f);
    free(marked);
    if (n < 0)
        errno = ENOMEM;
    return n;
}
