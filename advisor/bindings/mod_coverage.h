/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef TAUT_ADVISOR_BINDINGS_MOD_COVERAGE_H
#define TAUT_ADVISOR_BINDINGS_MOD_COVERAGE_H

#include <lua.h>

#include "advisor/lib/plan/coverage.h"

#define TAUT_COVERAGE_CLASS "taut.times"

/* The times at a stack index; raises an error for anything else. */
struct taut_coverage *taut_check_coverage(lua_State *L, int index);

#endif
