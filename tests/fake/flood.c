/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Somebody who takes places and says nothing.
 *
 *   fake-flood COUNT SOCKET | COUNT ADDRESS PORT
 *
 * opens COUNT connections to a UNIX socket or a TCP port, prints a line when
 * all are made, and holds them until its stdin ends. */
#include <config.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

union address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_un un;
};

static socklen_t read_address(union address *a, int argc, char *argv[])
{
    memset(a, 0, sizeof(*a));
    if (argc == 3) {
        a->un.sun_family = AF_UNIX;
        snprintf(a->un.sun_path, sizeof(a->un.sun_path), "%s", argv[2]);
        return sizeof(a->un);
    }
    a->in.sin_family = AF_INET;
    a->in.sin_port = htons((unsigned short)atoi(argv[3]));
    return inet_pton(AF_INET, argv[2], &a->in.sin_addr) == 1 ? sizeof(a->in)
                                                             : 0;
}

int main(int argc, char *argv[])
{
    union address a;
    socklen_t n;

    if (argc < 3 || argc > 4 || (n = read_address(&a, argc, argv)) == 0)
        return 2;
    for (int i = atoi(argv[1]); i > 0; i--) {
        int fd = socket(a.any.sa_family, SOCK_STREAM, 0);
        if (fd < 0 || connect(fd, &a.any, n) != 0) {
            perror("fake-flood");
            return 1;
        }
    }
    puts("connected");
    fflush(stdout);
    while (getchar() != EOF)
        continue;
    return 0;
}
