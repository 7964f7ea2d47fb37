/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Error text that names the value and the limit that failed.
 *
 * Library code fills one of these and never logs; the caller at the boundary
 * logs it once, with job id, node and peer. */
#ifndef TAUT_WIRE_ERROR_H
#define TAUT_WIRE_ERROR_H

#define TAUT_ERROR_MAX 256

struct taut_error {
    char text[TAUT_ERROR_MAX];
};

/* Write a message into 'err', cut at TAUT_ERROR_MAX - 1 bytes.
 *   err  may be NULL, then nothing happens; errno is kept
 * Returns -1 always, so that a caller can 'return taut_error_set(...)'. */
int taut_error_set(struct taut_error *err, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
