/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A dragonfly with its routers, between the files of its solver.
 *
 * Between two groups traffic spreads over the cables that join them (their
 * gates) by what is left of each.  Inside a group it takes the direct link or,
 * where there is none, every way over one other router alike (Aries: row and
 * column in both orders).  Each router chooses by itself what part of its
 * traffic for a group goes over other groups, by its own links and those
 * between groups. */
#ifndef TAUT_ADVISOR_LIB_STUDY_GATES_H
#define TAUT_ADVISOR_LIB_STUDY_GATES_H

#include "advisor/lib/study/study.h"

/* What a study keeps of its groups. */
struct taut_gateways {
    uint32_t most;        /* members of the largest group */
    uint32_t *member;     /* [routers] number inside the group */
    uint32_t *router;     /* [groups * most] or NONE */
    uint32_t *direct;     /* [routers * most] link to that member, or NONE */
    uint32_t *via_first;  /* [routers * most + 1] into 'via' */
    uint32_t *via;        /* members between, where there is no direct link */
    uint32_t *gate_first; /* [groups * groups + 1] into 'gate' */
    uint32_t *gate;       /* links from one group to another */
    uint32_t *gate_from;  /* their ends, numbers inside the groups */
    uint32_t *gate_to;
};

/* Two groups that have traffic, or the other end of a router's. */
struct taut_gate_pair {
    uint32_t from, to; /* groups */
    double *weight;    /* [groups] of the groups between; their sum is 1 */
    double *first;     /* [most] by which member what goes over them leaves */
    double *last;      /* [most] by which it arrives */
    bool has_direct, has_other;
    double direct, round; /* bytes that go directly, and over other groups */
    double cost;          /* of the links between groups on the ways round */
};

struct taut_gate_row {
    uint32_t router, pair;
    double bytes, x; /* share that goes direct */
};

struct taut_gate_col {
    uint32_t router, pair;
    double direct, round; /* bytes that arrive, either way */
};

struct taut_gate_work {
    const struct taut_study *s;
    const struct taut_overlay *o;
    const struct taut_demand *d;
    const struct taut_study_rules *rules;
    uint32_t n, most, routers, links;
    struct taut_gate_pair *pair;
    struct taut_gate_row *row;
    struct taut_gate_col *col;
    uint32_t pairs, rows, cols;
    uint32_t *row_of, *col_of; /* [demand's pairs] or NONE: inside a group */
    double *weights;           /* of all pairs */
    double *share;             /* [gates] of the traffic between two groups */
    double *load, *use, *cost; /* [links] */
    double *moved;             /* [routers * most] bytes to that member */
    double *brought;           /* [routers * most] bytes from that member */
    double *crossing;          /* [routers * most] bytes from gate to gate */
    double *inside;            /* [routers * most] cost, then seconds, of it */
    double *between;           /* [n * n] bytes, then cost, of [from][to] */
    double *out, *in;          /* [routers * n] seconds of leaving, arriving */
    double *numbers;           /* all of these */
};

/* Gates from one group to another: the first, and one past the last. */
static inline uint32_t taut_gate_begin(const struct taut_study *s,
                                       uint32_t from, uint32_t to)
{
    return s->gates->gate_first[(size_t)from * s->groups + to];
}

static inline uint32_t taut_gate_end(const struct taut_study *s, uint32_t from,
                                     uint32_t to)
{
    return s->gates->gate_first[(size_t)from * s->groups + to + 1];
}

static inline uint32_t taut_gate_router(const struct taut_gateways *t,
                                        uint32_t group, uint32_t member)
{
    return t->router[(size_t)group * t->most + member];
}

int taut_gates_create(struct taut_study *s);
void taut_gates_destroy(struct taut_gateways *t);

/* Room for a solve, and what does not change in it. */
int taut_gate_work_init(struct taut_gate_work *w, const struct taut_study *s,
                        const struct taut_overlay *o,
                        const struct taut_demand *d);
void taut_gate_work_fini(struct taut_gate_work *w);

/* For every router and member of its group, from the values of links: their
 * sum (or the most) along the way, mean over the ways; infinite where there
 * is none. */
void taut_gate_inside(const struct taut_gate_work *w, const double *value,
                      bool most, double *out);

/* Bytes inside a group on its links. */
void taut_gate_carry(struct taut_gate_work *w);

/* Returns 0, or -1 with errno ENOMEM. */
int taut_gate_meet(struct taut_gate_work *w, struct taut_meet *meet);
#endif
