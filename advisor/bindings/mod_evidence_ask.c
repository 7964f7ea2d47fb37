/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.evidence: questions about single components, and changes to them. */
#include <config.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/bindings/graph/mod_graph.h"
#include "advisor/bindings/mod_evidence.h"

#define RIVAL_SHARE                                                            \
    0.3 /* of the tests at the ceiling that a rival explains                   \
         */

static struct taut_evidence *self(lua_State *L)
{
    return taut_check_evidence(L, 1)->evidence;
}

static void set_number(lua_State *L, const char *name, double v)
{
    if (isfinite(v)) {
        lua_pushnumber(L, v);
        lua_setfield(L, -2, name);
    }
}

static void set_count(lua_State *L, const char *name, uint32_t v)
{
    lua_pushinteger(L, v);
    lua_setfield(L, -2, name);
}

/* ---- the case against a component ---- */

/* Different nodes among the ends of the tests at the ceiling. */
struct ends {
    uint32_t node[TAUT_EVIDENCE_RUN_MAX + 1];
    uint32_t n;
};

static void add_end(struct ends *s, uint32_t node)
{
    for (uint32_t i = 0; i < s->n; i++)
        if (s->node[i] == node)
            return;
    if (s->n <= TAUT_EVIDENCE_RUN_MAX)
        s->node[s->n++] = node;
}

static bool is_at(const struct taut_evidence *e, const struct taut_entry *x,
                  const struct taut_case *k, uint32_t c)
{
    uint32_t by = x->low->explained_by;

    return (by == TAUT_GRAPH_NONE || by == c) &&
           ((double)x->share >= k->best * (1 - e->rules.ceiling) ||
            k->best - (double)x->share < 0.005);
}

/* far: other ends of a node's tests, pairs of a link's; sources and
 * destinations of a link's tests each for themselves, the fewer of them. */
static void set_ends(lua_State *L, const struct taut_evidence *e, uint32_t c,
                     const struct taut_case *k)
{
    const struct taut_run *run = e->run[c];
    struct ends from = {.n = 0}, to = {.n = 0};
    bool is_link = c >= 2 * e->g->endpoints;

    for (uint32_t i = k->start; run != NULL && i < run->n; i++) {
        const struct taut_low *low = run->entry[i].low;
        if (!is_at(e, &run->entry[i], k, c))
            continue;
        add_end(&from, low->src % e->g->nodes);
        add_end(&to, low->dst % e->g->nodes);
    }
    set_count(L, "senders", from.n);
    set_count(L, "receivers", to.n);
    if (is_link)
        set_count(L, "far", from.n > to.n ? from.n : to.n);
    else
        set_count(L, "far", c % 2 == 0 ? to.n : from.n);
}

static uint32_t opt_component(lua_State *L, int arg, const struct taut_graph *g)
{
    return lua_isnoneornil(L, arg) ? TAUT_GRAPH_NONE
                                   : taut_check_component(L, arg, g);
}

/* e:case(c [, without]) → what the run of c amounts to, or nil without one:
 * { score, newest, best, first, last, low, at, spells, events, quiet,
 *   confirmed, far, senders, receivers }; newest: what its newest spell adds
 * to the score */
static int ask_case(lua_State *L)
{
    struct taut_evidence *e = self(L);
    uint32_t c = taut_check_component(L, 2, e->g);
    uint32_t without = opt_component(L, 3, e->g);
    struct taut_case k;

    if (e->run[c] == NULL)
        return 0;
    taut_evidence_judge(e, c, &k);
    struct taut_case whole = k;
    if (without != TAUT_GRAPH_NONE)
        taut_evidence_without(e, c, &whole, without, &k);
    lua_createtable(L, 0, 15);
    set_number(L, "score", k.score);
    set_number(L, "newest", k.newest);
    set_number(L, "best", k.best);
    set_number(L, "first", k.first);
    set_number(L, "last", k.last);
    set_count(L, "low", k.low);
    set_count(L, "at", k.at);
    set_count(L, "spells", k.spells);
    set_count(L, "events", k.events);
    set_count(L, "quiet", k.quiet);
    set_count(L, "confirmed", k.confirmed);
    set_ends(L, e, c, &k);
    return 1;
}

/* e:changed(c, since, weight, least, share) → { component, tested, low } of a
 * class that has changed everywhere, or nothing; see evidence.h */
static int ask_changed(lua_State *L)
{
    struct taut_evidence *e = self(L);
    uint32_t c = taut_check_component(L, 2, e->g);
    lua_Integer least = luaL_checkinteger(L, 5);
    struct taut_change t;

    luaL_argcheck(L, least >= 0 && least <= UINT32_MAX, 5, "a count");
    if (!taut_evidence_changed(e, c, luaL_checknumber(L, 3),
                               luaL_checknumber(L, 4), (uint32_t)least,
                               luaL_checknumber(L, 6), &t))
        return 0;
    lua_createtable(L, 0, 3);
    set_count(L, "component", t.c + 1);
    set_count(L, "tested", t.tested);
    set_count(L, "low", t.low);
    return 1;
}

/* e:class(c) → number of its class, or nothing */
static int ask_class(lua_State *L)
{
    struct taut_evidence *e = self(L);
    uint32_t class = e->class[taut_check_component(L, 2, e->g)];

    if (class == TAUT_GRAPH_NONE)
        return 0;
    lua_pushinteger(L, (lua_Integer)class + 1);
    return 1;
}

/* e:alike(c, since, near) → number of components, see evidence.h */
static int ask_alike(lua_State *L)
{
    struct taut_evidence *e = self(L);
    uint32_t c = taut_check_component(L, 2, e->g);

    lua_pushinteger(L, taut_evidence_alike(e, c, luaL_checknumber(L, 3),
                                           luaL_checknumber(L, 4)));
    return 1;
}

/* e:score(c) → log odds, 0 without a run */
static int ask_score(lua_State *L)
{
    struct taut_evidence *e = self(L);
    struct taut_case k;

    lua_pushnumber(
        L, taut_evidence_judge(e, taut_check_component(L, 2, e->g), &k));
    return 1;
}

/* ---- rivals ---- */

#define RIVALS_MAX 1024

struct rival {
    uint32_t c;
    uint32_t tests; /* at the ceiling of the accused, that it was on */
};

struct rivals {
    struct rival list[RIVALS_MAX];
    uint32_t n;
};

static void count_rival(struct taut_evidence *e, struct rivals *r, uint32_t c)
{
    if (e->slot_stamp[c] != e->slot_now) {
        if (r->n == RIVALS_MAX)
            return;
        e->slot_stamp[c] = e->slot_now;
        e->slot[c] = r->n;
        r->list[r->n++] = (struct rival){.c = c, .tests = 0};
    }
    r->list[e->slot[c]].tests++;
}

static int by_tests(const void *a, const void *b)
{
    const struct rival *x = a, *y = b;

    if (x->tests != y->tests)
        return x->tests < y->tests ? 1 : -1;
    return (x->c > y->c) - (x->c < y->c);
}

/* Everything else on the ways of the tests at c's ceiling, what is on most of
 * them first. */
static void collect(struct taut_evidence *e, uint32_t c,
                    const struct taut_case *k, struct rivals *r)
{
    const struct taut_run *run = e->run[c];

    e->slot_now++;
    r->n = 0;
    for (uint32_t i = k->start; run != NULL && i < run->n; i++) {
        const struct taut_low *low = run->entry[i].low;
        for (uint32_t j = 0; is_at(e, &run->entry[i], k, c) && j < low->n; j++)
            if (low->on[j].c != c)
                count_rival(e, r, low->on[j].c);
    }
    qsort(r->list, r->n, sizeof(r->list[0]), by_tests);
}

static void push_rival(lua_State *L, const struct rival *r, double rest,
                       double own, uint32_t at)
{
    lua_createtable(L, 0, 6);
    lua_pushinteger(L, (lua_Integer)r->c + 1);
    lua_setfield(L, -2, "component");
    set_number(L, "rest", rest);
    set_number(L, "score", own);
    set_number(L, "same", (double)r->tests / (double)at);
}

/* Suspects whose own case stands without c: they may be busy besides, and so
 * explain whatever crosses them. */
static uint32_t independent(struct taut_evidence *e, uint32_t c,
                            const struct rivals *r, double enough,
                            struct taut_other *list)
{
    uint32_t n = 0;
    struct taut_case own, rest;

    for (uint32_t i = 0; i < r->n && n < RIVALS_MAX; i++) {
        uint32_t o = r->list[i].c;
        if (!e->is_watched[o])
            continue;
        taut_evidence_judge(e, o, &own);
        if (taut_evidence_without(e, o, &own, c, &rest) >= enough)
            list[n++] = (struct taut_other){.c = o, .all = true};
    }
    return n;
}

static lua_Integer push_union(lua_State *L, struct taut_evidence *e, uint32_t c,
                              const struct taut_case *k, struct rivals *r,
                              double enough)
{
    struct taut_other *list = taut_lua_buffer(L, RIVALS_MAX, sizeof(*list));
    struct taut_case rest;
    lua_Integer made = 0;
    struct taut_others w = {
        .list = list,
        .n = independent(e, c, r, enough, list),
    };

    bool is_explained =
        w.n > 0 && taut_evidence_rest(e, c, k, &w, &rest) < enough;
    lua_remove(L, -1);
    for (uint32_t i = 0; is_explained && i < w.n; i++) {
        struct rival one = {.c = list[i].c, .tests = k->at};
        push_rival(L, &one, rest.score, 0, k->at);
        lua_rawseti(L, -2, ++made);
    }
    return made;
}

/* e:rivals(c, enough) → array of { component, rest, score, same }: others
 * that explain so much of c's run that less than 'enough' log odds are left
 * ('rest') without them; score: their own; same: share of the tests that
 * crossed them.  Where none does alone, those that do together. */
static int ask_rivals(lua_State *L)
{
    struct taut_evidence *e = self(L);
    uint32_t c = taut_check_component(L, 2, e->g);
    double enough = luaL_checknumber(L, 3);
    struct taut_case k, rest, own;
    lua_Integer n = 0;

    struct rivals *r = taut_lua_buffer(L, 1, sizeof(*r));
    lua_newtable(L);
    taut_evidence_judge(e, c, &k);
    if (e->run[c] == NULL || k.at == 0)
        return 1;
    collect(e, c, &k, r);
    for (uint32_t i = 0; i < r->n; i++) {
        uint32_t o = r->list[i].c;
        if (r->list[i].tests < RIVAL_SHARE * k.at)
            break;
        taut_evidence_without(e, c, &k, o, &rest);
        if (rest.score >= enough)
            continue;
        taut_evidence_judge(e, o, &own);
        push_rival(L, &r->list[i], rest.score, own.score, k.at);
        lua_rawseti(L, -2, ++n);
    }
    if (n == 0)
        push_union(L, e, c, &k, r, enough);
    return 1;
}

/* e:alternatives(c, most) → what else was on the ways of c's tests, most of
 * them first: { component, same, cleared_at, cleared_by, rest }; cleared: by
 * a later test, where there was one; rest: log odds of what it leaves
 * unexplained */
static int ask_alternatives(lua_State *L)
{
    struct taut_evidence *e = self(L);
    uint32_t c = taut_check_component(L, 2, e->g);
    lua_Integer most = luaL_checkinteger(L, 3);
    struct taut_case k, rest;

    struct rivals *r = taut_lua_buffer(L, 1, sizeof(*r));
    lua_newtable(L);
    taut_evidence_judge(e, c, &k);
    if (e->run[c] == NULL || k.at == 0)
        return 1;
    collect(e, c, &k, r);
    for (uint32_t i = 0; i < r->n && i < most; i++) {
        uint32_t o = r->list[i].c;
        taut_evidence_without(e, c, &k, o, &rest);
        push_rival(L, &r->list[i], rest.score, 0, k.at);
        if (e->cleared[o] > k.first) {
            set_number(L, "cleared_at", e->cleared[o]);
            lua_pushinteger(L, e->cleared_by[o]);
            lua_setfield(L, -2, "cleared_by");
        }
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

/* ---- the tests of a run ---- */

static void set_node(lua_State *L, const struct taut_graph *g, const char *name,
                     uint32_t endpoint)
{
    set_count(L, name, endpoint % g->nodes + 1);
}

static void push_on(lua_State *L, const struct taut_low *low)
{
    lua_createtable(L, 0, low->n);
    for (uint32_t i = 0; i < low->n; i++) {
        lua_pushnumber(L, (double)low->on[i].share);
        lua_rawseti(L, -2, (lua_Integer)low->on[i].c + 1);
    }
    lua_setfield(L, -2, "on");
}

static void push_low(lua_State *L, const struct taut_evidence *e,
                     const struct taut_entry *x)
{
    const struct taut_low *low = x->low;
    double bw = (double)low->bw_Bps, expected = (double)low->expected_Bps;

    lua_createtable(L, 0, 20);
    lua_pushinteger(L, low->id);
    lua_setfield(L, -2, "id");
    lua_pushinteger(L, low->event);
    lua_setfield(L, -2, "event");
    lua_pushinteger(L, low->job);
    lua_setfield(L, -2, "job");
    set_number(L, "time", low->time);
    set_node(L, e->g, "src", low->src);
    set_node(L, e->g, "dst", low->dst);
    set_count(L, "rail", low->src / e->g->nodes + 1);
    set_number(L, "bw_Bps", bw);
    set_number(L, "expected_Bps", expected);
    set_number(L, "ratio", expected > 0 ? bw / expected : 0);
    set_number(L, "share", (double)x->share);
    set_count(L, "flows", low->flows);
    set_count(L, "streams", low->streams);
    set_count(L, "serial", low->serial);
    if (low->quiet_s >= 0)
        set_number(L, "quiet_s", (double)low->quiet_s);
    lua_pushboolean(L, x->by_ack);
    lua_setfield(L, -2, "by_ack");
    if (low->confirms != TAUT_GRAPH_NONE)
        set_count(L, "confirms", low->confirms + 1);
    if (low->explained_by != TAUT_GRAPH_NONE)
        set_count(L, "explained_by", low->explained_by + 1);
    if (low->port != TAUT_GRAPH_NONE) {
        lua_pushstring(L, low->port == taut_graph_tx(low->src) ? "src" : "dst");
        lua_setfield(L, -2, "port");
    }
    push_on(L, low);
}

/* e:run(c) → array of low tests, oldest first */
static int ask_run(lua_State *L)
{
    struct taut_evidence *e = self(L);
    const struct taut_run *run = e->run[taut_check_component(L, 2, e->g)];

    lua_newtable(L);
    for (uint32_t i = 0; run != NULL && i < run->n; i++) {
        push_low(L, e, &run->entry[i]);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

static void count_node(lua_State *L, uint32_t node)
{
    lua_rawgeti(L, -1, (lua_Integer)node + 1);
    lua_Integer n = lua_tointeger(L, -1);
    lua_pop(L, 1);
    lua_pushinteger(L, n + 1);
    lua_rawseti(L, -2, (lua_Integer)node + 1);
}

/* e:nodes(c) → map node → tests of the run it took part in */
static int ask_nodes(lua_State *L)
{
    struct taut_evidence *e = self(L);
    const struct taut_run *run = e->run[taut_check_component(L, 2, e->g)];

    lua_newtable(L);
    for (uint32_t i = 0; run != NULL && i < run->n; i++) {
        count_node(L, run->entry[i].low->src % e->g->nodes);
        count_node(L, run->entry[i].low->dst % e->g->nodes);
    }
    return 1;
}

/* e:low(c) → number of tests in the run */
static int ask_low(lua_State *L)
{
    struct taut_evidence *e = self(L);
    const struct taut_run *run = e->run[taut_check_component(L, 2, e->g)];

    lua_pushinteger(L, run == NULL ? 0 : run->n);
    return 1;
}

/* e:seen(c) → { tests, good, cleared_at, cleared_by, last, reach, left, most,
 * most_at }; most: the best of tests that were neither low nor clearing */
static int ask_seen(lua_State *L)
{
    struct taut_evidence *e = self(L);
    uint32_t c = taut_check_component(L, 2, e->g);

    lua_createtable(L, 0, 9);
    set_count(L, "tests", e->tests[c]);
    set_count(L, "good", e->good[c]);
    set_number(L, "cleared_at", e->cleared[c]);
    set_number(L, "last", e->tested[c]);
    set_number(L, "reach", (double)e->reach[c]);
    set_number(L, "left", (double)e->left[c]);
    const struct taut_run *run = e->run[c];
    if (run != NULL && run->n_shown > 0) {
        set_number(L, "most", (double)run->shown[0].share);
        set_number(L, "most_at", run->shown[0].time);
    }
    if (isfinite(e->cleared[c])) {
        lua_pushinteger(L, e->cleared_by[c]);
        lua_setfield(L, -2, "cleared_by");
    }
    return 1;
}

/* e:tested(c), e:cleared(c) → time, -inf: never */
static int ask_tested(lua_State *L)
{
    struct taut_evidence *e = self(L);

    lua_pushnumber(L, e->tested[taut_check_component(L, 2, e->g)]);
    return 1;
}

static int ask_cleared(lua_State *L)
{
    struct taut_evidence *e = self(L);

    lua_pushnumber(L, e->cleared[taut_check_component(L, 2, e->g)]);
    return 1;
}

/* e:open(least) → components with a run of at least so many tests */
static int ask_open(lua_State *L)
{
    struct taut_evidence *e = self(L);
    lua_Integer least = luaL_optinteger(L, 2, 1), n = 0;

    lua_newtable(L);
    for (uint32_t c = 0; c < e->g->components; c++)
        if (e->run[c] != NULL && e->run[c]->n >= least) {
            lua_pushinteger(L, (lua_Integer)c + 1);
            lua_rawseti(L, -2, ++n);
        }
    return 1;
}

/* e:touched() → components whose run the last event began, changed or ended */
static int ask_touched(lua_State *L)
{
    struct taut_evidence *e = self(L);

    lua_createtable(L, (int)e->n_touched, 0);
    for (uint32_t i = 0; i < e->n_touched; i++) {
        lua_pushinteger(L, (lua_Integer)e->touched[i] + 1);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

/* e:serial() → events taken so far */
static int ask_serial(lua_State *L)
{
    lua_pushinteger(L, self(L)->serial);
    return 1;
}

/* e:size() → low tests held, components with a run */
static int ask_size(lua_State *L)
{
    struct taut_evidence *e = self(L);
    lua_Integer runs = 0;

    for (uint32_t c = 0; c < e->g->components; c++)
        runs += e->run[c] != NULL;
    lua_pushinteger(L, (lua_Integer)e->lows);
    lua_pushinteger(L, runs);
    return 2;
}

/* ---- changes ---- */

/* e:unknown(c, yes): nobody knows what c carries; or it is known now */
static int set_unknown(lua_State *L)
{
    struct taut_evidence *e = self(L);
    uint32_t c = taut_check_component(L, 2, e->g);

    e->is_unknown[c] = lua_toboolean(L, 3);
    return 0;
}

/* e:watch(c, yes): c is reported whenever it is touched */
static int set_watch(lua_State *L)
{
    struct taut_evidence *e = self(L);

    e->is_watched[taut_check_component(L, 2, e->g)] = lua_toboolean(L, 3);
    return 0;
}

/* e:name(c, left): c has so much left and explains its run; 1: it is well */
static int set_name(lua_State *L)
{
    struct taut_evidence *e = self(L);
    uint32_t c = taut_check_component(L, 2, e->g);
    double left = luaL_checknumber(L, 3);

    luaL_argcheck(L, left >= 0 && left <= 1, 3, "not within 0 to 1");
    taut_evidence_name(e, c, left);
    return 0;
}

/* e:forget(c), e:expire(c, time), e:void() */
static int forget(lua_State *L)
{
    struct taut_evidence *e = self(L);

    taut_evidence_forget(e, taut_check_component(L, 2, e->g));
    return 0;
}

static int expire(lua_State *L)
{
    struct taut_evidence *e = self(L);

    taut_evidence_expire(e, taut_check_component(L, 2, e->g),
                         luaL_checknumber(L, 3));
    return 0;
}

/* e:reroute(): routes have changed */
static int reroute(lua_State *L)
{
    taut_evidence_reroute(self(L));
    return 0;
}

static int make_void(lua_State *L)
{
    taut_evidence_void(self(L));
    return 0;
}

/* ---- back from a store ---- */

static double need_number(lua_State *L, const char *name)
{
    int is_number;

    lua_getfield(L, 2, name);
    double v = lua_tonumberx(L, -1, &is_number);
    lua_pop(L, 1);
    if (!is_number || !isfinite(v))
        luaL_error(L, "field '%s': number expected", name);
    return v;
}

static bool get_flag(lua_State *L, const char *name)
{
    lua_getfield(L, 2, name);
    bool v = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return v;
}

/* Fills in the components of the test at 2 from the table on the top; false
 * where one is none of the machine's. */
static bool restore_on(lua_State *L, const struct taut_graph *g,
                       struct taut_low *low, bool by_ack)
{
    uint16_t n = 0;

    for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1)) {
        lua_Integer c = lua_tointeger(L, -2);
        double share = lua_tonumber(L, -1);
        if (c < 1 || c > g->components || !(share >= 0) || n >= low->n) {
            lua_pop(L, 2);
            return false;
        }
        low->on[n++] =
            (struct taut_shown){(uint32_t)c - 1, (float)share, by_ack};
    }
    low->n = n;
    return true;
}

static void restore_fields(lua_State *L, const struct taut_graph *g,
                           struct taut_low *low)
{
    low->time = need_number(L, "time");
    low->id = (int64_t)need_number(L, "id");
    low->event = (int64_t)need_number(L, "event");
    low->job = (int64_t)need_number(L, "job");
    low->src = (uint32_t)need_number(L, "src") - 1;
    low->dst = (uint32_t)need_number(L, "dst") - 1;
    uint32_t rail = (uint32_t)need_number(L, "rail") - 1;
    low->src = (low->src + rail * g->nodes) % g->endpoints;
    low->dst = (low->dst + rail * g->nodes) % g->endpoints;
    low->bw_Bps = (float)need_number(L, "bw_Bps");
    low->expected_Bps = (float)need_number(L, "expected_Bps");
    low->flows = (uint16_t)need_number(L, "flows");
    low->streams = (uint16_t)need_number(L, "streams");
    low->serial = (uint32_t)need_number(L, "serial");
    lua_getfield(L, 2, "quiet_s");
    low->quiet_s = (float)luaL_optnumber(L, -1, -1);
    lua_getfield(L, 2, "port");
    const char *port = lua_tostring(L, -1);
    low->port = port == NULL               ? TAUT_GRAPH_NONE
                : strcmp(port, "src") == 0 ? taut_graph_tx(low->src)
                                           : taut_graph_rx(low->dst);
    lua_pop(L, 2);
}

/* e:restore(test): put a test of e:run back into the runs of the components
 * in its 'on', but for those that were cleared later.  Tests of one event
 * have the same 'serial', above 0. */
static int restore(lua_State *L)
{
    struct taut_evidence *e = self(L);
    uint32_t n = 0;

    luaL_checktype(L, 2, LUA_TTABLE);
    if (lua_getfield(L, 2, "on") != LUA_TTABLE)
        return luaL_error(L, "field 'on': table expected");
    for (lua_pushnil(L); lua_next(L, -2) != 0; lua_pop(L, 1))
        n++;
    luaL_argcheck(L, n < 4096, 2, "too many components");
    struct taut_low checked = {.n = 0};
    lua_pop(L, 1);
    restore_fields(L, e->g, &checked);
    bool by_ack = get_flag(L, "by_ack");
    struct taut_low *low = taut_evidence_low_new(e, n);
    if (low == NULL)
        return luaL_error(L, "out of memory for evidence");
    uint32_t refs = low->refs;
    *low = checked;
    low->refs = refs;
    low->n = (uint16_t)n;
    low->explained_by = low->confirms = TAUT_GRAPH_NONE;
    lua_getfield(L, 2, "on");
    bool ok = restore_on(L, e->g, low, by_ack);
    for (uint32_t i = 0; ok && i < low->n; i++)
        ok = taut_evidence_restore(e, low->on[i].c, low,
                                   (double)low->on[i].share, by_ack) == 0;
    if (ok && low->serial > e->serial)
        e->serial = low->serial;
    taut_evidence_low_release(e, low);
    lua_pushboolean(L, ok);
    return 1;
}

/* e:restore_seen(c, { cleared_at, last, tests, good }) */
static int restore_seen(lua_State *L)
{
    struct taut_evidence *e = self(L);
    uint32_t c = taut_check_component(L, 2, e->g);

    luaL_checktype(L, 3, LUA_TTABLE);
    lua_getfield(L, 3, "cleared_at");
    e->cleared[c] = fmax(e->cleared[c], luaL_optnumber(L, -1, -HUGE_VAL));
    lua_getfield(L, 3, "last");
    e->tested[c] = fmax(e->tested[c], luaL_optnumber(L, -1, -HUGE_VAL));
    lua_getfield(L, 3, "tests");
    e->tests[c] += (uint32_t)luaL_optinteger(L, -1, 0);
    lua_getfield(L, 3, "good");
    e->good[c] += (uint32_t)luaL_optinteger(L, -1, 0);
    return 0;
}

const luaL_Reg taut_evidence_questions[] = {
    {"alternatives", ask_alternatives},
    {"case", ask_case},
    {"changed", ask_changed},
    {"alike", ask_alike},
    {"class", ask_class},
    {"cleared", ask_cleared},
    {"expire", expire},
    {"forget", forget},
    {"low", ask_low},
    {"name", set_name},
    {"nodes", ask_nodes},
    {"open", ask_open},
    {"rivals", ask_rivals},
    {"reroute", reroute},
    {"restore", restore},
    {"restore_seen", restore_seen},
    {"run", ask_run},
    {"score", ask_score},
    {"seen", ask_seen},
    {"serial", ask_serial},
    {"size", ask_size},
    {"tested", ask_tested},
    {"touched", ask_touched},
    {"void", make_void},
    {"unknown", set_unknown},
    {"watch", set_watch},
    {NULL, NULL},
};
