/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between the files of taut.study: what Lua holds. */
#ifndef TAUT_ADVISOR_BINDINGS_STUDY_MOD_STUDY_H
#define TAUT_ADVISOR_BINDINGS_STUDY_MOD_STUDY_H

#include "advisor/bindings/host.h"
#include "advisor/lib/study/study.h"

/* The machine and the overlay at a stack index; raise errors for anything
 * else. */
struct taut_study *taut_check_study(lua_State *L, int arg);
struct taut_overlay *taut_check_overlay(lua_State *L, int arg);

/* s:solve(demand, overlay, rules, with load) → result, with `load` = map
 * component → bytes where that was asked for */
int taut_study_lua_solve(lua_State *L);

/* s:batch({ { demand =, overlay =, rules = }, … }, threads or 0) → results */
int taut_study_lua_batch(lua_State *L);

/* The demand at a stack index, sealed; raises an error for anything else. */
struct taut_demand *taut_check_demand(lua_State *L, int arg);

/* study.demand(places) → demand without traffic */
int taut_demand_lua_new(lua_State *L);

void taut_demand_lua_class(lua_State *L);

#endif
