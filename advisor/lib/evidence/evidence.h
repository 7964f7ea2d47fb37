/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What tests say about the components of a machine: for each the time it was
 * last seen well, and its run, the low tests since then.
 *
 * An event is taken at once: taut_evidence_begin, _add for each test,
 * _commit.  Only then is it known how many streams of a phase share a
 * component, which components the event clears, and around which links the
 * network was quiet.
 *
 * Nothing is decided here.  taut_evidence_judge weighs a run as log odds of
 * "broken" against "busy": a busy network scatters, so it would have to meet
 * the same ceiling again and again; other links of the same router that are
 * well in the same event say that it was not busy there.  doc/internals.md
 * has the whole calculation. */
#ifndef TAUT_ADVISOR_LIB_EVIDENCE_EVIDENCE_H
#define TAUT_ADVISOR_LIB_EVIDENCE_EVIDENCE_H

#include "advisor/lib/graph/engine.h"

#define TAUT_EVIDENCE_RUN_MAX 192   /* low tests kept per component */
#define TAUT_EVIDENCE_SPELL_MAX 8   /* of them from one spell */
#define TAUT_EVIDENCE_SPELL_OLD 3   /* and of an old one, when there are more */
#define TAUT_EVIDENCE_SHOWN 6       /* ceilings kept that good tests showed */
#define TAUT_EVIDENCE_STREAMS 65535 /* streams that can share a component */

/* All of them settings of the section `diagnosis`. */
struct taut_evidence_rules {
    double good;       /* share of the expectation from which a test is good */
    double clear_most; /* share of the most a test can show that clears */
    double ceiling;    /* how far below the best is still at the ceiling */
    double spell_s;    /* a busy network may stay as it is for so long */
    double around_s;   /* how old a clearing next door may be */
    double quiet;      /* share of the expectation that shows a quiet network */
    double busy_per_h; /* how often the network around a link gets busy */
    double busy_share; /* of the network that is busy at any time */
    double busy_h;     /* how long it stays so, on average */
    double contended;  /* chance that a stream meets traffic of its own */
    double at_level;   /* chance that a busy spell shows a given level */
    double at_fair;    /* the same for 1/2 and 1/3: fair sharing */
    double floor;      /* level below which no busy network goes */
    double event_most; /* log odds that one event can add at most */
    double spell_most; /* and one spell */
    double miss;       /* log odds that a spell below the ceiling takes */
    double ack;        /* ratio below which acknowledgements may be lost */
    double forget_s;   /* older tests are dropped */
};

/* One low test.  Runs of several components hold it. */
struct taut_low {
    double time; /* seconds */
    int64_t id;
    int64_t event;         /* as the caller numbers them */
    int64_t job;           /* 0: none */
    uint32_t serial;       /* events counted here, from 1 */
    uint32_t src, dst;     /* endpoints */
    uint32_t confirms;     /* component it was asked for, or NONE */
    uint32_t explained_by; /* component, or NONE */
    uint32_t port;         /* of which it tells all that it carried, or NONE;
                              then it stands in the run of that one only, and
                              what else is on the way may explain it */
    uint32_t refs;
    float bw_Bps, expected_Bps;
    uint16_t flows;   /* one after the other; the best counts */
    uint16_t streams; /* at once */
    uint16_t links;   /* on its route, surely */
    float quiet_s;    /* so long ago each of its links, or one next to it, was
                         seen well; < 0: not known */
    uint16_t n;
    struct taut_shown {
        uint32_t c;
        float share; /* of c's own capacity that was shown */
        bool by_ack; /* c is on the way back */
    } on[];
};

/* A component's place in a low test. */
struct taut_entry {
    struct taut_low *low;
    float share;
    bool by_ack;
};

struct taut_run {
    struct taut_entry *entry; /* ascending time */
    uint32_t n, room;
    /* What tests showed that were neither low nor clearing: the best, the best
     * after it, and so on to the last. */
    struct taut_glimpse {
        float share;
        double time;
    } shown[TAUT_EVIDENCE_SHOWN];
    uint32_t n_shown;
};

/* Everything by component unless said otherwise. */
struct taut_evidence {
    const struct taut_graph *g;
    struct taut_evidence_rules rules;
    double *cleared;       /* time of the last clearing, -HUGE_VAL: never */
    double *tested;        /* time of the last test that surely crossed it */
    int64_t *cleared_by;   /* id of the test */
    uint32_t *cleared_at;  /* serial */
    uint32_t *tests;       /* that surely crossed it and were not void */
    uint32_t *good;        /* clearings since the last low test */
    float *left;           /* of capacity, as known: 1 = well */
    float *reach;          /* the most that any test could show of it */
    struct taut_run **run; /* NULL: nothing speaks against it */
    bool *is_watched;      /* always reported when touched */
    bool *is_unknown;      /* nobody knows what it carries: no test clears it,
                              and a low one over it accuses nobody */
    uint32_t *around;      /* group of links that are busy together */
    uint32_t groups;       /* NONE: no group */
    double *quiet;         /* by group: time of the last clearing in it */
    uint32_t *class;       /* what should be alike; NONE: of no class */
    uint32_t classes;
    struct taut_change *change; /* scratch, by class */
    uint32_t serial;
    uint32_t acks; /* entries by_ack, all in all */
    size_t lows;   /* tests held */
    double newest; /* time of the newest event */

    /* the event being taken */
    struct taut_route route;
    struct taut_pending *test;
    uint32_t n_tests, room_tests;
    uint32_t by_sets;         /* of them that cross sets */
    struct taut_stage *stage; /* flat, of all tests */
    uint32_t n_stages, room_stages;
    uint16_t *users;      /* in one phase */
    uint32_t *stamp;      /* of the phase 'users' belongs to */
    uint32_t phase_stamp; /* counts up */
    uint32_t *touched;
    uint32_t n_touched;
    uint32_t *touch_stamp;
    uint32_t touch_now;
    uint32_t *slot, *slot_stamp; /* scratch: a component's place in a list */
    uint32_t slot_now;
    bool out_of_memory;
    struct {
        uint32_t good, low, is_void;
    } count;
};

struct taut_stage {
    uint32_t c;
    uint16_t users; /* 0: not set yet */
};

/* A test as it is handed in. */
struct taut_pending {
    uint32_t src, dst; /* endpoints */
    uint32_t phase;
    uint32_t confirms; /* component or NONE */
    uint16_t flows, streams;
    int64_t id, job;
    double bw_Bps;     /* the best of its flows; < 0: void */
    bool counts_users; /* else 'users' of its stages are 1, or set after
                          _add, in the stages of the test added last */
    bool is_judged;    /* 'is_low' is the judge's */
    bool is_low;
    bool by_port; /* judged void; 'bw_Bps' is all that 'port' carried: only the
                     port is cleared by that */
    uint32_t port;
    bool is_open;        /* over a component of unknown capacity */
    double expected_Bps; /* made by commit where not judged */
    double healthy_Bps;  /* with nothing known to be slow */
    uint32_t first, n;   /* its stages that are sure */
    bool by_sets;        /* it crosses others, too; set by _add */
};

/* What a run amounts to. */
struct taut_case {
    double score;       /* log odds */
    double best;        /* share: the ceiling */
    double first, last; /* times of the tests at the ceiling */
    uint32_t low;       /* tests in the run */
    uint32_t at;        /* of them at the ceiling */
    uint32_t spells;    /* in which the ceiling was shown */
    uint32_t events;    /* the same */
    uint32_t quiet;     /* events of these with quiet surroundings */
    uint32_t
        confirmed;  /* tests of several flows asked for it, at the ceiling */
    uint32_t start; /* first entry that belongs to the case */
    double newest;  /* log odds of its newest spell */
};

/* Evidence about a graph, which must live longer.
 *   around   by component: group of links that get busy together, below
 *            'groups', or NONE; NULL: none
 * Returns it, or NULL with ENOMEM. */
struct taut_evidence *taut_evidence_create(const struct taut_graph *g,
                                           const struct taut_evidence_rules *r,
                                           const uint32_t *around,
                                           uint32_t groups);
void taut_evidence_destroy(struct taut_evidence *e);

/* What should be alike, by component: number of its class, below 'classes', or
 * NONE.  Once.  Returns 0 or -1 with ENOMEM. */
int taut_evidence_classes(struct taut_evidence *e, const uint32_t *class,
                          uint32_t classes);

/* Begin an event. */
void taut_evidence_begin(struct taut_evidence *e);

/* One test of the event; its route is looked up here.  Returns 0, -1 where
 * it has no route (it is left out), or TAUT_ROUTE_NO_MEMORY. */
int taut_evidence_add(struct taut_evidence *e, const struct taut_pending *t);

/* Take the event in.  e->touched lists the components whose run began, grew
 * or ended, until the next event.
 *   time   seconds; an event that is older than one taken before speaks
 *          against nobody, and clears only what was not tested since
 *   event  its number, for the caller
 * Returns 0 or -1 with ENOMEM: part of the event may be lost. */
int taut_evidence_commit(struct taut_evidence *e, double time, int64_t event);

/* Weigh the run of component c.  Returns log odds, 0 where there is no run. */
double taut_evidence_judge(const struct taut_evidence *e, uint32_t c,
                           struct taut_case *out);

/* Another component that may explain tests. */
struct taut_other {
    uint32_t c;
    bool all;          /* it explains whatever crosses it */
    double ceiling[3]; /* what it may have left: the best it showed since a
                          time, in its own case, and in its whole run */
};
struct taut_others {
    const struct taut_other *list;
    uint32_t n;
};
struct taut_other taut_evidence_other(const struct taut_evidence *e, uint32_t o,
                                      double since);

/* What is left of c's case 'k' without what others explain. */
double taut_evidence_rest(const struct taut_evidence *e, uint32_t c,
                          const struct taut_case *k,
                          const struct taut_others *w, struct taut_case *out);
double taut_evidence_without(const struct taut_evidence *e, uint32_t c,
                             const struct taut_case *k, uint32_t o,
                             struct taut_case *out);

/* Does it explain a low test: is the test at one of its ceilings, or where a
 * fair share of that was left? */
bool taut_evidence_explains(const struct taut_evidence *e,
                            const struct taut_other *o,
                            const struct taut_low *low);

/* The best that component o has shown since a time (share of its capacity).
 */
double taut_evidence_best(const struct taut_evidence *e, uint32_t o,
                          double since);

/* Component c has so much left, and explains the tests over it: they speak
 * against nobody else, also when it is well again (left = 1). */
void taut_evidence_name(struct taut_evidence *e, uint32_t c, double left);

/* Forget the run of c, as if it had never been tested; and of all. */
void taut_evidence_forget(struct taut_evidence *e, uint32_t c);
void taut_evidence_void(struct taut_evidence *e);

/* Routes have changed: drop the tests that no longer cross what they speak
 * against. */
void taut_evidence_reroute(struct taut_evidence *e);

/* A class of components, most of which are low at once. */
struct taut_change {
    uint32_t c;      /* one of them */
    uint32_t tested; /* since the time given */
    uint32_t low;    /* of them those whose run weighs so much */
};

/* Has a class changed everywhere: 'share' of 'least' or more components that
 * were tested since then?  c's class first, when it has; else the first. */
bool taut_evidence_changed(const struct taut_evidence *e, uint32_t c,
                           double since, double weight, uint32_t least,
                           double share, struct taut_change *out);

/* Components of c's class, c among them, that were tested since, have two low
 * tests or more, were never seen well, and have a ceiling within 'near' of
 * c's. */
uint32_t taut_evidence_alike(const struct taut_evidence *e, uint32_t c,
                             double since, double near);

/* Put a low test back into the run of c, in order of time; for what a store
 * kept.  Returns 0 or -1 with ENOMEM.  A low test is made by _low_new and
 * dropped by _low_release, which counts. */
int taut_evidence_restore(struct taut_evidence *e, uint32_t c,
                          struct taut_low *low, double share, bool by_ack);
struct taut_low *taut_evidence_low_new(struct taut_evidence *e, uint32_t n);
void taut_evidence_low_release(struct taut_evidence *e, struct taut_low *low);

/* Drop the tests older than a time from the run of c. */
void taut_evidence_expire(struct taut_evidence *e, uint32_t c, double before);

/* For the files of the evidence only. */
int taut_run_add(struct taut_evidence *e, uint32_t c, struct taut_low *low,
                 double share, bool by_ack);
void taut_run_clear(struct taut_evidence *e, uint32_t c);
void taut_run_drop_acks(struct taut_evidence *e, uint32_t c);

#endif
