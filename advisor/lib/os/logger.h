/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a line of the log goes, and in which form. */
#ifndef TAUT_ADVISOR_LIB_OS_LOGGER_H
#define TAUT_ADVISOR_LIB_OS_LOGGER_H

#include <stdbool.h>
#include <stddef.h>

#define TAUT_LOGGER_JOURNAL "/run/systemd/journal/socket"
#define TAUT_LOGGER_FIELDS_MAX 12

enum taut_logger_form {
    TAUT_LOGGER_TEXT, /* "name: level: text" on stderr, the text elsewhere */
    TAUT_LOGGER_JSON, /* one JSON object a line, wherever it goes */
};

struct taut_logger {
    const char *name;    /* of the program; kept, not copied */
    const char *journal; /* journald's socket; NULL: syslog() only */
    bool to_stderr;
    enum taut_logger_form form;
    int level; /* LOG_ERR … LOG_DEBUG; what is less urgent is left out */
};

/* A field beside the text: a name of A-Z, 0-9 and '_', as journald has them. */
struct taut_logger_field {
    const char *name;
    const char *value; /* UTF-8 without control characters */
};

/* Write one line, unless it is less urgent than the level.  Under a service
 * manager it goes to journald with its fields, or by syslog() where journald
 * does not take it; never waits for either.
 *   priority  LOG_ERR … LOG_DEBUG of <syslog.h>
 *   text      UTF-8 without control characters
 *   fields    'n' of them; in JSON in small letters, without "TAUT_" */
void taut_logger_write(const struct taut_logger *log, int priority,
                       const char *text,
                       const struct taut_logger_field *fields, size_t n);

/* "err" … "debug" -> LOG_ERR … LOG_DEBUG, or -1. */
int taut_logger_level(const char *name);

#endif
