/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fabric as JSON; doc/internals/fabric.md lists the members. */
#ifndef TAUT_ADVISOR_IB_DESCRIBE_H
#define TAUT_ADVISOR_IB_DESCRIBE_H

#include <stdio.h>

#include <jansson.h>

#include "advisor/ib/fabric.h"

/* Print one node with its ports.  Straight to 'out': a fabric has many ports,
 * and an object made of each would take longer than asking it. */
void taut_ib_print_node(FILE *out, const struct taut_ib_node *node);

/* All clashes, an array. */
json_t *taut_ib_describe_clashes(const struct taut_ib_fabric *fabric);

/* "0x0008f10500200b50" */
json_t *taut_ib_guid(uint64_t guid);

/* Text that may be any bytes: what is not UTF-8 becomes '?', and so do
 * control characters. */
json_t *taut_ib_text(const char *text);

/* What went wrong, in one word: "timeout", "refused (0x…)", "skipped" … */
json_t *taut_ib_why(int error, int status);

#endif
