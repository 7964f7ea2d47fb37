/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.tests: fields of tests, as Lua reads and writes them. */
#include <config.h>

#include <math.h>
#include <string.h>

#include "advisor/bindings/mod_board.h"
#include "advisor/bindings/test/mod_test.h"

static const char *const classes[TAUT_TEST_CLASSES] = {
    [TAUT_TEST_GOOD] = "good",
    [TAUT_TEST_LOW] = "low",
    [TAUT_TEST_VOID] = "void",
};

enum type {
    SRC, /* what follows from the plan, and is not set */
    DST,
    RAIL,
    SRC_NAME,
    DST_NAME,
    KIND,
    EPOCH,
    ROUTE,
    CLASS,
    TOKEN,
    FLAG,    /* bool, false is nil */
    COUNT16, /* uint16_t, 0 is nil */
    COUNT32,
    INTEGER,
    FLOAT,  /* double */
    NUMBER, /* the same, an integer where it is whole */
};

struct field {
    const char *name;
    enum type type;
    size_t at;
};

#define AT(name) offsetof(struct taut_lua_test, name)
static const struct field fields[] = {
    {"src", SRC, 0},
    {"dst", DST, 0},
    {"rail", RAIL, 0},
    {"src_name", SRC_NAME, 0},
    {"dst_name", DST_NAME, 0},
    {"kind", KIND, 0},
    {"epoch", EPOCH, 0},
    {"route", ROUTE, 0},
    {"class", CLASS, 0},
    {"token", TOKEN, 0},
    {"figure", FLAG, AT(figure)},
    {"by_loss", FLAG, AT(by_loss)},
    {"phase", COUNT16, AT(phase)},
    {"flows", COUNT16, AT(flows)},
    {"streams", COUNT16, AT(streams)},
    {"senders", COUNT16, AT(senders)},
    {"confirms", COUNT32, AT(confirms)},
    {"group", COUNT32, AT(group)},
    {"id", INTEGER, AT(id)},
    {"event", INTEGER, AT(event)},
    {"job", INTEGER, AT(job)},
    {"time", FLOAT, AT(time)},
    {"start_ms", NUMBER, AT(start_ms)},
    {"dur_ms", NUMBER, AT(dur_ms)},
    {"enough_Bps", NUMBER, AT(enough_Bps)},
    {"stalls", NUMBER, AT(stalls)},
    {"expected_Bps", FLOAT, AT(figures.expected_Bps)},
    {"bw_Bps", FLOAT, AT(figures.bw_Bps)},
    {"sender_Bps", FLOAT, AT(figures.sender_Bps)},
    {"ratio", FLOAT, AT(figures.ratio)},
    {"peak", FLOAT, AT(figures.peak)},
    {"rtt_ns", NUMBER, AT(figures.rtt_ns)},
    {"min_rtt_ns", NUMBER, AT(figures.min_rtt_ns)},
    {"delay_ns", NUMBER, AT(figures.delay_ns)},
    {"foreign_bytes", NUMBER, AT(figures.foreign_bytes)},
    {"segments", NUMBER, AT(figures.segments)},
    {"lost", NUMBER, AT(figures.lost)},
    {"segment_bytes", NUMBER, AT(figures.segment_bytes)},
};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static bool is_figure(const struct field *f)
{
    return f->at >= AT(figures) &&
           f->at < AT(figures) + sizeof(struct taut_test_figures);
}
#undef AT

#define NO_FIGURES                                                             \
    {                                                                          \
        NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN             \
    }

enum { BOARD = 1, ODD, ROUTE_TABLE, USER_VALUES = ROUTE_TABLE };

/* ---- reading ---- */

static void push_whole(lua_State *L, double v)
{
    lua_Integer n;

    if (isnan(v))
        lua_pushnil(L);
    else if (lua_numbertointeger(v, &n) && (double)n == v)
        lua_pushinteger(L, n);
    else
        lua_pushnumber(L, v);
}

static void push_double(lua_State *L, double v)
{
    if (isnan(v))
        lua_pushnil(L);
    else
        lua_pushnumber(L, v);
}

static void push_count(lua_State *L, uint32_t n)
{
    if (n > 0)
        lua_pushinteger(L, (lua_Integer)n);
    else
        lua_pushnil(L);
}

/* Push the name of an endpoint's node. */
static void push_name(lua_State *L, int index, const struct taut_lua_test *t,
                      uint32_t endpoint)
{
    lua_getiuservalue(L, index, BOARD);
    if (lua_getiuservalue(L, -1, TAUT_BOARD_NODES) == LUA_TTABLE)
        lua_rawgeti(L, -1,
                    (lua_Integer)(endpoint % t->graph->graph->nodes) + 1);
}

/* Push the route; it is made when somebody asks for it first. */
static void push_route(lua_State *L, int index, struct taut_lua_test *t)
{
    index = lua_absindex(L, index);
    if (t->has_route) {
        lua_getiuservalue(L, index, ROUTE_TABLE);
        return;
    }
    lua_getiuservalue(L, index, BOARD);
    lua_getiuservalue(L, -1, TAUT_BOARD_GRAPH);
    int graph = lua_gettop(L);
    lua_getiuservalue(L, index, ROUTE_TABLE);
    taut_fill_route(L, graph, t->a, t->b);
    lua_pushvalue(L, -1);
    lua_setiuservalue(L, index, ROUTE_TABLE);
    t->has_route = true;
}

/* Push a field of the test at an index. */
static void push_field(lua_State *L, int index, struct taut_lua_test *t,
                       const struct field *f)
{
    const struct taut_graph *g = t->graph->graph;
    const char *at = (const char *)t + f->at;

    switch (f->type) {
    case SRC:
        lua_pushinteger(L, (lua_Integer)(t->a % g->nodes) + 1);
        break;
    case DST:
        lua_pushinteger(L, (lua_Integer)(t->b % g->nodes) + 1);
        break;
    case RAIL:
        push_count(L, g->rails > 1 ? t->a / g->nodes + 1 : 0);
        break;
    case SRC_NAME:
        push_name(L, index, t, t->a);
        break;
    case DST_NAME:
        push_name(L, index, t, t->b);
        break;
    case KIND:
        lua_pushstring(L, taut_board_kind(t->kind));
        break;
    case EPOCH:
        lua_pushinteger(L, t->epoch);
        break;
    case ROUTE:
        push_route(L, index, t);
        break;
    case CLASS:
        lua_pushstring(L, classes[t->class]);
        break;
    case TOKEN:
        lua_pushstring(L, t->token[0] != '\0' ? t->token : NULL);
        break;
    case FLAG:
        if (*(const bool *)at)
            lua_pushboolean(L, 1);
        else
            lua_pushnil(L);
        break;
    case COUNT16:
        push_count(L, *(const uint16_t *)(const void *)at);
        break;
    case COUNT32:
        push_count(L, *(const uint32_t *)(const void *)at);
        break;
    case INTEGER:
        if (*(const int64_t *)(const void *)at != TAUT_TEST_NO_INTEGER)
            lua_pushinteger(L, *(const int64_t *)(const void *)at);
        else
            lua_pushnil(L);
        break;
    case FLOAT:
        push_double(L, *(const double *)(const void *)at);
        break;
    case NUMBER:
        push_whole(L, *(const double *)(const void *)at);
        break;
    }
}

int taut_test_push_odd(lua_State *L, int index, const struct taut_lua_test *t,
                       const char *name)
{
    if (!t->has_odd) {
        lua_pushnil(L);
        return LUA_TNIL;
    }
    lua_getiuservalue(L, index, ODD);
    int type = lua_getfield(L, -1, name);
    lua_remove(L, -2);
    return type;
}

/* The field that the key at 2 names, by the map in the first upvalue; NULL: an
 * odd one. */
static const struct field *find(lua_State *L)
{
    lua_pushvalue(L, 2);
    const struct field *f = lua_rawget(L, lua_upvalueindex(1)) == LUA_TNUMBER
                                ? &fields[lua_tointeger(L, -1)]
                                : NULL;
    lua_pop(L, 1);
    return f;
}

/* Keep the value at 3 as the odd field that the key at 2 names. */
static void set_odd(lua_State *L, struct taut_lua_test *t)
{
    if (!t->has_odd) {
        if (lua_isnil(L, 3))
            return;
        lua_createtable(L, 0, 8);
        lua_pushvalue(L, -1);
        lua_setiuservalue(L, 1, ODD);
        t->has_odd = true;
    } else {
        lua_getiuservalue(L, 1, ODD);
    }
    lua_pushvalue(L, 2);
    lua_pushvalue(L, 3);
    lua_rawset(L, -3);
    lua_pop(L, 1);
}

/* Push { component = how many senders } for each link that the test, one of
 * several senders, surely crosses by the graph. */
static void push_shares(lua_State *L, const struct taut_lua_test *t)
{
    struct taut_lua_graph *h = t->graph;
    const struct taut_graph *g = h->graph;
    int rc = taut_graph_route(g, g->at[t->a], g->at[t->b], t->b, &h->route);

    if (rc == TAUT_ROUTE_NO_MEMORY)
        luaL_error(L, "out of memory while looking for a route");
    lua_newtable(L);
    for (uint32_t i = 0; rc == 0 && i < h->route.stages; i++) {
        uint32_t link = taut_route_sure_link(&h->route, i);
        if (link == TAUT_GRAPH_NONE)
            continue;
        lua_pushinteger(L, t->senders);
        lua_rawseti(L, -2, (lua_Integer)taut_graph_link(g, link) + 1);
    }
}

/* Push the odd field that the key at 2 names.  'shares' and 'through' are those
 * of the plan unless others were set; they are made on request. */
static void push_odd(lua_State *L, struct taut_lua_test *t)
{
    lua_pushnil(L);
    if (t->has_odd) {
        lua_pop(L, 1);
        lua_getiuservalue(L, 1, ODD);
        lua_pushvalue(L, 2);
        lua_rawget(L, -2);
    }
    const char *name = lua_isnil(L, -1) && t->senders > 1 &&
                               lua_type(L, 2) == LUA_TSTRING
                           ? lua_tostring(L, 2)
                           : "";
    if (strcmp(name, "shares") != 0 && strcmp(name, "through") != 0)
        return;
    lua_settop(L, 2);
    push_shares(L, t);
    set_odd(L, t);
}

static struct taut_lua_test *self(lua_State *L)
{
    struct taut_lua_test *t = lua_touserdata(L, 1);

    if (t->graph == NULL)
        luaL_error(L, "test that was given back");
    return t;
}

static int test_index(lua_State *L)
{
    struct taut_lua_test *t = self(L);
    const struct field *f = find(L);

    if (f != NULL)
        push_field(L, 1, t, f);
    else
        push_odd(L, t);
    return 1;
}

/* ---- writing ---- */

/* The number at 3; fallback for nil. */
static lua_Number number(lua_State *L, lua_Number fallback)
{
    return lua_isnil(L, 3) ? fallback : luaL_checknumber(L, 3);
}

static lua_Integer whole(lua_State *L, lua_Integer fallback, lua_Integer least,
                         lua_Integer most)
{
    lua_Integer v = lua_isnil(L, 3) ? fallback : luaL_checkinteger(L, 3);

    luaL_argcheck(L, lua_isnil(L, 3) || (v >= least && v <= most), 3,
                  "out of range");
    return v;
}

static void set_class(lua_State *L, struct taut_lua_test *t)
{
    const char *name = lua_isnil(L, 3) ? NULL : luaL_checkstring(L, 3);

    t->class = TAUT_TEST_NOT_JUDGED;
    for (int i = 1; name != NULL && i < TAUT_TEST_CLASSES; i++)
        if (strcmp(name, classes[i]) == 0)
            t->class = (uint8_t)i;
    luaL_argcheck(L, name == NULL || t->class != TAUT_TEST_NOT_JUDGED, 3,
                  "good, low or void");
}

static void set_token(lua_State *L, struct taut_lua_test *t)
{
    size_t n = 0;
    const char *text = lua_isnil(L, 3) ? "" : luaL_checklstring(L, 3, &n);

    luaL_argcheck(L, n <= TAUT_TEST_TOKEN && strlen(text) == n, 3,
                  "a token is at most 32 characters");
    memcpy(t->token, text, n + 1);
}

static void set_field(lua_State *L, struct taut_lua_test *t,
                      const struct field *f)
{
    char *at = (char *)t + f->at;

    switch (f->type) {
    case ROUTE:
        luaL_checktype(L, 3, LUA_TTABLE);
        lua_pushvalue(L, 3);
        lua_setiuservalue(L, 1, ROUTE_TABLE);
        t->has_route = t->is_own_route = true;
        break;
    case CLASS:
        set_class(L, t);
        break;
    case TOKEN:
        set_token(L, t);
        break;
    case FLAG:
        *(bool *)at = lua_toboolean(L, 3);
        break;
    case COUNT16:
        *(uint16_t *)(void *)at = (uint16_t)whole(L, 0, 1, UINT16_MAX);
        break;
    case COUNT32:
        *(uint32_t *)(void *)at = (uint32_t)whole(L, 0, 1, UINT32_MAX - 1);
        break;
    case INTEGER:
        *(int64_t *)(void *)at =
            whole(L, TAUT_TEST_NO_INTEGER, LUA_MININTEGER, LUA_MAXINTEGER);
        break;
    case FLOAT:
    case NUMBER:
        *(double *)(void *)at = number(L, NAN);
        break;
    default:
        luaL_error(L, "%s of a test is not set", f->name);
    }
}

static int test_newindex(lua_State *L)
{
    struct taut_lua_test *t = self(L);
    const struct field *f = find(L);

    if (f != NULL)
        set_field(L, t, f);
    else
        set_odd(L, t);
    return 0;
}

void taut_test_set_figures(lua_State *L, int index, int class,
                           const struct taut_test_figures *figures)
{
    struct taut_lua_test *t = taut_test_at(L, index, class);

    if (t != NULL) {
        t->figures = *figures;
        return;
    }
    for (size_t i = 0; i < FIELDS; i++) {
        const struct field *f = &fields[i];
        if (!is_figure(f))
            continue;
        size_t at = f->at - offsetof(struct taut_lua_test, figures);
        double v = *(const double *)(const void *)((const char *)figures + at);
        if (f->type == NUMBER)
            push_whole(L, v);
        else
            push_double(L, v);
        lua_setfield(L, index, f->name);
    }
}

/* ---- the class ---- */

/* tests.fields(t) → table of all fields that a test has */
static int tests_fields(lua_State *L)
{
    luaL_checkudata(L, 1, TAUT_TEST_CLASS);
    struct taut_lua_test *t = self(L);
    lua_settop(L, 1);
    if (t->senders > 1) { /* made if they are not there */
        lua_getfield(L, 1, "shares");
        lua_getfield(L, 1, "through");
        lua_settop(L, 1);
    }
    lua_newtable(L);
    for (size_t i = 0; i < FIELDS; i++) {
        int top = lua_gettop(L);
        push_field(L, 1, t, &fields[i]);
        lua_setfield(L, top, fields[i].name);
        lua_settop(L, top);
    }
    if (!t->has_odd)
        return 1;
    lua_getiuservalue(L, 1, ODD);
    for (lua_pushnil(L); lua_next(L, -2);) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, 2);
    }
    lua_settop(L, 2);
    return 1;
}

void taut_test_push_class(lua_State *L)
{
    if (!luaL_newmetatable(L, TAUT_TEST_CLASS))
        return;
    lua_createtable(L, 0, FIELDS);
    for (size_t i = 0; i < FIELDS; i++) {
        lua_pushinteger(L, (lua_Integer)i);
        lua_setfield(L, -2, fields[i].name);
    }
    lua_pushvalue(L, -1);
    lua_pushcclosure(L, test_index, 1);
    lua_setfield(L, -3, "__index");
    lua_pushcclosure(L, test_newindex, 1);
    lua_setfield(L, -2, "__newindex");
    lua_pushboolean(L, 0); /* only these values get these functions */
    lua_setfield(L, -2, "__metatable");
}

struct taut_lua_test *taut_test_at(lua_State *L, int index, int class)
{
    if (lua_type(L, index) != LUA_TUSERDATA || !lua_getmetatable(L, index))
        return NULL;
    bool is_test = lua_topointer(L, -1) == lua_topointer(L, class);
    lua_pop(L, 1);
    return is_test ? lua_touserdata(L, index) : NULL;
}

void taut_test_begin(lua_State *L, struct taut_lua_test *t, int board)
{
    const struct taut_lua_board *b = lua_touserdata(L, board);

    *t = (struct taut_lua_test){
        .graph = b->graph,
        .board = b,
        .epoch = b->epoch,
        .id = TAUT_TEST_NO_INTEGER,
        .event = TAUT_TEST_NO_INTEGER,
        .job = TAUT_TEST_NO_INTEGER,
        .time = NAN,
        .start_ms = NAN,
        .dur_ms = NAN,
        .enough_Bps = NAN,
        .stalls = NAN,
        .figures = NO_FIGURES,
    };
    lua_pushvalue(L, board);
    lua_setiuservalue(L, -2, BOARD);
}

struct taut_lua_test *taut_test_push(lua_State *L, int board, int class)
{
    struct taut_lua_test *t = lua_newuserdatauv(L, sizeof(*t), USER_VALUES);

    taut_test_begin(L, t, board);
    lua_pushvalue(L, class);
    lua_setmetatable(L, -2);
    return t;
}

void taut_test_end(lua_State *L, struct taut_lua_test *t)
{
    lua_pushnil(L);
    lua_setiuservalue(L, -2, BOARD);
    if (t->has_odd) {
        lua_pushnil(L);
        lua_setiuservalue(L, -2, ODD);
    }
    if (t->is_own_route) { /* somebody else may have it */
        lua_pushnil(L);
        lua_setiuservalue(L, -2, ROUTE_TABLE);
    }
    t->graph = NULL;
}

int luaopen_taut_tests(lua_State *L)
{
    taut_test_push_class(L);
    lua_newtable(L);
    lua_pushcfunction(L, tests_fields);
    lua_setfield(L, -2, "fields");
    lua_pushinteger(L, TAUT_TEST_BEYOND);
    lua_setfield(L, -2, "BEYOND");
    lua_pushvalue(L, -2);
    luaL_setfuncs(L, taut_test_functions, 1);
    lua_pushvalue(L, -2);
    luaL_setfuncs(L, taut_test_figure_functions, 1);
    return 1;
}
