/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Evidence as a whole: made, asked, given the tests of an event. */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/evidence/inside.h"

/* ---- create, destroy ---- */

static double *new_times(struct taut_evidence *e, size_t n)
{
    double *a = taut_arena_take(&e->memory, n + 1, sizeof(*a));

    for (size_t i = 0; a != NULL && i < n; i++)
        a[i] = -HUGE_VAL;
    return a;
}

/* By component, each in a line of its own. */
static struct taut_known *new_known(struct taut_evidence *e, size_t n)
{
    char *a = taut_arena_take(&e->memory, n + 1, TAUT_EVIDENCE_LINE);

    return a == NULL
               ? NULL
               : (void *)(a + (0 - (uintptr_t)a) % TAUT_EVIDENCE_LINE);
}

static int allocate(struct taut_evidence *e, size_t n)
{
    e->cleared = new_times(e, n);
    e->of = new_known(e, n);
    TAUT_TAKE(&e->memory, e->class, n);
    TAUT_TAKE(&e->memory, e->has_acks, n / 64 + 1);
    TAUT_TAKE(&e->memory, e->loss, n);
    TAUT_TAKE(&e->memory, e->has_loss, n / 64 + 1);
    TAUT_TAKE(&e->memory, e->touched, n);
    TAUT_TAKE(&e->memory, e->explained, n);
    TAUT_TAKE(&e->memory, e->slot, n);
    TAUT_TAKE(&e->memory, e->slot_stamp, n);
    TAUT_TAKE(&e->memory, e->once, 1);
    TAUT_TAKE(&e->memory, e->rival, TAUT_EVIDENCE_RIVALS);
    TAUT_TAKE(&e->memory, e->other, TAUT_EVIDENCE_RIVALS);
    return e->memory.is_short ? -1 : taut_route_init(&e->route, e->g);
}

struct taut_evidence *taut_evidence_create(const struct taut_graph *g,
                                           const struct taut_evidence_rules *r)
{
    struct taut_evidence *e = calloc(1, sizeof(*e));

    if (e == NULL)
        return NULL;
    e->g = g;
    e->rules = *r;
    e->newest = -HUGE_VAL;
    e->judging = 1;
    e->loss_class = calloc(1, sizeof(*e->loss_class));
    if (e->loss_class == NULL || allocate(e, g->components) < 0) {
        taut_evidence_destroy(e);
        errno = ENOMEM;
        return NULL;
    }
    for (uint32_t c = 0; c < g->components; c++) {
        e->of[c].tested = -HUGE_VAL;
        e->of[c].left = 1;
        e->class[c] = TAUT_GRAPH_NONE;
    }
    return e;
}

int taut_evidence_classes(struct taut_evidence *e, const uint32_t *class,
                          uint32_t classes)
{
    e->change = calloc((size_t)classes + 1, sizeof(*e->change));
    void *lost = calloc((size_t)classes + 1, sizeof(*e->loss_class));
    if (e->change == NULL || lost == NULL) {
        free(lost);
        return -1;
    }
    free(e->loss_class);
    e->loss_class = lost;
    e->classes = classes;
    memcpy(e->class, class, e->g->components * sizeof(*class));
    return 0;
}

void taut_evidence_destroy(struct taut_evidence *e)
{
    int saved = errno;

    if (e == NULL)
        return;
    for (uint32_t c = 0; e->of != NULL && c < e->g->components; c++)
        taut_run_clear(e, c);
    for (uint32_t c = 0; e->loss != NULL && c < e->g->components; c++)
        taut_loss_clear(e, c);
    for (uint32_t c = 0; e->of != NULL && c < e->g->components; c++)
        taut_bouts_forget(e, c);
    taut_route_fini(&e->route);
    taut_arena_free(&e->memory);
    free(e->change);
    free(e->loss_class);
    free(e->held);
    free(e->test);
    free(e->stage);
    free(e);
    errno = saved;
}

void taut_evidence_set_rules(struct taut_evidence *e,
                             const struct taut_evidence_rules *r)
{
    e->rules = *r;
    e->judging++;
}

/* ---- questions ---- */

const struct taut_graph *taut_evidence_graph(const struct taut_evidence *e)
{
    return e->g;
}

const uint32_t *taut_evidence_touched(const struct taut_evidence *e,
                                      uint32_t *n)
{
    *n = e->n_touched;
    return e->touched;
}

uint32_t taut_evidence_serial(const struct taut_evidence *e)
{
    return e->serial;
}

struct taut_seen taut_evidence_seen(const struct taut_evidence *e, uint32_t c)
{
    const struct taut_run *run = e->of[c].run;
    const struct taut_glimpses *best =
        run == NULL ? NULL : &run->glimpses[TAUT_GLIMPSE_BEST];
    bool has_most = run != NULL && best->n > 0;

    return (struct taut_seen){
        .tests = e->of[c].tests,
        .good = e->of[c].good,
        .cleared_at = e->cleared[c],
        .cleared_by = e->of[c].cleared_by,
        .last = e->of[c].tested,
        .reach = (double)e->of[c].reach,
        .left = (double)e->of[c].left,
        .most = has_most ? (double)best->list[0].share : -HUGE_VAL,
        .most_at = has_most ? best->list[0].time : -HUGE_VAL,
        .low = run != NULL ? run->low : 0,
        .low_of = run != NULL ? run->of : 0,
    };
}

double taut_evidence_tested(const struct taut_evidence *e, uint32_t c)
{
    return e->of[c].tested;
}

double taut_evidence_cleared(const struct taut_evidence *e, uint32_t c)
{
    return e->cleared[c];
}

const double *taut_evidence_clearings(const struct taut_evidence *e)
{
    return e->cleared;
}

uint32_t taut_evidence_class(const struct taut_evidence *e, uint32_t c)
{
    return e->class[c];
}

void taut_evidence_watch(struct taut_evidence *e, uint32_t c, bool yes)
{
    e->of[c].is_watched = yes;
}

void taut_evidence_unknown(struct taut_evidence *e, uint32_t c, bool yes)
{
    e->of[c].is_unknown = yes;
}

void taut_evidence_restore_seen(struct taut_evidence *e, uint32_t c,
                                const struct taut_seen *seen)
{
    if (seen->cleared_at > e->cleared[c]) {
        e->cleared[c] = seen->cleared_at;
        e->of[c].cleared_by = seen->cleared_by;
    }
    e->of[c].tested = fmax(e->of[c].tested, seen->last);
    e->of[c].tests += seen->tests;
    e->of[c].good += seen->good;
    e->of[c].reach = fmaxf(e->of[c].reach, (float)seen->reach);
}
