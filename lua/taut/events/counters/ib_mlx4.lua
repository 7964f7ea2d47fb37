-- SPDX-License-Identifier: GPL-2.0-or-later
--- What an RDMA port of the mlx4 driver (ConnectX-3 and older) counts besides: hw_counters of a
-- port, where its firmware counts for each port.
--
-- `sq` is this end as the one that asks, `rq` as the one that answers.  They have 32 bits: 64 here,
-- so that a wrap looks like a reset, which is not growth.
local catalogue = require "taut.events.counters.catalogue"

local HOUR = 3600

local MLX4 = "Linux, drivers/infiniband/hw/mlx4, commit 3f85f2aaabf7: IB/mlx4: Add diagnostic "
   .. "hardware counters"
local AS_MLX5 = MLX4 .. "; the rate is that of mlx5's"

local list, counter = catalogue.new { source = MLX4,
   side = function(name) return name:find "^sq" and "send" or "receive" end }

counter("sq_num_to", "timeouts", {
   class = "degrading", means = "an answer did not come in time, the packet was sent again",
   limits = {
      { class = "degrading", above = 1, per = 1, source = AS_MLX5 .. " local_ack_timeout_err",
        why = "packets or their answers get lost on the way" },
   },
   misleads = "a peer that ends, or is rebooted, lets all its partners' timers run out",
})
counter("sq_num_tree", "connections", {
   class = "degrading", means = "connections given up after all retries",
   limits = {
      { class = "degrading", above = 0, source = AS_MLX5 .. " req_transport_retries_exceeded",
        why = "a job was told of an error: the peer could not be reached" },
   },
   misleads = "a peer that was killed or rebooted leaves its partners with some",
})
counter("sq_num_rree", "connections", {
   class = "congestion", means = "connections given up because the peer never had a buffer ready",
   misleads = "an application that is late to receive, or that died, not a link",
})
counter("sq_num_oos", "answers", {
   class = "degrading", means = "the peer missed a packet of ours and asked for it again",
   limits = {
      { class = "degrading", above = 120, per = HOUR, least = 10, source = AS_MLX5
           .. " packet_seq_err",
        why = "packets get lost: a lossless network has none" },
   },
   misleads = "without flow control (lossy RoCE) there are always some",
})
counter("rq_num_oos", "packets", {
   class = "degrading", means = "packets that came out of their order",
   limits = {
      { class = "degrading", above = 120, per = HOUR, least = 10, source = AS_MLX5
           .. " out_of_sequence",
        why = "packets before them were lost" },
   },
   misleads = "without flow control (lossy RoCE) there are always some",
})
counter("rq_num_dup", "requests", {
   class = "harmless", means = "requests that were here before",
   misleads = "the peer's timer was short, or the answer was lost: see its own counters",
})
for name, means in pairs {
   sq_num_rnr = "the peer had no buffer ready for a message",
   rq_num_rnr = "a message came and no buffer was ready for it",
} do
   counter(name, "answers", { class = "congestion", means = means,
      misleads = "an application that is late to receive, not a link" })
end

return { title = "RDMA port of mlx4", list = list }
