/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * labway FROM:PORT TO:PORT HOPS: which way a connection between these goes, by
 * what taut-probe asks; the address that answered for each router on the way,
 * or -, one a line.
 * labway FROM:PORT TO:PORT HOP ADDRESS PORTS: of so many source ports from the
 * first on, up to 16 for which router number HOP answers from ADDRESS.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugin/common/clock.h"
#include "plugin/streams/way.h"

static int ask(const struct taut_address *from, const struct taut_address *to,
               int hops)
{
    struct taut_way way;

    if (taut_way_ask(&way, from, to, "", hops, taut_now_ns() + TAUT_S_NS) < 0) {
        fprintf(stderr, "labway: %s\n", strerror(errno));
        return 1;
    }
    for (int i = 0; i < way.hops; i++)
        puts(*way.answer[i] ? way.answer[i] : "-");
    return 0;
}

static int aim(const struct taut_address *from, const struct taut_address *to,
               char **argv)
{
    struct taut_aim aim = {.hop = atoi(argv[3]),
                           .first = atoi(strrchr(argv[1], ':') + 1),
                           .count = atoi(argv[5])};
    int ports[TAUT_PLAN_STREAMS];

    snprintf(aim.address, sizeof aim.address, "%s", argv[4]);
    int n = taut_way_aim(ports, TAUT_PLAN_STREAMS, &aim, from, to, "",
                         taut_now_ns() + TAUT_S_NS);
    for (int i = 0; i < n; i++)
        printf("%d\n", ports[i]);
    return 0;
}

int main(int argc, char **argv)
{
    struct taut_address from, to;

    if ((argc != 4 && argc != 6) ||
        taut_address_parse(&from, argv[1], NULL) < 0 ||
        taut_address_parse(&to, argv[2], NULL) < 0) {
        fprintf(stderr,
                "usage: labway FROM:PORT TO:PORT HOPS [ADDRESS PORTS]\n");
        return 2;
    }
    return argc == 4 ? ask(&from, &to, atoi(argv[3])) : aim(&from, &to, argv);
}
