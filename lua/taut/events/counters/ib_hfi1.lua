-- SPDX-License-Identifier: GPL-2.0-or-later
--- What an Omni-Path port (hfi1) counts besides: hw_counters of the port, and those of the device
-- that tell of its link.
--
-- Those of verbs do not count traffic over PSM2, which is most of a job's traffic.
local catalogue = require "taut.events.counters.catalogue"

local HOUR = 3600

local HFI1 = "Linux, drivers/infiniband/hw/hfi1: port_cntrs and dev_cntrs in chip.c, rc.c"
local AS_MLX5 = HFI1 .. "; the rate is that of mlx5's"
local AS_CXI = HFI1 .. "; the rate is Taut's own, as for Slingshot's link layer retry"

local list, counter = catalogue.new { source = HFI1, side = "send" }

for name, t in pairs {
   DcTotCrc = { unit = "errors", side = "receive", means = "link transfer packets that came in "
      .. "damaged, on any lane: asked for again" },
   DcMultLn = { unit = "errors", side = "receive", means = "such packets damaged on several lanes "
      .. "at once" },
   DcTxReplay = { unit = "replays", means = "the other end had the link send again" },
   DcRxReplay = { unit = "replays", side = "receive", means = "the link asked the other end to "
      .. "send again" },
} do
   counter(name, t.unit, { side = t.side, class = "degrading", means = t.means,
      limits = {
         { class = "degrading", above = 10, per = 1, source = AS_CXI,
           why = "bandwidth goes into repeating" },
      },
      misleads = "single ones are what link transfer retry is for" })
end
counter("DcReinitPeer", "trainings", {
   side = "both",
   class = "degrading", means = "the other end had the link trained again, traffic stood meanwhile",
   limits = {
      { class = "degrading", above = 5, per = 60, source = HFI1
           .. "; the rate is that of InfiniBand's link_error_recovery",
        why = "the link flaps" },
   },
   misleads = "a reboot of the other end counts one or two",
})
counter("RcTimeOut", "timeouts", {
   class = "degrading", means = "an answer did not come in time",
   limits = {
      { class = "degrading", above = 1, per = 1, source = AS_MLX5 .. " local_ack_timeout_err",
        why = "packets or their answers get lost on the way" },
   },
   misleads = "a peer that ends, or is rebooted, lets all its partners' timers run out",
})
for name, means in pairs {
   SeqNak = "the peer missed a packet of ours and asked for it again",
   RcSeqNak = "a packet came out of its order and was asked for again",
} do
   local side = "send"
   if name == "RcSeqNak" then
      side = "receive"
   end
   counter(name, "answers", { side = side,
      class = "degrading", means = means,
      limits = {
         { class = "degrading", above = 120, per = HOUR, least = 10, source = AS_MLX5
              .. " packet_seq_err",
           why = "packets get lost: a lossless network has none" },
      } })
end
counter("RcResend", "packets", {
   class = "harmless", means = "packets of verbs sent again, for whatever reason",
   misleads = "says no more than the timeouts and answers that are its reasons",
})
counter("RnrNak", "answers", {
   class = "congestion", means = "the peer had no buffer ready for a message",
   misleads = "an application that is late to receive, not a link",
})
counter("OtherNak", "answers", {
   class = "harmless", means = "the peer refused a request",
   misleads = "wrong keys or addresses of an application",
})
counter("PktDrop", "packets", {
   side = "receive", class = "harmless", means = "packets of verbs that were dropped",
   misleads = "packets for nobody: connections that are gone",
})

return { title = "Omni-Path port", list = list }
