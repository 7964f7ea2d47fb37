/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A port of InfiniBand, RoCE or Omni-Path:
 * sys/class/infiniband/DEVICE/ports/PORT.
 *
 * The files of "counters" ask the port's own performance management agent,
 * each on its own (on mlx5, and on others, a command to firmware); those of
 * "hw_counters" are asked for together, and kept for 10 ms.  What they are
 * called is each driver's own affair; mlx5's names are some other drivers',
 * too. */
#include <config.h>

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "plugin/counters/counters.h"
#include "plugin/counters/file.h"
#include "plugin/counters/ib_find.h"
#include "wire/ib_counters.h"

static const char *const port_counters[] = {TAUT_IB_COUNTERS};

static const char *const mlx5_counters[] = {
    "local_ack_timeout_err",
    "req_transport_retries_exceeded",
    "rnr_nak_retry_err",
    "packet_seq_err",
    "out_of_sequence",
    "implied_nak_seq_err",
    "rx_icrc_encapsulated",
    "duplicate_request",
    "out_of_buffer",
    "np_cnp_sent",
    "np_ecn_marked_roce_packets",
    "rp_cnp_handled",
    "rp_cnp_ignored",
    "roce_adp_retrans",
    "roce_slow_restart",
    "rx_write_requests",
    "rx_read_requests",
    "rx_atomic_requests",
};

static const char *const mlx4_counters[] = {
    "sq_num_to",  "sq_num_tree", "sq_num_rree", "sq_num_oos",
    "rq_num_oos", "rq_num_dup",  "sq_num_rnr",  "rq_num_rnr",
};

/* What verbs had to repeat; PSM2 goes past them.  TxWait is port_xmit_wait. */
static const char *const hfi1_counters[] = {
    "RcTimeOut", "RcResend", "RcSeqNak", "SeqNak",
    "RnrNak",    "OtherNak", "PktDrop",
};

/* The link itself: of the device, which has one port. */
static const char *const hfi1_link_counters[] = {
    "DcTotCrc", "DcMultLn", "DcTxReplay", "DcRxReplay", "DcReinitPeer",
};

/* What other drivers of RoCE and the like have to tell of losses and
 * congestion; what they count of traffic is the port's own. */
static const char *const irdma_counters[] = {
    "ip4InDiscards",
    "ip4OutNoRoutes",
    "ip6InDiscards",
    "ip6OutNoRoutes",
    "rxVlanErrors",
    "tcpRetransSegs",
    "tcpInProtoErrors",
    "RetransSegs",
    "InProtoErrors",
    "cnpHandled",
    "cnpIgnored",
    "cnpSent",
    "RxECNMrkd",
    "RTO",
    "Nak Sequence Error",
    "Rcvd Out of order packets",
    "CRC errors",
};

static const char *const efa_counters[] = {
    "rx_drops",
    "rdma_read_wr_err",
    "rdma_write_wr_err",
    "retrans_pkts",
    "retrans_timeout_events",
    "unresponsive_remote_events",
    "impaired_remote_conn_events",
};

static const char *const bnxt_counters[] = {
    "tx_roce_errors",
    "tx_roce_discards",
    "rx_roce_errors",
    "rx_roce_discards",
    "to_retransmits",
    "seq_err_naks_rcvd",
    "max_retry_exceeded",
    "rnr_naks_rcvd",
    "missing_resp",
    "dup_req",
    "oos_drop_count",
    "rx_out_of_buffer",
    "tx_cnp_pkts",
    "rx_cnp_pkts",
    "rx_ecn_marked_pkts",
    "res_tx_pci_err",
    "res_rx_pci_err",
};

static const char *const mana_counters[] = {
    "requester_timeout",
    "requester_oos_nak",
    "requester_rnr_nak",
    "responder_rnr_nak",
    "responder_oos",
    "responder_dup_request",
    "requester_implicit_nak",
    "requester_rnr_nak_retries_exceeded",
    "requester_retries_exceeded",
    "general_hw_error",
    "total_fatal_error",
    "received_cnps",
    "num_qps_congested",
};

static const char *const hns_counters[] = {
    "rx_error_pkt",
    "tx_error_pkt",
    "rx_cnp_pkt",
    "tx_cnp_pkt",
};

/* As the card's firmware names them. */
static const char *const ionic_counters[] = {
    "tx_rdma_retx_pkts",
    "tx_rdma_ack_timeout",
    "tx_rdma_cnp_pkts",
    "rx_rdma_cnp_pkts",
    "rx_rdma_ecn_pkts",
    "req_rx_pkt_seq_err",
    "req_rx_rnr_retry_err",
    "req_rx_impl_nak_seq_err",
    "req_rx_dup_response",
    "req_rx_inval_pkts",
    "req_tx_retry_excd_err",
    "resp_rx_outouf_seq",
    "resp_rx_outof_buf",
    "resp_rx_dup_request",
    "resp_tx_pkt_seq_err",
    "resp_tx_rnr_retry_err",
};

/* Soft RoCE, which has no others than these. */
static const char *const rxe_counters[] = {
    "sent_pkts",
    "rcvd_pkts",
    "duplicate_request",
    "out_of_seq_request",
    "rcvd_rnr_err",
    "send_rnr_err",
    "rcvd_seq_err",
    "retry_exceeded_err",
    "retry_rnr_exceeded_err",
    "completer_retry_err",
    "send_err",
    "link_downed",
};

struct hw_counters {
    const char *folder; /* from the port's */
    const char *sign;   /* which only this driver has; NULL: none other did */
    const char *const *names;
    size_t count;
};

#define LIST(names) (names), sizeof(names) / sizeof(names)[0]

static const struct hw_counters hw_counters[] = {
    {"hw_counters", "sq_num_tree", LIST(mlx4_counters)},
    {"hw_counters", "RcTimeOut", LIST(hfi1_counters)},
    {"../../hw_counters", "DcTxReplay", LIST(hfi1_link_counters)},
    {"hw_counters", "ip4InOctets", LIST(irdma_counters)},
    {"hw_counters", "rdma_read_resp_bytes", LIST(efa_counters)},
    {"hw_counters", "rx_roce_discards", LIST(bnxt_counters)},
    {"hw_counters", "requester_oos_nak", LIST(mana_counters)},
    {"hw_counters", "rx_rc_pkt", LIST(hns_counters)},
    {"hw_counters", "req_rx_pkt_seq_err", LIST(ionic_counters)},
    {"hw_counters", "completer_retry_err", LIST(rxe_counters)},
    {"hw_counters", NULL, LIST(mlx5_counters)},
};

/* ---- what it tells ---- */

/* "4: ACTIVE" */
static void put_state(struct taut_counters *c, int dir, const char *file)
{
    char text[64];
    const char *colon;

    if (taut_counters_slurp(c, dir, file, text, sizeof(text)) < 0)
        return;
    colon = strstr(text, ": ");
    if (colon != NULL && colon[2])
        taut_counters_put_text(c, file, colon + 2);
    else
        taut_counters_note(c, file, "not \"NUMBER: STATE\"", text);
}

static void put_rate(struct taut_counters *c, int dir)
{
    char text[64], width[TAUT_COUNTER_TEXT], speed[TAUT_COUNTER_TEXT];
    int64_t Mbps;

    if (taut_counters_slurp(c, dir, "rate", text, sizeof(text)) < 0)
        return;
    if (taut_counters_parse_rate(text, &Mbps, width, speed) < 0) {
        taut_counters_note(c, "rate", "not \"N Gb/sec (NX SPEED)\"", text);
        return;
    }
    taut_counters_put(c, "rate_Mbps", Mbps);
    taut_counters_put_text(c, "width", width);
    taut_counters_put_text(c, "speed", speed);
}

/* A blank would end a name in a reading: "Nak_Sequence_Error". */
static void tell_name(char *told, const char *name)
{
    snprintf(told, TAUT_COUNTER_NAME, "%s", name);
    for (char *p = told; (p = strchr(p, ' ')) != NULL;)
        *p = '_';
}

static void put_all(struct taut_counters *c, int dir, const char *folder,
                    const char *const *names, size_t n)
{
    char path[64], told[TAUT_COUNTER_NAME];

    if (faccessat(dir, folder, F_OK, 0) < 0)
        return;
    for (size_t i = 0; i < n; i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        tell_name(told, names[i]);
        taut_counters_put_file(c, dir, path, told);
    }
}

/* Those that the port's agent is asked for.  A port without one says "N/A (no
 * PMA)" in each of them: once is enough. */
static void put_port_counters(struct taut_counters *c, int dir)
{
    char path[64], text[64];
    int64_t value;

    for (size_t i = 0; i < sizeof(port_counters) / sizeof(port_counters[0]);
         i++) {
        snprintf(path, sizeof(path), "counters/%s", port_counters[i]);
        if (taut_counters_slurp(c, dir, path, text, sizeof(text)) < 0)
            continue;
        if (strncmp(text, "N/A", 3) == 0)
            return;
        if (taut_counters_parse(text, &value) == 0)
            taut_counters_put(c, port_counters[i], value);
        else
            taut_counters_note(c, path, "no counter", text);
    }
}

/* Looking for files costs nothing; asking for one that is there may. */
static void put_hw_counters(struct taut_counters *c, int dir)
{
    bool is_known = false;
    char path[64];

    for (size_t i = 0; i < sizeof(hw_counters) / sizeof(hw_counters[0]); i++) {
        const struct hw_counters *hw = &hw_counters[i];

        if (hw->sign != NULL) {
            snprintf(path, sizeof(path), "%s/%s", hw->folder, hw->sign);
            if (faccessat(dir, path, F_OK, 0) < 0)
                continue;
        } else if (is_known) {
            continue;
        }
        put_all(c, dir, hw->folder, hw->names, hw->count);
        is_known = true;
    }
}

static int find_ib(struct taut_counters *c, int root_fd)
{
    char device[TAUT_IB_DEVICE];
    int port;

    if (taut_ib_find(c, root_fd, device, &port) < 0)
        return -1;
    snprintf(c->place, sizeof(c->place), "%s/%d", device, port);
    return 0;
}

static void read_port(struct taut_counters *c, int root_fd, const char *device,
                      int port)
{
    char path[128];
    int dir;

    snprintf(path, sizeof(path), TAUT_IB_CLASS "%.40s/ports/%d", device, port);
    dir = taut_counters_dir(c, root_fd, path);
    if (dir < 0)
        return;
    put_state(c, dir, "state");
    put_state(c, dir, "phys_state");
    put_rate(c, dir);
    taut_counters_put_line(c, dir, "link_layer", "link_layer");
    if (faccessat(dir, "counters", F_OK, 0) == 0)
        put_port_counters(c, dir);
    put_hw_counters(c, dir);
    close(dir);
}

/* ---- planes ---- */

static bool is_active(int root_fd, struct taut_counters *c,
                      const struct taut_ib_planes *p, size_t i)
{
    char path[128], text[64];

    snprintf(path, sizeof(path), TAUT_IB_CLASS "%.40s/ports/%d/state", p->device,
             p->ports[i]);
    return taut_counters_slurp(c, root_fd, path, text, sizeof(text)) >= 0 &&
           strstr(text, ": ACTIVE") != NULL;
}

/* Add what another plane counts.  What one of the two does not count is left as
 * it is; states are the first's. */
static void add(struct taut_counters *c, const struct taut_counters *plane,
                bool has_rate)
{
    for (size_t i = 0; i < plane->count; i++) {
        const struct taut_counter *from = &plane->list[i];
        size_t k = 0;

        while (k < c->count && strcmp(c->list[k].name, from->name) != 0)
            k++;
        if (k < c->count && (has_rate || strcmp(from->name, "rate_Mbps") != 0) &&
            from->value <= INT64_MAX - c->list[k].value)
            c->list[k].value += from->value;
    }
    c->opens += plane->opens;
    c->reads += plane->reads;
    if (c->bad == 0)
        memcpy(c->why, plane->why, sizeof(c->why));
    c->bad += plane->bad;
}

/* Planes on the device of the data: a sum of all, beginning with one that is up;
 * one that is down counted until it was, and has no rate. */
static void read_planes(struct taut_counters *c, int root_fd,
                        const struct taut_ib_planes *p, const bool *is_up,
                        size_t first)
{
    struct taut_counters plane;

    read_port(c, root_fd, p->device, p->ports[first]);
    for (size_t i = 0; i < p->count; i++) {
        if (i == first)
            continue;
        memset(&plane, 0, sizeof(plane));
        memcpy(plane.interface, c->interface, sizeof(plane.interface));
        read_port(&plane, root_fd, p->device, p->ports[i]);
        add(c, &plane, is_up[i]);
    }
}

static void read_ib(struct taut_counters *c, int root_fd)
{
    const char *slash = strrchr(c->place, '/');
    bool is_up[TAUT_IB_PLANES] = {false};
    struct taut_ib_planes p;
    char device[TAUT_IB_DEVICE];
    size_t up = 0, first = 0;
    int port = atoi(slash + 1);

    snprintf(device, sizeof(device), "%.*s", (int)(slash - c->place), c->place);
    taut_ib_find_planes(c, root_fd, device, port, &p);
    for (size_t i = 0; p.count > 1 && i < p.count; i++) {
        is_up[i] = is_active(root_fd, c, &p, i);
        first = is_up[i] && up == 0 ? i : first;
        up += is_up[i];
    }
    if (p.count > 1 && !p.is_beside)
        read_planes(c, root_fd, &p, is_up, first);
    else
        read_port(c, root_fd, device, port);
    if (p.count > 1) {
        taut_counters_put(c, "planes", (int64_t)p.count);
        taut_counters_put(c, "planes_up", (int64_t)up);
    }
}

const struct taut_counter_source taut_counters_ib = {
    .name = "ib",
    .deadline_ms = 250,
    .find = find_ib,
    .read = read_ib,
};
