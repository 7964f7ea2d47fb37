/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What tests say about the components of a machine: for each the time it was
 * last seen well, and its run, the low tests since then.
 *
 * An event is taken at once: taut_evidence_begin, _add for each test,
 * _commit.  Only then is it known which components the event clears.
 *
 * Nothing is decided here.  taut_evidence_judge weighs a run as log odds of
 * "broken" against "busy": a busy network scatters, so it would have to meet
 * the same ceiling hour after hour, and it yields to several streams at once.
 * Other links' results in this time are not used: which of them fill up
 * together differs from fabric to fabric.  doc/internals/diagnose.md has the
 * whole calculation. */
#ifndef TAUT_ADVISOR_LIB_EVIDENCE_EVIDENCE_H
#define TAUT_ADVISOR_LIB_EVIDENCE_EVIDENCE_H

#include "advisor/lib/graph/engine.h"

#define TAUT_EVIDENCE_RUN_MAX 192   /* low tests kept per component */
#define TAUT_EVIDENCE_RECENT 64     /* accused components remembered in order */
#define TAUT_EVIDENCE_OPEN 2        /* of them that make a run worth weighing */
#define TAUT_EVIDENCE_GLIMPSES 24 /* kept per component and kind */
#define TAUT_EVIDENCE_STREAMS 65535 /* streams that can share a component */

struct taut_evidence;

/* All of them settings of the section `diagnosis`. */
struct taut_evidence_rules {
    double good;       /* share of the expectation from which a test is good */
    double clear_most; /* share of the most a test can show that clears */
    double ceiling;    /* how far below the best is still at the ceiling */
    double spell_s;    /* a busy network may stay as it is for so long */
    double busy_share; /* of the network that is busy at any time */
    double busy_h;     /* how long it stays so, on average */
    double contended;  /* chance that a stream meets traffic of its own */
    double steady;     /* share of what others send that does not yield to
                          several streams at once */
    double grows;      /* so much more than one stream got shows others */
    double at_level;   /* chance that a busy spell shows a given level */
    double at_fair;    /* the same for 1/2 and 1/3: fair sharing */
    double floor;      /* level below which no busy network goes */
    double event_most; /* log odds that one event can add at most */
    double spell_most; /* and one spell */
    double miss;       /* log odds that a spell below the ceiling takes */
    double ack;        /* ratio below which acknowledgements may be lost */
    bool lossless;     /* queues of this fabric drop nothing */
    double loss_floor; /* share of lost segments from which a loss is news */
    double loss_queue; /* times the usual shortest round trip: then somebody
                          else's queue stood on the way */
    double loss_rtt_least, loss_rtt_most; /* seconds: the round trip of a
                              stream at rest if it was not measured */
    double loss_contended; /* chance that a queue drops some of a stream's
                              segments while its way is not busy */
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
    uint32_t place; /* among all that are held */
    float bw_Bps, expected_Bps;
    uint16_t flows;   /* one after the other; the best counts */
    uint16_t streams; /* at once */
    uint16_t links;   /* on its route; 0: it met nobody else's traffic */
    uint16_t n;
    bool by_sets; /* nobody knows all links of its way: of a set it took one */
    bool is_counted; /* its losses are known, and do not explain that it is low */
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

/* A test as it is handed in. */
struct taut_measured {
    uint32_t src, dst; /* endpoints */
    uint32_t confirms; /* component or NONE */
    uint16_t flows, streams;
    int64_t id, job;
    double bw_Bps;     /* the best of its flows; < 0: void */
    double part_Bps; /* of a test that is void as uneven: what the best quarter
                        of it reached at least; 0: it is not */
    bool is_low;       /* the judge says */
    bool by_port; /* judged void; 'bw_Bps' is all that 'port' carried: only the
                     port is cleared by that */
    uint32_t port;
    double expected_Bps; /* the judge's */
    bool by_loss; /* low, and its own losses explain that: no ceiling */
    double segments; /* sent, those sent again included; 0: not counted */
    double lost;     /* of them, as both ends agree */
    double segment_bytes; /* what each carried; 0: no single stream of TCP's */
    double min_rtt_ns; /* its shortest round trip; 0: not measured */
    const uint32_t *way; /* [n_way] by stage of the route, without the ends:
                            the component it took there, or NONE; NULL: nobody
                            asked.  Read while the test is added */
    uint32_t n_way;
};

/* What became of the tests of an event. */
struct taut_tally {
    uint32_t good, low, is_void;
    uint32_t by_sets; /* of all, those that cross sets */
};

/* What tests let through a component, by kind:
 * - BEST: neither low nor clearing: the best, the best after it, and so on to the last;
 * - PART: the best quarter of each uneven test, which is void, at least;
 * - WHOLE: a single stream got all that it could get, although it did not clear. */
enum taut_glimpse_kind {
    TAUT_GLIMPSE_BEST,
    TAUT_GLIMPSE_PART,
    TAUT_GLIMPSE_WHOLE,
    TAUT_GLIMPSE_KINDS
};

struct taut_glimpse {
    float share;
    double time;
};

/* What a run amounts to. */
struct taut_case {
    double score;       /* log odds */
    double best;        /* share: the ceiling; < 0: it is low at any level */
    double mean;        /* share that its tests at the ceiling showed */
    double first, last; /* times of the tests at the ceiling */
    uint32_t low;       /* tests in the run */
    uint32_t at;        /* of them at the ceiling */
    uint32_t spells;    /* in which the ceiling was shown */
    uint32_t events;    /* the same */
    uint32_t confirmed; /* tests of several streams at once that were asked
                           for it, at the ceiling */
    uint32_t start; /* first entry that belongs to the case */
    double newest;  /* log odds of its newest spell */
};

/* What was seen of a component. */
struct taut_seen {
    uint32_t tests;     /* that surely crossed it and were not void */
    uint32_t good;      /* clearings since the last low test */
    double cleared_at;  /* time of the last clearing, -HUGE_VAL: never */
    int64_t cleared_by; /* id of that test */
    double last;        /* time of the last test, -HUGE_VAL: never */
    double reach;       /* the most that any test could show of it */
    double left;        /* of its capacity, as known */
    double most;        /* the best share of tests that were neither low nor
                           clearing, since its run began; -HUGE_VAL: none */
    double most_at;     /* time of that test */
    uint32_t low; /* tests that spoke against it since it was last cleared: its
                     run keeps some of them */
    uint32_t low_of; /* of how many since the first of these, which of the
                        event that brought it counts alone; both until it was
                        called slow; 0: none spoke against it */
};

/* Another component on the ways of the tests against one. */
struct taut_rival {
    uint32_t c;
    uint32_t tests;     /* at the ceiling of the accused, that crossed it */
    double same;        /* share of all at the ceiling */
    double rest;        /* log odds of what it leaves unexplained */
    bool is_chance;     /* that was seen in one spell only, while this one
                           shows its ceiling without the accused, too */
    double score;       /* its own */
    double cleared_at;  /* by a test after the first at the ceiling;
                           -HUGE_VAL: not since */
    int64_t cleared_by; /* id of that test */
};

/* Who took part in the tests at the ceiling of a case. */
struct taut_reporters {
    uint32_t senders, receivers; /* different nodes */
    uint32_t far; /* other ends of a node's tests; of a link's, the more of
                     the two */
};

/* A node and how many tests of a run it took part in. */
struct taut_part_of {
    uint32_t node;
    uint32_t tests;
};

/* ---- life ---- */

/* Evidence about a graph, which must live longer.  Returns it, or NULL with
 * ENOMEM. */
struct taut_evidence *taut_evidence_create(const struct taut_graph *g,
                                           const struct taut_evidence_rules *r);
void taut_evidence_destroy(struct taut_evidence *e);

/* What should be alike, by component: number of its class, below 'classes', or
 * NONE.  Once.  Returns 0 or -1 with ENOMEM. */
int taut_evidence_classes(struct taut_evidence *e, const uint32_t *class,
                          uint32_t classes);

/* Other rules, from now on. */
void taut_evidence_set_rules(struct taut_evidence *e,
                             const struct taut_evidence_rules *r);

const struct taut_graph *taut_evidence_graph(const struct taut_evidence *e);

/* ---- an event ---- */

/* Begin an event. */
void taut_evidence_begin(struct taut_evidence *e);

/* One test of the event; its route is looked up here.  Returns 0, -1 where
 * it has no route (it is left out), or TAUT_ROUTE_NO_MEMORY. */
int taut_evidence_add(struct taut_evidence *e, const struct taut_measured *t);

/* Of the test added last: how many components it surely crosses, which the
 * i-th of them is, and how many streams share that. */
uint32_t taut_evidence_stages(const struct taut_evidence *e);
uint32_t taut_evidence_stage(const struct taut_evidence *e, uint32_t i);
void taut_evidence_share_stage(struct taut_evidence *e, uint32_t i,
                               uint16_t streams);

/* Of the same: does its route have sets, whatever is known of its way; and is
 * there a low test of anything that the route says it crosses? */
bool taut_evidence_is_over_sets(const struct taut_evidence *e);
bool taut_evidence_is_doubted(const struct taut_evidence *e);

/* Is no test of this id among the last that were noted?  Then it is noted. */
bool taut_evidence_note_id(struct taut_evidence *e, int64_t id);
void taut_evidence_copy_ids(struct taut_evidence *e,
                            const struct taut_evidence *from);

/* Take the event in.
 *   time   seconds; an event that is older than one taken before speaks
 *          against nobody, and clears only what was not tested since
 *   event  its number, for the caller
 *   count  may be NULL
 * Returns 0 or -1 with ENOMEM: part of the event may be lost. */
int taut_evidence_commit(struct taut_evidence *e, double time, int64_t event,
                         struct taut_tally *count);

/* Components whose run the last event began, changed or ended, *n of them;
 * valid until the next begins. */
const uint32_t *taut_evidence_touched(const struct taut_evidence *e,
                                      uint32_t *n);

/* Is a touched component worth a look: is it watched, or does its run weigh
 * so much? */
bool taut_evidence_is_news(struct taut_evidence *e, uint32_t c,
                           double weight);

/* Events taken so far. */
uint32_t taut_evidence_serial(const struct taut_evidence *e);

/* ---- questions about a component ---- */

struct taut_seen taut_evidence_seen(const struct taut_evidence *e, uint32_t c);

/* Time of the last test that surely crossed it, and of the last that cleared
 * it; -HUGE_VAL: never. */
double taut_evidence_tested(const struct taut_evidence *e, uint32_t c);
double taut_evidence_cleared(const struct taut_evidence *e, uint32_t c);

/* The latter for all components, kept up to date as long as 'e' lives. */
const double *taut_evidence_clearings(const struct taut_evidence *e);

/* Number of its class, or NONE. */
uint32_t taut_evidence_class(const struct taut_evidence *e, uint32_t c);

/* Its run, oldest first, *n tests; valid until it changes. */
const struct taut_entry *taut_evidence_run(const struct taut_evidence *e,
                                           uint32_t c, uint32_t *n);

/* Weigh the run of component c.  Returns log odds, 0 where there is no run. */
double taut_evidence_judge(const struct taut_evidence *e, uint32_t c,
                           struct taut_case *out);

/* What is left of c's case 'k' without what component o explains. */
double taut_evidence_without(const struct taut_evidence *e, uint32_t c,
                             const struct taut_case *k, uint32_t o,
                             struct taut_case *out);

/* Others that explain so much of c's run that less than 'enough' log odds are
 * left without them, or what may be chance; what is on most of its tests first.
 * Where none does alone, those that do together: suspects whose own case stands without c,
 * since they may be busy besides and so explain whatever crosses them.
 * Returns *n of them; valid until the next question about rivals. */
const struct taut_rival *taut_evidence_rivals(struct taut_evidence *e,
                                              uint32_t c, double enough,
                                              uint32_t *n);

/* What else was on the ways of c's tests, most of them first, at most so
 * many.  Likewise. */
const struct taut_rival *taut_evidence_alternatives(struct taut_evidence *e,
                                                    uint32_t c, uint32_t most,
                                                    uint32_t *n);

/* ---- counting ---- */

/* Different nodes among the ends of the tests at the ceiling of c's case. */
struct taut_reporters taut_evidence_reporters(struct taut_evidence *e,
                                              uint32_t c,
                                              const struct taut_case *k);

/* Nodes that took part in the tests of c's run, each once; returns how many.
 *   list  room for two per test of the run */
uint32_t taut_evidence_nodes(struct taut_evidence *e, uint32_t c,
                             struct taut_part_of *list);

/* Components that are not watched, of those that were accused last, by their
 * runs, the longest first: at most 'most' of them into list[].  Returns how
 * many. */
uint32_t taut_evidence_longest(const struct taut_evidence *e, uint32_t *list,
                               uint32_t most);

/* Low tests held, and components with a run. */
size_t taut_evidence_lows(const struct taut_evidence *e);
uint32_t taut_evidence_runs(const struct taut_evidence *e);

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

/* Links of one switch at one ceiling. */
struct taut_company {
    uint32_t router;
    bool is_out;     /* they leave it; else they lead into it */
    uint32_t low;    /* of them as low as the one asked about, which counts */
    uint32_t beside; /* of these those between the same two routers */
    uint32_t tested; /* since that was so first */
};

/* How many links out of the router where link c begins, or into that where it
 * ends, were at the ceiling of c's case in so many of its spells, by tests that
 * did not cross c.  The larger of the two; low is 0 where c has no run. */
struct taut_company taut_evidence_company(const struct taut_evidence *e,
                                          uint32_t c, uint32_t spells);

/* Components of c's class, c among them, that were tested since, whose run is
 * worth weighing, were never seen well, and have a ceiling within 'near' of
 * c's. */
uint32_t taut_evidence_alike(const struct taut_evidence *e, uint32_t c,
                             double since, double near);

/* ---- changes ---- */

/* It is always news when touched; it is not known what it carries. */
void taut_evidence_watch(struct taut_evidence *e, uint32_t c, bool yes);
void taut_evidence_unknown(struct taut_evidence *e, uint32_t c, bool yes);

/* Component c has so much left, and explains the tests over it: they speak
 * against nobody else, also when it is well again (left = 1). */
void taut_evidence_name(struct taut_evidence *e, uint32_t c, double left);

/* Components whose runs hold tests that what was named last explains, *n of
 * them; valid until the next is named. */
const uint32_t *taut_evidence_explained(const struct taut_evidence *e,
                                        uint32_t *n);

/* Forget the run of c, as if it had never been tested; and of all. */
void taut_evidence_forget(struct taut_evidence *e, uint32_t c);
void taut_evidence_void(struct taut_evidence *e);

/* Drop the tests older than a time from the run of c. */
void taut_evidence_expire(struct taut_evidence *e, uint32_t c, double before);

/* Routes have changed: drop the tests that no longer cross what they speak
 * against. */
void taut_evidence_reroute(struct taut_evidence *e);

/* Put a low test that a store kept back into the runs of the components it
 * speaks against, in order of time, but for those that were cleared later.
 *   head    'n', 'on' and 'refs' are not read
 *   on, n   what it showed of each component
 *   in_run  [n] does it stand in that one's run?  NULL: in all
 * Returns 0 or -1 with ENOMEM. */
int taut_evidence_restore(struct taut_evidence *e, const struct taut_low *head,
                          const struct taut_shown *on, uint32_t n,
                          const bool *in_run);

/* What tests let through c since its run began: shares of its capacity, *n of them (the
 * best first; those of the other kinds by time); valid until it changes.  And back, where
 * there is a run that has none. */
const struct taut_glimpse *taut_evidence_glimpses(const struct taut_evidence *e,
                                                  uint32_t c,
                                                  enum taut_glimpse_kind kind,
                                                  uint32_t *n);
void taut_evidence_restore_glimpses(struct taut_evidence *e, uint32_t c,
                                    enum taut_glimpse_kind kind,
                                    const struct taut_glimpse *list,
                                    uint32_t n);

/* taut_seen's 'low' and 'low_of' back into a run that was restored. */
void taut_evidence_restore_counts(struct taut_evidence *e, uint32_t c,
                                  uint32_t low, uint32_t low_of);

/* The same for what was seen of c: the later times, the sums of 'tests' and
 * 'good', the larger 'reach'; the rest is not read. */
void taut_evidence_restore_seen(struct taut_evidence *e, uint32_t c,
                                const struct taut_seen *seen);

#endif
