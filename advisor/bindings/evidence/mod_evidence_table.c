/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.evidence: tests that are tables, as surveys have them, and what tests of
 * plans have in tables, too. */
#include <config.h>

#include <math.h>
#include <string.h>

#include "advisor/bindings/graph/mod_graph.h"
#include "advisor/bindings/evidence/mod_evidence_take.h"

/* ---- fields ---- */

/* Fields of tests; their names are upvalues of evidence_take. */
enum field {
    F_BPS = TAUT_TAKE_NAMES,
    F_BW_BPS,
    F_BY_LOSS,
    F_CLASS,
    F_COMPONENT,
    F_CONFIRMS,
    F_DST,
    F_EXPECTED_BPS,
    F_GROUP,
    F_ID,
    F_IS_LOW,
    F_IS_TRACED,
    F_JOB,
    F_LOST,
    F_MIN_RTT_NS,
    F_PART_BPS,
    F_PORT,
    F_RAIL,
    F_SEGMENTS,
    F_SEGMENT_BYTES,
    F_SENDERS,
    F_SRC,
    F_STREAMS,
    F_THROUGH,
    F_TIME,
    F_WAY,
    FIELDS,
};

static const char *const field_names[FIELDS] = {
    [F_BPS] = "Bps",
    [F_BW_BPS] = "bw_Bps",
    [F_BY_LOSS] = "by_loss",
    [F_CLASS] = "class",
    [F_COMPONENT] = "component",
    [F_CONFIRMS] = "confirms",
    [F_DST] = "dst",
    [F_EXPECTED_BPS] = "expected_Bps",
    [F_GROUP] = "group",
    [F_ID] = "id",
    [F_IS_LOW] = "is_low",
    [F_IS_TRACED] = "is_traced",
    [F_JOB] = "job",
    [F_LOST] = "lost",
    [F_MIN_RTT_NS] = "min_rtt_ns",
    [F_PART_BPS] = "part_Bps",
    [F_PORT] = "port",
    [F_RAIL] = "rail",
    [F_SEGMENTS] = "segments",
    [F_SEGMENT_BYTES] = "segment_bytes",
    [F_SENDERS] = "senders",
    [F_SRC] = "src",
    [F_STREAMS] = "streams",
    [F_THROUGH] = "through",
    [F_TIME] = "time",
    [F_WAY] = "way",
};

/* Push field f of the table on the top; returns its type. */
static int push_field(lua_State *L, enum field f)
{
    lua_pushvalue(L, lua_upvalueindex((int)f));
    return lua_rawget(L, -2);
}

/* Field f of the table on the top where it is a whole number, or the fallback.
 */
static lua_Integer whole(lua_State *L, enum field f, lua_Integer fallback)
{
    push_field(L, f);
    lua_Integer v = lua_isinteger(L, -1) ? lua_tointeger(L, -1) : fallback;
    lua_pop(L, 1);
    return v;
}

static double number(lua_State *L, enum field f, double fallback)
{
    int is_number;

    push_field(L, f);
    double v = lua_tonumberx(L, -1, &is_number);
    lua_pop(L, 1);
    return is_number ? v : fallback;
}

/* The ends of the test on the top; false where the machine has no such. */
static bool read_ends(lua_State *L, const struct taut_graph *g,
                      struct taut_measured *t)
{
    lua_Integer src = whole(L, F_SRC, 0), dst = whole(L, F_DST, 0);
    lua_Integer rail = g->rails > 1 ? whole(L, F_RAIL, 1) : 1;

    if (src < 1 || src > g->nodes || dst < 1 || dst > g->nodes || src == dst ||
        rail < 1 || rail > g->rails)
        return false;
    t->src = g->nodes * (uint32_t)(rail - 1) + (uint32_t)src - 1;
    t->dst = g->nodes * (uint32_t)(rail - 1) + (uint32_t)dst - 1;
    return true;
}

static void read_test(lua_State *L, struct taut_measured *t)
{
    t->job = whole(L, F_JOB, 0);
    t->flows = 1;
    t->streams = (uint16_t)whole(L, F_STREAMS, 1);
}

void taut_take_pop_port(lua_State *L, const struct taut_graph *g,
                        struct taut_measured *t)
{
    if (lua_istable(L, -1)) {
        lua_Integer c = whole(L, F_COMPONENT, 0);
        double bw_Bps = number(L, F_BPS, -1);
        if (c >= 1 && c <= g->components && bw_Bps >= 0 && isfinite(bw_Bps)) {
            push_field(L, F_IS_LOW);
            t->is_low = lua_toboolean(L, -1);
            lua_pop(L, 1);
            t->by_port = true;
            t->port = (uint32_t)c - 1;
            t->bw_Bps = bw_Bps;
        }
    }
    lua_pop(L, 1);
}

void taut_take_pop_part(lua_State *L, struct taut_measured *t)
{
    double part_Bps = lua_tonumber(L, -1);

    t->part_Bps = part_Bps > 0 && isfinite(part_Bps) ? part_Bps : 0;
    lua_pop(L, 1);
}

/* What judge.lua made of the test on the top. */
static void read_judged(lua_State *L, const struct taut_graph *g,
                        struct taut_measured *t)
{
    push_field(L, F_CLASS);
    const char *class = lua_tostring(L, -1);
    t->is_low = class != NULL && strcmp(class, "low") == 0;
    bool is_good = class != NULL && strcmp(class, "good") == 0;
    lua_pop(L, 1);
    t->bw_Bps = t->is_low || is_good ? number(L, F_BW_BPS, -1) : -1;
    if (!(t->bw_Bps >= 0) || isinf(t->bw_Bps))
        t->bw_Bps = -1;
    if (!t->is_low && !is_good) {
        push_field(L, F_PORT);
        taut_take_pop_port(L, g, t);
    }
    push_field(L, F_PART_BPS);
    taut_take_pop_part(L, t);
    t->expected_Bps = number(L, F_EXPECTED_BPS, HUGE_VAL);
    push_field(L, F_BY_LOSS);
    t->by_loss = lua_toboolean(L, -1);
    lua_pop(L, 1);
    t->segments = number(L, F_SEGMENTS, 0);
    t->lost = number(L, F_LOST, -1);
    t->segment_bytes = number(L, F_SEGMENT_BYTES, 0);
    t->min_rtt_ns = number(L, F_MIN_RTT_NS, 0);
}

void taut_take_pop_through(lua_State *L, struct taut_evidence *e)
{
    uint32_t stages = taut_evidence_stages(e);

    if (lua_istable(L, -1))
        for (uint32_t i = 0; i < stages; i++) {
            int has_n;
            lua_rawgeti(L, -1, (lua_Integer)taut_evidence_stage(e, i) + 1);
            lua_Number n = lua_tonumberx(L, -1, &has_n);
            if (has_n && n >= 1)
                taut_evidence_share_stage(
                    e, i,
                    (uint16_t)(n < TAUT_EVIDENCE_STREAMS
                                   ? n + 0.5
                                   : TAUT_EVIDENCE_STREAMS));
            lua_pop(L, 1);
        }
    lua_pop(L, 1);
}

void taut_take_pop_way(lua_State *L, uint32_t *way, struct taut_measured *t)
{
    if (lua_istable(L, -1)) {
        uint32_t n = (uint32_t)lua_rawlen(L, -1);
        n = n < 2 ? 0 : n - 2 < TAUT_TAKE_WAY ? n - 2 : TAUT_TAKE_WAY;
        for (uint32_t i = 0; i < n; i++) {
            lua_rawgeti(L, -1, (lua_Integer)i + 2);
            lua_Integer c = lua_tointeger(L, -1);
            way[i] =
                c >= 1 && c <= UINT32_MAX ? (uint32_t)c - 1 : TAUT_GRAPH_NONE;
            lua_pop(L, 1);
        }
        t->way = way;
        t->n_way = n;
    }
    lua_pop(L, 1);
}

/* ---- may it speak ---- */

static const char *time_wrong(lua_State *L,
                              const struct taut_take_limits *limits)
{
    const char *why = NULL;
    int type = push_field(L, F_TIME), is_number;
    double at = lua_tonumberx(L, -1, &is_number);

    if (type == LUA_TNIL)
        why = NULL;
    else if (type != LUA_TNUMBER || !(at < 1e15 && at > -1e15))
        why = "without a time";
    else if (at > limits->latest)
        why = "from the future";
    else if (at < limits->oldest)
        why = "too old";
    lua_pop(L, 1);
    return why;
}

/* Nothing counts twice. */
static const char *id_wrong(lua_State *L, struct taut_evidence *e,
                            struct taut_measured *t)
{
    int type = push_field(L, F_ID), is_new = 0;

    if (lua_isinteger(L, -1)) {
        t->id = lua_tointeger(L, -1);
        is_new = taut_evidence_note_id(e, t->id);
    }
    lua_pop(L, 1);
    return type == LUA_TNIL || is_new ? NULL : "twice";
}

static const char *confirms_wrong(lua_State *L, const struct taut_graph *g,
                                  struct taut_measured *t)
{
    int type = push_field(L, F_CONFIRMS);
    lua_Integer c = lua_isinteger(L, -1) ? lua_tointeger(L, -1) : 0;

    lua_pop(L, 1);
    t->confirms = TAUT_GRAPH_NONE;
    if (type == LUA_TNIL)
        return NULL;
    if (c < 1 || c > g->components)
        return "of unknown components";
    t->confirms = (uint32_t)c - 1;
    return NULL;
}

const char *taut_take_table_refused(lua_State *L, struct taut_evidence *e,
                                    const struct taut_take_limits *limits,
                                    struct taut_measured *t)
{
    const struct taut_graph *g = taut_evidence_graph(e);

    if (!lua_istable(L, -1) || !read_ends(L, g, t))
        return "of unknown nodes";
    const char *why = confirms_wrong(L, g, t);
    if (why == NULL)
        why = time_wrong(L, limits);
    return why != NULL ? why : id_wrong(L, e, t);
}

/* ---- taking ---- */

/* Is this field of the test on the top set to something? */
static bool has(lua_State *L, enum field f)
{
    push_field(L, f);
    bool is_true = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return is_true;
}

/* Is the table on the top one stream alone, of which it is not known which link
 * of a set it took? */
static bool is_lone_flow(lua_State *L, const struct taut_measured *t)
{
    return t->streams == 1 && !t->by_loss && whole(L, F_SENDERS, 1) == 1 &&
           !has(L, F_IS_TRACED) && !has(L, F_GROUP);
}

bool taut_take_add(lua_State *L, struct taut_evidence *e,
                   struct taut_measured *t, bool *is_added)
{
    int rc = taut_evidence_add(e, t);

    if (rc == TAUT_ROUTE_NO_MEMORY)
        luaL_error(L, "out of memory for tests");
    *is_added = rc == 0; /* else it has no route */
    return rc == 0 && taut_evidence_is_over_sets(e) &&
           !taut_evidence_is_doubted(e);
}

bool taut_take_table(lua_State *L, struct taut_evidence *e,
                     struct taut_measured *t)
{
    uint32_t way[TAUT_TAKE_WAY];
    bool is_added;

    read_test(L, t);
    push_field(L, F_WAY);
    taut_take_pop_way(L, way, t);
    read_judged(L, taut_evidence_graph(e), t);
    bool is_flow = taut_take_add(L, e, t, &is_added);
    if (is_added) {
        push_field(L, F_THROUGH);
        taut_take_pop_through(L, e);
    }
    return is_flow && is_lone_flow(L, t);
}

int taut_take_push_names(lua_State *L)
{
    for (int f = TAUT_TAKE_NAMES; f < FIELDS; f++)
        lua_pushstring(L, field_names[f]);
    return FIELDS - TAUT_TAKE_NAMES;
}
