/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.tests: the figures of a test, from what its two nodes reported, and which
 * of them the thresholds of the settings call good.  judge.lua says what follows,
 * in words; for most tests nothing does, and they never get there. */
#include <config.h>

#include <math.h>
#include <stdlib.h>

#include "advisor/bindings/test/mod_test.h"

#define CLASS lua_upvalueindex(1)
#define TAIL 2 /* segments lost at the end of a stream, which no receiver sees */
#define PARTS_MAX 64 /* of a window; wire/result.lua takes no more */
#define HEADERS 1.03 /* of payload: 4.6 % at 1500 bytes of MTU, 0.7 % at 9000 */

/* Where the reports and the settings lie on the stack. */
struct reports {
    int send, recv, settings;
};

static double number_of(lua_State *L, int table, const char *name,
                        double fallback)
{
    bool is_number = lua_getfield(L, table, name) == LUA_TNUMBER;
    double v = is_number ? lua_tonumber(L, -1) : fallback;

    lua_pop(L, 1);
    return v;
}

static bool is_set(lua_State *L, int table, const char *name)
{
    lua_getfield(L, table, name);
    bool yes = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return yes;
}

static double rate(double bytes, double window_ns)
{
    return window_ns > 0 ? bytes * 1e9 / window_ns : 0;
}

/* ---- losses ---- */

/* What both ends say of a stream's losses; NAN where they do not agree, or one of
 * them did not count. */
struct losses {
    double segments; /* sent, those sent again included */
    double lost;     /* of them */
    double segment_bytes; /* what each of those that a TCP stream sent again
                             carried; NAN: none was, or ports counted */
};

/* Are two counts of the same losses about the same?  What was under way at the
 * end may not have arrived before the receiver stopped counting. */
static bool is_agreed(double again, double missing, double unacked)
{
    double differ = missing - again;

    return fabs(differ) <= fmax(TAIL, fmax(again, missing) / 2) ||
           (differ > 0 && differ <= unacked);
}

/* Over TCP there are two counts: the sender's retransmitted segments without
 * spurious ones; and the sent less the received segments.  Where they differ
 * much one end is wrong.  Where they differ little, or by what was under way at
 * the end, the lesser counts: the reset that ends a stream may overtake its
 * last segments, and what the sender's own queue did not take never left.  What
 * neither arrived nor was sent again was not sent, for all that is known.
 * Losses without a gap at the receiver, or for which it had no memory, do not
 * count either. */
static bool read_tcp_losses(lua_State *L, int send, int recv, struct losses *l)
{
    double sent = number_of(L, send, "segments", -1);
    double again = number_of(L, send, "resent", -1) -
                   number_of(L, send, "spurious", 0);
    double missing = sent - number_of(L, recv, "segments", HUGE_VAL);

    if (sent < 1 || again < 0 || !(missing > -HUGE_VAL) ||
        !is_agreed(again, fmax(0, missing), number_of(L, send, "unacked", 0)))
        return false;
    l->segments = fmin(sent, sent - missing + again + TAIL);
    l->lost = fmin(again, fmax(0, missing));
    l->segment_bytes = number_of(L, send, "resent_bytes", NAN) /
                       number_of(L, send, "resent", NAN);
    return l->lost <= TAIL || (number_of(L, recv, "disordered", 0) > 0 &&
                               number_of(L, recv, "pruned", 0) == 0);
}

/* Over RDMA: what the adapters of both ends counted in the window. */
static bool read_port_losses(lua_State *L, int send, int recv, struct losses *l)
{
    l->segments = number_of(L, recv, "port_packets", -1);
    l->lost = fmin(number_of(L, recv, "port_lost", -1),
                   number_of(L, send, "port_lost", -1));
    l->segment_bytes = NAN;
    return l->segments >= 1 && l->lost >= 0 && l->lost <= l->segments;
}

static void read_losses(lua_State *L, const struct reports *at,
                        struct losses *l)
{
    if (is_set(L, at->send, "error") || is_set(L, at->recv, "error") ||
        !(read_tcp_losses(L, at->send, at->recv, l) ||
          read_port_losses(L, at->send, at->recv, l)))
        *l = (struct losses){NAN, NAN, NAN};
}

/* ---- figures ---- */

/* What the port of an end carried in the window. */
struct port {
    double foreign_bytes; /* of others, in the direction that has more */
    double all_Bps;       /* payload, all that went as the data did; NAN: its
                             node did not look for most of the window */
    double back_Bps;      /* payload of others that went the other way */
    bool has_others;      /* more of them than a test bears */
};

struct reading {
    struct taut_test_figures figures;
    struct port src, dst;
    double part_Bps[PARTS_MAX]; /* of the receiver's window */
    int parts;
    bool has_few_looks; /* it slept: it guesses what came when */
    bool differs;       /* one end's account from the other's */
    bool is_good, is_good_by_both;
};

/* What others sent beside a test is what its node reckons, which allows for what
 * its own last tests may have left on the way, or what was counted in the window:
 *     others = max(with, back) / HEADERS * the test's time        bytes
 * 'most_bytes': what a test bears of them. */
static void read_port(lua_State *L, int end, double dur_ms, double most_bytes,
                      struct port *p)
{
    double ns = number_of(L, end, "port_ns", 0);
    double data = number_of(L, end, "port_data_bytes", NAN);
    double with = number_of(L, end, "port_with_bytes", NAN);
    double back = number_of(L, end, "port_back_bytes", NAN);

    p->foreign_bytes = number_of(L, end, "foreign_bytes", 0);
    p->all_Bps = p->back_Bps = NAN;
    if (ns > 0 && ns >= number_of(L, end, "window_ns", 0) / 2 &&
        !isnan(data + with + back)) {
        p->all_Bps = rate(data, ns) / HEADERS;
        p->back_Bps = rate(back, ns) / HEADERS;
        p->foreign_bytes =
            fmax(p->foreign_bytes,
                 rate(fmax(with, back), ns) / HEADERS * dur_ms / 1e3);
    }
    p->has_others = p->foreign_bytes > most_bytes;
}

/* What the receiver's sub-intervals reached. */
static void read_parts(lua_State *L, int recv, struct reading *r)
{
    double window_ns = number_of(L, recv, "window_ns", 0);

    if (lua_getfield(L, recv, "sub_bytes") == LUA_TTABLE) {
        lua_Unsigned n = lua_rawlen(L, -1);
        r->parts = n < PARTS_MAX ? (int)n : PARTS_MAX;
        for (int i = 0; i < r->parts; i++) {
            lua_rawgeti(L, -1, i + 1);
            r->part_Bps[i] = rate(lua_tonumber(L, -1), window_ns / r->parts);
            lua_pop(L, 1);
        }
    }
    lua_pop(L, 1);
}

static double rate_of_end(lua_State *L, int end)
{
    return is_set(L, end, "error") ? 0
                                   : rate(number_of(L, end, "bytes", 0),
                                          number_of(L, end, "window_ns", 0));
}

/* Hold the figures against what is expected; where no capacity is known, against
 * the larger account.  In a third of a window, which is what ends a routine test
 * early, the accounts may well differ: a receiver that wakes late acknowledges
 * late.  It takes both ends to call it good all the same. */
static void weigh(lua_State *L, int settings, double enough_Bps,
                  struct reading *r)
{
    struct taut_test_figures *f = &r->figures;
    double good = number_of(L, settings, "good", 1);

    if (!(f->expected_Bps < HUGE_VAL))
        f->expected_Bps = fmax(fmax(f->bw_Bps, f->sender_Bps), 1);
    f->ratio = f->bw_Bps / f->expected_Bps;
    r->is_good = f->ratio >= good;
    r->is_good_by_both = r->is_good && !isnan(enough_Bps) &&
                         f->sender_Bps / f->expected_Bps >= good;
    r->differs = fabs(f->bw_Bps - f->sender_Bps) >
                 number_of(L, settings, "void_disagree", 0) * f->expected_Bps;
}

static double larger(lua_State *L, const struct reports *at, const char *name)
{
    return fmax(number_of(L, at->send, name, 0),
                number_of(L, at->recv, name, 0));
}

/* Losses beside others are their queue's, unless nothing is ever dropped for want
 * of room. */
static void read_ends(lua_State *L, const struct reports *at, double dur_ms,
                      struct reading *r)
{
    struct taut_test_figures *f = &r->figures;
    double most = number_of(L, at->settings, "void_foreign", HUGE_VAL) *
                  f->expected_Bps * dur_ms / 1e3;
    struct losses l = {NAN, NAN, NAN};

    read_port(L, at->send, dur_ms, most, &r->src);
    read_port(L, at->recv, dur_ms, most, &r->dst);
    if (!(r->src.has_others || r->dst.has_others) ||
        is_set(L, at->settings, "lossless"))
        read_losses(L, at, &l);
    f->segments = l.segments;
    f->lost = l.lost;
    f->segment_bytes = l.segment_bytes > 0 ? l.segment_bytes : NAN;
    f->rtt_ns = number_of(L, at->send, "rtt_ns", NAN);
    f->min_rtt_ns = number_of(L, at->send, "min_rtt_ns", NAN);
    f->delay_ns = larger(L, at, "delay_ns");
    f->foreign_bytes = larger(L, at, "foreign_bytes");
}

/* The figures of a test that lasted dur_ms and was to reach expected_Bps, and may
 * have ended early at enough_Bps (NAN: not). */
static void read_test(lua_State *L, const struct reports *at,
                      double expected_Bps, double dur_ms, double enough_Bps,
                      struct reading *r)
{
    struct taut_test_figures *f = &r->figures;

    r->parts = 0;
    f->expected_Bps = expected_Bps;
    f->bw_Bps = rate_of_end(L, at->recv);
    f->sender_Bps = rate_of_end(L, at->send);
    weigh(L, at->settings, enough_Bps, r);
    read_parts(L, at->recv, r);
    f->peak = NAN;
    for (int i = 0; i < r->parts; i++)
        f->peak = fmax(f->peak, r->part_Bps[i] / f->expected_Bps);
    r->has_few_looks = r->parts > 0 &&
                       number_of(L, at->recv, "looks", HUGE_VAL) <
                           fmin(number_of(L, at->settings, "void_looks", 0),
                                r->parts);
    read_ends(L, at, dur_ms, r);
}

static int compare_down(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x < y) - (x > y);
}

/* What the best quarter of the parts reached at least, as a share of what is
 * expected; NAN without any. */
static double best_quarter(struct reading *r)
{
    if (r->parts == 0)
        return NAN;
    qsort(r->part_Bps, (size_t)r->parts, sizeof(*r->part_Bps), compare_down);
    return r->part_Bps[r->parts < 4 ? 0 : r->parts / 4 - 1] /
           r->figures.expected_Bps;
}

static void set_number(lua_State *L, const char *name, double v)
{
    if (isnan(v))
        return;
    lua_pushnumber(L, v);
    lua_setfield(L, -2, name);
}

static void set_flag(lua_State *L, const char *name, bool v)
{
    lua_pushboolean(L, v);
    lua_setfield(L, -2, name);
}

static void set_port(lua_State *L, const char *name, const struct port *p)
{
    lua_newtable(L);
    set_number(L, "foreign_bytes", p->foreign_bytes);
    set_number(L, "all_Bps", p->all_Bps);
    set_number(L, "back_Bps", p->back_Bps);
    set_flag(L, "has_others", p->has_others);
    lua_setfield(L, -2, name);
}

static void need_table(lua_State *L, int index)
{
    if (lua_istable(L, index))
        return;
    lua_newtable(L);
    lua_replace(L, index);
}

/* tests.measure(t, expected_Bps, send, recv, s): set the figures of a test, which
 * may be a table
 *   send, recv  what the two nodes reported, or nil
 *   s           good, void_disagree, void_looks, void_foreign, lossless
 * → { is_good, is_good_by_both, differs, has_few_looks, best_quarter: a share of
 *     what is expected; src, dst: { has_others, foreign_bytes; all_Bps and
 *     back_Bps: of what its port carried, nil where its node did not look } } */
static int tests_measure(lua_State *L)
{
    const struct reports at = {.send = 3, .recv = 4, .settings = 5};
    struct reading r;

    double expected_Bps = luaL_checknumber(L, 2);
    luaL_checktype(L, 5, LUA_TTABLE);
    lua_settop(L, 5);
    need_table(L, at.send);
    need_table(L, at.recv);
    read_test(L, &at, expected_Bps, number_of(L, 1, "dur_ms", 0),
              number_of(L, 1, "enough_Bps", NAN), &r);
    taut_test_set_figures(L, 1, CLASS, &r.figures);
    lua_newtable(L);
    set_flag(L, "is_good", r.is_good);
    set_flag(L, "is_good_by_both", r.is_good_by_both);
    set_flag(L, "differs", r.differs);
    set_flag(L, "has_few_looks", r.has_few_looks);
    set_number(L, "best_quarter", best_quarter(&r));
    set_port(L, "src", &r.src);
    set_port(L, "dst", &r.dst);
    return 1;
}

/* tests.is_plainly_good(t, send, recv, s): the same for a test of a plan, if
 * nothing is to be said of it
 * → true: it is good, and judge.test has nothing to add; false: nothing was set.
 * Not for topologies of which anything is still to be learned. */
static int tests_is_plainly_good(lua_State *L)
{
    const struct reports at = {.send = 2, .recv = 3, .settings = 4};
    struct taut_lua_test *t = taut_test_at(L, 1, CLASS);
    struct reading r;

    lua_settop(L, 4);
    lua_pushboolean(L, 0);
    if (t == NULL || t->graph == NULL || !lua_istable(L, 2) ||
        !lua_istable(L, 3) || taut_test_is_odd(L, 1, t) ||
        is_set(L, 2, "error") || is_set(L, 3, "error"))
        return 1;
    double expected_Bps = taut_test_expectation(L, 1, t);
    if (!(expected_Bps < HUGE_VAL))
        return 1;
    read_test(L, &at, expected_Bps, t->dur_ms, t->enough_Bps, &r);
    if (!r.is_good || r.has_few_looks || r.figures.ratio > TAUT_TEST_BEYOND ||
        (r.differs && !r.is_good_by_both))
        return 1;
    t->figures = r.figures;
    t->figure = !r.differs;
    t->class = TAUT_TEST_GOOD;
    lua_pushboolean(L, 1);
    return 1;
}

const luaL_Reg taut_test_figure_functions[] = {
    {"is_plainly_good", tests_is_plainly_good},
    {"measure", tests_measure},
    {NULL, NULL},
};
