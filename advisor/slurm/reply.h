/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all requests of taut-slurm have in common: each fills in an object
 * that becomes the reply line. */
#ifndef TAUT_ADVISOR_SLURM_REPLY_H
#define TAUT_ADVISOR_SLURM_REPLY_H

#include <time.h>

#include <jansson.h>

/* One request.
 *   request  the whole line; may be read only
 *   reply    to add the answer to
 * Returns 0, or -1 with errno being Slurm's or the system's. */
typedef int taut_slurm_f(const json_t *request, json_t *reply);

taut_slurm_f taut_slurm_comment;
taut_slurm_f taut_slurm_config;
taut_slurm_f taut_slurm_controllers;
taut_slurm_f taut_slurm_drain;
taut_slurm_f taut_slurm_feature;
taut_slurm_f taut_slurm_job;
taut_slurm_f taut_slurm_jobs;
taut_slurm_f taut_slurm_nodes;
taut_slurm_f taut_slurm_partitions;
taut_slurm_f taut_slurm_reservations;
taut_slurm_f taut_slurm_resume;
taut_slurm_f taut_slurm_steer;
taut_slurm_f taut_slurm_topology;
taut_slurm_f taut_slurm_will_run;

/* The text of a request's member, or NULL. */
const char *taut_request_text(const json_t *request, const char *key);

/* A text for Slurm's functions, which want char * and change nothing. */
char *taut_slurm_lent(const char *text);

/* A request that cannot be: says why in the reply; -1 with EINVAL. */
int taut_reply_refuse(json_t *reply, const char *why);

/* Add one member.  A NULL text becomes "", and bytes that are not UTF-8
 * (names of jobs come from users) become '?'. */
void taut_reply_text(json_t *object, const char *key, const char *text);
void taut_reply_number(json_t *object, const char *key, json_int_t value);
void taut_reply_flag(json_t *object, const char *key, int value);

/* The same of a text that most nodes or jobs have not: left out where it is
 * empty. */
void taut_reply_some(json_t *object, const char *key, const char *text);

/* The name of a user, or the number as text; no user at all is "". */
void taut_reply_user(json_t *object, const char *key, unsigned uid);

/* The parts of a text with commas as an array of names. */
void taut_reply_names(json_t *object, const char *key, const char *list);

#endif
