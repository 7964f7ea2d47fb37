/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <config.h>

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "plugin/counters/counters.h"
#include "plugin/counters/port.h"

const struct taut_port_count taut_port_nothing = {-1, -1, -1, -1, -1};

#define SPARES 2 /* the last so many count what others do, where these are there */

/* As in the catalogue (lua/taut/events/counters: ib_port, ib_hw, ib_mlx4 and
 * ib_others), which says what each means and what misleads in it. */
static const struct file {
    const char *path; /* below sys/class/infiniband/DEVICE/ports/PORT */
    size_t sum;       /* where it belongs */
} port_files[TAUT_PORT_FILES] = {
    {"counters/symbol_error", offsetof(struct taut_port_count, lost_in)},
    {"counters/port_rcv_errors", offsetof(struct taut_port_count, lost_in)},
    {"hw_counters/out_of_sequence", offsetof(struct taut_port_count, lost_in)},
    {"hw_counters/rx_icrc_encapsulated",
     offsetof(struct taut_port_count, lost_in)},
    {"hw_counters/packet_seq_err", offsetof(struct taut_port_count, lost_out)},
    {"hw_counters/local_ack_timeout_err",
     offsetof(struct taut_port_count, lost_out)},
    {"hw_counters/implied_nak_seq_err",
     offsetof(struct taut_port_count, lost_out)},
    {"hw_counters/roce_adp_retrans",
     offsetof(struct taut_port_count, lost_out)},
    {"hw_counters/out_of_seq_request",
     offsetof(struct taut_port_count, lost_in)},
    {"hw_counters/rcvd_seq_err", offsetof(struct taut_port_count, lost_out)},
    {"hw_counters/completer_retry_err",
     offsetof(struct taut_port_count, lost_out)},
    {"hw_counters/resp_rx_outouf_seq",
     offsetof(struct taut_port_count, lost_in)},
    {"hw_counters/req_rx_pkt_seq_err",
     offsetof(struct taut_port_count, lost_out)},
    {"hw_counters/req_rx_impl_nak_seq_err",
     offsetof(struct taut_port_count, lost_out)},
    {"hw_counters/tx_rdma_ack_timeout",
     offsetof(struct taut_port_count, lost_out)},
    {"hw_counters/rq_num_oos", offsetof(struct taut_port_count, lost_in)},
    {"hw_counters/sq_num_oos", offsetof(struct taut_port_count, lost_out)},
    {"hw_counters/sq_num_to", offsetof(struct taut_port_count, lost_out)},
    {"hw_counters/oos_drop_count", offsetof(struct taut_port_count, lost_in)},
    {"hw_counters/seq_err_naks_rcvd",
     offsetof(struct taut_port_count, lost_out)},
    {"hw_counters/missing_resp", offsetof(struct taut_port_count, lost_out)},
    {"hw_counters/to_retransmits", offsetof(struct taut_port_count, lost_out)},
    {"hw_counters/rcvd_pkts", offsetof(struct taut_port_count, packets_in)},
    {"hw_counters/sent_pkts", offsetof(struct taut_port_count, packets_out)},
    {"counters/port_xmit_discards", offsetof(struct taut_port_count, discards)},
    {"counters/port_rcv_packets",
     offsetof(struct taut_port_count, packets_in)},
    {"counters/port_xmit_packets",
     offsetof(struct taut_port_count, packets_out)},
    {"hw_counters/rx_pkts", offsetof(struct taut_port_count, packets_in)},
    {"hw_counters/tx_pkts", offsetof(struct taut_port_count, packets_out)},
};

/* Returns 0, or -1 where no descriptors are left: a sum without one of its
 * files would be too small. */
static int open_plane(int fds[TAUT_PORT_FILES], int root_fd, const char *device,
                      int port)
{
    char path[128];
    int folder, rc = 0;

    snprintf(path, sizeof(path), TAUT_IB_CLASS "%.40s/ports/%d", device, port);
    folder = openat(root_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0 && (errno == EMFILE || errno == ENFILE))
        rc = -1;
    for (size_t i = 0; i < TAUT_PORT_FILES; i++) {
        fds[i] = folder < 0
                     ? -1
                     : openat(folder, port_files[i].path, O_RDONLY | O_CLOEXEC);
        if (folder >= 0 && fds[i] < 0 && (errno == EMFILE || errno == ENFILE))
            rc = -1;
    }
    if (folder >= 0)
        close(folder);
    return rc;
}

int taut_port_files_open(struct taut_port_files *files, int root_fd,
                         const char *interface)
{
    struct taut_counters c = {.count = 0};
    char device[TAUT_IB_DEVICE];
    struct taut_ib_planes p;
    int port, rc = 0;

    files->planes = 0;
    snprintf(c.interface, IFNAMSIZ, "%s", interface);
    if (taut_ib_find(&c, root_fd, device, &port) < 0)
        return 0;
    taut_ib_find_planes(&c, root_fd, device, port, &p);
    if (p.is_beside) { /* the device of the data counts for all */
        p.count = 1;
        p.ports[0] = port;
    }
    for (size_t i = 0; i < p.count && rc == 0; i++) {
        files->planes = i + 1;
        rc = open_plane(files->fds[i], root_fd, device, p.ports[i]);
    }
    if (rc < 0)
        taut_port_files_close(files);
    return rc;
}

void taut_port_files_close(struct taut_port_files *files)
{
    for (size_t p = 0; p < files->planes; p++)
        for (size_t i = 0; i < TAUT_PORT_FILES; i++)
            if (files->fds[p][i] >= 0)
                close(files->fds[p][i]);
    files->planes = 0;
}

struct taut_port_count taut_port_files_read(const struct taut_port_files *files)
{
    struct taut_port_count count = taut_port_nothing;
    bool is_broken[sizeof(count) / sizeof(int64_t)] = {false};

    for (size_t k = 0; k < files->planes * TAUT_PORT_FILES; k++) {
        size_t i = k % TAUT_PORT_FILES;
        size_t at = port_files[i].sum / sizeof(int64_t);
        int64_t *sum = (int64_t *)&count + at, value;
        int fd = files->fds[k / TAUT_PORT_FILES][i], rc;

        if (fd < 0 || is_broken[at] ||
            (i >= TAUT_PORT_FILES - SPARES && *sum >= 0))
            continue;
        rc = taut_counter_poll(fd, &value);
        if (rc < 0 && errno == ENOMSG)
            continue;
        *sum = *sum > 0 ? *sum : 0;
        is_broken[at] = rc < 0 || value < 0 || value > INT64_MAX - *sum;
        *sum = is_broken[at] ? -1 : *sum + value;
    }
    return count;
}

static int64_t growth(int64_t from, int64_t to)
{
    return from < 0 || to < from ? -1 : to - from;
}

struct taut_port_losses taut_port_growth(const struct taut_port_count *from,
                                         const struct taut_port_count *to,
                                         bool is_sender)
{
    if (is_sender)
        return (struct taut_port_losses){
            .lost = growth(from->lost_out, to->lost_out),
            .discards = growth(from->discards, to->discards),
            .packets = growth(from->packets_out, to->packets_out),
        };
    return (struct taut_port_losses){
        .lost = growth(from->lost_in, to->lost_in),
        .discards = -1,
        .packets = growth(from->packets_in, to->packets_in),
    };
}
