/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "plugin/common/log.h"
#include "plugin/common/text.h"

/* One write per line, so that it arrives whole even if we are killed. */
static void put(int fd, const char *prefix, const char *text)
{
    char line[640];
    int n = snprintf(line, sizeof(line) - 1, "%s%s", prefix, text);

    if (n > (int)sizeof(line) - 2)
        n = sizeof(line) - 2;
    line[n++] = '\n';
    if (write(fd, line, (size_t)n) < 0)
        return;
}

static void emit(const struct taut_log *log, int priority, const char *prefix,
                 const char *fmt, va_list args)
{
    char text[600];

    vsnprintf(text, sizeof(text), fmt, args);
    taut_text_clean(text);
    if (log->to_syslog)
        syslog(LOG_DAEMON | priority, "%s: %s", log->where, text);
    else if (log->to_stderr)
        put(STDERR_FILENO, log->where, text);
    else
        put(STDOUT_FILENO, prefix, text);
}

void taut_log_error(const struct taut_log *log, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    emit(log, LOG_ERR, "error: ", fmt, args);
    va_end(args);
}

void taut_log_info(const struct taut_log *log, const char *fmt, ...)
{
    va_list args;

    if (log->level < TAUT_LOG_INFO)
        return;
    va_start(args, fmt);
    emit(log, LOG_INFO, "", fmt, args);
    va_end(args);
}

void taut_log_debug(const struct taut_log *log, const char *fmt, ...)
{
    va_list args;

    if (log->level < TAUT_LOG_DEBUG)
        return;
    va_start(args, fmt);
    emit(log, LOG_DEBUG, "debug: ", fmt, args);
    va_end(args);
}
