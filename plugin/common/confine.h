/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Confining a process to what it still needs, for good.  Whoever takes it over
 * by way of the network or a driver's file gets little.
 *
 * It gains no privileges by exec, leaves no core, is not to be traced, opens no
 * files but those below, and makes no system calls but those of a list
 * (make_filters.c).  What the kernel or the build lacks is left out: Landlock
 * came with Linux 5.13. */
#ifndef TAUT_PLUGIN_COMMON_CONFINE_H
#define TAUT_PLUGIN_COMMON_CONFINE_H

enum taut_confinement {
    TAUT_CONFINE_NONE = 0,
    TAUT_CONFINE_READER,  /* reads below sys; another call kills it */
    TAUT_CONFINE_STREAMS, /* sockets, no files; another call kills it */
    TAUT_CONFINE_MODULES, /* loads libraries whose calls are not known to us:
                             reads files, writes to devices, sockets; other
                             calls fail with EPERM */
};

#define TAUT_CONFINE_TEXT 64

/* Confine this process; to be called before it has threads.
 *   root_fd  the directory that sys is in
 *   text     TAUT_CONFINE_TEXT bytes: by what, "Landlock 3, seccomp", or "" */
void taut_confine(enum taut_confinement kind, int root_fd, char *text);

/* The part of it that seccomp does, by a filter that libseccomp made when Taut
 * was built.  Returns 0, or -1 with errno of prctl (ENOSYS: built without it). */
int taut_confine_calls(enum taut_confinement kind);

#endif
