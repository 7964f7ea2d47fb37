/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between the files of taut.study: a demand as Lua holds it. */
#ifndef TAUT_ADVISOR_BINDINGS_MOD_STUDY_H
#define TAUT_ADVISOR_BINDINGS_MOD_STUDY_H

#include "advisor/bindings/host.h"
#include "advisor/lib/study/study.h"

/* The demand at a stack index, sealed; raises an error for anything else. */
struct taut_demand *taut_check_demand(lua_State *L, int arg);

/* study.demand(places) → demand without traffic */
int taut_demand_lua_new(lua_State *L);

void taut_demand_lua_class(lua_State *L);

#endif
