/* SPDX-License-Identifier: GPL-2.0-or-later */
/* taut.board, for other C modules. */
#ifndef TAUT_ADVISOR_BINDINGS_MOD_BOARD_H
#define TAUT_ADVISOR_BINDINGS_MOD_BOARD_H

#include "advisor/bindings/graph/mod_graph.h"
#include "advisor/lib/plan/board.h"

/* Its user values. */
enum { TAUT_BOARD_GRAPH = 1, TAUT_BOARD_TIMES, TAUT_BOARD_NODES };

struct taut_lua_board {
    struct taut_board *board;
    struct taut_lua_graph *graph;
    uint32_t epoch; /* of the topology */
};

/* The name of a kind of test. */
const char *taut_board_kind(int kind);

#endif
