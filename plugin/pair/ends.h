/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rails of one of the two nodes, and the tests between them. */
#ifndef TAUT_PLUGIN_PAIR_ENDS_H
#define TAUT_PLUGIN_PAIR_ENDS_H

#include "plugin/common/options.h"
#include "plugin/pair/control.h"
#include "plugin/probe/rails.h"

struct taut_pair_ends {
    struct taut_options opts;
    int ms, repeat;
    int root_fd;
    struct taut_rails rails;
    long pinned_kb; /* memory that libfabric has pinned; -1: unknown */
};

/* Find and open the rails; then gives up root, as the prolog does.
 * Returns 0, or -1 with 'err'; call close in either case. */
int taut_ends_open(struct taut_pair_ends *ends, struct taut_error *err);

/* Do as the other node says, until it ends.  Returns the exit status. */
int taut_ends_serve(struct taut_pair_ends *ends, struct taut_control *control);

/* Make the tests with the other node, and print them.
 *   name  the other's
 * Returns the exit status. */
int taut_ends_lead(struct taut_pair_ends *ends, struct taut_control *control,
                   const char *name);

void taut_ends_close(struct taut_pair_ends *ends);

#endif
