/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Taking an event in: what is good, what clears whom.
 *
 * A test with the rate bw crosses the components c of its way for sure.  All
 * rates are bytes/s, all shares 0..1.
 *
 *   cap(c)    capacity of c, of a link divided by the streams that share it
 *   left(c)   share of it that is known to be left; 1: c is well
 *   healthy   min over c of cap(c)
 *   known     min over c of cap(c) left(c)
 *   expected  what the judge expects, times known / healthy
 *   share(c)  bw / cap(c)
 *   reach(c)  min(1, healthy / cap(c)): the most that this test can show of c;
 *             R(c) is the largest of all tests so far
 *
 * A low test with known < healthy and bw >= good * known is not low: what is
 * known to be slow explains it.  A test clears c where
 *
 *   share >= good   or   R < good and share >= clear_most * R
 *
 * and is whole where share >= min(1 - (1 - good) / 3, clear_most) * R.
 *
 * The order within an event matters: all of its tests clear first, then its low
 * tests accuse what was not cleared (accuse.c), then its losses count. */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "advisor/lib/evidence/inside.h"

#define GOOD_MOST 4096 /* tests; then all of them count half: the share of
                          whole ones forgets what is long ago */

/* ---- an event's tests ---- */

void taut_evidence_begin(struct taut_evidence *e)
{
    e->n_tests = 0;
    e->n_stages = 0;
    e->n_touched = 0;
    e->touch_now++;
    e->out_of_memory = false;
    e->count = (struct taut_tally){.good = 0};
}

/* Room for n more in an array that grows; NULL: no memory, nothing lost. */
static void *grow(void *a, uint32_t have, uint32_t *room, uint32_t n,
                  size_t size)
{
    if (have + n <= *room)
        return a;
    uint32_t want = 2 * (have + n) + 64;
    void *b = realloc(a, want * size);
    if (b != NULL)
        *room = want;
    return b;
}

/* What is known of c will be looked at when the event is taken in: most of
 * that time was spent waiting for it. */
static void put_stage(struct taut_evidence *e, uint32_t c, bool is_told)
{
    __builtin_prefetch(&e->of[c], 1);
    __builtin_prefetch(&e->cleared[c], 1);
    e->stage[e->n_stages++] =
        (struct taut_stage){.c = c, .users = 1, .is_told = is_told};
}

/* The link that a test took at a stage, or NONE: as its route says, or, of a
 * set, as somebody asked. */
static uint32_t link_taken(const struct taut_evidence *e,
                           const struct taut_measured *t, uint32_t i)
{
    const struct taut_route *r = &e->route;
    uint32_t link = taut_route_sure_link(r, i), base = 2 * e->g->endpoints;

    if (link != TAUT_GRAPH_NONE || t->way == NULL || i >= t->n_way ||
        t->way[i] == TAUT_GRAPH_NONE || t->way[i] < base)
        return link;
    for (uint32_t k = i > 0 ? r->end[i - 1] : 0; k < r->end[i]; k++)
        if (base + r->link[k] == t->way[i])
            return r->link[k];
    return TAUT_GRAPH_NONE;
}

int taut_evidence_add(struct taut_evidence *e, const struct taut_measured *t)
{
    const struct taut_graph *g = e->g;
    uint32_t a = g->at[t->src], b = g->at[t->dst];

    if (a == TAUT_GRAPH_NONE || b == TAUT_GRAPH_NONE)
        return -1;
    int rc = taut_graph_route(g, a, b, t->dst, &e->route);
    if (rc != 0)
        return rc;
    void *test = grow(e->test, e->n_tests, &e->room_tests, 1, sizeof(*e->test));
    if (test == NULL)
        return TAUT_ROUTE_NO_MEMORY;
    e->test = test;
    void *stage = grow(e->stage, e->n_stages, &e->room_stages,
                       e->route.stages + 2, sizeof(*e->stage));
    if (stage == NULL)
        return TAUT_ROUTE_NO_MEMORY;
    e->stage = stage;
    struct taut_pending *p = &e->test[e->n_tests++];
    *p = (struct taut_pending){
        .m = *t, .expected_Bps = t->expected_Bps, .first = e->n_stages};
    put_stage(e, taut_graph_tx(t->src), false);
    for (uint32_t i = 0; i < e->route.stages; i++) {
        bool is_sure = taut_route_is_sure(&e->route, i);
        uint32_t link = link_taken(e, t, i);
        p->has_sets = p->has_sets || !is_sure;
        if (link != TAUT_GRAPH_NONE)
            put_stage(e, taut_graph_link(g, link), !is_sure);
    }
    put_stage(e, taut_graph_rx(t->dst), false);
    p->m.way = NULL;
    p->links = (uint16_t)e->route.stages;
    p->n = e->n_stages - p->first;
    p->by_sets = p->n < e->route.stages + 2;
    e->count.by_sets += p->by_sets;
    return 0;
}

static struct taut_stage *last_stage(const struct taut_evidence *e, uint32_t i)
{
    return &e->stage[e->test[e->n_tests - 1].first + i];
}

uint32_t taut_evidence_stages(const struct taut_evidence *e)
{
    return e->test[e->n_tests - 1].n;
}

uint32_t taut_evidence_stage(const struct taut_evidence *e, uint32_t i)
{
    return last_stage(e, i)->c;
}

void taut_evidence_share_stage(struct taut_evidence *e, uint32_t i,
                               uint16_t streams)
{
    last_stage(e, i)->users = streams;
}

bool taut_evidence_is_over_sets(const struct taut_evidence *e)
{
    return e->test[e->n_tests - 1].has_sets;
}

bool taut_evidence_is_doubted(const struct taut_evidence *e)
{
    const struct taut_pending *p = &e->test[e->n_tests - 1];

    for (uint32_t k = p->first; k < p->first + p->n; k++) {
        const struct taut_run *run = e->of[e->stage[k].c].run;
        if (!e->stage[k].is_told && run != NULL && run->n > 0)
            return true;
    }
    return false;
}

bool taut_evidence_note_id(struct taut_evidence *e, int64_t id)
{
    return taut_once_note(e->once, id);
}

void taut_evidence_copy_ids(struct taut_evidence *e,
                            const struct taut_evidence *from)
{
    *e->once = *from->once;
}

/* ---- good, low, void; clearing ---- */

void taut_evidence_touch(struct taut_evidence *e, uint32_t c)
{
    if (e->of[c].touched_at == e->touch_now)
        return;
    e->of[c].touched_at = e->touch_now;
    e->touched[e->n_touched++] = c;
}

/* 'expected', 'healthy' and whether the test is still low, by the formulas
 * above.  Components of unknown capacity have no part in the minima. */
static void expect(const struct taut_evidence *e, struct taut_pending *p)
{
    double known = HUGE_VAL, healthy = HUGE_VAL;

    for (uint32_t k = p->first; k < p->first + p->n; k++) {
        double cap = taut_stage_capacity(e, &e->stage[k]);
        if (e->of[e->stage[k].c].is_unknown) {
            p->is_open = true;
            continue;
        }
        healthy = fmin(healthy, cap);
        known = fmin(known, cap * (double)e->of[e->stage[k].c].left);
    }
    p->healthy_Bps = healthy;
    p->expected_Bps *= known / healthy;
    if (known < healthy && p->m.bw_Bps >= e->rules.good * known)
        p->m.is_low = false; /* what is known to be slow explains it */
}

/* A test that is good clears a ceiling.  A whole test, which a lossy component
 * never has, also ends the evidence of losses that are not counted. */
static bool is_whole(const struct taut_evidence *e, uint32_t c, double share)
{
    double most = fmin(1 - (1 - e->rules.good) / 3, e->rules.clear_most);
    bool is = share >= most * (double)e->of[c].reach;
    struct taut_loss_class *class = taut_loss_class_of(e, c);

    class->whole += is;
    if (++class->good >= GOOD_MOST) {
        class->good /= 2;
        class->whole /= 2;
    }
    return is;
}

/* A late event clears only the entries until its own time, and does not turn
 * the time of the last clearing back. */
static void clear(struct taut_evidence *e, uint32_t c, double share,
                  double time, int64_t id)
{
    bool is_over = is_whole(e, c, share);

    if (e->of[c].run != NULL) {
        taut_evidence_touch(e, c);
        taut_bouts_keep(e, c, is_over);
        if (time >= e->newest)
            taut_run_clear(e, c);
        else
            taut_run_clear_until(e, c, time);
    }
    if (is_over)
        taut_bouts_end_chain(e, c);
    if (e->of[c].is_watched)
        taut_evidence_touch(e, c);
    if (time < e->cleared[c])
        return;
    e->cleared[c] = time;
    e->of[c].cleared_by = id;
    e->of[c].cleared_at = e->serial;
    if (e->of[c].good < UINT32_MAX)
        e->of[c].good++;
}

/* A test that shows something of c without clearing it; what it got of what it could
 * get, and not of what c carries, says whether c is slow at any level: a suspect is
 * judged by it.  Several streams win back what c loses. */
static void note_shown(struct taut_evidence *e, const struct taut_pending *p,
                       uint32_t c, double share, double reach, double time)
{
    bool is_whole =
        p->m.streams == 1 && share >= e->rules.clear_most * reach;
    struct taut_run *run = e->of[c].run;

    if (is_whole)
        taut_bouts_whole(e, c, share);
    if (run == NULL)
        return;
    taut_run_glimpse(e, run, TAUT_GLIMPSE_BEST, share, time);
    if (!is_whole)
        return;
    taut_run_glimpse(e, run, TAUT_GLIMPSE_WHOLE, share, time);
    if (e->of[c].is_watched)
        taut_evidence_touch(e, c);
}

/* One test and one component of its way.  'spells' counts the spells in which a
 * test crossed c: one more where the last test is older than this spell. */
static void take_stage(struct taut_evidence *e, const struct taut_pending *p,
                       const struct taut_stage *s, double time)
{
    const struct taut_evidence_rules *r = &e->rules;
    double cap = taut_stage_capacity(e, s), share = p->m.bw_Bps / cap;
    double reach = fmin(1, p->healthy_Bps / cap);
    uint32_t c = s->c;

    if (e->of[c].is_unknown)
        return;
    e->of[c].tests++;
    if (e->of[c].tested < e->spell_began)
        e->of[c].spells++;
    if (e->of[c].run != NULL && e->of[c].left >= 1)
        e->of[c].run->of++;
    e->of[c].tested = fmax(e->of[c].tested, time);
    if (reach > (double)e->of[c].reach)
        e->of[c].reach = (float)reach;
    if (e->of[c].is_recurring)
        taut_bouts_again(e, c, p, share, time);
    if (share >= r->good || ((double)e->of[c].reach < r->good &&
                             share >= r->clear_most * (double)e->of[c].reach)) {
        clear(e, c, share, time, p->m.id);
    } else if (!p->m.is_low && !p->is_held_back) {
        note_shown(e, p, c, share, reach, time);
    }
}

/* Of a void test at a loaded port: what the port carried in all shows the port
 * itself; what of it went over the rest of the way nobody knows. */
static void take_port(struct taut_evidence *e, const struct taut_pending *p,
                      double time)
{
    for (uint32_t k = p->first; k < p->first + p->n; k++)
        if (e->stage[k].c == p->m.port)
            take_stage(e, p, &e->stage[k], time);
}

/* Acknowledgements came through: what the way back was accused of for
 * silence is void. */
static void take_way_back(struct taut_evidence *e, const struct taut_pending *p)
{
    const struct taut_graph *g = e->g;

    if (taut_graph_route(g, g->at[p->m.dst], g->at[p->m.src], p->m.src,
                         &e->route) != 0)
        return;
    taut_run_drop_acks(e, taut_graph_tx(p->m.dst));
    taut_run_drop_acks(e, taut_graph_rx(p->m.src));
    for (uint32_t i = 0; !e->route.has_sets && i < e->route.stages; i++)
        taut_run_drop_acks(e, taut_graph_link(g, e->route.link[i]));
}

/* An uneven test is void: somebody else took of it what it lacks.  But what its
 * best quarter reached went through all that it surely crossed.  Where tests share a
 * component, one may have the others' part for a while: no more than the whole of what
 * there is is held against a ceiling. */
static void take_parts(struct taut_evidence *e, const struct taut_pending *p,
                       double time)
{
    for (uint32_t k = p->first; k < p->first + p->n; k++) {
        uint32_t c = e->stage[k].c;
        struct taut_run *run = e->of[c].run;
        if (run != NULL && !e->of[c].is_unknown)
            taut_run_glimpse(e, run, TAUT_GLIMPSE_PART,
                             p->m.part_Bps / e->g->capacity[c], time);
    }
}

static void take_test(struct taut_evidence *e, struct taut_pending *p,
                      double time)
{
    if (p->m.bw_Bps < 0) {
        e->count.is_void++;
        if (p->m.part_Bps > 0)
            take_parts(e, p, time);
        return;
    }
    p->is_queued = p->m.is_low && !p->m.by_loss;
    expect(e, p);
    p->is_held_back = p->m.is_low && p->m.by_loss;
    if (p->is_open && p->m.is_low) {
        p->m.bw_Bps = -1; /* low by an unknown cause */
        e->count.is_void++;
        return;
    }
    if (p->m.by_port) {
        e->count.is_void++;
        take_port(e, p, time);
        return;
    }
    if (p->m.is_low)
        e->count.low++;
    else
        e->count.good++;
    if (p->is_held_back)
        p->m.is_low = false; /* its losses made it low: it shows no ceiling */
    for (uint32_t k = p->first; k < p->first + p->n; k++)
        take_stage(e, p, &e->stage[k], time);
    if (!p->m.is_low && e->acks > 0)
        take_way_back(e, p);
}

/* Several streams at once take more of a shared link than one does: then it is
 * busy, and their rate is not a ceiling.  Of the same pair of endpoints in the
 * same event: bw(several) > grows * bw(one). (One stream more beside one other
 * gets 2/3 instead of 1/2, which is 1.33 times.) */
static bool has_grown(const struct taut_evidence *e,
                      const struct taut_pending *p)
{
    for (uint32_t i = 0; p->m.streams > 1 && i < e->n_tests; i++) {
        const struct taut_measured *one = &e->test[i].m;
        if (one->streams <= 1 && one->src == p->m.src && one->dst == p->m.dst &&
            one->bw_Bps >= 0 && p->m.bw_Bps > e->rules.grows * one->bw_Bps)
            return true;
    }
    return false;
}

/* Several streams got more than one of what the test crossed. */
static void note_growth(struct taut_evidence *e, const struct taut_pending *p)
{
    for (uint32_t k = p->first; k < p->first + p->n; k++) {
        struct taut_run *run = e->of[e->stage[k].c].run;
        double share = p->m.bw_Bps / taut_stage_capacity(e, &e->stage[k]);
        if (run != NULL)
            run->grown = fmaxf(run->grown, (float)share);
    }
}

/* What speaks against components of the event lies here and there, and is mostly
 * thrown away: runs, their entries, and the newest of these. */
static void look_ahead(const struct taut_evidence *e)
{
    for (uint32_t i = 0; i < e->n_stages; i++)
        __builtin_prefetch(e->of[e->stage[i].c].run, 1);
    for (uint32_t i = 0; i < e->n_stages; i++) {
        const struct taut_run *run = e->of[e->stage[i].c].run;
        if (run != NULL)
            __builtin_prefetch(run->entry);
    }
    for (uint32_t i = 0; i < e->n_stages; i++) {
        const struct taut_run *run = e->of[e->stage[i].c].run;
        if (run != NULL && run->n > 0)
            __builtin_prefetch(run->entry[run->n - 1].low, 1);
    }
}

/* Each stage of each test is passed twice, to clear and to accuse.  Only
 * has_grown compares tests with each other. */
int taut_evidence_commit(struct taut_evidence *e, double time, int64_t event,
                         struct taut_tally *count)
{
    e->serial++;
    e->spell_began = taut_evidence_spell(e, time) * e->rules.spell_s;
    look_ahead(e);
    for (uint32_t i = 0; i < e->n_tests; i++)
        take_test(e, &e->test[i], time);
    for (uint32_t i = 0; i < e->n_tests; i++) {
        if (e->test[i].m.bw_Bps < 0)
            continue;
        bool is_busy = has_grown(e, &e->test[i]);
        if (is_busy)
            note_growth(e, &e->test[i]);
        else if (e->test[i].m.is_low)
            taut_evidence_accuse(e, &e->test[i], time, event);
    }
    taut_loss_take(e, time, event);
    e->newest = fmax(e->newest, time);
    if (count != NULL)
        *count = e->count;
    errno = ENOMEM;
    return e->out_of_memory ? -1 : 0;
}
