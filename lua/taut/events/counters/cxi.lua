-- SPDX-License-Identifier: GPL-2.0-or-later
--- Counters of an HPE Slingshot adapter: /sys/class/cxi/cxiN/device.
--
-- Telemetry files hold `value@seconds`.  How many bits an item has is not published: 64 here, so
-- that a wrap of fewer looks like a reset, which is not growth.  A name without number
-- (hni_rx_paused) is the sum over the eight traffic classes (hni_rx_paused_0 to _7).
local catalogue = require "taut.events.counters.catalogue"

local HOUR = 3600

local ABI = "HPE, shs-cxi-driver, docs/ABI/testing/sysfs-class-cxi"
local CORE = "HPE Slingshot Host Software Troubleshooting Guide, Common CXI core error messages"
local HEALTH = "HPE, cxi_healthcheck, as used by ALCF's job prologue of Aurora"
local RETRY = "HPE Slingshot Host Software, Cassini Retry Handler"
local OMPI = "Open MPI, HPE Cassini (CXI) hardware performance counters"
local BER = "HPE Slingshot Host Software, cxiberstat (smallest rate it can see: 1.176e-12)"

local list, counter, state = catalogue.new { source = ABI, state_source = ABI }

counter("hni_sts_rx_ok_octets", "bytes", { class = "traffic", means = "bytes received" })
counter("hni_sts_tx_ok_octets", "bytes", { side = "send", class = "traffic",
   means = "bytes sent" })
counter("hni_pcs_good_cw", "codewords", { class = "traffic",
   means = "codewords that came in whole: some 39 million a second, traffic or not" })
counter("hni_pcs_corrected_cw", "codewords", {
   class = "degrading", means = "codewords the receiver had to mend",
   limits = {
      { class = "degrading", above = 100000, per = 1, source = BER
           .. ": in its samples healthy links show 1e-9 and less, a bad one 2.5e-6; the rate, "
           .. "5e-7, is Taut's own",
        why = "one codeword in 400 needs mending" },
   },
   misleads = "hundreds a second are healthy: that is what the code is for",
   source = BER,
})
counter("hni_pcs_uncorrected_cw", "codewords", {
   class = "degrading", means = "codewords that could not be mended: sent again by the link",
   limits = {
      { class = "degrading", above = 10, per = 1, source = CORE
           .. " (a high rate is a sign of a poor link; the number is Taut's own)",
        why = "the link repeats itself all the time" },
      { class = "degrading", above = 120, per = HOUR, least = 10, source = BER
           .. ", which a healthy link stays below; the rate is Taut's own",
        why = "the bit error rate after correction is above 10^-12" },
   },
   misleads = "a link that comes up counts thousands",
   source = CORE,
})
for _, each in ipairs { { "rx", "receive" }, { "tx", "send" } } do
   local way, side = each[1], each[2]
   counter("hni_llr_" .. way .. "_replay_event", "replays", {
      side = side,
      class = "degrading", means = "the link had to send again",
      limits = {
         { class = "degrading", above = 10, per = 1, source = CORE
              .. " (link layer retry goes with a poor link; the number is Taut's own)",
           why = "bandwidth goes into repeating" },
      },
      misleads = "single ones are what link layer retry is for",
   })
   counter("hni_" .. way .. "_paused", "cycles", {
      side = side,
      class = "congestion", means = "time in which a traffic class had to pause",
      misleads = "flow control at work: tells of load, or of somebody slow to take",
      source = OMPI,
   })
end
for name, means in pairs {
   pct_spt_timeouts = "packets that were not answered in time",
   pct_sct_timeouts = "connections that were not closed in time",
} do
   counter(name, "timeouts", {
      side = "both",
      class = "degrading", means = means .. ": the retry handler sent them again",
      limits = {
         { class = "degrading", above = 1, per = 1, source = RETRY .. "; " .. OMPI
              .. "; the rate is Taut's own, as for InfiniBand's timeouts",
           why = "packets get lost on the way" },
      },
      misleads = "a flap of any link on the way, or a node that died, counts at all its partners",
      source = RETRY,
   })
end
for name, means in pairs {
   pct_no_tct_nacks = "refused for want of a connection entry",
   pct_no_trs_nacks = "refused for want of an entry for the result",
   pct_no_mst_nacks = "refused for want of an entry for the message",
   pct_retry_srb_requests = "sent again by the retry handler",
   pct_trs_rsp_nack_drops = "answers dropped by the target",
} do
   counter(name, "packets", { side = "both", class = "congestion", means = means,
      misleads = "many senders to one target; NICs wait and send again", source = RETRY })
end
counter("pcie_corr_err", "errors", {
   side = "both",
   class = "degrading", means = "errors on the host's side that were mended",
   limits = {
      { class = "degrading", above = 10, per = HOUR, least = 11, source = HEALTH
           .. " (more than 10 since the driver was loaded), taken as a rate",
        why = "contacts or lanes are bad" },
   },
   misleads = "refreshed once a minute at most",
})
counter("pcie_uncorr_err", "errors", {
   side = "both",
   class = "fatal", means = "errors on the host's side that were not mended",
   limits = { { class = "fatal", above = 0, source = HEALTH, why = "data was lost, or the link" } },
})

state("state", "text", { class = "fatal", good = { "up" }, left = 0, source = HEALTH,
   means = "state of the link" })
state("speed", "text", { before = true, means = "speed by its name: BS_200G, CK_400G",
   source = HEALTH })
state("link_restarts_1h", "restarts", {
   means = "restarts of the link in the last hour, by the node's clock",
   limits = { { class = "degrading", above = 4, source = HEALTH, why = "it flaps" } },
})
state("link_restarts_10h", "restarts", {
   means = "restarts of the link in the last ten hours; the driver remembers ten",
   limits = { { class = "degrading", above = 9, source = HEALTH, why = "it flaps" } },
})
state("link_restart_last", "seconds", { class = "harmless", before = true,
   means = "when the link was last restarted, in seconds since 1970; 0: never",
   misleads = "a reboot or a driver's reload clears it" })

return { title = "Slingshot adapter", list = list }
