/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

#include "plugin/transport/account.h"

void taut_account_clear(struct taut_account *account)
{
    memset(account, 0, sizeof(*account));
    account->segments = account->resent = account->resent_bytes = -1;
    account->spurious = account->reordered = account->marked = -1;
    account->unacked = -1;
    account->min_rtt_ns = account->disordered = -1;
}

static void add(int64_t *sum, int64_t part)
{
    if (part >= 0)
        *sum = (*sum > 0 ? *sum : 0) + part;
}

void taut_account_add(struct taut_account *sum, const struct taut_account *part)
{
    add(&sum->segments, part->segments);
    add(&sum->resent, part->resent);
    add(&sum->resent_bytes, part->resent_bytes);
    add(&sum->spurious, part->spurious);
    add(&sum->reordered, part->reordered);
    add(&sum->marked, part->marked);
    add(&sum->unacked, part->unacked);
    add(&sum->disordered, part->disordered);
    if (part->min_rtt_ns >= 0 &&
        (sum->min_rtt_ns < 0 || part->min_rtt_ns < sum->min_rtt_ns))
        sum->min_rtt_ns = part->min_rtt_ns;
    if (!*sum->congestion)
        memcpy(sum->congestion, part->congestion, TAUT_CONGESTION_TEXT);
}

/* ---- TCP ---- */

/* A kernel that is older than a field returns a structure that ends before it.
 * tcpi_min_rtt and the counts of data segments came with Linux 4.6,
 * tcpi_delivered_ce with 4.18, the other counts of a sender with 4.19,
 * tcpi_rcv_ooopack with 5.4. */
#define VALUE(info, length, field)                                             \
    ((length) >= offsetof(struct tcp_info, field) + sizeof((info)->field)      \
         ? (int64_t)(info)->field                                              \
         : -1)

/* No round trip was measured yet. */
#define NO_RTT UINT32_MAX

static void fill_sender(struct taut_account *account,
                        const struct tcp_info *info, socklen_t length)
{
    account->segments = VALUE(info, length, tcpi_data_segs_out);
    account->resent = VALUE(info, length, tcpi_total_retrans);
    account->resent_bytes = VALUE(info, length, tcpi_bytes_retrans);
    account->spurious = VALUE(info, length, tcpi_dsack_dups);
    account->reordered = VALUE(info, length, tcpi_reord_seen);
    account->marked = VALUE(info, length, tcpi_delivered_ce);
    account->unacked = VALUE(info, length, tcpi_unacked);
    if (info->tcpi_min_rtt != NO_RTT)
        account->min_rtt_ns = VALUE(info, length, tcpi_min_rtt);
    if (account->min_rtt_ns >= 0)
        account->min_rtt_ns *= 1000;
}

static void fill_receiver(struct taut_account *account,
                          const struct tcp_info *info, socklen_t length)
{
    account->segments = VALUE(info, length, tcpi_data_segs_in);
#ifdef HAVE_STRUCT_TCP_INFO_TCPI_RCV_OOOPACK
    account->disordered = VALUE(info, length, tcpi_rcv_ooopack);
#endif
}

static void read_congestion(int fd, char *name)
{
    socklen_t length = TAUT_CONGESTION_TEXT - 1;

    if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &length) < 0)
        name[0] = '\0';
}

int taut_account_read_tcp(int fd, bool is_sender, struct taut_account *account)
{
    struct tcp_info info;
    socklen_t length = sizeof(info);

    taut_account_clear(account);
    memset(&info, 0, sizeof(info));
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) < 0)
        return -1;
    if (is_sender) {
        fill_sender(account, &info, length);
        read_congestion(fd, account->congestion);
    } else {
        fill_receiver(account, &info, length);
    }
    return 0;
}

void taut_account_choose_congestion(int fd)
{
    static const char *const names[] = {"cubic", "reno"};
    char now[TAUT_CONGESTION_TEXT] = "";
    int saved = errno;

    read_congestion(fd, now);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(now, names[i]) == 0 ||
            setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, names[i],
                       (socklen_t)strlen(names[i])) == 0)
            break;
    }
    errno = saved;
}
