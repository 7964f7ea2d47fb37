/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <stdlib.h>

#include "advisor/lib/graph/flow_run.h"

#define NONE TAUT_GRAPH_NONE
void taut_flow_destroy(struct taut_flow *f)
{
    if (f == NULL)
        return;
    taut_arena_free(&f->memory);
    free(f);
}

struct taut_flow *taut_flow_create(const struct taut_graph *g)
{
    struct taut_flow *f = calloc(1, sizeof(*f));

    if (f == NULL)
        return NULL;
    f->g = g;
    TAUT_TAKE(&f->memory, f->on_link, (size_t)g->links + 1);
    TAUT_TAKE(&f->memory, f->taken, g->routers);
    TAUT_TAKE(&f->memory, f->link_run, (size_t)g->links + 1);
    TAUT_TAKE(&f->memory, f->taken_run, g->routers);
    TAUT_TAKE(&f->memory, f->seen, g->routers);
    TAUT_TAKE(&f->memory, f->via, g->routers);
    TAUT_TAKE(&f->memory, f->queue, g->routers);
    if (!f->memory.is_short)
        return f;
    taut_flow_destroy(f);
    return NULL;
}

/* ---- capacities ---- */

double taut_flow_capacity(const struct taut_graph *g,
                          const struct taut_flow_setting *s, uint32_t c)
{
    if (c == s->c)
        return g->capacity[c] * s->left;
    return g->capacity[c] * (s->healthy ? 1 : g->left[c]);
}

uint32_t taut_flow_port(const struct taut_flow_setting *s, uint32_t e,
                        bool is_source)
{
    return is_source == s->outward ? taut_graph_tx(e) : taut_graph_rx(e);
}

static double on_link(const struct taut_flow *f, uint32_t l)
{
    return f->link_run[l] == f->run ? f->on_link[l] : 0;
}

static double taken(const struct taut_flow *f, uint32_t r)
{
    return f->taken_run[r] == f->run ? f->taken[r] : 0;
}

static bool is_home(const struct taut_flow *f, uint32_t r)
{
    for (uint32_t k = 0; k < f->g->rails; k++)
        if (f->g->at[k * f->g->nodes + f->node] == r)
            return true;
    return false;
}

/* What the endpoints on a router take. */
static double takes(const struct taut_flow *f, uint32_t r)
{
    const struct taut_graph *g = f->g;
    double sum = 0;

    if (is_home(f, r) && !f->only_home)
        return 0;
    for (uint32_t i = g->on_first[r]; i < g->on_first[r + 1]; i++)
        if (g->on[i] % g->nodes != f->node)
            sum += taut_flow_capacity(g, &f->set,
                                      taut_flow_port(&f->set, g->on[i], false));
    return sum;
}

/* ---- augmenting paths ---- */

static void reach(struct taut_flow *f, uint32_t r, uint32_t via, uint32_t *last)
{
    if (f->seen[r] == f->round)
        return;
    f->seen[r] = f->round;
    f->via[r] = via;
    f->queue[(*last)++] = r;
}

/* In the direction of the flow a link leads from 'tail' to 'head'. */
static uint32_t head(const struct taut_flow *f, uint32_t l)
{
    return f->set.outward ? f->g->to[l] : f->g->from[l];
}

static uint32_t tail(const struct taut_flow *f, uint32_t l)
{
    return f->set.outward ? f->g->from[l] : f->g->to[l];
}

static double room(const struct taut_flow *f, uint32_t l)
{
    return taut_flow_capacity(f->g, &f->set, taut_graph_link(f->g, l)) -
           on_link(f, l);
}

static void reach_from(struct taut_flow *f, uint32_t r, double little,
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
static uint32_t find_sink(struct taut_flow *f, uint32_t start, double little)
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
static uint32_t step_back(const struct taut_flow *f, uint32_t r, double *fits)
{
    uint32_t l = f->via[r];
    bool forward = head(f, l) == r;

    *fits = forward ? room(f, l) : on_link(f, l);
    return forward ? tail(f, l) : head(f, l);
}

static void push(struct taut_flow *f, uint32_t sink, double amount)
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

static double augment(struct taut_flow *f, uint32_t sink, double amount)
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

static double flow_of_rail(struct taut_flow *f, uint32_t rail)
{
    const struct taut_graph *g = f->g;
    uint32_t e = rail * g->nodes + f->node;
    double most, little, sum = 0;

    if (g->at[e] == NONE)
        return 0;
    most = taut_flow_capacity(g, &f->set, taut_flow_port(&f->set, e, true));
    little = TAUT_FLOW_LITTLE * g->capacity[taut_flow_port(&f->set, e, true)];
    while (most - sum > little) {
        uint32_t sink = find_sink(f, g->at[e], little);
        if (sink == NONE)
            break;
        sum += augment(f, sink, most - sum);
    }
    return sum;
}

static bool has_only_home(struct taut_flow *f)
{
    const struct taut_graph *g = f->g;

    for (uint32_t e = 0; e < g->endpoints; e++)
        if (g->at[e] != NONE && !is_home(f, g->at[e]))
            return false;
    return true;
}

/* What one rail took stays taken for the next; earlier rails give way where
 * that helps, since their flow can be turned round. */
double taut_flow_run(struct taut_flow *f, uint32_t node,
                     const struct taut_flow_setting *s)
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
    struct taut_flow_setting s = {
        .outward = outward, .healthy = c == NONE, .c = c, .left = left};
    struct taut_flow *f = taut_flow_create(g);

    if (f == NULL)
        return -1;
    *flow = taut_flow_run(f, node, &s);
    taut_flow_destroy(f);
    return 0;
}
