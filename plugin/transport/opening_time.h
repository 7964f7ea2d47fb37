/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How long libfabric took to open on this node, which tautd has to know before
 * it is open: RUNDIR/opening has the milliseconds of the last checks, blank-padded
 * to a fixed length so that one write replaces it. */
#ifndef TAUT_PLUGIN_TRANSPORT_OPENING_TIME_H
#define TAUT_PLUGIN_TRANSPORT_OPENING_TIME_H

#define TAUT_OPENING_MAX_MS 60000

struct taut_opening_time {
    int fd; /* -1: nothing is remembered */
    int ms; /* -1: not known */
};

/* Open the file for changing it later, also after privileges are dropped. */
void taut_opening_open(struct taut_opening_time *t, const char *rundir);

void taut_opening_close(struct taut_opening_time *t);

/* It took so long this time: a longer time is taken as it is, a shorter one by
 * an eighth of the difference. */
void taut_opening_note(struct taut_opening_time *t, int ms);

#endif
