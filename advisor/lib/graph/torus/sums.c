/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All pairs of a torus at once.
 *
 * In dimension order a route enters a ring where the source's coordinate is
 * and leaves it where the destination's is; the dimensions before it are the
 * destination's already, those after it still the source's.  What goes from
 * a to b in one ring is therefore a product: the sources over all earlier
 * coordinates, times the destinations over all later ones.  Pairs that meet
 * a ring without a way through are taken out and routed one by one. */
#include <config.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/graph/torus/torus.h"

#define MAX_DIMS TAUT_TORUS_MAX_DIMS

/* Sums over earlier (sources) and later (destinations) coordinates, for each
 * place in the first order. */
struct margins {
    uint64_t *src, *dst; /* [dims * routers] */
};

/* What a retried pair is told to. */
typedef void (*pair_f)(void *arg, uint32_t r, uint32_t s, uint64_t amount);

/* One place in the first order: what varies before and after it. */
struct place {
    uint32_t d;
    uint32_t earlier[MAX_DIMS], n_earlier;
    uint32_t later[MAX_DIMS], n_later;
};

static struct place place_of(const struct taut_torus *t, uint32_t i)
{
    struct place p = {
        .d = t->order[0][i], .n_earlier = i, .n_later = t->conf.dims - i - 1};

    for (uint32_t k = 0; k < i; k++)
        p.earlier[k] = t->order[0][k];
    for (uint32_t k = 0; k < p.n_later; k++)
        p.later[k] = t->order[0][i + 1 + k];
    return p;
}

static uint32_t count_of(const struct taut_torus *t, const uint32_t *dims,
                         uint32_t n)
{
    uint32_t count = 1;

    for (uint32_t i = 0; i < n; i++)
        count *= t->conf.length[dims[i]];
    return count;
}

/* The k-th of the routers that equal r but for n dimensions. */
static uint32_t vary(const struct taut_torus *t, uint32_t r,
                     const uint32_t *dims, uint32_t n, uint32_t k)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t len = t->conf.length[dims[i]];
        r = taut_torus_move(t, r, dims[i], k % len);
        k /= len;
    }
    return r;
}

static bool begins_ring(const struct taut_torus *t, uint32_t r, uint32_t d)
{
    return t->coord[(size_t)r * t->conf.dims + d] == 0;
}

/* out[r] = sum of in[] over the ring of r in dimension d. */
static void sum_rings(const struct taut_torus *t, uint32_t routers, uint32_t d,
                      const uint64_t *in, uint64_t *out)
{
    uint32_t len = t->conf.length[d];

    for (uint32_t r = 0; r < routers; r++) {
        uint64_t sum = 0;
        if (!begins_ring(t, r, d))
            continue;
        for (uint32_t a = 0; a < len; a++)
            sum += in[r + a * t->stride[d]];
        for (uint32_t a = 0; a < len; a++)
            out[r + a * t->stride[d]] = sum;
    }
}

static void margins_fini(struct margins *m)
{
    free(m->src);
    free(m->dst);
}

static int margins_init(struct margins *m, const struct taut_torus *t,
                        uint32_t routers, const uint64_t *src,
                        const uint64_t *dst)
{
    size_t n = routers, dims = t->conf.dims;

    m->src = malloc(dims * n * sizeof(*m->src));
    m->dst = malloc(dims * n * sizeof(*m->dst));
    if (m->src == NULL || m->dst == NULL) {
        margins_fini(m);
        errno = ENOMEM;
        return -1;
    }
    memcpy(m->src, src, n * sizeof(*src));
    memcpy(m->dst + (dims - 1) * n, dst, n * sizeof(*dst));
    for (size_t i = 1; i < dims; i++) {
        sum_rings(t, routers, t->order[0][i - 1], m->src + (i - 1) * n,
                  m->src + i * n);
        sum_rings(t, routers, t->order[0][dims - i], m->dst + (dims - i) * n,
                  m->dst + (dims - i - 1) * n);
    }
    return 0;
}

/* ---- one ring ---- */

/* Differences along both directions of a ring, unrolled twice so that no
 * way wraps; "-" is counted from the other end. */
struct ring {
    uint64_t up[2 * TAUT_TORUS_MAX_LENGTH + 1];
    uint64_t down[2 * TAUT_TORUS_MAX_LENGTH + 1];
};

static void ring_add(struct ring *ring, uint32_t len, uint32_t a, int steps,
                     uint64_t amount)
{
    uint64_t *diff = steps > 0 ? ring->up : ring->down;
    uint32_t first = steps > 0 ? a : len - 1 - a;

    diff[first] += amount;
    diff[first + (uint32_t)abs(steps)] -= amount;
}

static void ring_flush(const struct taut_torus *t, struct ring *ring,
                       uint32_t r, uint32_t d, uint64_t *sum)
{
    uint32_t len = t->conf.length[d];
    size_t w = 2 * (size_t)t->conf.dims;
    uint64_t up = 0, down = 0;

    for (uint32_t i = 0; i < 2 * len; i++) {
        up += ring->up[i];
        down += ring->down[i];
        uint32_t at = r + (i % len) * t->stride[d];
        uint32_t mirror = r + (len - 1 - i % len) * t->stride[d];
        if (up != 0)
            sum[t->link[at * w + 2 * d]] += up;
        if (down != 0)
            sum[t->link[mirror * w + 2 * d + 1]] += down;
    }
    memset(ring->up, 0, (2 * len + 1) * sizeof(ring->up[0]));
    memset(ring->down, 0, (2 * len + 1) * sizeof(ring->down[0]));
}

/* The ring that begins at r, as the first order uses it. */
static void add_ring(const struct taut_torus *t, struct ring *ring, uint32_t r,
                     uint32_t d, const uint64_t *src, const uint64_t *dst,
                     uint64_t *sum)
{
    uint32_t len = t->conf.length[d], st = t->stride[d];
    bool any = false;

    for (uint32_t a = 0; a < len; a++)
        for (uint32_t b = 0; src[r + a * st] != 0 && b < len; b++) {
            bool blocked = false;
            uint64_t amount = src[r + a * st] * dst[r + b * st];
            if (amount == 0)
                continue;
            int steps = taut_torus_steps(t, r + a * st, d, b, &blocked);
            if (steps != 0)
                ring_add(ring, len, a, steps, amount);
            any = true;
        }
    if (any)
        ring_flush(t, ring, r, d, sum);
}

/* ---- pairs that the first order does not get through ---- */

/* Is the place'th ring the first that stops the way from r to s? */
static bool is_first_stop(const struct taut_torus *t, uint32_t place,
                          uint32_t r, uint32_t s)
{
    bool blocked = false;

    for (uint32_t i = 0; i < place; i++) {
        uint32_t d = t->order[0][i];
        uint32_t b = t->coord[(size_t)s * t->conf.dims + d];
        taut_torus_steps(t, r, d, b, &blocked);
        if (blocked)
            return false;
        r = taut_torus_move(t, r, d, b);
    }
    return true;
}

/* All pairs whose way enters this ring at router a and should leave it at
 * router b; amounts of 0 are left out. */
static void each_stopped(const struct taut_torus *t, uint32_t i,
                         const struct place *p, uint32_t a, uint32_t b,
                         const uint64_t *src, const uint64_t *dst, pair_f fn,
                         void *arg)
{
    uint32_t n = count_of(t, p->earlier, p->n_earlier);
    uint32_t m = count_of(t, p->later, p->n_later);

    for (uint32_t k = 0; k < n; k++) {
        uint32_t r = vary(t, a, p->earlier, p->n_earlier, k);
        for (uint32_t j = 0; src[r] != 0 && j < m; j++) {
            uint32_t s = vary(t, b, p->later, p->n_later, j);
            if (dst[s] != 0 && is_first_stop(t, i, r, s))
                fn(arg, r, s, src[r] * dst[s]);
        }
    }
}

/* A margin of 0: nothing enters the ring there (of random numbers modulo 2^64
 * with one chance in 2^64 for the contrary). */
static void each_retried(const struct taut_torus *t, uint32_t routers,
                         const struct margins *m, pair_f fn, void *arg)
{
    const uint64_t *src = m->src;
    const uint64_t *dst = m->dst + (size_t)(t->conf.dims - 1) * routers;

    for (uint32_t i = 0; !t->is_whole && i < t->conf.dims; i++) {
        struct place p = place_of(t, i);
        const uint64_t *before = m->src + (size_t)i * routers;
        for (uint32_t r = 0; r < routers; r++)
            for (uint32_t b = 0; before[r] != 0 && b < t->conf.length[p.d];
                 b++) {
                bool blocked = false;
                taut_torus_steps(t, r, p.d, b, &blocked);
                if (blocked)
                    each_stopped(t, i, &p, r, taut_torus_move(t, r, p.d, b),
                                 src, dst, fn, arg);
            }
    }
}

/* Calls fn(arg, router, dimension, steps) for each ring that is passed from r
 * to s in an order, but for those that stop it. */
typedef void (*leg_f)(void *arg, uint32_t r, uint32_t d, int steps);

static void each_leg(const struct taut_torus *t, const uint8_t *order,
                     uint32_t r, uint32_t s, leg_f fn, void *arg)
{
    for (uint32_t i = 0; i < t->conf.dims; i++) {
        bool blocked = false;
        uint32_t b = t->coord[(size_t)s * t->conf.dims + order[i]];
        int steps = taut_torus_steps(t, r, order[i], b, &blocked);
        if (steps != 0)
            fn(arg, r, order[i], steps);
        r = taut_torus_move(t, r, order[i], b);
    }
}

/* ---- sums ---- */

struct adding {
    const struct taut_torus *t;
    uint64_t *sum;
    uint64_t amount;
    struct taut_lost *lost;
};

static void add_leg(void *arg, uint32_t r, uint32_t d, int steps)
{
    struct adding *a = arg;
    size_t w = 2 * (size_t)a->t->conf.dims;
    uint32_t port = 2 * d + (steps < 0);

    for (int k = abs(steps); k > 0; k--) {
        a->sum[a->t->link[r * w + port]] += a->amount;
        r = a->t->to[r * w + port];
    }
}

static void reroute(void *arg, uint32_t r, uint32_t s, uint64_t amount)
{
    struct adding *a = arg;
    int steps[MAX_DIMS], k = taut_torus_choose(a->t, r, s, steps);

    a->amount = -amount; /* what the rings counted of it */
    each_leg(a->t, a->t->order[0], r, s, add_leg, a);
    a->amount = amount;
    if (k >= 0)
        each_leg(a->t, a->t->order[k], r, s, add_leg, a);
    else
        taut_lost_add(a->lost, r, s, amount);
}

int taut_torus_sums(const void *self, const struct taut_graph *g,
                    const uint64_t *src, const uint64_t *dst, uint64_t *sum,
                    struct taut_lost *lost)
{
    const struct taut_torus *t = self;
    struct ring *ring = calloc(1, sizeof(*ring));
    struct margins m;

    if (ring == NULL || margins_init(&m, t, g->routers, src, dst) < 0) {
        free(ring);
        errno = ENOMEM;
        return -1;
    }
    for (uint32_t i = 0; i < t->conf.dims; i++) {
        uint32_t d = t->order[0][i];
        for (uint32_t r = 0; r < g->routers; r++)
            if (begins_ring(t, r, d))
                add_ring(t, ring, r, d, m.src + (size_t)i * g->routers,
                         m.dst + (size_t)i * g->routers, sum);
    }
    struct adding a = {.t = t, .sum = sum, .lost = lost};
    each_retried(t, g->routers, &m, reroute, &a);
    margins_fini(&m);
    free(ring);
    return 0;
}

/* ---- who crosses one link ---- */

struct crossing {
    const struct taut_torus *t;
    const uint64_t *w;
    struct taut_crossing *out;
    uint32_t r, d; /* the link leaves r in dimension d … */
    bool is_minus;
    bool hit; /* … and the legs looked at use it */
};

/* Does a way from coordinate a, so many steps, leave coordinate x? */
static bool leaves(uint32_t len, uint32_t a, int steps, uint32_t x)
{
    uint32_t on_way = steps > 0 ? (x + len - a) % len : (a + len - x) % len;

    return on_way < (uint32_t)abs(steps);
}

static void look_at_leg(void *arg, uint32_t r, uint32_t d, int steps)
{
    struct crossing *c = arg;
    const struct taut_torus *t = c->t;
    uint32_t x = t->coord[(size_t)c->r * t->conf.dims + d];
    uint32_t a = t->coord[(size_t)r * t->conf.dims + d];

    if (d == c->d && (steps < 0) == c->is_minus &&
        taut_torus_move(t, r, d, x) == c->r &&
        leaves(t->conf.length[d], a, steps, x))
        c->hit = true;
}

static void correct(void *arg, uint32_t r, uint32_t s, uint64_t amount)
{
    struct crossing *c = arg;
    int steps[MAX_DIMS], k = taut_torus_choose(c->t, r, s, steps);

    (void)amount;
    c->hit = false;
    each_leg(c->t, c->t->order[0], r, s, look_at_leg, c);
    bool before = c->hit;
    c->hit = false;
    if (k >= 0)
        each_leg(c->t, c->t->order[k], r, s, look_at_leg, c);
    uint64_t sign = (uint64_t)c->hit - (uint64_t)before;
    c->out->from[r] += sign * c->w[s];
    c->out->to[s] += sign * c->w[r];
}

/* Add 'amount' to all routers that equal r but for some dimensions. */
static void spread(const struct taut_torus *t, uint32_t r, const uint32_t *dims,
                   uint32_t n, uint64_t amount, uint64_t *sum)
{
    for (uint32_t k = 0; k < count_of(t, dims, n); k++)
        sum[vary(t, r, dims, n, k)] += amount;
}

/* The pairs that use the link in the place it has in the first order. */
static void cross_ring(const struct crossing *c, uint32_t i,
                       const uint64_t *src, const uint64_t *dst)
{
    const struct taut_torus *t = c->t;
    struct place p = place_of(t, i);
    uint32_t len = t->conf.length[p.d];
    uint32_t x = t->coord[(size_t)c->r * t->conf.dims + p.d];

    for (uint32_t a = 0; a < len; a++)
        for (uint32_t b = 0; b < len; b++) {
            uint32_t from = taut_torus_move(t, c->r, p.d, a);
            uint32_t to = taut_torus_move(t, c->r, p.d, b);
            bool blocked = false;
            int steps = taut_torus_steps(t, from, p.d, b, &blocked);
            if (steps == 0 || (steps < 0) != c->is_minus ||
                !leaves(len, a, steps, x))
                continue;
            spread(t, from, p.earlier, p.n_earlier, dst[to], c->out->from);
            spread(t, to, p.later, p.n_later, src[from], c->out->to);
        }
}

int taut_torus_crossing(const void *self, const struct taut_graph *g,
                        uint32_t link, const uint64_t *w,
                        struct taut_crossing *out)
{
    const struct taut_torus *t = self;
    struct crossing c = {.t = t, .w = w, .out = out, .r = g->from[link]};
    size_t width = 2 * (size_t)t->conf.dims;
    uint32_t port = 0;
    struct margins m;

    while (port < width && t->link[c.r * width + port] != link)
        port++;
    c.d = port / 2;
    c.is_minus = (port & 1) != 0;
    if (margins_init(&m, t, g->routers, w, w) < 0)
        return -1;
    for (uint32_t i = 0; i < t->conf.dims; i++)
        if (t->order[0][i] == c.d)
            cross_ring(&c, i, m.src + (size_t)i * g->routers,
                       m.dst + (size_t)i * g->routers);
    each_retried(t, g->routers, &m, correct, &c);
    margins_fini(&m);
    return 0;
}
