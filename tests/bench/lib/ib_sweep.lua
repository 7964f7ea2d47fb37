-- SPDX-License-Identifier: GPL-2.0-or-later
--- Times `taut fabric` against infiniband-diags on the simulator that runs, and compares what they
-- say: ib_sweep.lua ROUNDS STATE.
local figure = require "figure"
local json = require "taut.json"
local loop = require "taut.loop"
local stats = require "stats"

local rounds, state = tonumber(arg[1]), arg[2]
local taut = os.getenv "TAUT_PREFIX" .. "/bin/taut fabric --state " .. state .. " "

-- Name of infiniband-diags → the kernel's.
local COUNTERS = {
   SymbolErrorCounter = "symbol_error", LinkErrorRecoveryCounter = "link_error_recovery",
   LinkDownedCounter = "link_downed", PortRcvErrors = "port_rcv_errors",
   PortRcvRemotePhysicalErrors = "port_rcv_remote_physical_errors",
   PortRcvSwitchRelayErrors = "port_rcv_switch_relay_errors",
   PortXmitDiscards = "port_xmit_discards",
   PortXmitConstraintErrors = "port_xmit_constraint_errors",
   PortRcvConstraintErrors = "port_rcv_constraint_errors",
   LocalLinkIntegrityErrors = "local_link_integrity_errors",
   ExcessiveBufferOverrunErrors = "excessive_buffer_overrun_errors",
   VL15Dropped = "VL15_dropped", PortXmitWait = "port_xmit_wait",
}
local SPEEDS = { ["2.5"] = "SDR", ["5.0"] = "DDR", ["10.0"] = "QDR", ["14.0625"] = "FDR",
   ["25.78125"] = "EDR", ["53.125"] = "HDR" }

-- Wall time in ms, and all it printed.
local function run(command)
   local preload = os.getenv "BENCH_PRELOAD"
   local began = loop.now_ns()
   local p = assert(io.popen("LD_PRELOAD=" .. preload .. " " .. command .. " 2>/dev/null"))
   local out = p:read "a"
   p:close()
   return (loop.now_ns() - began) / 1e6, out
end

local function guid(text)
   return ("0x%016x"):format(tonumber(text))
end

---------------------------------------------------------------- what they say

local function errors_of_tool(out)
   local set = {}
   for g, port, list in out:gmatch "GUID (0x%x+) port (%d+): ([^\n]*)" do
      for name, value in list:gmatch "%[(%w+) == (%d+)" do
         if COUNTERS[name] then
            set[("%s/%s %s=%s"):format(guid(g), port, COUNTERS[name], value)] = true
         end
      end
   end
   return set
end

local function errors_of_taut(out)
   local set = {}
   for _, e in ipairs(json.decode(out).errors) do
      if e.value > 0 then
         set[("%s/%d %s=%d"):format(e.guid, e.port, e.counter, e.value)] = true
      end
   end
   return set
end

local function link_text(a, b, width, speed, link_state)
   if b < a then
      a, b = b, a
   end
   return ("%s %s %s %s %s"):format(a, b, width, speed, link_state)
end

-- iblinkinfo names a host by its port's GUID, which here is the node's and the port's number.
local function links_of_tool(out, node_of)
   local set, down = {}, {}
   for line in out:gmatch "[^\n]+" do
      local g, port, w, s, st, far, far_port = line:match(
         '^(0x%x+) ".-"%s+%d+%s+(%d+)%[..%] ==%(%s*(%d+X)%s+([%d.]+) Gbps%s+(%a+)/%s*%a+%)==>' ..
         '%s+(0x%x+)%s+%d+%s+(%d+)%[')
      local d, dp = line:match '^(0x%x+) ".-"%s+%d+%s+(%d+)%[..%] ==%(%s+Down/'
      if g then
         local a, b = node_of[guid(g)] or guid(g), node_of[guid(far)] or guid(far)
         set[link_text(a .. "/" .. port, b .. "/" .. far_port, w, SPEEDS[s] or s, st)] = true
      elseif d then
         down[guid(d) .. "/" .. dp] = true
      end
   end
   return set, down
end

local function links_of_taut(out)
   local set, down, node_of = {}, {}, {}
   local answer = json.decode(out)
   for _, l in ipairs(answer.links) do
      set[link_text(l.a.guid .. "/" .. l.a.port, l.b.guid .. "/" .. l.b.port, l.width, l.speed,
         l.a.state)] = true
      for _, e in ipairs { l.a, l.b } do
         if e.port_guid then
            node_of[e.port_guid] = e.guid
         end
      end
   end
   for _, e in ipairs(answer.unconnected) do
      down[e.guid .. "/" .. e.port] = true
   end
   return set, down, node_of
end

-- Entries that only one of two sets has.
local function differ(what, a, b)
   local n, size = 0, 0
   for x in pairs(a) do
      size = size + 1
      if not b[x] then
         n = n + 1
         print("only infiniband-diags: " .. x)
      end
   end
   for x in pairs(b) do
      if not a[x] then
         n = n + 1
         print("only taut: " .. x)
      end
   end
   print(("%-28s %6d, different %d"):format(what, size, n))
   return n
end

local function compare()
   local _, out = run(taut .. "links --json")
   local links, down, node_of = links_of_taut(out)
   _, out = run "iblinkinfo -l"
   local tool_links, tool_down = links_of_tool(out, node_of)
   local n = differ("links", tool_links, links) + differ("unconnected ports", tool_down, down)
   _, out = run(taut .. "errors --json")
   local errors = errors_of_taut(out)
   _, out = run "ibqueryerrors --skip-sl"
   return n + differ("counters not zero", errors_of_tool(out), errors)
end

---------------------------------------------------------------- how long it takes

local SIDES = {
   { name = "taut fabric check", command = taut .. "check" },
   { name = "taut fabric errors", command = taut .. "errors --all" },
   { name = "taut fabric links", command = taut .. "links --down" },
   { name = "ibqueryerrors", command = "ibqueryerrors --skip-sl" },
   { name = "iblinkinfo", command = "iblinkinfo -l" },
   { name = "ibqueryerrors -o 16", command = "ibqueryerrors --skip-sl -o 16" },
   { name = "iblinkinfo -o 16", command = "iblinkinfo -l -o 16" },
   { name = "taut-ib, the sweep alone", command = os.getenv "TAUT_PREFIX" ..
      "/libexec/taut/taut-ib <request" },
}

local function shuffled(list)
   local copy = table.move(list, 1, #list, 1, {})
   for i = #copy, 2, -1 do
      local k = math.random(i)
      copy[i], copy[k] = copy[k], copy[i]
   end
   return copy
end

local function measure()
   for _, side in ipairs(SIDES) do
      side.ms = {}
   end
   for _ = 1, rounds do
      for _, side in ipairs(shuffled(SIDES)) do
         side.ms[#side.ms + 1] = run(side.command)
      end
   end
   print(("\n%-26s %10s %10s %10s"):format("ms", "median", "least", "most"))
   for _, s in ipairs(SIDES) do
      print(("%-26s %10.1f %10.1f %10.1f"):format(s.name, stats.median(s.ms),
         stats.quantile(s.ms, 0), stats.quantile(s.ms, 1)))
   end
end

-- Median of the ratios within rounds, of one to the sum of others.
local function ratio(one, ...)
   local list = {}
   for i = 1, rounds do
      local sum = 0
      for _, other in ipairs { ... } do
         sum = sum + SIDES[other].ms[i]
      end
      list[i] = SIDES[one].ms[i] / sum
   end
   return stats.median(list)
end

local different = compare()
measure()
print ""
figure("ib_sweep_different", different, "findings", "<=", 0)
figure("ib_sweep", ratio(1, 4, 5), "of_ibqueryerrors_and_iblinkinfo", "<=", 1)
figure("ib_sweep_o16", ratio(1, 6, 7), "of_both_with_-o_16")
figure("ib_sweep_alone", ratio(8, 4, 5), "of_ibqueryerrors_and_iblinkinfo")
figure("ib_sweep_errors", ratio(2, 4), "of_ibqueryerrors")
figure("ib_sweep_links", ratio(3, 5), "of_iblinkinfo")
figure("ib_sweep_time", stats.median(SIDES[1].ms), "ms")
