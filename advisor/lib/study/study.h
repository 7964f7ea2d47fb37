/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What traffic does to a machine some of whose links have failed or are slow.
 *
 * A study is a machine with one of these kinds of ways for its traffic:
 *   groups   a dragonfly seen as its groups.  Direct, or over one other
 *            group, drawn with the smaller of the numbers of cables that
 *            stand between it and both ends (UGAL over weighted Valiant
 *            groups); which of the two, the load decides
 *   gates    the same with its routers: those inside a group load its links,
 *            and each chooses by itself
 *   lines    a HyperX.  Dimensions in order, in each direct or over one other
 *            router of the row (DOAL); which of the two, the load decides
 *   routes   the routes of the graph's own engine (torus, tree, tables); its
 *            places are nodes, by their first rail, where routes depend on
 *            the destination and not on its router alone
 * Failures and slow links are an overlay: the graph is not changed, and many
 * overlays are solved at once.  Only 'routes' follows the graph's health.
 *
 * The choice is an equilibrium of flows, not of packets: x is the share of
 * a pair's traffic that goes direct, each link costs c0 + (load/capacity)^p,
 * and x follows the difference of both ways' costs in ever smaller steps. */
#ifndef TAUT_ADVISOR_LIB_STUDY_STUDY_H
#define TAUT_ADVISOR_LIB_STUDY_STUDY_H

#include "advisor/lib/graph/engine.h"
#include "advisor/lib/study/demand.h"

#define TAUT_STUDY_NAMED 8 /* pairs without a way that are named */
#define TAUT_STUDY_MAX_DIMS 8
#define TAUT_STUDY_MAX_GROUPS 4096
#define TAUT_STUDY_MAX_THREADS 64

enum taut_study_kind {
    TAUT_STUDY_NONE,
    TAUT_STUDY_GROUPS,
    TAUT_STUDY_GATES,
    TAUT_STUDY_LINES,
    TAUT_STUDY_ROUTES,
};

/* What is left of the links. */
struct taut_overlay {
    uint32_t links;
    double *left;  /* [links] share of the capacity, 0..1 */
    double *stand; /* [links] cables that stand */
};

struct taut_study {
    const struct taut_graph *g; /* the caller's, as long as the study is */
    enum taut_study_kind kind;
    uint32_t places;
    bool by_node;    /* places are nodes */
    double *cables;  /* [links] in each */
    uint32_t *group; /* groups: [routers] */
    uint32_t groups;
    struct taut_gateways *gates; /* gates */
    uint32_t dims; /* lines */
    uint32_t length[TAUT_STUDY_MAX_DIMS], stride[TAUT_STUDY_MAX_DIMS];
    uint32_t *place;     /* lines: [routers] number of its coordinates */
    uint32_t *router;    /* lines: [places] */
    uint32_t *line_link; /* lines: [dims * places * longest] or NONE */
    uint32_t longest;
};

/* The equilibrium's constants. */
struct taut_study_rules {
    double power;   /* p */
    double floor;   /* c0 */
    double step;    /* of the first round */
    double slowing; /* step of round i is step / (1 + slowing * i) */
    unsigned rounds;
    double unit_s; /* the load that counts as 1, seconds; > 0 */
};

struct taut_study_lost {
    uint32_t from, to; /* places */
};

/* Loads are seconds: bytes over what is left of the link's capacity. */
struct taut_study_result {
    double mean_s;        /* over messages that leave their place: hottest
                             link of its ways, weighted by their shares */
    double mean_bytes_s;  /* the same over bytes */
    double all_s;         /* over all messages, 0 for those that stay */
    double most_s;        /* the worst pair's */
    double hottest_s;     /* mean over messages: hottest link it can meet */
    double quantile_s[3]; /* of mean_s' values: 50, 90, 99 % of messages */
    double link_s;        /* busiest link */
    double link_mean_s;   /* mean over links that are there */
    double direct;        /* share of bytes that goes direct */
    double hops;          /* links a byte crosses, at this level */
    double carried;       /* bytes that have a way */
    double lost_bytes, lost_messages;
    uint64_t lost_pairs;
    struct taut_study_lost lost[TAUT_STUDY_NAMED];
    uint32_t named;
};

/* A study of a graph.  The caller fills in what the kind needs:
 *   groups, gates  taut_study_groups
 *   lines   taut_study_lines
 *   cables  [links] cables in each link, > 0; NULL: one
 * Returns it, or NULL with errno ENOMEM.  Give it to taut_study_destroy. */
struct taut_study *taut_study_create(const struct taut_graph *g,
                                     enum taut_study_kind kind,
                                     const double *cables);
void taut_study_destroy(struct taut_study *s);

/* Groups from 0, as many as the highest number says.
 * Returns 0, or -1 with errno EINVAL (text in 'err') or ENOMEM. */
int taut_study_groups(struct taut_study *s, const uint32_t *group,
                      struct taut_error *err);

/* Places in a grid: [routers] numbers of the coordinates, the last runs
 * fastest.  Returns 0, or -1 with errno EINVAL (text in 'err': a router
 * missing or twice, a link that changes several coordinates) or ENOMEM. */
int taut_study_lines(struct taut_study *s, uint32_t dims,
                     const uint32_t *length, const uint32_t *place,
                     struct taut_error *err);

/* Everything as it is when healthy.  Returns it, or NULL with ENOMEM. */
struct taut_overlay *taut_overlay_create(const struct taut_study *s);
void taut_overlay_destroy(struct taut_overlay *o);

/* Take cables out at random, both directions of each, or leave them slow.
 *   share  of the cables that may be chosen, 0..1, rounded to whole cables
 *   may    [links] which links may be chosen
 *   left   what each cable taken keeps of its capacity: 0 fails it
 * Returns how many cables were taken, or -1 with errno ENOMEM. */
int64_t taut_overlay_draw(const struct taut_study *s, struct taut_overlay *o,
                          const bool *may, double share, double left,
                          uint64_t seed);

/* Solve for a sealed demand between the study's places.
 *   load   [links] gets bytes on each link; or NULL.  Kind 'groups' spreads
 *          what goes between two groups over their links by capacity left,
 *          and has nothing inside groups
 * Returns 0, or -1 with errno ENOMEM or EINVAL (other places).
 * Any number of threads may solve at once, but for 'routes'. */
int taut_study_solve(const struct taut_study *s, const struct taut_overlay *o,
                     const struct taut_demand *d,
                     const struct taut_study_rules *rules, double *load,
                     struct taut_study_result *out);

/* One cell of a batch. */
struct taut_study_cell {
    const struct taut_overlay *overlay;
    const struct taut_demand *demand;
    struct taut_study_rules rules;
    struct taut_study_result result;
};

/* Solve many, by several threads (0: one per processor).  The results do
 * not depend on how many.  Returns 0, or -1 with errno of one that failed. */
int taut_study_batch(const struct taut_study *s, struct taut_study_cell *cell,
                     size_t n, unsigned threads);

/* ---- between the files of the engine ---- */

/* What each message meets, put together. */
struct taut_meet {
    struct taut_study_result *out;
    double *weight; /* messages by class of value, for quantiles */
    double messages, bytes, sum, sum_bytes, sum_hottest, all;
};

int taut_meet_init(struct taut_meet *m, const struct taut_demand *d,
                   struct taut_study_result *out);
void taut_meet_fini(struct taut_meet *m);
void taut_meet_add(struct taut_meet *m, const struct taut_demand_pair *p,
                   double expected, double hottest);
void taut_meet_lose(struct taut_meet *m, const struct taut_demand_pair *p);
void taut_meet_finish(struct taut_meet *m);

/* x after a step towards the cheaper of two ways. */
double taut_study_shift(double x, double direct, double indirect, double step);

static inline double taut_study_cost(const struct taut_study_rules *r,
                                     double load_s)
{
    double u = load_s / r->unit_s, v = 1;

    if (r->power == 8) { /* the usual one, without pow() */
        v = u * u;
        v *= v;
        return r->floor + v * v;
    }
    v = __builtin_pow(u, r->power);
    return r->floor + v;
}

typedef int (*taut_study_solve_f)(const struct taut_study *s,
                                  const struct taut_overlay *o,
                                  const struct taut_demand *d,
                                  const struct taut_study_rules *rules,
                                  double *load, struct taut_meet *meet);

int taut_study_solve_groups(const struct taut_study *s,
                            const struct taut_overlay *o,
                            const struct taut_demand *d,
                            const struct taut_study_rules *rules, double *load,
                            struct taut_meet *meet);
int taut_study_solve_gates(const struct taut_study *s,
                           const struct taut_overlay *o,
                           const struct taut_demand *d,
                           const struct taut_study_rules *rules, double *load,
                           struct taut_meet *meet);
int taut_study_solve_lines(const struct taut_study *s,
                           const struct taut_overlay *o,
                           const struct taut_demand *d,
                           const struct taut_study_rules *rules, double *load,
                           struct taut_meet *meet);
int taut_study_solve_routes(const struct taut_study *s,
                            const struct taut_overlay *o,
                            const struct taut_demand *d,
                            const struct taut_study_rules *rules, double *load,
                            struct taut_meet *meet);
#endif
