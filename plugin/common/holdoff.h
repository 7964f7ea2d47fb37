/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The hold-off file: after a failed contact with every server, prologs do
 * nothing for a minute, then for two, four, eight and fifteen.
 *
 * RUNDIR/holdoff holds one line, blank-padded to a fixed length so that one
 * write replaces it:
 *     taut-holdoff 1 EXPIRY STEP BOOT
 * EXPIRY is in seconds of CLOCK_BOOTTIME (setting the clock moves nothing,
 * sleep counts), STEP the length of this hold-off in seconds, BOOT the
 * kernel's boot id: after a reboot the line means nothing.  An empty file, or
 * any other text, does not count as a hold-off. */
#ifndef TAUT_PLUGIN_COMMON_HOLDOFF_H
#define TAUT_PLUGIN_COMMON_HOLDOFF_H

#include <stdbool.h>

#include "wire/error.h"

#define TAUT_HOLDOFF_FIRST_S 60
#define TAUT_HOLDOFF_MAX_S 900
#define TAUT_BOOT_ID_LEN 36

struct taut_holdoff {
    int fd;          /* -1 when there is no file */
    long long now_s; /* when it was read, CLOCK_BOOTTIME */
    long long expiry_s;
    int step_s;  /* 0: no line of this boot */
    bool is_new; /* the file was made: the first check since the boot */
    char boot[TAUT_BOOT_ID_LEN + 1]; /* this boot's id; "": /proc has none */
};

/* Read this boot's id ("" if /proc has none) into TAUT_BOOT_ID_LEN + 1
 * bytes. */
void taut_boot_id(char *boot);

/* True while the file in 'rundir' asks to keep quiet.  Costs an open and a
 * read, or one failed open. */
bool taut_holdoff_is_on(const char *rundir);

/* Open the file for changing it later, also after privileges are dropped;
 * makes 'rundir' (mode 0755) and the file when they are missing.  Fills in
 * 'boot' in any case.
 * Returns 0, or -1 with errno and 'err'; 'h' is then empty but valid. */
int taut_holdoff_open(struct taut_holdoff *h, const char *rundir,
                      struct taut_error *err);

void taut_holdoff_close(struct taut_holdoff *h);

/* Begin a hold-off, or the next one.
 *   grows    the next one is twice as long, where something is wrong with this
 *            node or its network; where tautd alone is away it stays as it is,
 *            so that checks are whole a minute after it is back
 *   entered  says whether it is the first; may be NULL
 * Returns its length in seconds, or -1 with errno. */
int taut_holdoff_enter(struct taut_holdoff *h, bool grows, bool *entered);

/* A server was reached: forget everything. */
void taut_holdoff_leave(struct taut_holdoff *h);

#endif
