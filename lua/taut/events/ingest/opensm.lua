-- SPDX-License-Identifier: GPL-2.0-or-later
--- OpenSM's log: ports that left and came back, and what ports complained of themselves.
--
-- "Nov 20 15:41:06 788534 [F7AE96C0] 0x02 -> drop_mgr_remove_port: Removed port with GUID:0x… LID
-- range [5, 5] of node:n12"; recorded from OpenSM 3.3.23, notices also as older ones write them.
local lpeg = require "lpeg"
local clock = require "taut.events.ingest.clock"
local grammar = require "taut.topology.import.grammar"

local P, R, S, C, Cc, Cg = lpeg.P, lpeg.R, lpeg.S, lpeg.C, lpeg.Cc, lpeg.Cg

local opensm = { summary = "OpenSM's log: ports lost and found, urgent notices",
   words = { "Removed port with", "Discovered new port", "Reporting Urgent", "Reporting Generic",
      "rrors during", "ERRORS DURING" } }

local digit, hex = R "09", R("09", "af", "AF")
local number = C(digit * digit ^ -8) / tonumber
local name = Cg(C((1 - S "\r\n") ^ 1), "name")

local range = P " LID range [" * digit ^ 1 * "," * P " " ^ 0 * digit ^ 1 * "] of node:"
   * P " " ^ 0
local removed = P "Removed port with GUID:" * Cg(grammar.guid, "guid") * range * name
   * Cg(Cc "removed", "kind")
local discovered = P "Discovered new port with GUID:" * Cg(grammar.guid, "guid") * range * name
   * Cg(Cc "discovered", "kind")

local from = (P "switch ") ^ -1 * "LID " * digit ^ 1 * ", GUID " * Cg(grammar.guid, "guid")
   * (P "," ^ -1 * " port " * Cg(number, "port")) ^ -1
local notice = P 'Reporting Urgent Notice "' * Cg(C((1 - S '"\r\n') ^ 1), "notice") * '" from '
   * from * Cg(Cc "notice", "kind")

-- Before 3.3.22 or so: the GID's last 64 bits are the GUID.
local gid = P "GID:" * C((hex + ":") ^ 1)
local old = P "Reporting Generic Notice type:" * Cg(number, "type") * " num:" * Cg(number, "num")
   * " (" * Cg(C((1 - S ")\r\n") ^ 1), "notice") * ") from LID:" * digit ^ 1 * " "
   * Cg(gid, "gid") * Cg(Cc "notice", "kind")

local errors = (P "Errors during initialization" + "ERRORS DURING INITIALIZATION")
   * Cg(Cc "errors", "kind")

local head = digit ^ 1 * " [" * hex ^ 1 * "] 0x" * hex * hex * " -> "
local func = (R("az", "AZ", "09") + "_") ^ 1 * ": "

opensm.line = Cg(clock.syslog, "time")
   * (P " " * digit * digit * digit * digit * #P " ") ^ -1 * " " * head
   * func ^ -1 * (removed + discovered + notice + old + errors)

-- Traps 129 to 131 of the specification: the port itself says that its link is bad.
local URGENT = { "integrity", "overrun", "watchdog" }

-- The GUID in a GID: its last four groups.
local function find_guid_in_gid(text)
   local tail = text:match "::(.*)$" or text:match ":(%x*:%x*:%x*:%x*)$" or ""
   local groups = {}
   for group in tail:gmatch "%x+" do
      if #group <= 4 then
         groups[#groups + 1] = ("0"):rep(4 - #group) .. group
      end
   end
   if #groups > 4 then
      groups = table.move(groups, #groups - 3, #groups, 1, {})
   end
   local digits = table.concat(groups)
   if #groups > 0 then
      return "0x" .. ("0"):rep(16 - #digits) .. digits
   end
   return nil
end

local function observe_notice(record)
   local lower = record.notice:lower()
   for _, what in ipairs(URGENT) do
      if lower:find(what, 1, true) then
         local where = record.guid
         if record.port then
            where = where .. "/" .. record.port
         end
         return { what = "notice", class = "fatal",
            text = ("%s says: %s"):format(where, record.notice:sub(1, 80)) }
      end
   end
   return nil
end

--- One line's meaning; see netwatch.lua.
function opensm.observe(record)
   if record.kind == "errors" then
      return { what = "sm", class = "degrading", scope = "fabric", origin = "sm",
         text = "the subnet manager met errors when it set up the fabric" }
   end
   record.guid = record.guid or record.gid and find_guid_in_gid(record.gid)
   if not record.guid then
      return nil, "a GID without a GUID"
   end
   local o
   if record.kind == "notice" then
      o = observe_notice(record)
   else
      record.name = record.name:gsub("%s+$", "")
      local what = ("%s (%s)"):format(record.name:sub(1, 64), record.guid)
      if record.kind == "removed" then
         o = { what = "link", class = "fatal", left = 0, text = what .. " left the fabric" }
      else
         o = { what = "link", class = "harmless", left = 1,
            text = what .. " is back in the fabric" }
      end
   end
   if o then
      o.origin, o.guid = record.guid, record.guid
      o.at = { guid = record.guid, name = record.name, port = record.port }
   end
   return o
end

return opensm
