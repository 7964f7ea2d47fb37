/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between flow.c and behind.c: one flow after the other, in the
 * same arrays. */
#ifndef TAUT_ADVISOR_LIB_GRAPH_FLOW_RUN_H
#define TAUT_ADVISOR_LIB_GRAPH_FLOW_RUN_H

#include "advisor/lib/graph/flow.h"

#define TAUT_FLOW_LITTLE                                                       \
    1e-9 /* of a node's capacity: no flow worth looking for */

/* Which capacities hold, and which way the flow goes. */
struct taut_flow_setting {
    bool outward;
    bool healthy; /* everything, whatever g->left says */
    uint32_t c;   /* this component has 'left' of its capacity; or NONE */
    double left;
};

struct taut_flow {
    struct taut_arena memory;
    const struct taut_graph *g;
    struct taut_flow_setting set;
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

/* Returns NULL with ENOMEM. */
struct taut_flow *taut_flow_create(const struct taut_graph *g);
void taut_flow_destroy(struct taut_flow *f);

/* The largest flow between a node and the rest of the machine. */
double taut_flow_run(struct taut_flow *f, uint32_t node,
                     const struct taut_flow_setting *s);

/* Capacity of a component under a setting. */
double taut_flow_capacity(const struct taut_graph *g,
                          const struct taut_flow_setting *s, uint32_t c);

/* The component of an endpoint by which it sends (is_source), or takes in,
 * this flow. */
uint32_t taut_flow_port(const struct taut_flow_setting *s, uint32_t e,
                        bool is_source);

#endif
