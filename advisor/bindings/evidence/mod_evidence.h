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

/* That of a method, which is at 1, and a component of its graph. */
struct taut_evidence *taut_self_evidence(lua_State *L);
uint32_t taut_evidence_component(lua_State *L, int arg,
                                 const struct taut_evidence *e);

/* Methods of the class: what asks about single components, the tests of a run,
 * losses, and what comes and goes. */
extern const luaL_Reg taut_evidence_questions[];
extern const luaL_Reg taut_evidence_run_methods[];
extern const luaL_Reg taut_evidence_loss_methods[];
extern const luaL_Reg taut_evidence_bout_methods[];

/* Those that take tests in, into the table on the top. */
void taut_evidence_push_taking(lua_State *L);

#endif
