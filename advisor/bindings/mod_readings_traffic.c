/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two readings of one node side by side.  Nearly always they tell of the same
 * interfaces and only traffic grew, which is no trouble: then nothing of them
 * has to be taken apart for Lua.  In doubt they are left to Lua. */
#include <config.h>

#include <string.h>

#include "advisor/bindings/json/text.h"
#include "advisor/bindings/mod_readings.h"

#define KINDS 3 /* stack index */
#define ROWS 4  /* nil where none are wanted … */
#define LINES 5 /* … else a set of those that had a row */

struct pair {
    struct taut_readings_reader was, now;
    struct taut_json_text row; /* of the line, where one is wanted */
};

static bool is_same_piece(struct taut_piece a, struct taut_piece b)
{
    return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

/* Did the number only do what means nothing? */
static bool is_quiet_number(enum taut_reading_kind kind, int64_t was,
                            int64_t now)
{
    switch (kind) {
    case TAUT_READING_TRAFFIC: /* the top of 64 bits is left to Lua */
        return now >= was && now < INT64_MAX;
    case TAUT_READING_SATURATING:
    case TAUT_READING_HARMLESS:
    case TAUT_READING_UNKNOWN:
        return now >= was;
    default:
        return now == was;
    }
}

static bool is_quiet(enum taut_reading_kind kind,
                     const struct taut_told_field *was,
                     const struct taut_told_field *now)
{
    if (was->kind != now->kind || !taut_reading_fits(kind, now))
        return false;
    if (now->kind == TAUT_TOLD_TEXT)
        return is_same_piece(was->text, now->text);
    return now->kind == TAUT_TOLD_SECONDS ||
           is_quiet_number(kind, was->number, now->number);
}

/* Is what does not grow told, too?  That there was no traffic says something,
 * unless it stands at its top. */
static bool is_zero_told(enum taut_reading_kind kind, int64_t now)
{
    return kind == TAUT_READING_TRAFFIC ||
           (kind == TAUT_READING_SATURATING && now < TAUT_READING_TOP);
}

static void add_growth(struct taut_json_text *row, enum taut_reading_kind kind,
                       const struct taut_told_field *was,
                       const struct taut_told_field *now)
{
    if (now->kind != TAUT_TOLD_NUMBER ||
        (now->number == was->number && !is_zero_told(kind, now->number)))
        return;
    taut_json_text_add_char(row, row->used > 0 ? ',' : '{');
    taut_json_text_add_string(row, now->name.at, now->name.length);
    taut_json_text_add_char(row, ':');
    taut_json_text_add_integer(row, now->number - was->number);
}

static void push_row(lua_State *L, const struct pair *p)
{
    lua_createtable(L, 0, 3);
    taut_reading_push(L, p->now.source);
    lua_setfield(L, -2, "source");
    taut_reading_push(L, p->now.interface);
    lua_setfield(L, -2, "interface");
    lua_pushlstring(L, p->row.at, p->row.used);
    lua_setfield(L, -2, "counters");
    lua_rawseti(L, ROWS, (lua_Integer)lua_rawlen(L, ROWS) + 1);
}

/* Take the text at the top into the set at that index, and off the stack.
 * Returns false where it was there. */
static bool is_new(lua_State *L, int set)
{
    lua_pushvalue(L, -1);
    if (lua_rawget(L, set) != LUA_TNIL) {
        lua_pop(L, 2);
        return false;
    }
    lua_pop(L, 1);
    lua_pushboolean(L, true);
    lua_rawset(L, set);
    return true;
}

static bool want_rows(lua_State *L)
{
    return !lua_isnil(L, ROWS);
}

/* The fields of a line, the catalogue's names of whose source are below the
 * top; at the top, where rows are wanted, a set for names. */
static bool are_fields_quiet(lua_State *L, struct pair *p)
{
    struct taut_told_field was, now;
    struct taut_error err;
    int names = lua_gettop(L), more;

    while ((more = taut_readings_field(&p->was, &was, &err)) > 0) {
        if (taut_readings_field(&p->now, &now, &err) <= 0 ||
            !is_same_piece(was.name, now.name))
            return false;
        taut_reading_push(L, now.name);
        enum taut_reading_kind kind = taut_reading_kind(L, names - 1);
        if (!is_quiet(kind, &was, &now))
            return false;
        if (want_rows(L)) {
            add_growth(&p->row, kind, &was, &now);
            if (!is_new(L, names))
                return false;
        } else {
            lua_pop(L, 1);
        }
    }
    return more == 0 && taut_readings_field(&p->now, &now, &err) == 0;
}

/* Push what are_fields_quiet() wants, or return false. */
static bool begin_line(lua_State *L, const struct taut_readings_reader *now)
{
    if (want_rows(L)) {
        lua_pushlstring(L, now->source.at, (size_t)(now->at - now->source.at));
        if (!is_new(L, LINES))
            return false;
    }
    taut_reading_push(L, now->source);
    if (lua_rawget(L, KINDS) != LUA_TTABLE)
        return false;
    if (want_rows(L))
        lua_newtable(L);
    else
        lua_pushnil(L);
    return true;
}

static bool is_line_quiet(lua_State *L, struct pair *p)
{
    if (!is_same_piece(p->was.source, p->now.source) ||
        !is_same_piece(p->was.interface, p->now.interface) ||
        !begin_line(L, &p->now))
        return false;
    taut_json_text_clear(&p->row);
    if (!are_fields_quiet(L, p))
        return false;
    if (p->row.used > 0)
        taut_json_text_add_char(&p->row, '}');
    if (p->row.failed)
        return false;
    if (p->row.used > 0)
        push_row(L, p);
    lua_settop(L, LINES);
    return true;
}

static bool are_quiet(lua_State *L, struct pair *p)
{
    struct taut_error err;
    int more;

    while ((more = taut_readings_next(&p->was, &err)) > 0)
        if (taut_readings_next(&p->now, &err) <= 0 || !is_line_quiet(L, p))
            return false;
    return more == 0 && taut_readings_next(&p->now, &err) == 0;
}

/* only_traffic(was, now, kinds[, want_rows]) → true; with `want_rows` an array
 *   of { source, interface, counters = JSON of what its counters grew by }
 *   instead, without interfaces of which there is nothing to say; false where
 *   anything else changed, is told in another order, or is damaged, and, with
 *   `want_rows`, where something is told twice */
int taut_readings_only_traffic(lua_State *L)
{
    struct pair p;
    size_t was_bytes, now_bytes;
    const char *was = luaL_checklstring(L, 1, &was_bytes);
    const char *now = luaL_checklstring(L, 2, &now_bytes);
    bool want = lua_toboolean(L, ROWS);

    luaL_checktype(L, KINDS, LUA_TTABLE);
    luaL_checkstack(L, 16, NULL);
    lua_settop(L, KINDS);
    for (int i = ROWS; i <= LINES; i++) {
        if (want)
            lua_newtable(L);
        else
            lua_pushnil(L);
    }
    taut_readings_begin(&p.was, was, was_bytes);
    taut_readings_begin(&p.now, now, now_bytes);
    p.row = taut_json_text_take();
    bool ok = are_quiet(L, &p);
    taut_json_text_give(&p.row);
    if (ok && want)
        lua_settop(L, ROWS);
    else
        lua_pushboolean(L, ok);
    return 1;
}
