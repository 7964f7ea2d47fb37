/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#include "advisor/lib/os/logger.h"
#include "advisor/lib/os/sys_socket.h"

static const char *const level_names[] = {"emerg",   "alert",  "crit", "error",
                                          "warning", "notice", "info", "debug"};

int taut_logger_level(const char *name)
{
    if (strcmp(name, "err") == 0)
        return LOG_ERR;
    for (int i = LOG_ERR; i <= LOG_DEBUG; i++) {
        if (strcmp(name, level_names[i]) == 0)
            return i;
    }
    return -1;
}

static void put_json_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

/* TAUT_NODE -> "node" */
static void put_json_name(FILE *out, const char *name)
{
    if (strncmp(name, "TAUT_", 5) == 0)
        name += 5;
    fputs(",\"", out);
    for (; *name != '\0'; name++)
        fputc(tolower((unsigned char)*name), out);
    fputs("\":", out);
}

static void put_json(FILE *out, const struct taut_logger *log, int priority,
                     const char *text, const struct taut_logger_field *fields,
                     size_t n)
{
    fprintf(out, "{\"time\":%lld,\"level\":\"%s\",\"program\":",
            (long long)time(NULL), level_names[priority & 7]);
    put_json_text(out, log->name);
    fputs(",\"message\":", out);
    put_json_text(out, text);
    for (size_t i = 0; i < n; i++) {
        put_json_name(out, fields[i].name);
        put_json_text(out, fields[i].value);
    }
    fputc('}', out);
}

/* One datagram of journald's own protocol: NAME=VALUE a line.  Values have no
 * newline, so its binary form is not needed.
 * Source: https://systemd.io/JOURNAL_NATIVE_PROTOCOL/
 * Returns 0, or -1: it was not accepted. */
static int send_to_journal(const struct taut_logger *log, int priority,
                           const char *text,
                           const struct taut_logger_field *fields, size_t n)
{
    char *bytes = NULL;
    size_t length = 0;
    struct sockaddr_un address;
    FILE *out = open_memstream(&bytes, &length);
    int rc = -1;

    if (out == NULL)
        return -1;
    fprintf(out, "PRIORITY=%d\nSYSLOG_FACILITY=%d\nSYSLOG_IDENTIFIER=%s\n",
            priority, LOG_DAEMON >> 3, log->name);
    fprintf(out, "SYSLOG_PID=%ld\nMESSAGE=%s\n", (long)getpid(), text);
    for (size_t i = 0; i < n; i++)
        fprintf(out, "%s=%s\n", fields[i].name, fields[i].value);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fclose(out) == 0 && fd >= 0 &&
        taut_socket_address(&address, log->journal, NULL) == 0 &&
        sendto(fd, bytes, length, MSG_NOSIGNAL, (struct sockaddr *)&address,
               sizeof(address)) == (ssize_t)length)
        rc = 0;
    if (fd >= 0)
        close(fd);
    free(bytes);
    return rc;
}

static void write_text(const struct taut_logger *log, int priority,
                       const char *text, const struct taut_logger_field *fields,
                       size_t n)
{
    if (log->to_stderr && log->form == TAUT_LOGGER_JSON)
        fprintf(stderr, "%s\n", text);
    else if (log->to_stderr)
        fprintf(stderr, "%s: %s: %s\n", log->name, level_names[priority & 7],
                text);
    else if (log->journal == NULL ||
             send_to_journal(log, priority, text, fields, n) != 0)
        syslog(priority, "%s", text);
}

void taut_logger_write(const struct taut_logger *log, int priority,
                       const char *text,
                       const struct taut_logger_field *fields, size_t n)
{
    if (priority > log->level)
        return;
    if (log->form != TAUT_LOGGER_JSON) {
        write_text(log, priority, text, fields, n);
        return;
    }
    char *line = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&line, &length);

    if (out == NULL)
        return;
    put_json(out, log, priority, text, fields, n);
    if (fclose(out) == 0)
        write_text(log, priority, line, fields, n);
    free(line);
}
