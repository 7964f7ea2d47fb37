/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * labway FROM:PORT TO:PORT HOPS: which way a connection between these goes, by
 * what taut-probe asks; the address that answered for each router on the way,
 * or -, one a line.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/common/clock.h"
#include "plugin/streams/way.h"

int main(int argc, char **argv)
{
    struct taut_address from, to;
    struct taut_way way;

    if (argc != 4 || taut_address_parse(&from, argv[1], NULL) < 0 ||
        taut_address_parse(&to, argv[2], NULL) < 0) {
        fprintf(stderr, "usage: labway FROM:PORT TO:PORT HOPS\n");
        return 2;
    }
    if (taut_way_ask(&way, &from, &to, "", atoi(argv[3]),
                     taut_now_ns() + TAUT_S_NS) < 0) {
        fprintf(stderr, "labway: %s\n", strerror(errno));
        return 1;
    }
    for (int i = 0; i < way.hops; i++)
        puts(*way.answer[i] ? way.answer[i] : "-");
    return 0;
}
