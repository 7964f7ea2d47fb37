/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * labsyslog SOCKET FILE: append to FILE what syslog(3) sends to SOCKET.
 * A message is one datagram, `<PRIORITY>Mon dd hh:mm:ss tag: text`; the
 * priority is written as facility.severity numbers.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static int open_socket(const char *path)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

    if (fd < 0 || strlen(path) >= sizeof(addr.sun_path))
        return -1;
    strcpy(addr.sun_path, path);
    unlink(path);
    if (bind(fd, (struct sockaddr *)&addr, sizeof(addr)) < 0)
        return -1;
    return chmod(path, 0666) < 0 ? -1 : fd;
}

static void write_message(FILE *out, char *text)
{
    char *rest = text;
    long priority = 13; /* user.notice, as syslog(3) has it by default */

    if (text[0] == '<') {
        priority = strtol(text + 1, &rest, 10);
        if (*rest == '>')
            rest++;
    }
    fprintf(out, "%ld.%ld %s\n", priority >> 3, priority & 7, rest);
    fflush(out);
}

int main(int argc, char **argv)
{
    char text[8193];
    ssize_t n;

    if (argc != 3) {
        fprintf(stderr, "usage: labsyslog SOCKET FILE\n");
        return 2;
    }

    int fd = open_socket(argv[1]);
    FILE *out = fopen(argv[2], "a");

    if (fd < 0 || out == NULL) {
        perror("labsyslog");
        return 1;
    }
    while ((n = recv(fd, text, sizeof(text) - 1, 0)) >= 0) {
        while (n > 0 && (text[n - 1] == '\n' || text[n - 1] == '\0'))
            n--;
        text[n] = '\0';
        write_message(out, text);
    }
    return 1;
}
