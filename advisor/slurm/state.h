/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What may be done to a node in which state, without any call to Slurm, so
 * that every case can be tested. */
#ifndef TAUT_ADVISOR_SLURM_STATE_H
#define TAUT_ADVISOR_SLURM_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/error.h"

#define TAUT_REASON_PREFIX "taut:"
#define TAUT_REASON_MAX 255 /* bytes; accounting keeps no more */

/* The base of a node's state in lower case: "idle", "allocated" … */
const char *taut_node_base(uint32_t state);

/* Is a reboot asked for, or under way?  Slurm gives such a node back by itself. */
bool taut_node_is_rebooting(uint32_t state);

/* Is the node switched off to save power, or on its way there or back? */
bool taut_node_is_off(uint32_t state);

/* Why no job is put on the node, beside drained, down, off, rebooting and
 * reserved: words; NULL where nothing is in the way.  What is only PLANNED,
 * DYNAMIC or CLOUD takes jobs as others do. */
const char *taut_node_bar(uint32_t state);

/* Base and flags in one word, "idle+drain", into 'out'. */
void taut_node_format(char *out, size_t size, uint32_t state);

/* Whether a node's reason was given by Taut. */
bool taut_reason_is_ours(const char *reason);

/* Check a reason before it is set: our prefix, ASCII without control
 * characters, no '|', at most TAUT_REASON_MAX bytes.
 * Returns 0, or -1 with errno EINVAL and 'err'. */
int taut_reason_check(const char *reason, struct taut_error *err);

/* Check the name of a single node: no host list, at most 255 bytes.
 * Returns 0, or -1 with errno EINVAL and 'err'. */
int taut_node_name_check(const char *name, struct taut_error *err);

/* Why a node must not be drained, or NULL if it may be: in a MAINT
 * reservation, or drained, failing or down for a reason that is not ours.
 * A node that is drained by us may get a new reason. */
const char *taut_drain_refusal(uint32_t state, const char *reason);

/* Why a node must not be resumed, or NULL if it may be: only what Taut
 * drained, and never a node that is down.  A reason alone means nothing:
 * Slurm may keep an old one after a resume. */
const char *taut_resume_refusal(uint32_t state, const char *reason);

#endif
