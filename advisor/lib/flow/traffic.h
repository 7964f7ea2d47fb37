/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The traffic of a job's communication pattern on a machine, and how long
 * its steps take there. */
#ifndef TAUT_ADVISOR_LIB_FLOW_TRAFFIC_H
#define TAUT_ADVISOR_LIB_FLOW_TRAFFIC_H

#include "advisor/lib/graph/engine.h"

#define TAUT_TRAFFIC_MAX_RANKS (UINT32_C(1) << 20)
#define TAUT_TRAFFIC_MAX_PAIRS (UINT32_C(1) << 22) /* of one step */
#define TAUT_TRAFFIC_MAX_STEPS 4096
#define TAUT_TRAFFIC_MAX_CROSSINGS ((size_t)1 << 22) /* of fair rates */
#define TAUT_TRAFFIC_HOPS (UINT32_C(1) << 16) /* pairs whose hops are counted  \
                                               */

/* What happens at once: each rank sends to all others, or ranks to others in
 * pairs.  All is sent before the next step begins. */
struct taut_traffic_step {
    bool all_to_all;
    double times;        /* that it is done, one after the other; > 0 */
    double each;         /* bytes of a pair where 'bytes' is NULL */
    uint32_t n;          /* pairs; 0 for all-to-all */
    uint32_t *src, *dst; /* [n] ranks from 0 */
    double *bytes;       /* [n] or NULL */
};

struct taut_traffic_pattern {
    uint32_t ranks, steps;
    struct taut_traffic_step *step;
};

/* Returns NULL with ENOMEM; all steps are empty. */
struct taut_traffic_pattern *taut_traffic_pattern_create(uint32_t ranks,
                                                         uint32_t steps);
void taut_traffic_pattern_destroy(struct taut_traffic_pattern *p);

/* Room for the pairs of a step, and for their bytes where wanted.  Returns 0,
 * or -1 with ENOMEM. */
int taut_traffic_step_alloc(struct taut_traffic_step *s, uint32_t n,
                            bool has_bytes);

/* A machine as a job finds it, and room to work: one for each thread. */
struct taut_traffic {
    struct taut_arena memory;
    const struct taut_graph *g;
    double *left;       /* [components] share left as measured; 1: all */
    double *background; /* [components] bytes/s that others send there */
    double *load;       /* [components] bytes of the step looked at */
    double *total;      /* [components] of all steps, times and all */
    uint64_t lost;      /* pairs of ranks without a route, in all steps */
    struct taut_route route;
    uint32_t *count; /* [nodes] ranks on each; 0 between calls */
    uint32_t *used;  /* [nodes] nodes with ranks */
    uint32_t n_used;
    uint64_t *src, *dst; /* [endpoints] weights; 0 between calls */
    double *link;        /* [links] */
};

/* Returns NULL with ENOMEM.  The graph must stay. */
struct taut_traffic *taut_traffic_create(const struct taut_graph *g);
void taut_traffic_destroy(struct taut_traffic *w);

/* w->load = bytes that one round of a step puts on each component.  What two
 * ranks of one node say to each other stays there.  Rails that both nodes
 * have, and that have a route, share a pair evenly.
 *   node  [p->ranks] where each rank is
 * Returns 0, or -1 with errno ENOMEM or EAGAIN. */
int taut_traffic_load(struct taut_traffic *w, const struct taut_traffic_step *s,
                      const uint32_t *node, uint32_t ranks);

/* What one pattern takes on some nodes. */
struct taut_traffic_time {
    double time_s;    /* all steps; infinite where something has no way */
    double ideal_s;   /* the same where only healthy tx and rx limit */
    uint32_t slowest; /* component that takes the most of it; NONE: none */
    double bytes;     /* between nodes */
    double hops_mean; /* links that a byte crosses */
};

/* Bytes/s that a job gets of a component while it loads it without a pause.
 * A queue serves in proportion to what arrives: the job offers all that the
 * component can carry, others what they send now. */
double taut_traffic_share(const struct taut_traffic *w, uint32_t c);

/* Add up all steps of a pattern; w->total and w->lost are filled.
 * Returns 0, or -1 with errno ENOMEM or EAGAIN. */
int taut_traffic_time(struct taut_traffic *w,
                      const struct taut_traffic_pattern *p,
                      const uint32_t *node, struct taut_traffic_time *out);

/* The most links between two of the nodes, of all pairs of their routers or,
 * where these are more than TAUT_TRAFFIC_HOPS, of that many, evenly chosen.
 * Pairs without a route do not count.
 * Returns 0, or -1 with errno ENOMEM. */
int taut_traffic_hops(struct taut_traffic *w, const uint32_t *node,
                      uint32_t ranks, uint32_t *most);

struct taut_traffic_fair {
    double time_s; /* until the last message has arrived, in all steps */
    double mean_s; /* until a message has, on average */
};

/* The same with rates that are max-min fair to all messages of a step, and
 * that stay as they are until its end.  Where routing adapts to the traffic,
 * routes are those of a quiet network.
 * Returns 0, or -1 with errno ENOMEM, or EOVERFLOW: messages cross more than
 * TAUT_TRAFFIC_MAX_CROSSINGS components in all. */
int taut_traffic_fair(struct taut_traffic *w,
                      const struct taut_traffic_pattern *p,
                      const uint32_t *node, struct taut_traffic_fair *out);

#endif
