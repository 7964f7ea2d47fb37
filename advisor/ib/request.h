/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The requests of taut-ib. */
#ifndef TAUT_ADVISOR_IB_REQUEST_H
#define TAUT_ADVISOR_IB_REQUEST_H

#include <jansson.h>

#include "advisor/ib/mads.h"
#include "wire/error.h"

/* Carry out one request.
 *   request  the whole line; read only
 *   reply    the last line of the answer; parts go out before it
 * Returns 0, or -1 with a text in 'err'. */
typedef int taut_ib_request_f(const json_t *request, json_t *reply,
                              struct taut_error *err);

taut_ib_request_f taut_ib_sweep;
taut_ib_request_f taut_ib_sm;
taut_ib_request_f taut_ib_mcast;

/* Take a whole number out of a request.
 *   fallback  where it is missing
 * Returns 0, or -1 with a text when it is none from least to most. */
int taut_ib_number(const json_t *request, const char *key, long least,
                   long most, long fallback, long *value,
                   struct taut_error *err);

/* Open the port and make ready what a request says about how to send
 * (ca, port, mads, per_node, tries, timeout_ms, time_s).
 * Returns 0, or -1 with a text.  Both are the caller's to end. */
struct taut_umad;
int taut_ib_begin(const json_t *request, struct taut_umad **umad,
                  struct taut_mads **mads, struct taut_error *err);

/* { sent, answered, … } */
json_t *taut_ib_counts(const struct taut_mads *mads);

#endif
