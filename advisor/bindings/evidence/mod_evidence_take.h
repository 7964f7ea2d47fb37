/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between the files of taut.evidence that take tests in. */
#ifndef TAUT_ADVISOR_BINDINGS_MOD_EVIDENCE_TAKE_H
#define TAUT_ADVISOR_BINDINGS_MOD_EVIDENCE_TAKE_H

#include "advisor/bindings/evidence/mod_evidence.h"

#define TAUT_TAKE_WAY 64 /* stages of a way that was asked for */

/* What a test has to be: evidence of now. */
struct taut_take_limits {
    double oldest, latest; /* seconds */
};

#define TAUT_TAKE_NAMES 2 /* the first upvalue that is a name */

/* Push the names of fields that evidence_take has as upvalues: they are asked
 * for of each table.  Returns how many. */
int taut_take_push_names(lua_State *L);

/* Pop what the port of a loaded end carried in a void test: 'port' of it. */
void taut_take_pop_port(lua_State *L, const struct taut_graph *g,
                        struct taut_measured *t);

/* Pop 'part_Bps' of a test. */
void taut_take_pop_part(lua_State *L, struct taut_measured *t);

/* Pop 'through' of a judged test, which was added last: component → streams.
 * It may be that of a whole phase, so only what is on the test's way is looked
 * up. */
void taut_take_pop_through(lua_State *L, struct taut_evidence *e);

/* Pop 'way' of a test: by stage of its route the component it took, the ends
 * among them, or false.
 *   way  room for TAUT_TAKE_WAY, until the test has been added */
void taut_take_pop_way(lua_State *L, uint32_t *way, struct taut_measured *t);

/* Add a test.  Returns whether it is one over sets that may be counted:
 * nothing that it surely crosses has low tests. */
bool taut_take_add(lua_State *L, struct taut_evidence *e,
                   struct taut_measured *t, bool *is_added);

/* Why the table on the top is left out, or NULL. */
const char *taut_take_table_refused(lua_State *L, struct taut_evidence *e,
                                    const struct taut_take_limits *limits,
                                    struct taut_measured *t);

/* Take the table on the top in.  Returns whether it is a flow to be counted. */
bool taut_take_table(lua_State *L, struct taut_evidence *e,
                     struct taut_measured *t);

#endif
