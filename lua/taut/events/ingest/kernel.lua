-- SPDX-License-Identifier: GPL-2.0-or-later
--- The kernel's messages in syslog: links of hosts that went down and came up, and adapters whose
-- PCIe link is narrower than it could be.
--
-- "Nov 17 13:16:56 n5 kernel: [11314.65] ixgbe 0000:08:00.0 eth11: NIC Link is Down"
-- Time as of RFC 3164, or in full (2024-03-05T12:00:01+01:00).
local lpeg = require "lpeg"
local clock = require "taut.events.ingest.clock"
local grammar = require "taut.topology.import.grammar"

local P, R, S, C, Cc, Cg = lpeg.P, lpeg.R, lpeg.S, lpeg.C, lpeg.Cc, lpeg.Cg

local kernel = { summary = "kernel messages in syslog: links down and up, PCIe widths",
   forgeable = true, -- any user may: logger -t kernel
   words = { " Link ", " link ", "set_link_state", "CXI_EVENT_LINK_", "PCIe bandwidth" } }

-- Longer names first: a choice takes the first that fits.
local DRIVERS = { "mlx5_core", "mlx5_ib", "mlx4_core", "mlx4_en", "ixgbevf", "ixgbe", "i40e",
   "iavf", "ice", "igb", "igc", "e1000e", "e1000", "tg3", "bnx2x", "bnx2", "bnxt_en", "be2net",
   "cxgb4", "qede", "ena", "irdma", "hfi1" }

local digit, hex = R "09", R("09", "af", "AF")
local word = R("09", "az", "AZ") + S "_.-@"
local driver = P(false)
for _, name in ipairs(DRIVERS) do
   driver = driver + P(name) * -word
end

local pci = hex * hex * hex * hex * hex ^ -4 * ":" * hex * hex * ":" * hex * hex * "." * digit
local interface = Cg(C(R("az", "AZ") * word ^ -30) * -word, "interface")
local number = C(digit ^ 1 * (P "." * digit ^ 1) ^ -1) / tonumber
local blank = P " " ^ 1

local link = grammar.anycase "link" * (P " is") ^ -1 * blank
local down = grammar.anycase "down" * Cg(Cc "down", "change")
local up = grammar.anycase "up" * Cg(Cc "up", "change")
local speed = blank * (P "at ") ^ -1 * Cg(number, "speed") * blank ^ -1
   * Cg(C(P "Gb" + "Mb"), "unit")

-- "ixgbe 0000:08:00.0 eth0: NIC Link is Down", "mlx4_en: eth1: Link Up",
-- "igb 0000:01:00.0 eth0: igb: eth0 NIC Link is Down",
-- "tg3 0000:02:00.0 eth0: Link is up at 1000 Mbps"
local net = driver * (blank * Cg(C(pci), "pci")) ^ -1 * (P ":") ^ -1 * blank * interface
   * (P ":") ^ -1
   * (blank * driver * ": " * (R("az", "AZ") * word ^ -30)) ^ -1 * blank
   * (P "NIC ") ^ -1 * link * (up * -word * speed ^ -1 + down * -word)

-- "hfi1 0000:81:00.0: hfi1_0: set_link_state: current ACTIVE, new OFFLINE"
local omnipath = P "hfi1 " * Cg(C(pci), "pci") * ": " * interface * ": set_link_state: current "
   * Cg(C(R "AZ" ^ 1), "was") * ", new " * Cg(C(R "AZ" ^ 1), "becomes")

-- "cxi_core 0000:c3:00.0: cxi3[hsn3] CXI_EVENT_LINK_DOWN", with a colon behind the names, too, and
-- of cxi_ss1: HPE, Slingshot Host Software documentation
local slingshot = (P "cxi_core" + "cxi_ss1") * blank * Cg(C(pci), "pci") * ": cxi" * digit ^ 1
   * "[" * interface * "]" * P ":" ^ -1 * " CXI_EVENT_LINK_"
   * (P "DOWN" * Cg(Cc "down", "change") + P "UP" * Cg(Cc "up", "change")) * -word

-- "mlx5_core 0000:01:00.0: 63.008 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x8
-- link at 0000:00:03.1 (capable of 126.016 Gb/s with 8.0 GT/s PCIe x16 link)"
local function match_pcie_link(name)
   return Cg(C(digit ^ 1 * (P "." * digit ^ 1) ^ -1 * " GT/s" * (P " PCIe") ^ -1 * " x"
      * digit ^ 1), name) * " link"
end
local pcie = driver * blank * Cg(C(pci), "pci") * ": " * Cg(number, "have")
   * " Gb/s available PCIe bandwidth, limited by " * match_pcie_link "have_words" * " at "
   * (1 - S " \n") ^ 1 * " (capable of " * Cg(number, "best") * " Gb/s with "
   * match_pcie_link "best_words"

local stamp = P "[" * P " " ^ 0 * digit ^ 1 * "." * digit ^ 1 * "] "

kernel.line = Cg(clock.syslog + clock.iso, "time") * P " " * Cg(C((word + S ":") ^ 1), "host")
   * P " kernel: " * stamp ^ -1 * (net + omnipath + slingshot + pcie)

local OPA_UP = { ACTIVE = true, ARMED = true, INIT = true, LINKUP = true }

local function find_link_change(record)
   if record.becomes then
      if record.becomes == "ACTIVE" then
         return "up"
      end
      if OPA_UP[record.was] and not OPA_UP[record.becomes] then
         return "down"
      end
      return nil
   end
   return record.change
end

local function observe_pcie(record)
   local left = record.best > 0 and math.min(1, record.have / record.best)
   if not left or record.have <= 0 then
      return nil, "a PCIe bandwidth of 0"
   end
   return { what = "width", source_kind = "pcie", class = "degrading", left = left,
      have = record.have_words, best = record.best_words, have_Bps = record.have * 1e9 / 8,
      text = ("PCIe link of %s %s is %s, it could be %s"):format(record.host, record.pci,
         record.have_words, record.best_words) }
end

local function observe_link(record)
   local change = find_link_change(record)
   if not change then
      return change
   end
   local o = { what = "link", class = "harmless", left = 1,
      text = ("link of %s/%s is %s"):format(record.host, record.interface, change) }
   if change == "down" then
      o.class, o.left = "fatal", 0
   end
   if record.speed then
      o.text = ("%s at %g %s/s"):format(o.text, record.speed, record.unit)
   end
   return o
end

--- One line's meaning; see netwatch.lua.
function kernel.observe(record)
   local o, err
   if record.have_words then
      o, err = observe_pcie(record)
   else
      o = observe_link(record)
   end
   if o then
      o.scope, o.origin = "node", record.interface or record.pci
      o.port = record.host .. "/" .. (record.interface or record.pci)
      -- Omni-Path's driver names its device: no interface of the kernel's
      o.at = { host = record.host }
      if not record.becomes then
         o.at.interface = record.interface
      end
      if not record.interface then
         o.at.pci = record.pci
      end
   end
   return o, err
end

return kernel
