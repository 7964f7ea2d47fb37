/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Why interfaces of this node cannot be used, as reported by its checks: a node
 * with one of two adapters reports it once per boot, not at each job.
 *
 * RUNDIR/unusable is there while something cannot be used:
 *     taut-unusable 1 BOOT
 *     INTERFACE REASON
 * BOOT is the kernel's boot id: after a reboot all of it is said anew.  What is
 * not of that form is not there.  A file that cannot be written costs
 * repetitions in a log, nothing else. */
#ifndef TAUT_PLUGIN_TRANSPORT_UNUSABLE_H
#define TAUT_PLUGIN_TRANSPORT_UNUSABLE_H

#include <stdbool.h>
#include <stddef.h>

#define TAUT_UNUSABLE_MAX 16384 /* bytes of the file; what is more is not kept */

struct taut_unusable {
    const char *rundir; /* the caller's */
    int fd;             /* -1: there is no file */
    bool remembers;     /* a boot is known */
    bool is_changed;
    size_t length;
    char text[TAUT_UNUSABLE_MAX + 1];
};

/* Read what was said since this boot.  Costs an open where nothing was.
 *   rundir  kept, until close
 *   boot    this boot's id (taut_boot_id), or "": nothing is remembered */
void taut_unusable_open(struct taut_unusable *u, const char *rundir,
                        const char *boot);

/* An interface cannot be used.  Returns true where that, for that reason, was
 * not said before. */
bool taut_unusable_add(struct taut_unusable *u, const char *interface,
                       const char *why);

/* An interface can be used.  Returns true where it was said that it cannot. */
bool taut_unusable_remove(struct taut_unusable *u, const char *interface);

/* Write what changed; makes the file where there is none. */
void taut_unusable_close(struct taut_unusable *u);

#endif
