-- SPDX-License-Identifier: GPL-2.0-or-later
--- The `policy` section of taut.lua: defaults, and what each setting may be.  Its numbers that
-- belong to the model are in taut/config/model.lua.

local ON_EVENT_MAX = 64 -- arguments

local function whole_number(value)
   return type(value) == "number" and value % 1 == 0
end

-- { "/path/of/program", "argument", … } or false
local function check_command(value)
   if value == false then
      return false
   end
   local what = 'a list { "/path/of/the/program", "argument", … } of at most 64 texts, or false'
   if type(value) ~= "table" or #value == 0 or #value > ON_EVENT_MAX or type(value[1]) ~= "string"
      or value[1]:sub(1, 1) ~= "/" then
      return nil, what
   end
   local n = 0
   for key, word in pairs(value) do
      n = n + 1
      if not whole_number(key) or type(word) ~= "string" or word:find "\0" then
         return nil, what
      end
   end
   if n == #value then
      return value
   end
   return nil, what
end

local function site_function(value)
   if value == false or type(value) == "function" then
      return value
   end
   return nil, "a function, or false"
end

-- Settings that a partition may have for itself.
local function partition_rules(checks)
   return {
      mode = { nil, checks.mode },
      cap_share = { nil, checks.number(0, 1) },
      cap_nodes = { nil, checks.number(0, 1e6, true) },
      per_hour = { nil, checks.or_off(checks.number(0, 1e6, true)) },
      capability_hold = { nil, checks.flag },
   }
end

-- { NAME = { cap_nodes = 2, … }, … }
local function partitions(checks)
   local rules = partition_rules(checks)
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

--- @param checks the checks of taut/config/values.lua
-- @return name → { default, check }
local function setting_rules(checks)
   return {
      router_link = { "avoid", checks.one_of("avoid", "drain", "drain_exposed") },
      cap_share = { 0.01, checks.number(0, 1) },
      cap_nodes = { nil, checks.number(0, 1e6, true) },
      per_hour = { 3, checks.or_off(checks.number(0, 1e6, true)) },
      at_cap = { "stop", checks.one_of("stop", "wait") },
      partitions = { {}, partitions(checks) },
      capability_hold = { true, checks.flag },
      resume_after_clean = { false, checks.or_off(checks.number(1, 1000, true)) },
      measure = { false, site_function },
      hold = { false, site_function },
      on_event = { false, check_command },
      on_event_user = { "nobody", checks.text },
   }
end

return setting_rules
