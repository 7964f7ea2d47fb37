-- SPDX-License-Identifier: GPL-2.0-or-later
-- An administrator who looks at tautd twice a second: watch.lua SOCKET PID FILE, as long as FILE is
-- there.  Each time a line "ms rss_mb lag named": how long `taut status` took, tautd's resident
-- memory, for how many seconds rows wait for the database, and who status names as
-- attackers, comma between them.
local json = require "taut.json"
local sys = require "taut.sys"

local function rss_mb(pid)
   local f = assert(io.open(("/proc/%s/status"):format(pid)))
   local kb = f:read("a"):match "VmRSS:%s*(%d+)"
   f:close()
   return tonumber(kb) / 1024
end

local function named(d)
   local set, list = {}, {}
   for _, rows in ipairs { d.floods, d.claims, d.endpoints } do
      for _, r in ipairs(rows) do
         set[r.node or r.from] = true
      end
   end
   for name in pairs(set) do
      list[#list + 1] = name
   end
   table.sort(list)
   return #list > 0 and table.concat(list, ",") or "-"
end

io.stdout:setvbuf "line"
while sys.stat(arg[3]) do
   local t = sys.now()
   local text = assert(sys.request(arg[1], '{"cmd":"status","args":{}}', 60000))
   local ms = (sys.now() - t) * 1e3
   local d = assert(json.decode(text)).data
   print(("%.0f %.1f %.1f %s"):format(ms, rss_mb(arg[2]), d.store.lag, named(d)))
   os.execute "sleep 0.5"
end
