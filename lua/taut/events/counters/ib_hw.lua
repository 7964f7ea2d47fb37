-- SPDX-License-Identifier: GPL-2.0-or-later
--- What else an RDMA port tells: the driver's own counters (hw_counters) and the port's state.
--
-- Names are those of mlx5; other drivers have some of them, mlx4 (ib_mlx4) and hfi1 (ib_hfi1) have
-- their own.  They count 32 or 64 bits as the
-- driver likes: 64 here, so that a wrap of 32 bits looks like a reset, which is not growth.
local catalogue = require "taut.events.counters.catalogue"

local HOUR = 3600

local ABI = "Linux, Documentation/ABI/stable/sysfs-class-infiniband"
local MLX = "NVIDIA, Understanding mlx5 Linux counters and status parameters"
local SENTINEL = "NVIDIA NVSentinel, NIC health monitor configuration, default counter thresholds"
local DCQCN = "Zhu et al., Congestion Control for Large-Scale RDMA Deployments, SIGCOMM 2015"

local list, counter, state = catalogue.new { source = MLX, state_source = ABI }

counter("local_ack_timeout_err", "timeouts", {
   side = "send",
   class = "degrading", means = "an answer did not come in time, the packet was sent again",
   limits = {
      { class = "degrading", above = 1, per = 1, source = SENTINEL,
        why = "packets or their answers get lost on the way" },
   },
   misleads = "a peer that ends, or is rebooted, lets all its partners' timers run out",
})
counter("req_transport_retries_exceeded", "connections", {
   side = "send",
   class = "degrading", means = "connections given up after all retries",
   limits = {
      { class = "degrading", above = 0, source = SENTINEL .. " (supported counter)",
        why = "a job was told of an error: the peer could not be reached" },
   },
   misleads = "a peer that was killed or rebooted leaves its partners with some",
})
counter("rnr_nak_retry_err", "answers", {
   side = "send",
   class = "congestion", means = "the peer had no buffer ready for a message",
   misleads = "an application that is late to receive, not a link; NVSentinel calls any fatal",
   source = MLX .. "; " .. SENTINEL,
})
counter("packet_seq_err", "answers", {
   side = "send",
   class = "degrading", means = "the peer missed a packet of ours and asked for it again",
   limits = {
      { class = "degrading", above = 120, per = HOUR, least = 10, source = MLX
           .. " (an error); the rate is Taut's own, as for receive errors",
        why = "packets get lost: a lossless network has none" },
   },
   misleads = "without flow control (lossy RoCE) and with adaptive routing there are always some",
})
counter("out_of_sequence", "packets", {
   class = "degrading", means = "packets that came out of their order",
   limits = {
      { class = "degrading", above = 120, per = HOUR, least = 10, source = MLX
           .. " (an error); the rate is Taut's own, as for receive errors",
        why = "packets before them were lost" },
   },
   misleads = "adaptive routing reorders as its normal work",
})
counter("implied_nak_seq_err", "answers", {
   side = "send",
   class = "degrading", means = "an answer showed that one before it was lost",
   limits = {
      { class = "degrading", above = 120, per = HOUR, least = 10, source = MLX
           .. " (an error); the rate is Taut's own, as for receive errors",
        why = "answers get lost" },
   },
   misleads = "adaptive routing reorders as its normal work",
})
counter("rx_icrc_encapsulated", "packets", {
   class = "degrading", means = "RoCE packets whose own checksum was wrong",
   limits = {
      { class = "degrading", above = 0, source = MLX,
        why = "damage that no link's checksum saw: memory of a switch or card" },
   },
})
counter("duplicate_request", "requests", {
   class = "harmless", means = "requests that were here before",
   misleads = "the peer's timer was short, or the answer was lost: see its own counters",
})
counter("out_of_buffer", "packets", {
   class = "congestion", means = "packets dropped because the application had posted no buffer",
   misleads = "a matter of the application and its host, not of the network",
})
for name, means in pairs {
   np_cnp_sent = "notices of congestion sent", rp_cnp_handled = "notices of congestion obeyed",
   np_ecn_marked_roce_packets = "packets that a switch had marked as congested",
} do
   local side = "receive"
   if name:find "^np_cnp" then
      side = "send"
   end
   counter(name, "packets", { side = side,
      class = "congestion", means = means, misleads = "RoCE's control of congestion at work",
      source = DCQCN })
end
counter("rp_cnp_ignored", "packets", {
   class = "harmless", means = "notices of congestion that were not obeyed",
   misleads = "a question of how the card is set up: congestion control is off on one side",
})
counter("roce_adp_retrans", "packets", {
   side = "send", class = "congestion", means = "packets sent again, early, by a guess",
   misleads = "a guess; see local_ack_timeout_err for what was really late",
})
counter("roce_slow_restart", "restarts", {
   side = "send",
   class = "congestion", means = "connections begun slowly again after a pause or a loss",
   limits = {
      { class = "congestion", above = 10, per = 1, source = SENTINEL,
        why = "traffic stops and goes" },
   },
   misleads = "pauses of an application count, too",
})
for _, name in ipairs { "rx_write_requests", "rx_read_requests", "rx_atomic_requests" } do
   counter(name, "requests", { class = "traffic",
      means = "requests of " .. name:match "_(%a+)_" .. " that came in" })
end

state("state", "text", { class = "fatal", good = { "ACTIVE" }, left = 0,
   means = "logical state of the port",
   misleads = "INIT for a while after a reboot: the subnet manager has not seen the port yet" })
state("phys_state", "text", { class = "fatal", good = { "LinkUp" }, left = 0,
   means = "state of the wire" })
state("width", "text", { before = true, means = "lanes the link was trained to, 4X",
   misleads = "2X is what HDR100 and NDR200 are; RoCE ports say what makes up their speed. What "
      .. "the port could do is not told here: `taut fabric check` knows" })
state("speed", "text", { before = true, means = "speed of a lane by its name, EDR",
   misleads = "what the port could do is not told here: `taut fabric check` knows" })
state("rate_Mbps", "Mbit/s", { before = true, means = "rate of the whole port" })
state("planes_up", "planes", { best = "planes", means = "planes of the port that are ACTIVE",
   misleads = "counters are the sum of all planes, and states those of one that is up" })
state("planes", "planes", { before = true, means = "planes that the adapter has for the port" })
state("link_layer", "text", { before = true, means = "InfiniBand or Ethernet" })

return { title = "RDMA port", list = list }
