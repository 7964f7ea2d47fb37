/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.keep: what tests saw of many components, as text for a store and back.
 *
 * A text holds numbers, one after the other, five bits a character, the last
 * character of a number being one of the first 32 of the alphabet.  It begins
 * with the version and a checksum of the rest, which is a record for each
 * component that anything is known of and a 0.  Times are told as what they
 * differ by, bit by bit, from those of the component before: tests of one
 * event have one time, so that most of a record is zeros. */
#include <config.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advisor/bindings/host.h"
#include "advisor/bindings/mod_coverage.h"
#include "advisor/bindings/evidence/mod_evidence.h"

#define KEEP_CLASS "taut.keep"
#define VERSION '1'
#define HEAD 8          /* characters: the version and a checksum of 7 digits */
#define FIELDS 9        /* of a record, without its component */
#define RECORD_MOST 136 /* characters of one: ten numbers of 13 at most */

static const char alphabet[] = "0123456789abcdefghijklmnopqrstuv"
                               "wxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_";

/* What is known of a component, and what stands before it in a text. */
struct kept {
    double cleared, tested; /* of evidence.h: -HUGE_VAL, never */
    double covered, asked, crossed; /* of coverage.h: NEVER */
    int64_t cleared_by;
    uint32_t tests, good;
    float reach;
    bool is_known;
};

static const struct kept nothing = {
    .cleared = -HUGE_VAL,
    .tested = -HUGE_VAL,
    .covered = TAUT_COVERAGE_NEVER,
    .asked = TAUT_COVERAGE_NEVER,
    .crossed = TAUT_COVERAGE_NEVER,
};

/* ---- numbers ---- */

static uint64_t bits(double v)
{
    uint64_t u;

    memcpy(&u, &v, sizeof(u));
    return u;
}

static double of_bits(uint64_t u)
{
    double v;

    memcpy(&v, &u, sizeof(v));
    return v;
}

/* FNV-1a: detects errors of a disk, not malice. */
static uint32_t checksum(const char *text, size_t n)
{
    uint32_t h = 0x811c9dc5;

    for (size_t i = 0; i < n; i++)
        h = (h ^ (unsigned char)text[i]) * 0x01000193;
    return h;
}

static char *put(char *at, uint64_t v)
{
    for (; v >= 32; v >>= 5)
        *at++ = alphabet[32 + (v & 31)];
    *at++ = alphabet[v];
    return at;
}

static void put_head(char *text, size_t n)
{
    uint32_t sum = checksum(text + HEAD, n - HEAD);

    text[0] = VERSION;
    for (int i = 1; i < HEAD; i++, sum >>= 5)
        text[i] = alphabet[sum & 31];
}

/* Texts are read with this. */
struct reader {
    const char *at, *end;
    bool is_bad;
};

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'Z')
        return c - 'A' + 36;
    return c == '-' ? 62 : c == '_' ? 63 : -1;
}

static uint64_t get(struct reader *r)
{
    uint64_t v = 0;

    for (int shift = 0; shift < 65 && r->at < r->end; shift += 5) {
        int d = digit(*r->at++);
        if (d < 0)
            break;
        v |= (uint64_t)(d & 31) << shift;
        if (d < 32)
            return v;
    }
    r->is_bad = true;
    return 0;
}

/* ---- records ---- */

/* The numbers of a record, as they differ from the one before. */
static void differences(const struct kept *k, const struct kept *before,
                        uint64_t list[FIELDS])
{
    list[0] = k->tests;
    list[1] = k->good;
    list[2] = bits(k->cleared) ^ bits(before->cleared);
    list[3] = bits(k->tested) ^ bits(k->cleared);
    list[4] = (uint64_t)k->cleared_by ^ (uint64_t)before->cleared_by;
    list[5] = bits((double)k->reach) ^ bits((double)before->reach);
    list[6] = bits(k->covered) ^ bits(k->tested);
    list[7] = bits(k->asked) ^ bits(before->asked);
    list[8] = bits(k->crossed) ^ bits(before->crossed);
}

static void undo(const uint64_t list[FIELDS], const struct kept *before,
                 struct kept *k)
{
    k->tests = (uint32_t)list[0];
    k->good = (uint32_t)list[1];
    k->cleared = of_bits(list[2] ^ bits(before->cleared));
    k->tested = of_bits(list[3] ^ bits(k->cleared));
    k->cleared_by = (int64_t)(list[4] ^ (uint64_t)before->cleared_by);
    k->reach = (float)of_bits(list[5] ^ bits((double)before->reach));
    k->covered = of_bits(list[6] ^ bits(k->tested));
    k->asked = of_bits(list[7] ^ bits(before->asked));
    k->crossed = of_bits(list[8] ^ bits(before->crossed));
    k->is_known = true;
}

static bool is_sane(const struct kept *k)
{
    return (isfinite(k->cleared) || k->cleared == -HUGE_VAL) &&
           (isfinite(k->tested) || k->tested == -HUGE_VAL) &&
           isfinite(k->covered) && isfinite(k->asked) &&
           isfinite(k->crossed) && isfinite(k->reach);
}

/* ---- out ---- */

static struct kept look(const struct taut_evidence *e,
                        const struct taut_coverage *v, uint32_t c)
{
    struct taut_seen seen = taut_evidence_seen(e, c);

    return (struct kept){
        .tests = seen.tests,
        .good = seen.good,
        .cleared = seen.cleared_at,
        .tested = seen.last,
        .cleared_by = seen.cleared_by,
        .reach = (float)seen.reach,
        .covered = v->tested[c],
        .asked = v->asked[c],
        .crossed = v->crossed[c],
    };
}

static bool is_known(const struct kept *k)
{
    return k->tests > 0 || k->tested > -HUGE_VAL ||
           k->covered > TAUT_COVERAGE_NEVER || k->asked > TAUT_COVERAGE_NEVER ||
           k->crossed > TAUT_COVERAGE_NEVER;
}

/* A text on its way. */
struct writer {
    luaL_Buffer b;
    char *at;
    uint32_t last; /* component told, from 1; 0: none */
    struct kept before;
};

static void write_record(struct writer *w, uint32_t c, const struct kept *k)
{
    uint64_t list[FIELDS];

    differences(k, &w->before, list);
    w->at = put(w->at, c + 1 - w->last);
    for (int i = 0; i < FIELDS; i++)
        w->at = put(w->at, list[i]);
    w->before = *k;
    w->last = c + 1;
}

/* keep.pack(evidence, times, from, to) or (evidence, times, { c, … }), which
 * ascend → text.  Of a list all are told, also what nothing is known of (any
 * more). */
static int keep_pack(lua_State *L)
{
    const struct taut_evidence *e = taut_check_evidence(L, 1)->evidence;
    const struct taut_coverage *v = taut_check_coverage(L, 2);
    bool is_list = lua_istable(L, 3);
    lua_Integer from = is_list ? 1 : luaL_checkinteger(L, 3);
    lua_Integer to = is_list ? (lua_Integer)lua_rawlen(L, 3)
                             : luaL_checkinteger(L, 4);
    lua_Integer most = taut_evidence_graph(e)->components;
    struct writer w = {.before = nothing};

    luaL_argcheck(L, v->n >= most, 2, "times of another machine");
    luaL_argcheck(L, from >= 1 && to <= (is_list ? 1 << 24 : most), 3,
                  "components of another machine");
    size_t room = to < from ? 0 : (size_t)(to - from + 1);
    char *text = luaL_buffinitsize(L, &w.b, (room + 1) * RECORD_MOST);
    w.at = text + HEAD;
    for (lua_Integer i = from; i <= to; i++) {
        lua_Integer c = i;
        if (is_list) {
            lua_rawgeti(L, 3, i);
            c = lua_tointeger(L, -1);
            lua_pop(L, 1);
            if (c <= (lua_Integer)w.last || c > most)
                return luaL_error(L, "component %I is unknown or out of order",
                                  (LUAI_UACINT)c);
        }
        struct kept k = look(e, v, (uint32_t)c - 1);
        if (is_list || is_known(&k))
            write_record(&w, (uint32_t)c - 1, &k);
    }
    w.at = put(w.at, 0);
    put_head(text, (size_t)(w.at - text));
    luaL_pushresultsize(&w.b, (size_t)(w.at - text));
    return 1;
}

/* ---- back ---- */

struct all_kept {
    uint32_t n;
    struct kept list[];
};

/* keep.new(n) → what is known of n components: nothing */
static int keep_new(lua_State *L)
{
    lua_Integer n = luaL_checkinteger(L, 1);

    luaL_argcheck(L, n >= 0 && n < UINT32_MAX / 8, 1,
                  "not a number of components");
    struct all_kept *all = lua_newuserdatauv(
        L, sizeof(*all) + (size_t)n * sizeof(all->list[0]), 0);
    all->n = (uint32_t)n;
    for (uint32_t c = 0; c < all->n; c++)
        all->list[c] = nothing;
    luaL_setmetatable(L, KEEP_CLASS);
    return 1;
}

/* Which component of today number c, from 1, of a text is; 0: none. */
static uint32_t today(lua_State *L, int map, uint64_t c)
{
    if (lua_isnoneornil(L, map))
        return (uint32_t)c;
    lua_rawgeti(L, map, (lua_Integer)c);
    lua_Integer now = lua_tointeger(L, -1);
    lua_pop(L, 1);
    return now > 0 && now <= UINT32_MAX ? (uint32_t)now : 0;
}

/* Read the records; into 'all', where it is given.  Returns how many, or -1
 * where the text is damaged. */
static lua_Integer read_all(lua_State *L, struct reader *r, int map,
                            struct all_kept *all)
{
    struct kept before = nothing;
    lua_Integer taken = 0;
    uint64_t c = 0, list[FIELDS];

    for (uint64_t gap = get(r); gap > 0; gap = get(r)) {
        struct kept k;
        c += gap;
        for (int i = 0; i < FIELDS; i++)
            list[i] = get(r);
        undo(list, &before, &k);
        if (r->is_bad || gap > UINT32_MAX || c > UINT32_MAX || !is_sane(&k))
            return -1;
        before = k;
        uint32_t now = today(L, map, c);
        if (now == 0 || now > (all == NULL ? UINT32_MAX : all->n))
            continue;
        if (all != NULL)
            all->list[now - 1] = k;
        taken++;
    }
    return r->is_bad ? -1 : taken;
}

/* Is it a whole text of this version? */
static bool begin(struct reader *r, const char *text, size_t n)
{
    uint64_t sum = 0;

    *r = (struct reader){.at = text + HEAD, .end = text + n};
    if (n <= HEAD || text[0] != VERSION)
        return false;
    for (int i = HEAD - 1; i > 0; i--)
        sum = sum << 5 | (uint64_t)(digit(text[i]) & 31);
    return sum == checksum(text + HEAD, n - HEAD);
}

/* k:read(text [, map]): what it tells replaces what was read before
 *   map  { [number in the text] = number now, … }; nil: the same
 * → how many components; or nil and what is wrong: then nothing is taken */
static int keep_read(lua_State *L)
{
    struct all_kept *all = luaL_checkudata(L, 1, KEEP_CLASS);
    size_t n;
    const char *text = luaL_checklstring(L, 2, &n);
    struct reader r, again;

    if (!lua_isnoneornil(L, 3))
        luaL_checktype(L, 3, LUA_TTABLE);
    lua_settop(L, 3);
    if (!begin(&r, text, n))
        return taut_fail(L, "damaged, or of another version");
    again = r;
    if (read_all(L, &again, 3, NULL) < 0)
        return taut_fail(L, "damaged");
    lua_pushinteger(L, read_all(L, &r, 3, all));
    return 1;
}

/* k:has(c) → was anything read of it? */
static int keep_has(lua_State *L)
{
    const struct all_kept *all = luaL_checkudata(L, 1, KEEP_CLASS);
    lua_Integer c = luaL_checkinteger(L, 2);

    lua_pushboolean(L, c >= 1 && c <= all->n && all->list[c - 1].is_known);
    return 1;
}

static void give(struct taut_evidence *e, struct taut_coverage *v, uint32_t c,
                 const struct kept *k)
{
    struct taut_seen seen = {
        .tests = k->tests,
        .good = k->good,
        .cleared_at = k->cleared,
        .cleared_by = k->cleared_by,
        .last = k->tested,
        .reach = (double)k->reach,
    };

    taut_evidence_restore_seen(e, c, &seen);
    v->tested[c] = fmax(v->tested[c], k->covered);
    v->asked[c] = fmax(v->asked[c], k->asked);
    v->crossed[c] = fmax(v->crossed[c], k->crossed);
}

/* k:give(evidence, times): all that was read, once; what they know by now that
 * is newer stays */
static int keep_give(lua_State *L)
{
    const struct all_kept *all = luaL_checkudata(L, 1, KEEP_CLASS);
    struct taut_evidence *e = taut_check_evidence(L, 2)->evidence;
    struct taut_coverage *v = taut_check_coverage(L, 3);

    luaL_argcheck(L, taut_evidence_graph(e)->components >= all->n, 2,
                  "evidence on another machine");
    luaL_argcheck(L, v->n >= all->n, 3, "times of another machine");
    for (uint32_t c = 0; c < all->n; c++)
        if (all->list[c].is_known)
            give(e, v, c, &all->list[c]);
    return 0;
}

static int keep_gc(lua_State *L)
{
    (void)L;
    return 0;
}

int luaopen_taut_keep(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"new", keep_new},
        {"pack", keep_pack},
        {NULL, NULL},
    };
    static const luaL_Reg methods[] = {
        {"give", keep_give},
        {"has", keep_has},
        {"read", keep_read},
        {NULL, NULL},
    };

    taut_class(L, KEEP_CLASS, methods, keep_gc);
    luaL_newlib(L, functions);
    return 1;
}
