/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared by the files of the evidence, and private to them. */
#ifndef TAUT_ADVISOR_LIB_EVIDENCE_INSIDE_H
#define TAUT_ADVISOR_LIB_EVIDENCE_INSIDE_H

#include <assert.h>
#include <math.h>
#include <stdalign.h>

#include "advisor/lib/evidence/bouts/bouts.h"
#include "advisor/lib/evidence/evidence.h"
#include "advisor/lib/evidence/loss/loss.h"
#include "advisor/lib/evidence/once.h"
#include "advisor/lib/graph/arena.h"

#define TAUT_EVIDENCE_SPELL_MAX 8 /* low tests kept from one spell */
#define TAUT_EVIDENCE_SPELL_OLD 3 /* and of an old one, when there are more */
#define TAUT_EVIDENCE_AT 0.005    /* shares so near to each other are equal */
#define TAUT_EVIDENCE_RIVALS 1024 /* that are looked at */
#define TAUT_EVIDENCE_LEAST 0.3   /* of the tests that a rival was on */

struct taut_glimpses {
    struct taut_glimpse *list; /* NULL: none */
    uint8_t n, room;
};

struct taut_run {
    struct taut_entry *entry; /* ascending time */
    uint32_t n, room;
    uint32_t acks; /* entries by_ack */
    uint32_t low;  /* tests in all, of which 'entry' has some … */
    uint32_t low_acks; /* … of these by_ack … */
    uint32_t of;   /* … and of how many since its first */
    float grown;   /* the most that several streams got where that was more than
                      one got; share of the component's capacity */
    struct taut_glimpses glimpses[TAUT_GLIMPSE_KINDS];
    /* What it amounts to, as long as it is what it was; several ask for it in
     * one event, and rivals of others in many. */
    struct taut_case judged;
    uint32_t judged_at; /* taut_evidence.judging; 0: not known */
};

#define TAUT_LOSS_RUN_MAX 128   /* tests kept per component */
#define TAUT_LOSS_SPELL_MAX 12  /* and from one spell */

/* The tests of a component whose losses were counted, since one cleared it. */
struct taut_loss_run {
    struct taut_loss_test **test; /* ascending time */
    uint32_t n, room;
    double least_share; /* lower bound of the share that the component loses if
                           it is what made its tests lose */
    double quiet_segments, quiet_lost; /* of its tests since the last that lost */
    struct taut_loss_case judged;
    uint32_t judged_at; /* taut_evidence.judging; 0: not known */
};

/* What the tests over a class of components lost: how many of them lost nothing
 * to speak of, and, by half decades from TAUT_LOSS_LEAST on, so much. */
#define TAUT_LOSS_LEAST 1e-5
#define TAUT_LOSS_BINS 10
struct taut_loss_class {
    float tests;
    float lossy[TAUT_LOSS_BINS]; /* of them */
    float good, whole; /* tests that were good, and of these that were whole */
};

/* What is known of a component's losses. */
struct taut_loss_known {
    struct taut_loss_run *run; /* NULL: nothing speaks against it */
    float share;   /* that it was named for; 0: it loses nothing */
    uint32_t good; /* tests without that share since the last that had it */
    float quiet_segments, quiet_lost; /* of tests since that are too few for one
                                         that counts as good */
};

/* What a test of the event being taken surely crosses. */
struct taut_stage {
    uint32_t c;
    uint16_t users;
    bool is_told; /* it is one of a set: somebody asked */
};

/* A test of the event being taken. */
struct taut_pending {
    struct taut_measured m;
    bool is_open;        /* over a component of unknown capacity */
    bool is_held_back;   /* low by its own losses */
    bool is_queued;      /* low, and not by these: a queue may have lost them */
    double expected_Bps; /* made by commit where not judged */
    double healthy_Bps;  /* with nothing known to be slow */
    uint32_t first, n;   /* its stages that are sure */
    uint16_t links;      /* of its route, sure or not */
    bool by_sets;        /* it crosses others, too */
    bool has_sets;       /* its route has, whatever is known of its way */
};

/* The bouts of a component, oldest first. */
struct taut_bouts {
    double chain; /* began the first bout since the last whole test, where
                     is_scattered */
    uint32_t n;
    struct taut_bout at[];
};

/* What each test of a component has a look at: all of it in one line of the
 * cache, since that is what most of a test's time waits for. */
#define TAUT_EVIDENCE_LINE 64
struct taut_known {
    alignas(TAUT_EVIDENCE_LINE) double tested; /* time of the last test that
                                                  surely crossed it */
    struct taut_run *run; /* NULL: nothing speaks against it */
    int64_t cleared_by;   /* id of the test */
    uint32_t cleared_at;  /* serial */
    uint32_t tests;       /* that surely crossed it and were not void */
    uint32_t good;        /* clearings since the last low test */
    uint32_t touched_at;  /* touch_now of the last event that did */
    float left;           /* of capacity, as known: 1 = well */
    float reach;          /* the most that any test could show of it */
    uint32_t spells;      /* in which a test surely crossed it */
    bool is_watched;      /* always reported when touched */
    bool is_recurring;    /* it was named as coming and going */
    bool is_scattered;    /* its last run was ended by a test that was good, and
                             not whole */
    bool is_unknown;      /* its capacity is not known: no test clears it,
                             and a low one over it is no evidence */
    struct taut_bouts *bouts; /* NULL: none */
};
static_assert(sizeof(struct taut_known) == TAUT_EVIDENCE_LINE, "one line");

/* A low test among all, with a bit or two for each component that it accused:
 * few others have those of a component. */
struct taut_held {
    struct taut_low *low;
    uint64_t signs;
};

/* Everything by component unless said otherwise. */
struct taut_evidence {
    struct taut_arena memory; /* of what has one size for good */
    const struct taut_graph *g;
    struct taut_evidence_rules rules;
    double *cleared; /* time of the last clearing, -HUGE_VAL: never */
    struct taut_known *of;
    uint32_t *class; /* what should be alike; NONE: of no class */
    uint32_t classes;
    struct taut_change *change; /* scratch, by class */
    uint32_t serial;
    uint32_t judging; /* counts what may change every case: other rules, and
                         what explains tests */
    uint32_t acks;          /* entries by_ack, all in all */
    uint64_t *has_acks;     /* a bit for each component that may have such */
    size_t lows, room_lows; /* tests held */
    struct taut_held *held; /* [lows] */
    double newest;          /* time of the newest event */
    double spell_began;     /* that of the event that is taken */

    struct taut_once *once; /* ids that were taken */

    struct taut_loss_known *loss; /* by component */
    struct taut_loss_class *loss_class; /* [classes + 1], the last: of no class */
    double usual_rtt_ns; /* shortest round trip of the middle test of an event; 0:
                            none yet */
    uint64_t *has_loss; /* a bit for each that has a loss run or was named */

    /* the event being taken */
    struct taut_route route;
    struct taut_pending *test;
    uint32_t n_tests, room_tests;
    struct taut_stage *stage; /* flat, of all tests */
    uint32_t n_stages, room_stages;
    uint32_t recent[TAUT_EVIDENCE_RECENT]; /* accused, a ring */
    uint32_t n_recent;                     /* counts up */
    uint32_t *touched;
    uint32_t n_touched;
    uint32_t *explained; /* by what was named last */
    uint32_t n_explained;
    uint32_t touch_now;
    bool out_of_memory;
    struct taut_tally count;

    /* scratch of questions */
    uint32_t *slot, *slot_stamp; /* a component's, or a node's, place */
    uint32_t slot_now;
    struct taut_rival *rival; /* [TAUT_EVIDENCE_RIVALS] */
    struct taut_other *other; /* likewise */
};

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

/* Does it explain a low test: is the test at one of its ceilings, or where a
 * fair share of that was left? */
bool taut_evidence_explains(const struct taut_evidence *e,
                            const struct taut_other *o,
                            const struct taut_low *low);

/* The best that component o has shown since a time (share of its capacity).
 */
double taut_evidence_best(const struct taut_evidence *e, uint32_t o,
                          double since);

/* What share of component o a low test showed, where o can have to do with
 * it; else -1. */
double taut_evidence_share(const struct taut_evidence *e, uint32_t o,
                           const struct taut_low *low);

/* Fair sharing: half or a third of what there is. */
bool taut_evidence_is_fair(double ratio, double near);

/* Is a test that showed this share at the ceiling 'best'? */
static inline bool taut_evidence_is_at(const struct taut_evidence *e,
                                       double share, double best)
{
    return share >= best * (1 - e->rules.ceiling) ||
           best - share < TAUT_EVIDENCE_AT;
}

/* Is it an entry of c's run at the ceiling of its case? */
static inline bool taut_run_is_at(const struct taut_evidence *e,
                                  const struct taut_entry *x,
                                  const struct taut_case *k, uint32_t c)
{
    uint32_t by = x->low->explained_by;

    return (by == TAUT_GRAPH_NONE || by == c) &&
           taut_evidence_is_at(e, (double)x->share, k->best);
}

/* Number of the spell a time belongs to. */
static inline double taut_evidence_spell(const struct taut_evidence *e,
                                         double time)
{
    return floor(time / e->rules.spell_s);
}

/* What each of its users gets of the stage of an event's test. */
static inline double taut_stage_capacity(const struct taut_evidence *e,
                                         const struct taut_stage *s)
{
    return taut_graph_share(e->g, s->c, true, s->users);
}

/* The run of c began, grew or ended in this event. */
void taut_evidence_touch(struct taut_evidence *e, uint32_t c);

/* A test, or a quarter of one, let such a share through a component, which has a run. */
void taut_run_glimpse(const struct taut_evidence *e, struct taut_run *run,
                      enum taut_glimpse_kind kind, double share, double time);
void taut_run_forget_glimpses(struct taut_run *run);

/* Put a low test of the event into the runs of accused components. */
void taut_evidence_accuse(struct taut_evidence *e, const struct taut_pending *p,
                          double time, int64_t event);

/* A low test with room for n components; it has those that it accuses now; one
 * holder fewer of it. */
struct taut_low *taut_low_create(struct taut_evidence *e, uint32_t n);
void taut_low_sign(struct taut_evidence *e, const struct taut_low *low);
void taut_low_release(struct taut_evidence *e, struct taut_low *low);

/* The chance that a way of so many links is still, or again, busy when it was
 * so long ago. */
double taut_evidence_busy_again(const struct taut_evidence *e, double ago_s,
                                uint32_t links);

/* The same where each link of the way may be what is busy. */
double taut_evidence_any_again(const struct taut_evidence *e, double ago_s,
                               uint32_t links);

/* Does the route from one endpoint to another surely cross c? */
bool taut_evidence_is_on_route(struct taut_evidence *e, uint32_t src,
                               uint32_t dst, uint32_t c);

/* Different nodes in a list: has this one not been counted since slot_now was
 * raised?  Then it is counted. */
bool taut_evidence_is_new_node(struct taut_evidence *e, uint32_t endpoint);

/* A single stream got all that it could of c, a share of c's capacity, although it did
 * not clear c: if that is more than the last bout showed, c's chain ends. */
void taut_bouts_whole(struct taut_evidence *e, uint32_t c, double share);

/* The chain of c ends, if there is one: c is judged, and kept, without it. */
void taut_bouts_end_chain(struct taut_evidence *e, uint32_t c);

/* The run of c ends, by a test that clears it and may be whole: keep what the run
 * showed.  A test shows this share of c, which is named as coming and going: is it
 * its ceiling again? */
void taut_bouts_keep(struct taut_evidence *e, uint32_t c, bool is_whole);
void taut_bouts_again(struct taut_evidence *e, uint32_t c,
                      const struct taut_pending *p, double share, double time);

/* So many different senders and receivers, and which of them are far ends of
 * c. */
struct taut_reporters taut_evidence_far(const struct taut_evidence *e,
                                        uint32_t c, uint32_t senders,
                                        uint32_t receivers);

/* Rivals are counted, n of them so far, after slot_now was raised: one more test
 * crossed c.  Returns how many there are then.  And in order: what is on most
 * tests first. */
uint32_t taut_rivals_count(struct taut_evidence *e, uint32_t c, uint32_t n);
void taut_rivals_sort(struct taut_evidence *e, uint32_t n);

/* Take the losses of the event in, which commit has judged; drop the tests that
 * no longer cross what they speak against; give all memory back. */
void taut_loss_take(struct taut_evidence *e, double time, int64_t event);
void taut_loss_reroute(struct taut_evidence *e);
void taut_loss_clear(struct taut_evidence *e, uint32_t c);

/* Log odds that the losses of m came one at a time and not in bursts. */
double taut_loss_single(const struct taut_evidence *e,
                        const struct taut_measured *m);

/* Do both ends say what the test lost? */
static inline bool taut_loss_is_known(const struct taut_measured *m)
{
    return m->segments >= 1 && m->lost >= 0;
}

static inline struct taut_loss_class *
taut_loss_class_of(const struct taut_evidence *e, uint32_t c)
{
    uint32_t class = e->class[c];

    return &e->loss_class[class == TAUT_GRAPH_NONE ? e->classes : class];
}

/* The case of the tests of c's run that lose the share p, but for those over
 * component o; NONE: all. */
/* How far from their mean counts of losses lie, as score.c has it. */
double taut_loss_scatter(double mean);

void taut_loss_weigh(struct taut_evidence *e, uint32_t c, double share,
                     uint32_t o, struct taut_loss_case *out);

/* Runs: enter a test, returns 0 or -1 with ENOMEM; end the run; take out the
 * tests that accuse c of silence. */
int taut_run_add(struct taut_evidence *e, uint32_t c, struct taut_low *low,
                 double share, bool by_ack);
void taut_run_clear(struct taut_evidence *e, uint32_t c);

/* What came until then is cleared by a test that is taken late. */
void taut_run_clear_until(struct taut_evidence *e, uint32_t c, double time);
void taut_run_drop_acks(struct taut_evidence *e, uint32_t c);

#endif
