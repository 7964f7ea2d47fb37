/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What counter sources are made of: small files of a driver, each opened,
 * read once and closed, and the texts in them.
 *
 * A file that is not there is nothing to mention: drivers differ.  Neither is
 * one that answers EINVAL or EOPNOTSUPP: that is how a driver says that it
 * has no such thing just now.  Everything else is noted in the reading, the
 * first with its reason. */
#ifndef TAUT_PLUGIN_COUNTERS_FILE_H
#define TAUT_PLUGIN_COUNTERS_FILE_H

#include <sys/types.h>

#include "plugin/counters/counters.h"

/* Read a file, at most 'room' - 1 bytes; a longer one is noted as too long.
 *   dir_fd, path  as for openat()
 *   text          NUL-terminated, without the last newline
 * Returns the length, or -1: nothing, noted where it is worth it. */
ssize_t taut_counters_slurp(struct taut_counters *c, int dir_fd,
                            const char *path, char *text, size_t room);

/* Note a file that is there and tells nothing; the text may be long and have
 * anything in it. */
void taut_counters_note(struct taut_counters *c, const char *path,
                        const char *what, const char *text);

/* Add a number; nothing happens when there is no room, or when the name is
 * not made of letters, digits and "_:+-". */
void taut_counters_put(struct taut_counters *c, const char *name,
                       int64_t value);

/* Add a text, cut, without bytes that are not printable ASCII. */
void taut_counters_put_text(struct taut_counters *c, const char *name,
                            const char *value);

/* Read a file that holds a number, or a line, and add it. */
void taut_counters_put_file(struct taut_counters *c, int dir_fd,
                            const char *path, const char *name);
void taut_counters_put_line(struct taut_counters *c, int dir_fd,
                            const char *path, const char *name);

/* Open a directory for the calls above.  Returns it, or -1. */
int taut_counters_dir(struct taut_counters *c, int root_fd, const char *path);

/* The first name, in their order, in a directory; names that begin with '.'
 * are none.  Returns 0, or -1 when there is none, or it is too long. */
int taut_counters_first(struct taut_counters *c, int root_fd, const char *path,
                        char *name, size_t room);

/* The network device of an interface: an address label such as hsn0:1
 * belongs to hsn0.  Writes "sys/class/net/hsn0" and 'rest'. */
void taut_counters_path(char *path, size_t room, const char *interface,
                        const char *rest);

/* ---- texts; each returns 0, or -1 with errno EINVAL (what it expects is
 * not there) or ERANGE (negative, or beyond 63 bits) ---- */

/* "123". */
int taut_counters_parse(const char *text, int64_t *value);

/* "123@1700000000.123456789", or without the time: 't_ns' is then untouched.
 * Seconds after 1970 go up to 9,000,000,000. */
int taut_counters_parse_stamped(const char *text, int64_t *value,
                                int64_t *t_ns);

/* "16.0 GT/s PCIe" or "2.5 GT/s": in MT/s. */
int taut_counters_parse_transfers(const char *text, int64_t *MTps);

/* "100 Gb/sec (4X EDR)" or "2.5 Gb/sec (1X SDR)": in Mbit/s, "4X" and "EDR"
 * (TAUT_COUNTER_TEXT bytes each). */
int taut_counters_parse_rate(const char *text, int64_t *Mbps, char *width,
                             char *speed);

/* The number on the line that begins with 'key' and a blank. */
int taut_counters_parse_keyed(const char *text, const char *key,
                              int64_t *value);

/* Metrics of Cray's gpcdr, "NAME[:SUFFIX] VALUE [UNIT]" a line: those that
 * are known go into 'c', the line "timestamp VALUE ms|seconds" is its time.
 *   path  for notes */
void taut_counters_parse_gpcdr(struct taut_counters *c, const char *path,
                               char *text);

#endif
