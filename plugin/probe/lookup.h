/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names that a check needs: users and servers; and which of several
 * servers is asked first: the one that acted last.
 *
 * RUNDIR/server holds its address, blank-padded to a fixed length so that one
 * write replaces it.  Without the file, and where it names none of them, their
 * own order holds. */
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

struct taut_recall {
    int fd;                       /* -1: nothing is remembered */
    char text[TAUT_ADDRESS_TEXT]; /* whose address it is, or "" */
};

/* Open the file for changing it later, also after privileges are dropped. */
void taut_recall_open(struct taut_recall *r, const char *rundir);

void taut_recall_close(struct taut_recall *r);

/* Put the one that is remembered in front of the others. */
void taut_recall_order(const struct taut_recall *r,
                       struct taut_address *servers, int n);

/* Remember this one. */
void taut_recall_note(struct taut_recall *r, const struct taut_address *server);

#endif
