/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The engine of studies on small random machines, held against every message
 * on every one of its ways, one after the other. */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <string.h>

#include "advisor/lib/study/chance.h"
#include "advisor/lib/study/study.h"
#include "tests/unit/advisor/machines.h"
#include "tests/unit/unit.h"

#define MESSAGES 60
#define MOST_STAGES 512
#define MOST_WAYS 16
#define MOST_LINKS 1024

static const struct taut_study_rules rules = {.power = 8,
                                              .floor = 0.05,
                                              .step = 1.5,
                                              .slowing = 0.1,
                                              .rounds = 30,
                                              .unit_s = 3};

/* ---- the same by hand ---- */

/* A choice: directly, or over one of some others. */
struct stage {
    uint32_t from, to; /* what it is known by */
    bool has_direct;
    uint32_t direct; /* link */
    uint32_t ways;
    struct {
        double weight;
        uint32_t first, second;
    } way[MOST_WAYS];
    double total, x;
};

struct message {
    uint32_t from, to; /* places */
    double bytes;
    uint32_t stages, stage[4];
    bool is_lost;
};

struct hand {
    uint32_t links;
    double capacity[MOST_LINKS], stand[MOST_LINKS];
    double load[MOST_LINKS], use[MOST_LINKS];
    struct stage stage[MOST_STAGES];
    uint32_t stages;
    struct message message[MESSAGES];
};

static uint32_t stage_of(struct hand *h, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < h->stages; i++)
        if (h->stage[i].from == from && h->stage[i].to == to)
            return i;
    ck_assert(h->stages < MOST_STAGES);
    memset(&h->stage[h->stages], 0, sizeof(h->stage[0]));
    h->stage[h->stages].from = from;
    h->stage[h->stages].to = to;
    return h->stages++;
}

static void add_way(struct hand *h, struct stage *s, uint32_t a, uint32_t b)
{
    double w = fmin(h->stand[a], h->stand[b]);

    if (w <= 0)
        return;
    ck_assert(s->ways < MOST_WAYS);
    s->way[s->ways].weight = w;
    s->way[s->ways].first = a;
    s->way[s->ways++].second = b;
    s->total += w;
}

static bool begin_stage(const struct hand *h, struct stage *s)
{
    s->has_direct = h->stand[s->direct] > 0;
    s->x = !s->has_direct ? 0 : s->ways > 0 ? 0.5 : 1;
    return s->has_direct || s->ways > 0;
}

static double price(const struct hand *h, uint32_t l)
{
    return rules.floor + pow(h->use[l] / rules.unit_s, rules.power);
}

static void lay(struct hand *h)
{
    memset(h->load, 0, sizeof(h->load));
    for (int i = 0; i < MESSAGES; i++) {
        const struct message *m = &h->message[i];
        for (uint32_t k = 0; !m->is_lost && k < m->stages; k++) {
            const struct stage *s = &h->stage[m->stage[k]];
            h->load[s->direct] += m->bytes * s->x;
            for (uint32_t w = 0; w < s->ways; w++) {
                double v = m->bytes * (1 - s->x) * s->way[w].weight / s->total;
                h->load[s->way[w].first] += v;
                h->load[s->way[w].second] += v;
            }
        }
    }
    for (uint32_t l = 0; l < h->links; l++)
        h->use[l] = h->capacity[l] > 0 ? h->load[l] / h->capacity[l] : 0;
}

static void settle(struct hand *h)
{
    for (unsigned i = 0; i < rules.rounds; i++) {
        double step = rules.step / (1 + rules.slowing * i);
        lay(h);
        for (uint32_t k = 0; k < h->stages; k++) {
            struct stage *s = &h->stage[k];
            double direct = price(h, s->direct), other = 0;
            if (!s->has_direct || s->ways == 0)
                continue;
            for (uint32_t w = 0; w < s->ways; w++)
                other +=
                    s->way[w].weight / s->total *
                    (price(h, s->way[w].first) + price(h, s->way[w].second));
            double e = exp(-step * (direct - other) / (direct + other));
            s->x = s->x * e / (s->x * e + 1 - s->x);
        }
    }
    lay(h);
}

/* Walks every way of a message from stage k on. */
static double expected(const struct hand *h, const struct message *m,
                       uint32_t k, double most, double *hottest)
{
    double sum = 0;

    if (k == m->stages) {
        *hottest = fmax(*hottest, most);
        return most;
    }
    const struct stage *s = &h->stage[m->stage[k]];
    if (s->x > 0)
        sum += s->x *
               expected(h, m, k + 1, fmax(most, h->use[s->direct]), hottest);
    for (uint32_t w = 0; s->x < 1 && w < s->ways; w++) {
        double v = fmax(h->use[s->way[w].first], h->use[s->way[w].second]);
        sum += (1 - s->x) * s->way[w].weight / s->total *
               expected(h, m, k + 1, fmax(most, v), hottest);
    }
    return sum;
}

/* All messages that leave their place: their sums are what the engine says. */
static void compare(const struct hand *h, const struct taut_study_result *r,
                    const double *load)
{
    double sum = 0, hot = 0, n = 0, all = 0, lost = 0, busiest = 0, bytes = 0;

    for (int i = 0; i < MESSAGES; i++) {
        const struct message *m = &h->message[i];
        double hottest = 0;
        all++;
        if (m->from == m->to)
            continue;
        if (m->is_lost) {
            lost += m->bytes;
            continue;
        }
        sum += expected(h, m, 0, 0, &hottest);
        hot += hottest;
        bytes += m->bytes;
        n++;
    }
    for (uint32_t l = 0; l < h->links; l++) {
        busiest = fmax(busiest, h->use[l]);
        if (load != NULL)
            ck_assert_double_eq_tol(load[l], h->load[l], 1e-6);
    }
    if (n > 0) {
        ck_assert_double_eq_tol(r->mean_s, sum / n, 1e-6 * (1 + sum / n));
        ck_assert_double_eq_tol(r->hottest_s, hot / n, 1e-6 * (1 + hot / n));
        ck_assert_double_eq_tol(r->all_s, sum / all, 1e-6 * (1 + sum));
    }
    ck_assert_double_eq_tol(r->link_s, busiest, 1e-6 * (1 + busiest));
    ck_assert_double_eq_tol(r->lost_bytes, lost, 1e-9);
    ck_assert_double_eq_tol(r->carried, bytes, 1e-9);
}

static struct taut_demand *random_demand(struct hand *h, uint64_t *seed,
                                         uint32_t places)
{
    struct taut_demand *d = taut_demand_create(places);

    ck_assert_ptr_nonnull(d);
    for (int i = 0; i < MESSAGES; i++) {
        struct message *m = &h->message[i];
        m->from = pick(seed, places);
        m->to = pick(seed, places);
        m->bytes = 1 + pick(seed, 5);
        ck_assert_int_eq(taut_demand_add(d, m->from, m->to, m->bytes, 1), 0);
    }
    ck_assert_int_eq(taut_demand_seal(d), 0);
    return d;
}

static void fail_some(struct taut_study *s, struct taut_overlay *o,
                      uint64_t *seed)
{
    bool *may = calloc(s->g->links + 1, sizeof(*may));

    for (uint32_t l = 0; l < s->g->links; l++)
        may[l] = true;
    ck_assert(taut_overlay_draw(s, o, may, pick(seed, 6) / 10.0, 0, *seed) >=
              0);
    ck_assert(taut_overlay_draw(s, o, may, 0.2, 0.5, *seed + 1) >= 0);
    free(may);
}

static struct taut_graph *graph_of(uint32_t routers, uint32_t links)
{
    struct taut_graph *g = taut_graph_create(routers, routers, 1, links, NULL);

    ck_assert_ptr_nonnull(g);
    for (uint32_t r = 0; r < routers; r++)
        g->at[r] = r;
    for (uint32_t c = 0; c < g->components; c++)
        g->capacity[c] = 1;
    return g;
}

/* ---- groups ---- */

/* Two routers a group, up to two links of up to three cables between any two
 * groups, and one inside each. */
static struct taut_study *random_groups(uint64_t *seed, uint32_t groups)
{
    uint32_t group[2 * 7], l = 0, most = 2 * (groups + groups * groups);
    struct taut_graph *g = graph_of(2 * groups, most);
    double cables[MOST_LINKS];

    for (uint32_t a = 0; a < groups; a++)
        for (uint32_t b = a; b < groups; b++)
            for (uint32_t i = 0; i < (a == b ? 1 : pick(seed, 3)); i++) {
                g->from[l] = g->to[l + 1] =
                    2 * a + (a == b ? 0 : pick(seed, 2));
                g->to[l] = g->from[l + 1] =
                    a == b ? 2 * a + 1 : 2 * b + pick(seed, 2);
                cables[l] = cables[l + 1] = 1 + pick(seed, 3);
                g->capacity[taut_graph_link(g, l)] = cables[l];
                g->capacity[taut_graph_link(g, l + 1)] = cables[l];
                l += 2;
            }
    g->links = l;
    g->components = 2 * g->endpoints + l;
    for (uint32_t r = 0; r < 2 * groups; r++)
        group[r] = r / 2;
    ck_assert_int_eq(taut_graph_seal(g, NULL), 0);
    struct taut_study *s = taut_study_create(g, TAUT_STUDY_GROUPS, cables);
    ck_assert_ptr_nonnull(s);
    ck_assert_int_eq(taut_study_groups(s, group, NULL), 0);
    return s;
}

static void hand_groups(struct hand *h, const struct taut_study *s,
                        const struct taut_overlay *o)
{
    uint32_t n = s->groups;

    h->links = n * n;
    for (uint32_t l = 0; l < s->g->links; l++) {
        uint32_t p = s->group[s->g->from[l]] * n + s->group[s->g->to[l]];
        if (p / n == p % n || o->left[l] <= 0)
            continue;
        h->capacity[p] += s->g->capacity[taut_graph_link(s->g, l)] * o->left[l];
        h->stand[p] += o->stand[l];
    }
    for (int i = 0; i < MESSAGES; i++) {
        struct message *m = &h->message[i];
        uint32_t known = h->stages;
        if (m->from == m->to)
            continue;
        m->stages = 1;
        m->stage[0] = stage_of(h, m->from, m->to);
        struct stage *t = &h->stage[m->stage[0]];
        t->direct = m->from * n + m->to;
        for (uint32_t k = 0; m->stage[0] == known && k < n; k++)
            if (k != m->from && k != m->to)
                add_way(h, t, m->from * n + k, k * n + m->to);
        m->is_lost = !begin_stage(h, t);
    }
}

START_TEST(groups_are_every_message_on_every_way)
{
    uint64_t seed = 7919U * (unsigned)_i + 1;
    struct hand *h = calloc(1, sizeof(*h));
    struct taut_study *s = random_groups(&seed, 3 + pick(&seed, 5));
    struct taut_overlay *o = taut_overlay_create(s);
    struct taut_demand *d = random_demand(h, &seed, s->groups);
    struct taut_study_result r;
    double load[MOST_LINKS], sum = 0;

    fail_some(s, o, &seed);
    hand_groups(h, s, o);
    settle(h);
    ck_assert_int_eq(taut_study_solve(s, o, d, &rules, load, &r), 0);
    compare(h, &r, NULL);
    for (uint32_t l = 0; l < s->g->links; l++)
        sum += load[l];
    ck_assert_double_eq_tol(sum, r.carried * r.hops, 1e-6);
    ck_assert_double_eq_tol(r.carried + r.lost_bytes + d->inside_bytes,
                            d->bytes, 1e-9);
    taut_demand_destroy(d);
    taut_overlay_destroy(o);
    taut_graph_destroy((struct taut_graph *)s->g);
    taut_study_destroy(s);
    free(h);
}
END_TEST

/* ---- lines ---- */

static struct taut_study *random_lines(uint64_t *seed)
{
    uint32_t length[3], dims = 1 + pick(seed, 3), n = 1, links = 0, l = 0;
    uint32_t place[64];
    double cables[MOST_LINKS];

    for (uint32_t d = 0; d < dims; d++) {
        length[d] = 2 + pick(seed, 3);
        n *= length[d];
        links += length[d] - 1;
    }
    struct taut_graph *g = graph_of(n, n * links);
    for (uint32_t r = 0; r < n; r++) {
        uint32_t stride = n;
        place[r] = r;
        for (uint32_t d = 0; d < dims; d++) {
            stride /= length[d];
            uint32_t a = r / stride % length[d];
            for (uint32_t b = 0; b < length[d]; b++) {
                if (a == b)
                    continue;
                g->from[l] = r;
                g->to[l] = r + (b - a) * stride;
                cables[l] = 1 + d % 2;
                g->capacity[taut_graph_link(g, l)] = cables[l];
                l++;
            }
        }
    }
    ck_assert_int_eq(taut_graph_seal(g, NULL), 0);
    struct taut_study *s = taut_study_create(g, TAUT_STUDY_LINES, cables);
    ck_assert_int_eq(taut_study_lines(s, dims, length, place, NULL), 0);
    return s;
}

static uint32_t link_between(const struct taut_graph *g, uint32_t r, uint32_t s)
{
    for (uint32_t l = 0; l < g->links; l++)
        if (g->from[l] == r && g->to[l] == s)
            return l;
    ck_abort_msg("no link");
    return 0;
}

static void hand_lines(struct hand *h, const struct taut_study *s,
                       const struct taut_overlay *o)
{
    const struct taut_graph *g = s->g;

    h->links = g->links;
    for (uint32_t l = 0; l < g->links; l++) {
        h->capacity[l] = g->capacity[taut_graph_link(g, l)] * o->left[l];
        h->stand[l] = o->left[l] > 0 ? o->stand[l] : 0;
    }
    for (int i = 0; i < MESSAGES; i++) {
        struct message *m = &h->message[i];
        uint32_t at = m->from;
        for (uint32_t d = 0; d < s->dims; d++) {
            uint32_t a = at / s->stride[d] % s->length[d];
            uint32_t b = m->to / s->stride[d] % s->length[d];
            uint32_t next = at + (b - a) * s->stride[d], known = h->stages;
            if (a == b)
                continue;
            uint32_t k = stage_of(h, at, next);
            struct stage *t = &h->stage[k];
            t->direct = link_between(g, at, next);
            for (uint32_t c = 0; k == known && c < s->length[d]; c++) {
                uint32_t over = at + (c - a) * s->stride[d];
                if (c != a && c != b)
                    add_way(h, t, link_between(g, at, over),
                            link_between(g, over, next));
            }
            m->is_lost |= !begin_stage(h, t);
            m->stage[m->stages++] = k;
            at = next;
        }
    }
}

START_TEST(lines_are_every_message_on_every_way)
{
    uint64_t seed = 104729U * (unsigned)_i + 5;
    struct hand *h = calloc(1, sizeof(*h));
    struct taut_study *s = random_lines(&seed);
    struct taut_overlay *o = taut_overlay_create(s);
    struct taut_demand *d = random_demand(h, &seed, s->places);
    struct taut_study_result r;
    double load[MOST_LINKS], sum = 0;

    fail_some(s, o, &seed);
    hand_lines(h, s, o);
    settle(h);
    ck_assert_int_eq(taut_study_solve(s, o, d, &rules, load, &r), 0);
    compare(h, &r, load);
    for (uint32_t l = 0; l < s->g->links; l++)
        sum += load[l];
    ck_assert_double_eq_tol(sum, r.carried * r.hops, 1e-6);
    taut_demand_destroy(d);
    taut_overlay_destroy(o);
    taut_graph_destroy((struct taut_graph *)s->g);
    taut_study_destroy(s);
    free(h);
}
END_TEST

/* ---- routes ---- */

START_TEST(routes_are_those_of_the_graph)
{
    uint64_t seed = 31U * (unsigned)_i + 3;
    struct taut_torus_conf c = machine_conf(&seed, 40);
    struct taut_graph *g = machine_torus(&c, 1);
    struct hand *h = calloc(1, sizeof(*h));
    machine_fail(g, &seed, pick(&seed, 4));
    struct taut_study *s = taut_study_create(g, TAUT_STUDY_ROUTES, NULL);
    struct taut_overlay *o = taut_overlay_create(s);
    struct taut_demand *d = random_demand(h, &seed, g->routers);
    double *load = calloc(g->links + 1, sizeof(*load)), lost = 0, sum = 0;
    double *walked = calloc(g->links + 1, sizeof(*walked));
    struct taut_study_result r;
    struct taut_route t;

    ck_assert_int_eq(taut_route_init(&t, g), 0);
    for (int i = 0; i < MESSAGES; i++) {
        const struct message *m = &h->message[i];
        if (m->from == m->to)
            continue;
        bool found =
            taut_graph_route(g, m->from, m->to, TAUT_GRAPH_NONE, &t) == 0;
        lost += found ? 0 : m->bytes;
        for (uint32_t e = 0; found && e < t.entries; e++)
            walked[t.link[e]] += m->bytes;
    }
    ck_assert_int_eq(taut_study_solve(s, o, d, &rules, load, &r), 0);
    for (uint32_t l = 0; l < g->links; l++) {
        ck_assert_double_eq_tol(load[l], walked[l], 1e-9);
        sum += load[l];
    }
    ck_assert_double_eq_tol(sum, r.carried * r.hops, 1e-9);
    ck_assert_double_eq_tol(r.lost_bytes, lost, 1e-9);
    taut_route_fini(&t);
    taut_demand_destroy(d);
    taut_overlay_destroy(o);
    taut_study_destroy(s);
    taut_graph_destroy(g);
    free(walked);
    free(load);
    free(h);
}
END_TEST

/* ---- demand, draws, batches ---- */

START_TEST(a_stencil_is_its_messages)
{
    static const int offset[] = {0, 1, 1, 0, -1, -1, 0, 3};
    static const double bytes[] = {5, 7, 11, 13};
    struct taut_demand *one = taut_demand_create(4);
    struct taut_demand *each = taut_demand_create(4);
    uint64_t seed = 11U + (unsigned)_i;
    uint32_t place[12];

    for (int i = 0; i < 12; i++)
        place[i] = pick(&seed, 4);
    struct taut_stencil s = {.dims = 2,
                             .length = {3, 4},
                             .periodic = _i % 2 == 0,
                             .offsets = 4,
                             .offset = offset,
                             .bytes = bytes,
                             .place = place};
    ck_assert_int_eq(taut_demand_stencil(one, &s), 0);
    for (int r = 0; r < 12; r++)
        for (int k = 0; k < 4; k++) {
            int x = r / 4 + offset[2 * k], y = r % 4 + offset[2 * k + 1];
            if (!s.periodic && (x < 0 || x > 2 || y < 0 || y > 3))
                continue;
            int to = (x + 3) % 3 * 4 + (y + 4) % 4;
            if (to != r)
                taut_demand_add(each, place[r], place[to], bytes[k], 1);
        }
    ck_assert_int_eq(taut_demand_seal(one), 0);
    ck_assert_int_eq(taut_demand_seal(each), 0);
    ck_assert_uint_eq(one->n, each->n);
    ck_assert_double_eq_tol(one->inside_bytes, each->inside_bytes, 1e-9);
    for (size_t i = 0; i < one->n; i++) {
        ck_assert_uint_eq(one->pair[i].from, each->pair[i].from);
        ck_assert_uint_eq(one->pair[i].to, each->pair[i].to);
        ck_assert_double_eq_tol(one->pair[i].bytes, each->pair[i].bytes, 1e-9);
        ck_assert_double_eq_tol(one->pair[i].messages, each->pair[i].messages,
                                1e-9);
    }
    taut_demand_destroy(one);
    taut_demand_destroy(each);
}
END_TEST

START_TEST(everybody_to_everybody_else)
{
    const uint32_t ranks[3] = {2, 0, 3};
    struct taut_demand *d = taut_demand_create(3);
    double busiest;

    ck_assert_int_eq(taut_demand_all(d, ranks, 10), 0);
    ck_assert_int_eq(taut_demand_seal(d), 0);
    ck_assert_uint_eq(d->n, 2);
    ck_assert_double_eq(d->messages, 20);
    ck_assert_double_eq(d->inside_messages, 2 + 6);
    ck_assert_double_eq(d->pair[0].bytes, 60);
    ck_assert_int_eq(taut_demand_add(d, 1, 2, 15, 1), 0);
    ck_assert_int_eq(taut_demand_busiest(d, &busiest), 0);
    ck_assert_double_eq(busiest, 75);
    taut_demand_destroy(d);
}
END_TEST

static double cables_standing(const struct taut_study *s,
                              const struct taut_overlay *o)
{
    double sum = 0;

    for (uint32_t l = 0; l < s->g->links; l++) {
        ck_assert_double_eq_tol(o->left[l], o->stand[l] / s->cables[l], 1e-9);
        ck_assert_double_eq(o->stand[l], o->stand[s->g->back[l]]);
        sum += o->stand[l];
    }
    return sum;
}

START_TEST(a_draw_takes_whole_cables_with_both_directions)
{
    uint64_t seed = 17U * (unsigned)_i + 2;
    struct taut_study *s = random_groups(&seed, 5);
    struct taut_overlay *a = taut_overlay_create(s);
    struct taut_overlay *b = taut_overlay_create(s);
    bool may[MOST_LINKS];
    double cables = 0;

    for (uint32_t l = 0; l < s->g->links; l++) {
        may[l] = s->group[s->g->from[l]] != s->group[s->g->to[l]];
        cables += may[l] ? s->cables[l] : 0;
    }
    double before = cables_standing(s, a);
    int64_t taken = taut_overlay_draw(s, a, may, 0.3, 0, 99);
    ck_assert_int_eq(taken, (int64_t)floor(0.3 * cables / 2 + 0.5));
    ck_assert_double_eq(cables_standing(s, a), before - 2 * (double)taken);
    ck_assert_int_eq(taut_overlay_draw(s, b, may, 0.3, 0, 99), taken);
    ck_assert(memcmp(a->left, b->left, s->g->links * sizeof(double)) == 0);
    for (uint32_t l = 0; l < s->g->links; l++)
        ck_assert(may[l] || a->left[l] == 1);
    taut_overlay_destroy(a);
    taut_overlay_destroy(b);
    taut_graph_destroy((struct taut_graph *)s->g);
    taut_study_destroy(s);
}
END_TEST

START_TEST(a_batch_is_its_cells)
{
    uint64_t seed = 5;
    struct hand *h = calloc(1, sizeof(*h));
    struct taut_study *s = random_groups(&seed, 7);
    struct taut_demand *d = random_demand(h, &seed, 7);
    struct taut_study_cell cell[20];
    struct taut_study_result alone;

    memset(cell, 0, sizeof(cell));
    for (int i = 0; i < 20; i++) {
        struct taut_overlay *o = taut_overlay_create(s);
        fail_some(s, o, &seed);
        cell[i] =
            (struct taut_study_cell){.overlay = o, .demand = d, .rules = rules};
    }
    ck_assert_int_eq(taut_study_batch(s, cell, 20, 4), 0);
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(
            taut_study_solve(s, cell[i].overlay, d, &rules, NULL, &alone), 0);
        ck_assert_double_eq(alone.mean_s, cell[i].result.mean_s);
        ck_assert_uint_eq(alone.lost_pairs, cell[i].result.lost_pairs);
        taut_overlay_destroy((struct taut_overlay *)cell[i].overlay);
    }
    taut_demand_destroy(d);
    taut_graph_destroy((struct taut_graph *)s->g);
    taut_study_destroy(s);
    free(h);
}
END_TEST

START_TEST(pairs_without_a_way_are_named)
{
    uint32_t group[3] = {0, 1, 2};
    struct taut_graph *g = graph_of(3, 2);
    struct taut_demand *d = taut_demand_create(3);
    struct taut_study_result r;

    g->from[0] = g->to[1] = 0;
    g->to[0] = g->from[1] = 1;
    ck_assert_int_eq(taut_graph_seal(g, NULL), 0);
    struct taut_study *s = taut_study_create(g, TAUT_STUDY_GROUPS, NULL);
    ck_assert_int_eq(taut_study_groups(s, group, NULL), 0);
    struct taut_overlay *o = taut_overlay_create(s);
    taut_demand_add(d, 0, 1, 4, 1);
    taut_demand_add(d, 0, 2, 6, 2);
    ck_assert_int_eq(taut_study_solve(s, o, d, &rules, NULL, &r), -1);
    ck_assert_int_eq(errno, EINVAL); /* not sealed */
    ck_assert_int_eq(taut_demand_seal(d), 0);
    ck_assert_int_eq(taut_study_solve(s, o, d, &rules, NULL, &r), 0);
    ck_assert_uint_eq(r.lost_pairs, 1);
    ck_assert_uint_eq(r.named, 1);
    ck_assert_uint_eq(r.lost[0].from, 0);
    ck_assert_uint_eq(r.lost[0].to, 2);
    ck_assert_double_eq(r.lost_bytes, 6);
    ck_assert_double_eq(r.lost_messages, 2);
    ck_assert_double_eq(r.mean_s, 4);
    ck_assert_double_eq_tol(r.quantile_s[0], 4, 0.04);
    taut_overlay_destroy(o);
    taut_study_destroy(s);
    taut_demand_destroy(d);
    taut_graph_destroy(g);
}
END_TEST

START_TEST(a_grid_that_is_none_is_refused)
{
    struct taut_graph *g = graph_of(4, 2);
    struct taut_error err = {""};
    const uint32_t length[2] = {2, 2}, place[4] = {0, 1, 2, 3};
    const uint32_t twice[4] = {0, 1, 1, 3};

    g->from[0] = g->to[1] = 0; /* 0.0 to 1.1 */
    g->to[0] = g->from[1] = 3;
    ck_assert_int_eq(taut_graph_seal(g, NULL), 0);
    struct taut_study *s = taut_study_create(g, TAUT_STUDY_LINES, NULL);
    ck_assert_int_eq(taut_study_lines(s, 2, length, place, &err), -1);
    ck_assert_str_eq(err.text, "link 0 changes 2 coordinates, expected one");
    taut_study_destroy(s);
    s = taut_study_create(g, TAUT_STUDY_LINES, NULL);
    ck_assert_int_eq(taut_study_lines(s, 2, length, twice, &err), -1);
    ck_assert_str_eq(err.text, "router 2: no place of its own in the grid");
    taut_study_destroy(s);
    s = taut_study_create(g, TAUT_STUDY_LINES, NULL);
    ck_assert_int_eq(taut_study_lines(s, 1, length, place, &err), -1);
    ck_assert_int_eq(errno, EINVAL);
    taut_study_destroy(s);
    taut_graph_destroy(g);
}
END_TEST

START_TEST(the_most_of_several)
{
    struct taut_chance_one a[] = {{1, 0.5}, {3, 0.5}};
    struct taut_chance_one b[] = {{4, 0.25}, {2, 0.75}};
    struct taut_chance x = {2, 2, a}, y = {2, 2, b};
    const struct taut_chance *both[] = {&x, &y};

    taut_chance_sort(&y);
    ck_assert_double_eq_tol(taut_chance_of_most(both, 1), 2, 1e-12);
    /* 4 in 1/4, else 3 in 1/2, else 2 */
    ck_assert_double_eq_tol(taut_chance_of_most(both, 2),
                            4 * 0.25 + 0.75 * (3 * 0.5 + 2 * 0.5), 1e-12);
    ck_assert_double_eq(taut_chance_most(both, 2), 4);
}
END_TEST

START_TEST(nothing_to_destroy)
{
    taut_study_destroy(NULL);
    taut_overlay_destroy(NULL);
    taut_demand_destroy(NULL);
}
END_TEST

int main(void)
{
    TCase *t = tcase_create("study");

    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, groups_are_every_message_on_every_way, 0, 100);
    tcase_add_loop_test(t, lines_are_every_message_on_every_way, 0, 100);
    tcase_add_loop_test(t, routes_are_those_of_the_graph, 0, 100);
    tcase_add_loop_test(t, a_stencil_is_its_messages, 0, 20);
    tcase_add_test(t, everybody_to_everybody_else);
    tcase_add_loop_test(t, a_draw_takes_whole_cables_with_both_directions, 0,
                        20);
    tcase_add_test(t, a_batch_is_its_cells);
    tcase_add_test(t, pairs_without_a_way_are_named);
    tcase_add_test(t, a_grid_that_is_none_is_refused);
    tcase_add_test(t, the_most_of_several);
    tcase_add_test(t, nothing_to_destroy);
    return unit_run("study", t);
}
