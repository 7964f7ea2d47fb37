/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.readings: what nodes tell of their counters, as wire/readings.h has it,
 * for Lua.  Each HELLO and RESULT brings some, with up to hundreds of numbers:
 * what is only passed on stays a text.
 *
 * `kinds` says what the catalogue knows: source → name → one of the numbers
 * below; a source that it does not have is refused. */
#include <config.h>

#include "advisor/bindings/mod_readings.h"

#define KINDS 2 /* stack index */

void taut_reading_push(lua_State *L, struct taut_piece piece)
{
    lua_pushlstring(L, piece.at, piece.length);
}

/* Push kinds[source], a table, or return false and push nothing. */
static bool push_kinds(lua_State *L, const struct taut_readings_reader *r,
                       struct taut_error *err)
{
    taut_reading_push(L, r->source);
    if (lua_rawget(L, KINDS) == LUA_TTABLE)
        return true;
    lua_pop(L, 1);
    taut_error_set(err, "%.*s: no source '%.*s'", (int)r->interface.length,
                   r->interface.at, (int)r->source.length, r->source.at);
    return false;
}

enum taut_reading_kind taut_reading_kind(lua_State *L, int index)
{
    lua_pushvalue(L, -1);
    lua_rawget(L, index);
    enum taut_reading_kind kind = (enum taut_reading_kind)lua_tointeger(L, -1);
    lua_pop(L, 1);
    return kind;
}

bool taut_reading_fits(enum taut_reading_kind kind,
                       const struct taut_told_field *f)
{
    return kind == TAUT_READING_UNKNOWN || f->kind == TAUT_TOLD_SECONDS ||
           (kind == TAUT_READING_TEXT) == (f->kind == TAUT_TOLD_TEXT);
}

static bool fits(enum taut_reading_kind kind,
                 const struct taut_readings_reader *r,
                 const struct taut_told_field *f, struct taut_error *err)
{
    if (taut_reading_fits(kind, f))
        return true;
    taut_error_set(err, "%.*s: %.*s: expected a %s", (int)r->interface.length,
                   r->interface.at, (int)f->name.length, f->name.at,
                   kind == TAUT_READING_TEXT ? "text" : "number");
    return false;
}

/* One field into the port whose 'values' and 'state' are at these indices. */
static void set_field(lua_State *L, const struct taut_told_field *f,
                      enum taut_reading_kind kind, int values, int state)
{
    bool is_count = f->kind == TAUT_TOLD_NUMBER && kind != TAUT_READING_STATE;

    if (f->kind == TAUT_TOLD_NUMBER)
        lua_pushinteger(L, f->number);
    else if (f->kind == TAUT_TOLD_TEXT)
        taut_reading_push(L, f->text);
    else
        lua_pushnumber(L, f->seconds);
    lua_rawset(L, is_count ? values : state);
}

/* An empty port of this line: pushes it, its values and its state. */
static void push_port(lua_State *L, const struct taut_readings_reader *r)
{
    lua_createtable(L, 0, 8);
    taut_reading_push(L, r->source);
    lua_setfield(L, -2, "source");
    taut_reading_push(L, r->interface);
    lua_setfield(L, -2, "name");
    lua_createtable(L, 0, 16);
    lua_pushvalue(L, -1);
    lua_setfield(L, -3, "values");
    lua_createtable(L, 0, 4);
    lua_pushvalue(L, -1);
    lua_setfield(L, -4, "state");
}

/* The fields of a line: checked, and with 'ports' at that index put there;
 * with 0, only checked. */
static bool read_line(lua_State *L, struct taut_readings_reader *r, int ports,
                      struct taut_error *err)
{
    int top = lua_gettop(L), more;
    const char *key = r->source.at;
    struct taut_told_field f;

    if (!push_kinds(L, r, err))
        return false;
    if (ports != 0) {
        lua_pushlstring(L, key, (size_t)(r->at - key));
        push_port(L, r);
        lua_pushvalue(L, top + 2);
        lua_pushvalue(L, top + 3);
        lua_rawset(L, ports);
    }
    while ((more = taut_readings_field(r, &f, err)) > 0) {
        taut_reading_push(L, f.name);
        enum taut_reading_kind kind = taut_reading_kind(L, top + 1);
        bool does_fit = fits(kind, r, &f, err);
        if (ports == 0 && !does_fit)
            return false;
        if (ports != 0 && does_fit)
            set_field(L, &f, kind, top + 4, top + 5);
        else
            lua_pop(L, 1);
    }
    lua_settop(L, top);
    return more == 0;
}

static int read_all(lua_State *L, int ports)
{
    struct taut_error err = {""};
    struct taut_readings_reader r;
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);
    int more;

    luaL_checktype(L, KINDS, LUA_TTABLE);
    luaL_checkstack(L, 16, NULL);
    taut_readings_begin(&r, text, n);
    while ((more = taut_readings_next(&r, &err)) > 0) {
        if (!read_line(L, &r, ports, &err))
            return taut_fail(L, "%s", err.text);
    }
    if (more < 0)
        return taut_fail(L, "%s", err.text);
    if (ports != 0)
        lua_settop(L, ports);
    else
        lua_pushboolean(L, true);
    return 1;
}

/* readings.check(text, kinds) → true; or nil and what is wrong */
static int readings_check(lua_State *L)
{
    return read_all(L, 0);
}

/* readings.ports(text, kinds) → { ["SOURCE INTERFACE"] = { source, name,
 *   values = name → count, state = name → number or text }, … }, the names
 *   that `kinds` does not have among `values` where they are numbers, without
 *   those that are of another kind by now; or nil and what is wrong */
static int readings_ports(lua_State *L)
{
    lua_settop(L, 2);
    lua_newtable(L);
    return read_all(L, 3);
}

int luaopen_taut_readings(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"check", readings_check},
        {"only_traffic", taut_readings_only_traffic},
        {"ports", readings_ports},
        {NULL, NULL},
    };

    luaL_newlib(L, functions);
    taut_set_integer(L, "COUNT", TAUT_READING_COUNT);
    taut_set_integer(L, "HARMLESS", TAUT_READING_HARMLESS);
    taut_set_integer(L, "SATURATING", TAUT_READING_SATURATING);
    taut_set_integer(L, "SATURATING_TOP", TAUT_READING_TOP);
    taut_set_integer(L, "STATE", TAUT_READING_STATE);
    taut_set_integer(L, "TEXT", TAUT_READING_TEXT);
    taut_set_integer(L, "TRAFFIC", TAUT_READING_TRAFFIC);
    return 1;
}
