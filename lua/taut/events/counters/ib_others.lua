-- SPDX-License-Identifier: GPL-2.0-or-later
--- What RDMA ports of other drivers tell of losses and of congestion: hw_counters of a port of
-- irdma (Intel), efa (Amazon), bnxt_re (Broadcom), mana (Microsoft), hns (HiSilicon), ionic (AMD)
-- and rxe (soft RoCE).
--
-- The port and the network device count their traffic, too.  Where irdma has
-- blanks in names, nodes tell of them with "_".  Widths are taken for
-- 64 bits, so that a wrap of 32 looks like a reset, which is not growth.
local catalogue = require "taut.events.counters.catalogue"

local HOUR = 3600

local function driver_path(path)
   return "Linux, drivers/infiniband/hw/" .. path
end

local IRDMA, EFA = driver_path "irdma/verbs.c", driver_path "efa/efa_verbs.c"
local BNXT, MANA = driver_path "bnxt_re/hw_counters.c", driver_path "mana/counters.c"
local HNS = driver_path "hns/hns_roce_main.c"
-- its names are the firmware's: as AMD's and others' exporters read them
local IONIC = driver_path "ionic/ionic_hw_stats.c"
local RXE = "Linux, drivers/infiniband/sw/rxe/rxe_hw_counters.c"
local AS_MLX5 = "; the rate is that of mlx5's "

-- Names of what an adapter counts as a sender.
local SENT = { "^tx", "^req_", "^requester", "^retrans", "Sent$", "[Rr]etrans", "^RTO$",
   "^completer", "^rcvd_.*_err$", "^Nak", "_naks_rcvd$", "^missing_resp$" }

local list, counter = catalogue.new {
   side = function(name)
      for _, pattern in ipairs(SENT) do
         if name:find(pattern) then
            return "send"
         end
      end
      return "receive"
   end }

---------------------------------------------------------------- kinds that all drivers have

-- An answer that did not come in time: the packet or the answer was lost.
local function add_timeouts(name, source)
   counter(name, "timeouts", { source = source, class = "degrading",
      means = "an answer did not come in time, the packet was sent again",
      limits = { { class = "degrading", above = 1, per = 1,
         source = source .. AS_MLX5 .. "local_ack_timeout_err",
         why = "packets or their answers get lost on the way" } },
      misleads = "a peer that ends, or is rebooted, lets all its partners' timers run out" })
end

local function add_given_up(name, source)
   counter(name, "connections", { source = source, class = "degrading", side = "send",
      means = "connections given up after all retries",
      limits = { { class = "degrading", above = 0,
         source = source .. AS_MLX5 .. "req_transport_retries_exceeded",
         why = "a job was told of an error: the peer could not be reached" } },
      misleads = "a peer that was killed or rebooted leaves its partners with some" })
end

-- Packets that came out of their order, or answers that say so.
local function add_out_of_order(name, unit, means, source)
   counter(name, unit, { source = source, class = "degrading", means = means,
      limits = { { class = "degrading", above = 120, per = HOUR, least = 10,
         source = source .. AS_MLX5 .. "out_of_sequence",
         why = "packets get lost: a lossless network has none" } },
      misleads = "without flow control (lossy RoCE) and with several paths there are always some" })
end

-- Packets with an error in them, or thrown away by the adapter.
local function add_broken(name, means, source)
   counter(name, "packets", { source = source, class = "degrading", means = means,
      limits = { { class = "degrading", above = 120, per = HOUR, least = 10,
         source = source .. "; the rate is Taut's own, as for receive errors",
         why = "a cable, a transceiver or a switch's port damages packets" } },
      misleads = "packets of a wrong size or VLAN count as errors with some drivers" })
end

local function add_congestion(name, unit, means, source)
   counter(name, unit, { source = source, class = "congestion", means = means,
      misleads = "control of congestion at work, or an application that is late to receive" })
end

local function add_harmless(name, unit, means, source)
   counter(name, unit, { source = source, class = "harmless", means = means,
      misleads = "says more of applications, or of how the card is set up, than of a link" })
end

---------------------------------------------------------------- irdma

for name, means in pairs {
   tcpRetransSegs = "segments of iWARP sent again", RetransSegs = "segments sent again",
   Nak_Sequence_Error = "the peer missed a packet of ours and asked for it again",
   Rcvd_Out_of_order_packets = "packets that came out of their order",
} do
   add_out_of_order(name, "packets", means, IRDMA)
end
add_timeouts("RTO", IRDMA)
for name, means in pairs {
   CRC_errors = "packets whose checksum was wrong", rxVlanErrors = "packets of a wrong VLAN",
   tcpInProtoErrors = "segments that break TCP's rules", InProtoErrors = "packets that break " ..
      "the protocol's rules",
} do
   add_broken(name, means, IRDMA)
end
for name, means in pairs {
   cnpHandled = "notices of congestion obeyed", cnpSent = "notices of congestion sent",
   RxECNMrkd = "packets that a switch had marked as congested",
   ip4InDiscards = "packets thrown away for want of room",
   ip6InDiscards = "packets thrown away for want of room",
} do
   add_congestion(name, "packets", means, IRDMA)
end
for name, means in pairs {
   cnpIgnored = "notices of congestion that were not obeyed",
   ip4OutNoRoutes = "packets to nowhere", ip6OutNoRoutes = "packets to nowhere",
} do
   add_harmless(name, "packets", means, IRDMA)
end

---------------------------------------------------------------- efa

-- Amazon's transport sprays packets over many paths, and repeats what is lost by itself.
add_congestion("retrans_pkts", "packets", "packets sent again", EFA)
add_congestion("retrans_timeout_events", "timeouts", "answers that did not come in time", EFA)
add_congestion("rx_drops", "packets", "packets thrown away for want of a buffer", EFA)
add_given_up("unresponsive_remote_events", EFA)
add_congestion("impaired_remote_conn_events", "connections", "peers that were reached badly", EFA)
add_harmless("rdma_read_wr_err", "requests", "reads that failed", EFA)
add_harmless("rdma_write_wr_err", "requests", "writes that failed", EFA)

---------------------------------------------------------------- bnxt_re

add_timeouts("to_retransmits", BNXT)
add_given_up("max_retry_exceeded", BNXT)
for name, means in pairs {
   seq_err_naks_rcvd = "the peer missed a packet of ours and asked for it again",
   missing_resp = "an answer came before an earlier one", oos_drop_count =
      "packets that came out of their order",
} do
   add_out_of_order(name, "packets", means, BNXT)
end
add_broken("rx_roce_errors", "packets that came with an error", BNXT)
add_broken("tx_roce_errors", "packets that could not be sent", BNXT)
for name, means in pairs {
   rx_roce_discards = "packets thrown away for want of room",
   tx_roce_discards = "packets thrown away before they were sent",
   rnr_naks_rcvd = "the peer had no buffer ready for a message",
   rx_out_of_buffer = "a message came and no buffer was ready for it",
   tx_cnp_pkts = "notices of congestion sent", rx_cnp_pkts = "notices of congestion received",
   rx_ecn_marked_pkts = "packets that a switch had marked as congested",
} do
   add_congestion(name, "packets", means, BNXT)
end
add_harmless("dup_req", "requests", "requests that were here before", BNXT)
for _, name in ipairs { "res_tx_pci_err", "res_rx_pci_err" } do
   counter(name, "errors", { source = BNXT, class = "degrading",
      means = "errors of the adapter on the host's bus",
      limits = { { class = "degrading", above = 0, source = BNXT,
         why = "the slot, or the host, damages what the adapter reads or writes" } } })
end

---------------------------------------------------------------- mana

add_timeouts("requester_timeout", MANA)
add_given_up("requester_retries_exceeded", MANA)
for name, means in pairs {
   requester_oos_nak = "the peer missed a packet of ours and asked for it again",
   requester_implicit_nak = "an answer came before an earlier one",
   responder_oos = "packets that came out of their order",
} do
   add_out_of_order(name, "packets", means, MANA)
end
for name, means in pairs {
   requester_rnr_nak = "the peer had no buffer ready for a message",
   responder_rnr_nak = "a message came and no buffer was ready for it",
   requester_rnr_nak_retries_exceeded = "connections given up since the peer had no buffer",
   received_cnps = "notices of congestion received",
   num_qps_congested = "connections slowed down by congestion",
} do
   add_congestion(name, "packets", means, MANA)
end
add_harmless("responder_dup_request", "requests", "requests that were here before", MANA)
for name, means in pairs {
   general_hw_error = "errors of the adapter", total_fatal_error = "connections that broke",
} do
   counter(name, "errors", { source = MANA, class = "degrading", means = means,
      limits = { { class = "degrading", above = 0, source = MANA,
         why = "the adapter itself says that it failed" } },
      misleads = "an application's own mistakes break connections, too" })
end

---------------------------------------------------------------- hns

add_broken("rx_error_pkt", "packets that came with an error", HNS)
add_broken("tx_error_pkt", "packets that could not be sent", HNS)
add_congestion("rx_cnp_pkt", "packets", "notices of congestion received", HNS)
add_congestion("tx_cnp_pkt", "packets", "notices of congestion sent", HNS)

---------------------------------------------------------------- ionic

for name, means in pairs {
   req_rx_pkt_seq_err = "the peer missed a packet of ours and asked for it again",
   req_rx_impl_nak_seq_err = "an answer came before an earlier one",
   resp_rx_outouf_seq = "packets that came out of their order",
   resp_tx_pkt_seq_err = "packets of the peer's that were missed and asked for again",
   tx_rdma_retx_pkts = "packets sent again",
} do
   add_out_of_order(name, "packets", means, IONIC)
end
add_timeouts("tx_rdma_ack_timeout", IONIC)
add_given_up("req_tx_retry_excd_err", IONIC)
add_broken("req_rx_inval_pkts", "packets that break the protocol's rules", IONIC)
for name, means in pairs {
   req_rx_rnr_retry_err = "the peer had no buffer ready for a message",
   resp_tx_rnr_retry_err = "a message came and no buffer was ready for it",
   resp_rx_outof_buf = "a message came and no buffer was ready for it",
   tx_rdma_cnp_pkts = "notices of congestion sent",
   rx_rdma_cnp_pkts = "notices of congestion received",
   rx_rdma_ecn_pkts = "packets that a switch had marked as congested",
} do
   add_congestion(name, "packets", means, IONIC)
end
add_harmless("req_rx_dup_response", "requests", "answers that were here before", IONIC)
add_harmless("resp_rx_dup_request", "requests", "requests that were here before", IONIC)

---------------------------------------------------------------- rxe

for name, means in pairs {
   out_of_seq_request = "packets that came out of their order",
   rcvd_seq_err = "the peer missed a packet of ours and asked for it again",
} do
   add_out_of_order(name, "packets", means, RXE)
end
add_timeouts("completer_retry_err", RXE)
add_given_up("retry_exceeded_err", RXE)
for name, means in pairs {
   rcvd_rnr_err = "the peer had no buffer ready for a message",
   send_rnr_err = "a message came and no buffer was ready for it",
   retry_rnr_exceeded_err = "connections given up since the peer had no buffer",
} do
   add_congestion(name, "packets", means, RXE)
end
for name, means in pairs {
   sent_pkts = "packets sent", rcvd_pkts = "packets received",
   send_err = "packets that the network device did not take",
} do
   add_harmless(name, "packets", means, RXE)
end

return { title = "RDMA port of irdma, efa, bnxt_re, mana, hns, ionic or rxe", list = list }
