-- SPDX-License-Identifier: GPL-2.0-or-later
--- The `policy` section of taut.lua: defaults, and what each setting may be.  Its numbers that
-- belong to the model are in taut/config/model.lua.

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
      mode = { nil, c.mode },
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
      local out, hint = {}, nil
      for name, given in pairs(v) do
         if type(name) ~= "string" or type(given) ~= "table" then
            return nil, what
         end
         out[name] = {}
         for key, value in pairs(given) do
            local rule = rules[key]
            local got, expected, old
            if rule then
               got, expected, old = rule[2](value)
            end
            hint = hint or old and ("%s.%s"):format(name, old)
            if got == nil then
               return nil, ("%s.%s: %s"):format(name, tostring(key), expected or what)
            end
            out[name][key] = got
         end
      end
      return out, nil, hint
   end
end

--- @param c the checks of taut/config/values.lua
-- @return name → { default, check }
local function rules(c)
   return {
      router_link = { "avoid", c.one_of("avoid", "drain", "drain_exposed") },
      cap_share = { 0.01, c.number(0, 1) },
      cap_nodes = { nil, c.number(0, 1e6, true) },
      per_hour = { 3, c.or_off(c.number(0, 1e6, true)) },
      at_cap = { "stop", c.one_of("stop", "wait") },
      partitions = { {}, partitions(c) },
      capability_hold = { true, c.flag },
      resume_after_clean = { false, c.or_off(c.number(1, 1000, true)) },
      measure = { false, site_function },
      hold = { false, site_function },
      on_event = { false, command },
      on_event_user = { "nobody", c.text },
   }
end

return rules
