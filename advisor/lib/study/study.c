/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/lib/study/gates.h"

struct taut_study *taut_study_create(const struct taut_graph *g,
                                     enum taut_study_kind kind,
                                     const double *cables)
{
    struct taut_study *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return NULL;
    s->g = g;
    s->kind = kind;
    s->by_node = kind == TAUT_STUDY_ROUTES && g->engine != NULL &&
                 g->engine->by_destination;
    s->places = s->by_node ? g->nodes : g->routers;
    s->cables = malloc(((size_t)g->links + 1) * sizeof(*s->cables));
    if (s->cables == NULL) {
        taut_study_destroy(s);
        return NULL;
    }
    for (uint32_t l = 0; l < g->links; l++)
        s->cables[l] = cables != NULL ? cables[l] : 1;
    return s;
}

void taut_study_destroy(struct taut_study *s)
{
    int saved = errno;

    if (s != NULL) {
        free(s->cables);
        free(s->group);
        taut_gates_destroy(s->gates);
        free(s->place);
        free(s->router);
        free(s->line_link);
    }
    free(s);
    errno = saved;
}

int taut_study_groups(struct taut_study *s, const uint32_t *group,
                      struct taut_error *err)
{
    uint32_t groups = 0;

    for (uint32_t r = 0; r < s->g->routers; r++) {
        if (group[r] >= TAUT_STUDY_MAX_GROUPS) {
            taut_error_set(err, "router %u: group %u, expected at most %d", r,
                           group[r], TAUT_STUDY_MAX_GROUPS - 1);
            errno = EINVAL;
            return -1;
        }
        groups = group[r] >= groups ? group[r] + 1 : groups;
    }
    s->group = malloc(((size_t)s->g->routers + 1) * sizeof(*s->group));
    if (s->group == NULL)
        return -1;
    memcpy(s->group, group, s->g->routers * sizeof(*s->group));
    s->groups = groups;
    if (s->kind == TAUT_STUDY_GROUPS)
        s->places = groups;
    return s->kind == TAUT_STUDY_GATES ? taut_gates_create(s) : 0;
}

/* ---- solving ---- */

double taut_study_shift(double x, double direct, double indirect, double step)
{
    double sum = direct + indirect;
    double d = sum > 0 ? (direct - indirect) / sum : 0;
    double w = x * exp(-step * d);

    return w / (w + 1 - x);
}

static taut_study_solve_f solver_of(enum taut_study_kind kind)
{
    switch (kind) {
    case TAUT_STUDY_GROUPS:
        return taut_study_solve_groups;
    case TAUT_STUDY_GATES:
        return taut_study_solve_gates;
    case TAUT_STUDY_LINES:
        return taut_study_solve_lines;
    case TAUT_STUDY_ROUTES:
        return taut_study_solve_routes;
    case TAUT_STUDY_NONE:
        break;
    }
    return NULL;
}

int taut_study_solve(const struct taut_study *s, const struct taut_overlay *o,
                     const struct taut_demand *d,
                     const struct taut_study_rules *rules, double *load,
                     struct taut_study_result *out)
{
    taut_study_solve_f solve = solver_of(s->kind);
    struct taut_meet meet;

    memset(out, 0, sizeof(*out));
    if (solve == NULL || d->places != s->places || !d->is_sealed ||
        o->links != s->g->links || !(rules->unit_s > 0)) {
        errno = EINVAL;
        return -1;
    }
    if (taut_meet_init(&meet, d, out) < 0)
        return -1;
    int rc = solve(s, o, d, rules, load, &meet);
    if (rc == 0)
        taut_meet_finish(&meet);
    taut_meet_fini(&meet);
    return rc;
}
