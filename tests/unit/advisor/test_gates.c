/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Dragonflies with their routers on small random machines, held against every
 * message on every one of its ways, one after the other. */
#include <config.h>

#include <math.h>
#include <string.h>

#include "advisor/lib/study/study.h"
#include "tests/unit/advisor/machines.h"
#include "tests/unit/unit.h"

#define MEMBERS 4
#define MOST_LINKS 512
#define MESSAGES 80

struct hand {
    const struct taut_study *s;
    const struct taut_overlay *o;
    double load[MOST_LINKS], use[MOST_LINKS];
};

/* Groups of four routers, some links inside left out; one to three links
 * between any two groups, or none. */
static struct taut_study *random_machine(uint64_t *seed, uint32_t groups)
{
    uint32_t routers = groups * MEMBERS, l = 0, group[64];
    struct taut_graph *g =
        taut_graph_create(routers, routers, 1, MOST_LINKS, NULL);

    ck_assert_ptr_nonnull(g);
    for (uint32_t r = 0; r < routers; r++) {
        g->at[r] = r;
        group[r] = r / MEMBERS;
    }
    for (uint32_t c = 0; c < g->components; c++)
        g->capacity[c] = 1 + pick(seed, 3);
    for (uint32_t a = 0; a < routers; a++)
        for (uint32_t b = a + 1; b < routers; b++) {
            bool is_inside = a / MEMBERS == b / MEMBERS;
            if (pick(seed, is_inside ? 8 : 6) == 0 ? !is_inside : is_inside) {
                g->from[l] = g->to[l + 1] = a;
                g->to[l] = g->from[l + 1] = b;
                l += 2;
            }
        }
    ck_assert_uint_le(l, MOST_LINKS);
    g->links = l;
    g->components = 2 * g->endpoints + l;
    ck_assert_int_eq(taut_graph_seal(g, NULL), 0);
    struct taut_study *s = taut_study_create(g, TAUT_STUDY_GATES, NULL);
    ck_assert_ptr_nonnull(s);
    ck_assert_int_eq(taut_study_groups(s, group, NULL), 0);
    ck_assert_uint_eq(s->places, routers);
    return s;
}

static uint32_t link_of(const struct hand *h, uint32_t a, uint32_t b)
{
    for (uint32_t l = 0; l < h->s->g->links; l++)
        if (h->s->g->from[l] == a && h->s->g->to[l] == b && h->o->left[l] > 0)
            return l;
    return TAUT_GRAPH_NONE;
}

/* Inside a group: adds 'bytes' to the loads, and returns the mean over the
 * ways of the hottest link; infinite where there is none. */
static double inside(struct hand *h, uint32_t a, uint32_t b, double bytes)
{
    uint32_t l = link_of(h, a, b), ways[MEMBERS][2], n = 0;
    double sum = 0;

    if (a == b)
        return 0;
    if (l != TAUT_GRAPH_NONE) {
        h->load[l] += bytes;
        return h->use[l];
    }
    for (uint32_t m = 0; m < MEMBERS; m++) {
        uint32_t k = a / MEMBERS * MEMBERS + m;
        ways[n][0] = link_of(h, a, k);
        ways[n][1] = link_of(h, k, b);
        n += ways[n][0] != TAUT_GRAPH_NONE && ways[n][1] != TAUT_GRAPH_NONE;
    }
    for (uint32_t i = 0; i < n; i++) {
        h->load[ways[i][0]] += bytes / n;
        h->load[ways[i][1]] += bytes / n;
        sum += fmax(h->use[ways[i][0]], h->use[ways[i][1]]) / n;
    }
    return n > 0 ? sum : INFINITY;
}

/* The i-th gate between two groups and its share of them; false: no more. */
static bool gate(const struct hand *h, uint32_t a, uint32_t b, uint32_t i,
                 uint32_t *l, double *share)
{
    const struct taut_graph *g = h->s->g;
    double sum = 0;
    bool found = false;

    for (uint32_t k = 0; k < g->links; k++)
        if (g->from[k] / MEMBERS == a && g->to[k] / MEMBERS == b && a != b &&
            h->o->left[k] > 0) {
            double c = g->capacity[taut_graph_link(g, k)] * h->o->left[k];
            sum += c;
            if (i-- == 0) {
                found = true;
                *l = k;
                *share = c;
            }
        }
    *share = found ? *share / sum : 0;
    return found;
}

static uint32_t gates(const struct hand *h, uint32_t a, uint32_t b)
{
    uint32_t n = 0, l;
    double share;

    while (gate(h, a, b, n, &l, &share))
        n++;
    return n;
}

/* Directly from r to s: loads, and what it meets. */
static double direct(struct hand *h, uint32_t r, uint32_t s, double bytes)
{
    double sum = 0, share;
    uint32_t l;

    for (uint32_t i = 0; gate(h, r / MEMBERS, s / MEMBERS, i, &l, &share);
         i++) {
        double a = inside(h, r, h->s->g->from[l], bytes * share);
        double b = inside(h, h->s->g->to[l], s, bytes * share);
        h->load[l] += bytes * share;
        sum += share * fmax(h->use[l], fmax(a, b));
    }
    return sum;
}

/* Over group k. */
static void around(struct hand *h, uint32_t r, uint32_t k, uint32_t s,
                   double bytes)
{
    const struct taut_graph *g = h->s->g;
    uint32_t l, m;
    double x, y;

    for (uint32_t i = 0; gate(h, r / MEMBERS, k, i, &l, &x); i++)
        for (uint32_t j = 0; gate(h, k, s / MEMBERS, j, &m, &y); j++) {
            inside(h, r, g->from[l], bytes * x * y);
            inside(h, g->to[l], g->from[m], bytes * x * y);
            inside(h, g->to[m], s, bytes * x * y);
            h->load[l] += bytes * x * y;
            h->load[m] += bytes * x * y;
        }
}

/* One message with half of it, or all, going direct. */
static void send(struct hand *h, uint32_t r, uint32_t s, double bytes)
{
    uint32_t a = r / MEMBERS, b = s / MEMBERS, sum = 0;

    if (a == b) {
        inside(h, r, s, bytes);
        return;
    }
    for (uint32_t k = 0; k < h->s->groups; k++)
        sum += fmin(gates(h, a, k), gates(h, k, b));
    double x = gates(h, a, b) == 0 ? 0 : sum == 0 ? 1 : 0.5;
    direct(h, r, s, bytes * x);
    for (uint32_t k = 0; k < h->s->groups && sum > 0; k++)
        around(h, r, k, s,
               bytes * (1 - x) * fmin(gates(h, a, k), gates(h, k, b)) / sum);
}

static void fail_some(const struct taut_study *s, struct taut_overlay *o,
                      uint64_t *seed, bool also_inside)
{
    bool may[MOST_LINKS];

    for (uint32_t l = 0; l < s->g->links; l++)
        may[l] =
            also_inside || s->group[s->g->from[l]] != s->group[s->g->to[l]];
    ck_assert_int_ge(taut_overlay_draw(s, o, may, 0.2, 0, *seed), 0);
    ck_assert_int_ge(taut_overlay_draw(s, o, may, 0.2, 0.5, *seed + 1), 0);
}

struct scene {
    struct taut_study *s;
    struct taut_overlay *o;
    struct taut_demand *d;
    struct hand h;
    struct taut_study_rules rules;
};

static void begin(struct scene *c, uint64_t seed, uint32_t groups,
                  bool also_inside)
{
    memset(c, 0, sizeof(*c));
    c->s = random_machine(&seed, groups);
    c->o = taut_overlay_create(c->s);
    fail_some(c->s, c->o, &seed, also_inside);
    c->d = taut_demand_create(c->s->places);
    for (int i = 0; i < MESSAGES; i++)
        ck_assert_int_eq(taut_demand_add(c->d, pick(&seed, c->s->places),
                                         pick(&seed, c->s->places),
                                         1 + pick(&seed, 9), 1),
                         0);
    ck_assert_int_eq(taut_demand_seal(c->d), 0);
    c->h.s = c->s;
    c->h.o = c->o;
    c->rules = (struct taut_study_rules){.power = 8,
                                         .floor = 0.05,
                                         .step = 1.5,
                                         .slowing = 0.1,
                                         .rounds = 30,
                                         .unit_s = 3};
}

static void end(struct scene *c)
{
    taut_demand_destroy(c->d);
    taut_overlay_destroy(c->o);
    taut_graph_destroy((struct taut_graph *)c->s->g);
    taut_study_destroy(c->s);
}

/* Without a round every choice is half and half. */
START_TEST(loads_are_every_message_on_every_way)
{
    struct scene c;
    struct taut_study_result r;
    double load[MOST_LINKS];

    begin(&c, 7919U * (unsigned)_i + 1, 3 + (unsigned)_i % 4, _i % 2 == 1);
    c.rules.rounds = 0;
    ck_assert_int_eq(taut_study_solve(c.s, c.o, c.d, &c.rules, load, &r), 0);
    for (size_t i = 0; i < c.d->n; i++)
        send(&c.h, c.d->pair[i].from, c.d->pair[i].to, c.d->pair[i].bytes);
    for (uint32_t l = 0; l < c.s->g->links; l++)
        ck_assert_double_eq_tol(load[l], c.h.load[l], 1e-9);
    end(&c);
}
END_TEST

/* Two groups have no third one to go over. */
START_TEST(what_is_met_is_the_hottest_link)
{
    struct scene c;
    struct taut_study_result r;
    double load[MOST_LINKS], sum = 0, n = 0;

    begin(&c, 104729U * (unsigned)_i + 3, 2, true);
    ck_assert_int_eq(taut_study_solve(c.s, c.o, c.d, &c.rules, load, &r), 0);
    for (uint32_t l = 0; l < c.s->g->links; l++)
        c.h.use[l] =
            c.o->left[l] > 0
                ? load[l] / (c.s->g->capacity[taut_graph_link(c.s->g, l)] *
                             c.o->left[l])
                : 0;
    for (size_t i = 0; i < c.d->n; i++) {
        const struct taut_demand_pair *p = &c.d->pair[i];
        bool is_near = p->from / MEMBERS == p->to / MEMBERS;
        double v = is_near ? inside(&c.h, p->from, p->to, 0)
                   : gates(&c.h, p->from / MEMBERS, p->to / MEMBERS) == 0
                       ? INFINITY
                       : direct(&c.h, p->from, p->to, 0);
        if (isfinite(v)) {
            sum += p->messages * v;
            n += p->messages;
        }
    }
    ck_assert_double_eq_tol(r.mean_s, n > 0 ? sum / n : 0, 1e-9);
    ck_assert_double_eq_tol(r.carried + r.lost_bytes + c.d->inside_bytes,
                            c.d->bytes, 1e-9);
    end(&c);
}
END_TEST

/* Where everything has a way: what comes into a router, or begins there, goes
 * out of it, or ends there. */
START_TEST(no_byte_is_lost_or_made)
{
    struct scene c;
    struct taut_study_result r;
    double load[MOST_LINKS], in[64] = {0};

    begin(&c, 15485863U * (unsigned)_i + 5, 3 + (unsigned)_i % 4, false);
    ck_assert_int_eq(taut_study_solve(c.s, c.o, c.d, &c.rules, load, &r), 0);
    for (uint32_t l = 0; l < c.s->g->links; l++) {
        in[c.s->g->to[l]] += load[l];
        in[c.s->g->from[l]] -= load[l];
    }
    for (size_t i = 0; i < c.d->n; i++) {
        in[c.d->pair[i].from] += c.d->pair[i].bytes;
        in[c.d->pair[i].to] -= c.d->pair[i].bytes;
    }
    for (uint32_t i = 0; r.lost_pairs == 0 && i < c.s->places; i++)
        ck_assert_double_eq_tol(in[i], 0, 1e-9);
    end(&c);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("gates");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, loads_are_every_message_on_every_way, 0, 100);
    tcase_add_loop_test(t, what_is_met_is_the_hottest_link, 0, 100);
    tcase_add_loop_test(t, no_byte_is_lost_or_made, 0, 100);
    return unit_run("gates", t);
}
