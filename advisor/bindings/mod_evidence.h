/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.evidence, for other C modules: what is known of coverage. */
#ifndef TAUT_ADVISOR_BINDINGS_MOD_EVIDENCE_H
#define TAUT_ADVISOR_BINDINGS_MOD_EVIDENCE_H

#include "advisor/bindings/host.h"
#include "advisor/lib/evidence/evidence.h"

#define TAUT_EVIDENCE_CLASS "taut.evidence"

/* Its user value 1 is the graph it is about. */
struct taut_lua_evidence {
    struct taut_evidence *evidence;
    double report; /* log odds from which a touched component is reported */
};

/* The evidence at a stack index; raises an error for anything else. */
struct taut_lua_evidence *taut_check_evidence(lua_State *L, int index);

/* What asks about single components, for the class. */
extern const luaL_Reg taut_evidence_questions[];

#endif
