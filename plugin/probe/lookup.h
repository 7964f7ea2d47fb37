/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names that a check needs: users and servers. */
#ifndef TAUT_PLUGIN_PROBE_LOOKUP_H
#define TAUT_PLUGIN_PROBE_LOOKUP_H

#include <stdbool.h>
#include <stdint.h>

#include "plugin/common/address.h"
#include "plugin/common/options.h"
#include "plugin/common/privileges.h"
#include "plugin/probe/session.h"

struct taut_lookup {
    bool is_root;            /* run_as is looked up for root only */
    struct taut_user tautd;  /* who shall read HELLO */
    struct taut_user run_as; /* who the streams belong to */
    struct taut_address servers[TAUT_SERVERS_MAX];
    int server_count;
};

/* Look up the names in 'opts', which must stay valid for the life of the
 * process, until 'deadline_ns'.
 * Returns a structure to free(), or NULL with 'err' and errno: ETIMEDOUT
 * (the name service does not answer), EHOSTUNREACH (no server is known),
 * another when a setting is at fault. */
struct taut_lookup *taut_lookup_run(const struct taut_options *opts,
                                    int64_t deadline_ns,
                                    struct taut_error *err);

#endif
