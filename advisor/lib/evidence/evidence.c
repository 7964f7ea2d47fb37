/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Taking events in: who shares what, what is good, what clears whom. */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/evidence/evidence.h"

/* ---- create, destroy ---- */

static double *new_times(size_t n)
{
    double *a = malloc((n + 1) * sizeof(*a));

    for (size_t i = 0; a != NULL && i < n; i++)
        a[i] = -HUGE_VAL;
    return a;
}

static int allocate(struct taut_evidence *e, size_t n)
{
    e->cleared = new_times(n);
    e->tested = new_times(n);
    e->quiet = new_times(e->groups);
    e->cleared_by = calloc(n, sizeof(*e->cleared_by));
    e->cleared_at = calloc(n, sizeof(*e->cleared_at));
    e->tests = calloc(n, sizeof(*e->tests));
    e->good = calloc(n, sizeof(*e->good));
    e->left = calloc(n, sizeof(*e->left));
    e->reach = calloc(n, sizeof(*e->reach));
    e->run = calloc(n, sizeof(struct taut_run *));
    e->is_watched = calloc(n, sizeof(*e->is_watched));
    e->is_unknown = calloc(n, sizeof(*e->is_unknown));
    e->around = calloc(n, sizeof(*e->around));
    e->class = calloc(n, sizeof(*e->class));
    e->users = calloc(n, sizeof(*e->users));
    e->stamp = calloc(n, sizeof(*e->stamp));
    e->touched = calloc(n, sizeof(*e->touched));
    e->touch_stamp = calloc(n, sizeof(*e->touch_stamp));
    e->slot = calloc(n, sizeof(*e->slot));
    e->slot_stamp = calloc(n, sizeof(*e->slot_stamp));
    bool ok = e->cleared && e->tested && e->quiet && e->cleared_by &&
              e->cleared_at && e->tests && e->good && e->left && e->reach &&
              e->run && e->is_watched && e->is_unknown && e->around &&
              e->class && e->users && e->stamp && e->touched &&
              e->touch_stamp && e->slot && e->slot_stamp;
    return ok && taut_route_init(&e->route, e->g) == 0 ? 0 : -1;
}

struct taut_evidence *taut_evidence_create(const struct taut_graph *g,
                                           const struct taut_evidence_rules *r,
                                           const uint32_t *around,
                                           uint32_t groups)
{
    struct taut_evidence *e = calloc(1, sizeof(*e));

    if (e == NULL)
        return NULL;
    e->g = g;
    e->rules = *r;
    e->groups = around == NULL ? 0 : groups;
    e->newest = -HUGE_VAL;
    if (allocate(e, g->components) < 0) {
        taut_evidence_destroy(e);
        errno = ENOMEM;
        return NULL;
    }
    for (uint32_t c = 0; c < g->components; c++) {
        e->left[c] = 1;
        e->class[c] = TAUT_GRAPH_NONE;
        e->around[c] = around == NULL ? TAUT_GRAPH_NONE : around[c];
    }
    return e;
}

int taut_evidence_classes(struct taut_evidence *e, const uint32_t *class,
                          uint32_t classes)
{
    e->change = calloc((size_t)classes + 1, sizeof(*e->change));
    if (e->change == NULL)
        return -1;
    e->classes = classes;
    memcpy(e->class, class, e->g->components * sizeof(*class));
    return 0;
}

void taut_evidence_destroy(struct taut_evidence *e)
{
    int saved = errno;

    if (e == NULL)
        return;
    for (uint32_t c = 0; e->run != NULL && c < e->g->components; c++)
        taut_run_clear(e, c);
    taut_route_fini(&e->route);
    free(e->cleared);
    free(e->tested);
    free(e->quiet);
    free(e->cleared_by);
    free(e->cleared_at);
    free(e->tests);
    free(e->good);
    free(e->left);
    free(e->reach);
    free(e->run);
    free(e->is_watched);
    free(e->is_unknown);
    free(e->around);
    free(e->class);
    free(e->change);
    free(e->users);
    free(e->stamp);
    free(e->touched);
    free(e->touch_stamp);
    free(e->slot);
    free(e->slot_stamp);
    free(e->test);
    free(e->stage);
    free(e);
    errno = saved;
}

/* ---- an event's tests ---- */

void taut_evidence_begin(struct taut_evidence *e)
{
    e->n_tests = 0;
    e->by_sets = 0;
    e->n_stages = 0;
    e->n_touched = 0;
    e->touch_now++;
    e->out_of_memory = false;
    e->count.good = e->count.low = e->count.is_void = 0;
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

static void put_stage(struct taut_evidence *e, uint32_t c)
{
    e->stage[e->n_stages++] = (struct taut_stage){.c = c, .users = 1};
}

int taut_evidence_add(struct taut_evidence *e, const struct taut_pending *t)
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
    *p = *t;
    p->first = e->n_stages;
    put_stage(e, taut_graph_tx(t->src));
    for (uint32_t i = 0; i < e->route.stages; i++) {
        uint32_t first = e->route.has_sets && i > 0 ? e->route.end[i - 1] : i;
        if (taut_route_is_sure(&e->route, i))
            put_stage(e, taut_graph_link(g, e->route.link[first]));
    }
    put_stage(e, taut_graph_rx(t->dst));
    p->n = e->n_stages - p->first;
    p->by_sets = p->n < e->route.stages + 2;
    e->by_sets += p->by_sets;
    return 0;
}

/* ---- who shares what ---- */

static int by_phase(const void *a, const void *b)
{
    const struct taut_pending *x = a, *y = b;

    return (x->phase > y->phase) - (x->phase < y->phase);
}

static bool is_sorted(const struct taut_evidence *e)
{
    for (uint32_t i = 1; i < e->n_tests; i++)
        if (e->test[i - 1].phase > e->test[i].phase)
            return false;
    return true;
}

static void count_phase(struct taut_evidence *e, uint32_t from, uint32_t to)
{
    uint32_t stamp = ++e->phase_stamp;

    for (uint32_t i = from; i < to; i++) {
        const struct taut_pending *p = &e->test[i];
        for (uint32_t k = p->first; k < p->first + p->n; k++) {
            uint32_t c = e->stage[k].c;
            if (e->stamp[c] != stamp)
                e->users[c] = 0;
            e->stamp[c] = stamp;
            if (e->users[c] < TAUT_EVIDENCE_STREAMS)
                e->users[c]++;
        }
    }
    for (uint32_t i = from; i < to; i++) {
        const struct taut_pending *p = &e->test[i];
        for (uint32_t k = p->first; p->counts_users && k < p->first + p->n; k++)
            e->stage[k].users = e->users[e->stage[k].c];
    }
}

static void count_users(struct taut_evidence *e)
{
    if (!is_sorted(e))
        qsort(e->test, e->n_tests, sizeof(*e->test), by_phase);
    for (uint32_t i = 0, from = 0; i < e->n_tests; i++)
        if (i + 1 == e->n_tests || e->test[i + 1].phase != e->test[i].phase) {
            count_phase(e, from, i + 1);
            from = i + 1;
        }
}

/* ---- good, low, void; clearing ---- */

static void touch(struct taut_evidence *e, uint32_t c)
{
    if (e->touch_stamp[c] == e->touch_now)
        return;
    e->touch_stamp[c] = e->touch_now;
    e->touched[e->n_touched++] = c;
}

static double capacity(const struct taut_evidence *e,
                       const struct taut_stage *s)
{
    return e->g->capacity[s->c] / s->users;
}

static void expect(const struct taut_evidence *e, struct taut_pending *p)
{
    double known = HUGE_VAL, healthy = HUGE_VAL;

    for (uint32_t k = p->first; k < p->first + p->n; k++) {
        double cap = capacity(e, &e->stage[k]);
        if (e->is_unknown[e->stage[k].c]) {
            p->is_open = true;
            continue;
        }
        healthy = fmin(healthy, cap);
        known = fmin(known, cap * (double)e->left[e->stage[k].c]);
    }
    p->healthy_Bps = healthy;
    p->expected_Bps =
        p->is_judged ? p->expected_Bps * (known / healthy) : known;
    if (!p->is_judged)
        p->is_low = p->bw_Bps < e->rules.good * known;
    else if (known < healthy && p->bw_Bps >= e->rules.good * known)
        p->is_low = false; /* what is known to be slow explains it */
}

static void clear(struct taut_evidence *e, uint32_t c, double time, int64_t id)
{
    if (e->run[c] != NULL) {
        touch(e, c);
        if (time >= e->newest)
            taut_run_clear(e, c);
        else
            taut_evidence_expire(e, c, nextafter(time, HUGE_VAL));
    }
    if (e->is_watched[c])
        touch(e, c);
    if (time < e->cleared[c])
        return;
    e->cleared[c] = time;
    e->cleared_by[c] = id;
    e->cleared_at[c] = e->serial;
    if (e->good[c] < UINT32_MAX)
        e->good[c]++;
}

/* A test that shows something of c without clearing it. */
static void note_best(struct taut_evidence *e, uint32_t c, double share,
                      double time)
{
    struct taut_run *run = e->run[c];

    if (run == NULL)
        return;
    uint32_t n = run->n_shown;
    while (n > 0 && (double)run->shown[n - 1].share <= share)
        n--;
    if (n == TAUT_EVIDENCE_SHOWN)
        share =
            (double)run->shown[--n].share; /* rather too much than too little */
    run->shown[n] = (struct taut_glimpse){.share = (float)share, .time = time};
    run->n_shown = n + 1;
}

static void take_stage(struct taut_evidence *e, const struct taut_pending *p,
                       const struct taut_stage *s, double time)
{
    const struct taut_evidence_rules *r = &e->rules;
    double cap = capacity(e, s), share = p->bw_Bps / cap;
    double reach = fmin(1, p->healthy_Bps / cap);
    uint32_t c = s->c;

    if (e->is_unknown[c])
        return;
    e->tests[c]++;
    e->tested[c] = fmax(e->tested[c], time);
    if (reach > (double)e->reach[c])
        e->reach[c] = (float)reach;
    if (share >= r->good || ((double)e->reach[c] < r->good &&
                             share >= r->clear_most * (double)e->reach[c])) {
        clear(e, c, time, p->id);
        if (e->around[c] < e->groups && share >= r->good &&
            p->bw_Bps >= r->quiet * p->healthy_Bps)
            e->quiet[e->around[c]] = fmax(e->quiet[e->around[c]], time);
    } else if (!p->is_low) {
        note_best(e, c, share, time);
    }
}

/* Of a void test at a loaded port: what the port carried in all shows the port
 * itself; what of it went over the rest of the way nobody knows. */
static void take_port(struct taut_evidence *e, const struct taut_pending *p,
                      double time)
{
    for (uint32_t k = p->first; k < p->first + p->n; k++)
        if (e->stage[k].c == p->port)
            take_stage(e, p, &e->stage[k], time);
}

/* Acknowledgements came through: what the way back was accused of for
 * silence is void. */
static void take_way_back(struct taut_evidence *e, const struct taut_pending *p)
{
    const struct taut_graph *g = e->g;

    if (taut_graph_route(g, g->at[p->dst], g->at[p->src], p->src, &e->route) !=
        0)
        return;
    taut_run_drop_acks(e, taut_graph_tx(p->dst));
    taut_run_drop_acks(e, taut_graph_rx(p->src));
    for (uint32_t i = 0; !e->route.has_sets && i < e->route.stages; i++)
        taut_run_drop_acks(e, taut_graph_link(g, e->route.link[i]));
}

static void take_test(struct taut_evidence *e, struct taut_pending *p,
                      double time)
{
    if (p->bw_Bps < 0) {
        e->count.is_void++;
        return;
    }
    expect(e, p);
    if (p->is_open && p->is_low) {
        p->bw_Bps = -1; /* low by what nobody knows to be wrong */
        e->count.is_void++;
        return;
    }
    if (p->by_port) {
        e->count.is_void++;
        take_port(e, p, time);
        return;
    }
    if (p->is_low)
        e->count.low++;
    else
        e->count.good++;
    for (uint32_t k = p->first; k < p->first + p->n; k++)
        take_stage(e, p, &e->stage[k], time);
    if (!p->is_low && e->acks > 0)
        take_way_back(e, p);
}

/* ---- accusing ---- */

static double spell_of(const struct taut_evidence *e, double time)
{
    return floor(time / e->rules.spell_s);
}

/* How long ago the surroundings of each link on the way were last seen not to
 * be busy; -1: too long ago, or in another spell, or nobody knows which links
 * these were. */
static double quiet_for(const struct taut_evidence *e,
                        const struct taut_pending *p, double time)
{
    double age = 0;

    if (p->by_sets)
        return -1;
    for (uint32_t k = p->first + 1; k + 1 < p->first + p->n; k++) {
        uint32_t group = e->around[e->stage[k].c];
        if (group >= e->groups)
            return -1;
        double since = e->quiet[group];
        age = fmax(age, time - since);
        if (age > e->rules.around_s ||
            (age > 0 && spell_of(e, since) != spell_of(e, time)))
            return -1;
    }
    return age;
}

/* The component may be what made this test low. */
static bool is_accused(const struct taut_evidence *e,
                       const struct taut_stage *s, double bw_Bps, double time)
{
    return bw_Bps / capacity(e, s) < e->rules.good &&
           e->cleared_at[s->c] != e->serial && e->cleared[s->c] < time;
}

static void accuse(struct taut_evidence *e, struct taut_low *low)
{
    for (uint32_t i = 0; i < low->n; i++) {
        uint32_t c = low->on[i].c;
        if (low->port != TAUT_GRAPH_NONE && low->port != c)
            continue;
        if (taut_run_add(e, c, low, (double)low->on[i].share,
                         low->on[i].by_ack) < 0)
            e->out_of_memory = true;
        e->good[c] = 0;
        touch(e, c);
    }
}

/* The way back of a test through which nearly nothing came. */
static uint32_t way_back(struct taut_evidence *e, const struct taut_pending *p,
                         struct taut_shown *on, uint32_t room, double share)
{
    const struct taut_graph *g = e->g;
    uint32_t n = 0;

    if (taut_graph_route(g, g->at[p->dst], g->at[p->src], p->src, &e->route) !=
        0)
        return 0;
    for (uint32_t i = 0; i < e->route.stages + 2 && n < room; i++) {
        uint32_t c = taut_graph_tx(p->dst);
        if (i == e->route.stages)
            c = taut_graph_rx(p->src);
        else if (i < e->route.stages && !taut_route_is_sure(&e->route, i))
            continue;
        else if (i < e->route.stages)
            c = taut_graph_link(
                g,
                e->route.link[e->route.has_sets && i > 0 ? e->route.end[i - 1]
                                                         : i]);
        if (e->cleared_at[c] != e->serial)
            on[n++] = (struct taut_shown){c, (float)share, true};
    }
    return n;
}

static void take_low(struct taut_evidence *e, const struct taut_pending *p,
                     double time, int64_t event)
{
    uint32_t n = 0, extra = 0;
    bool is_silent = p->bw_Bps < e->rules.ack * p->expected_Bps;

    for (uint32_t k = p->first; k < p->first + p->n; k++)
        n += is_accused(e, &e->stage[k], p->bw_Bps, time);
    if (is_silent)
        extra = e->g->max_entries + 2;
    if (n == 0 && extra == 0)
        return;
    struct taut_low *low = taut_evidence_low_new(e, n + extra);
    if (low == NULL) {
        e->out_of_memory = true;
        return;
    }
    low->time = time;
    low->id = p->id;
    low->event = event;
    low->job = p->job;
    low->serial = e->serial;
    low->src = p->src;
    low->dst = p->dst;
    low->confirms = p->confirms;
    low->port = p->by_port ? p->port : TAUT_GRAPH_NONE;
    low->bw_Bps = (float)p->bw_Bps;
    low->expected_Bps = (float)p->expected_Bps;
    low->flows = p->flows;
    low->streams = p->streams;
    low->links = (uint16_t)(p->n - 2);
    low->quiet_s = (float)quiet_for(e, p, time);
    n = 0;
    for (uint32_t k = p->first; k < p->first + p->n; k++) {
        const struct taut_stage *s = &e->stage[k];
        if (is_accused(e, s, p->bw_Bps, time))
            low->on[n++] = (struct taut_shown){
                s->c, (float)(p->bw_Bps / capacity(e, s)), false};
    }
    if (is_silent)
        n += way_back(e, p, low->on + n, extra, p->bw_Bps / p->expected_Bps);
    low->n = (uint16_t)n;
    accuse(e, low);
    taut_evidence_low_release(e, low);
}

/* Several streams at once take more of a shared link than one does; such
 * tests can clear, but have no place among the ceilings of a run. */
int taut_evidence_commit(struct taut_evidence *e, double time, int64_t event)
{
    e->serial++;
    count_users(e);
    for (uint32_t i = 0; i < e->n_tests; i++)
        take_test(e, &e->test[i], time);
    for (uint32_t i = 0; i < e->n_tests; i++)
        if (e->test[i].bw_Bps >= 0 && e->test[i].is_low &&
            e->test[i].streams <= 1)
            take_low(e, &e->test[i], time, event);
    e->newest = fmax(e->newest, time);
    errno = ENOMEM;
    return e->out_of_memory ? -1 : 0;
}
