/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two readings of one node side by side.  Nearly always they tell of the same
 * interfaces and only traffic grew, which is no trouble: then nothing of them
 * has to be taken apart for Lua.  In doubt they are left to Lua. */
#include <config.h>

#include <string.h>

#include "advisor/bindings/json/text.h"
#include "advisor/bindings/mod_readings.h"

#define KINDS 3 /* stack index */
#define ROWS 4  /* nil where none are wanted */
#define TOP_LEAST INT64_C(0xffffffff) /* of traffic, in the catalogue */

/* The JSON of a port's growth, its memory from one call to the next. */
static struct taut_json_text spare;

struct pair {
    struct taut_readings_reader was, now;
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
    case TAUT_READING_SATURATING:
        return now > was || (now == was && now < TOP_LEAST);
    case TAUT_READING_TRAFFIC:
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

/* Growth that a job's record has: that there was no traffic says something. */
static void add_growth(enum taut_reading_kind kind,
                       const struct taut_told_field *was,
                       const struct taut_told_field *now)
{
    bool is_traffic =
        kind == TAUT_READING_TRAFFIC || kind == TAUT_READING_SATURATING;

    if (now->kind != TAUT_TOLD_NUMBER ||
        (!is_traffic && now->number == was->number))
        return;
    taut_json_text_add_char(&spare, spare.used > 0 ? ',' : '{');
    taut_json_text_add_string(&spare, now->name.at, now->name.length);
    taut_json_text_add_char(&spare, ':');
    taut_json_text_add_integer(&spare, now->number - was->number);
}

static void push_row(lua_State *L, const struct taut_readings_reader *r)
{
    lua_createtable(L, 0, 3);
    taut_reading_push(L, r->source);
    lua_setfield(L, -2, "source");
    taut_reading_push(L, r->interface);
    lua_setfield(L, -2, "interface");
    taut_json_text_add_char(&spare, '}');
    lua_pushlstring(L, spare.at, spare.used);
    lua_setfield(L, -2, "counters");
    lua_rawseti(L, ROWS, (lua_Integer)lua_rawlen(L, ROWS) + 1);
}

/* The fields of a line, those of whose source are at the top. */
static bool are_fields_quiet(lua_State *L, struct pair *p)
{
    struct taut_told_field was, now;
    struct taut_error err;
    int index = lua_gettop(L), more;

    while ((more = taut_readings_field(&p->was, &was, &err)) > 0) {
        if (taut_readings_field(&p->now, &now, &err) <= 0 ||
            !is_same_piece(was.name, now.name))
            return false;
        taut_reading_push(L, now.name);
        enum taut_reading_kind kind = taut_reading_kind(L, index);
        lua_pop(L, 1);
        if (!is_quiet(kind, &was, &now))
            return false;
        if (!lua_isnil(L, ROWS))
            add_growth(kind, &was, &now);
    }
    return more == 0 && taut_readings_field(&p->now, &now, &err) == 0;
}

static bool is_line_quiet(lua_State *L, struct pair *p)
{
    if (!is_same_piece(p->was.source, p->now.source) ||
        !is_same_piece(p->was.interface, p->now.interface))
        return false;
    taut_reading_push(L, p->now.source);
    if (lua_rawget(L, KINDS) != LUA_TTABLE)
        return false;
    taut_json_text_clear(&spare);
    bool ok = are_fields_quiet(L, p) && !spare.failed;
    if (ok && spare.used > 0)
        push_row(L, &p->now);
    lua_pop(L, 1);
    return ok;
}

/* traffic(was, now, kinds[, yes]) → true; with `yes` an array of { source,
 *   interface, counters = JSON of what its counters grew by } instead, without
 *   interfaces of which there is nothing to say; false where anything else
 *   changed, or is damaged */
int taut_readings_traffic(lua_State *L)
{
    struct taut_error err;
    struct pair p;
    size_t was_bytes, now_bytes;
    const char *was = luaL_checklstring(L, 1, &was_bytes);
    const char *now = luaL_checklstring(L, 2, &now_bytes);
    int more;

    luaL_checktype(L, KINDS, LUA_TTABLE);
    bool want_rows = lua_toboolean(L, ROWS);
    lua_settop(L, KINDS);
    if (want_rows)
        lua_newtable(L);
    else
        lua_pushnil(L);
    taut_readings_begin(&p.was, was, was_bytes);
    taut_readings_begin(&p.now, now, now_bytes);
    while ((more = taut_readings_next(&p.was, &err)) > 0) {
        if (taut_readings_next(&p.now, &err) <= 0 || !is_line_quiet(L, &p)) {
            lua_pushboolean(L, false);
            return 1;
        }
    }
    bool ok = more == 0 && taut_readings_next(&p.now, &err) == 0;
    if (ok && want_rows)
        lua_settop(L, ROWS);
    else
        lua_pushboolean(L, ok);
    return 1;
}
