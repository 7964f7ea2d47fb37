-- SPDX-License-Identifier: GPL-2.0-or-later
-- Readings of which only traffic grew are not taken apart: what is said of them is the same.
local json = require "taut.json"
local lu = require "luaunit"
local readings = require "taut.events.readings"

local tests = {}

local FIELDS = { -- of a random node, as its reader has them: always in one order
   { "netdev hsn0", "rx_bytes", "tx_bytes", "rx_errors", "rx_nohandler", "state", "speed_Mbps",
      "carrier_changes", "odd" },
   { "ib hsn0", "port_xmit_data", "port_rcv_data", "symbol_error", "link_downed",
      "port_rcv_switch_relay_errors", "port_xmit_wait", "state", "width", "t" },
   { "pcie hsn0", "lanes", "max_lanes", "speed_MTps", "max_speed_MTps" },
}
local TEXTS = { state = { "'up'", "'down'", "'ACTIVE'" }, width = { "'4X'", "'1X'" } }
local TOPS = { 0, 5, 1000, (1 << 16) - 1, (1 << 32) - 2, (1 << 32) - 1, 1 << 32, 1 << 40 }

local function random_value(name, was)
   local what = math.random(12)
   if TEXTS[name] then
      return was and what > 1 and was or TEXTS[name][math.random(#TEXTS[name])]
   elseif name == "t" then
      return ("%d.%09d"):format(math.random(1000), math.random(999999999))
   elseif not was or what == 1 then
      return TOPS[math.random(#TOPS)]
   end
   return what < 5 and (name:find "bytes" or name:find "data") and was + math.random(100000) or was
end

-- A node's next reading, mostly like the one before: what is rare happens in one of ten.
local function random_told(values)
   local lines = {}
   local is_calm = math.random(10) > 1
   for i, fields in ipairs(FIELDS) do
      if is_calm or math.random(4) > 1 then
         local words = { fields[1] }
         for k = 2, #fields do
            local key, name = i .. fields[k], fields[k]
            local was = values[key]
            if is_calm and was and not (name:find "bytes" or name:find "data" or name == "t") then
               words[k] = was
            elseif is_calm and math.type(was) == "integer" then
               words[k] = was + math.random(0, 1) * math.random(5000)
            else
               words[k] = random_value(name, was)
            end
            values[key] = words[k]
            words[k] = name .. "=" .. words[k]
         end
         lines[#lines + 1] = table.concat(words, " ")
      end
   end
   return table.concat(lines, "\n")
end

local function of_text(at, text)
   return { node = "n5", time = 1e9 + at, mono = 100 + at, host_boot = "h", boot = "b",
      purpose = "prolog", job = at, restart = 0, jobs = { at }, told = text, rails = { hsn0 = 1 },
      rail_count = 1 }
end

local function in_order(list)
   local texts = {}
   for _, o in ipairs(list) do
      o.counters = o.counters and json.decode(o.counters)
      texts[#texts + 1] = json.encode(o)
   end
   table.sort(texts)
   return texts
end

-- The same with the fields of each line in another order.
local function backwards(text)
   return (text:gsub("[^\n]+", function(line)
      local source, name, rest = line:match "^(%S+) (%S+) (.*)$"
      local words = {}
      for word in rest:gmatch "%S+" do
         table.insert(words, 1, word)
      end
      return ("%s %s %s"):format(source, name, table.concat(words, " "))
   end))
end

local function packed(state)
   local copy = readings.pack(state)
   copy.told = nil
   return copy
end

-- What is told apart at a glance is what looking at all of it says: readings whose fields come in
-- another order than before are looked at.
function tests.test_where_only_traffic_grew_nothing_else_is_lost()
   local seed = os.time()
   local quick, looked = 0, 0
   for round = seed, seed + 40 do
      math.randomseed(round)
      local values, fast, slow = {}, nil, nil
      for i = 1, 60 do
         local text = random_told(values)
         local now, other = of_text(i, text), of_text(i, i % 2 == 1 and backwards(text) or text)
         if fast then
            lu.assertEquals(in_order(readings.grown(fast, now)),
               in_order(readings.grown(slow, other)), round)
         end
         local by_fast, by_slow
         fast, by_fast = readings.take(fast, now)
         slow, by_slow = readings.take(slow, other)
         lu.assertEquals(in_order(by_fast), in_order(by_slow), round)
         lu.assertEquals(packed(fast), packed(slow), round)
         quick, looked = quick + (fast.behind and 1 or 0), looked + (slow.behind and 0 or 1)
      end
   end
   lu.assertTrue(quick > 200 and looked > 2000, ("%d, %d"):format(quick, looked))
end

return tests
