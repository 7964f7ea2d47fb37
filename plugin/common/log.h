/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines for whoever runs taut-probe: the plugin reads them from a pipe, a
 * script's user from syslog.  Only probe.c and its parts log. */
#ifndef TAUT_PLUGIN_COMMON_LOG_H
#define TAUT_PLUGIN_COMMON_LOG_H

#include <stdbool.h>

#include "plugin/common/options.h"

struct taut_log {
    enum taut_log_level level;
    bool to_syslog;
    bool to_stderr;  /* stdout is for data */
    char where[300]; /* "job 123 on n5", for syslog */
};

/* Print one line; an error line begins with "error: ", a debug line with
 * "debug: ".  Lines that 'level' leaves out cost nothing. */
void taut_log_error(const struct taut_log *log, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void taut_log_info(const struct taut_log *log, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void taut_log_debug(const struct taut_log *log, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
