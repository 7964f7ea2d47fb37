-- SPDX-License-Identifier: GPL-2.0-or-later
--- The `policy` section of taut.lua: defaults, and what each setting may be.

local ON_EVENT_MAX = 64 -- arguments

local function whole(v)
   return type(v) == "number" and v % 1 == 0
end

-- { "/path/of/program", "argument", … } or false
local function command(v)
   if v == false then
      return false
   end
   local what = 'a list { "/path/of/the/program", "argument", … } of at most 64 texts, or false'
   if type(v) ~= "table" or #v == 0 or #v > ON_EVENT_MAX or type(v[1]) ~= "string"
      or v[1]:sub(1, 1) ~= "/" then
      return nil, what
   end
   local n = 0
   for key, word in pairs(v) do
      n = n + 1
      if not whole(key) or type(word) ~= "string" or word:find "\0" then
         return nil, what
      end
   end
   return n == #v and v or nil, what
end

local function site_function(v)
   if v == false or type(v) == "function" then
      return v
   end
   return nil, "a function, or false"
end

-- Settings that a partition may have for itself.
local function partition_rules(c)
   return {
      mode = { nil, c.one_of("observe", "enable") },
      cap_share = { nil, c.number(0, 1) },
      cap_nodes = { nil, c.number(0, 1e6, true) },
      per_hour = { nil, c.or_off(c.number(0, 1e6, true)) },
      capability_hold = { nil, c.flag },
   }
end

-- { NAME = { cap_nodes = 2, … }, … }
local function partitions(c)
   local rules = partition_rules(c)
   local what = "a table of tables: { PARTITION = { mode =, cap_share =, cap_nodes =, " ..
      "per_hour =, capability_hold = }, … }"
   return function(v)
      if type(v) ~= "table" then
         return nil, what
      end
      local out = {}
      for name, given in pairs(v) do
         if type(name) ~= "string" or type(given) ~= "table" then
            return nil, what
         end
         out[name] = {}
         for key, value in pairs(given) do
            local rule = rules[key]
            local got, expected
            if rule then
               got, expected = rule[2](value)
            end
            if got == nil then
               return nil, ("%s.%s: %s"):format(name, tostring(key), expected or what)
            end
            out[name][key] = got
         end
      end
      return out
   end
end

--- @param c the checks of config.lua: number, one_of, flag, text, or_off
-- @return name → { default, check }
local function rules(c)
   return {
      router_link = { "avoid", c.one_of("avoid", "drain", "drain_exposed") },
      nodes_per_component = { 4, c.number(1, 1000, true) },
      drain_left = { 0.75, c.number(0, 1) },
      cap_share = { 0.01, c.number(0, 1) },
      cap_nodes = { nil, c.number(0, 1e6, true) },
      per_hour = { 3, c.or_off(c.number(0, 1e6, true)) },
      at_cap = { "stop", c.one_of("stop", "wait") },
      partitions = { {}, partitions(c) },
      capability_hold = { true, c.flag },
      stale_s = { 300, c.number(1, 86400) },
      probation_h = { 24, c.number(0, 1e4) },
      release_after_clean = { false, c.or_off(c.number(1, 1000, true)) },
      flapping = { 3, c.or_off(c.number(2, 1000, true)) },
      flapping_days = { 14, c.number(0.001, 365) },
      breaker_verdicts = { 20, c.or_off(c.number(1, 1e6, true)) },
      breaker_h = { 1, c.number(0.001, 1000) },
      measure = { false, site_function },
      hold = { false, site_function },
      on_event = { false, command },
      on_event_user = { "nobody", c.text },
   }
end

return rules
