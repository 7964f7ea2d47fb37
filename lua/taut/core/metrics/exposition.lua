-- SPDX-License-Identifier: GPL-2.0-or-later
--- Prometheus' text format, version 0.0.4: families of samples as text.
-- Source: https://prometheus.io/docs/instrumenting/exposition_formats/
local tables = require "taut.base.tables"

local exposition = {}

exposition.TYPE = "text/plain; version=0.0.4; charset=utf-8"
exposition.SAMPLES_MAX = 256 -- of one family; more are left out, and counted

local function escape_help(text)
   return (text:gsub("[\\\n]", { ["\\"] = "\\\\", ["\n"] = "\\n" }))
end

-- Label values are UTF-8; what is not, node and partition names of a strange site, is made so.
local function escape_value(text)
   text = tostring(text)
   if not utf8.len(text) then
      text = text:gsub("[\128-\255]", "?")
   end
   return (text:gsub('[\\\n"]', { ["\\"] = "\\\\", ["\n"] = "\\n", ['"'] = '\\"' }))
end

local function format_number(value)
   if value ~= value then
      return "NaN"
   elseif value == math.huge or value == -math.huge then
      if value > 0 then
         return "+Inf"
      end
      return "-Inf"
   elseif math.type(value) == "integer" then
      return tostring(value)
   end
   if value % 1 == 0 and math.abs(value) < 1e15 then
      return ("%d"):format(value)
   end
   return ("%.15g"):format(value)
end

local function format_labels(labels, everywhere)
   local all, names, parts = tables.copy(everywhere or {}), {}, {}
   for name, value in pairs(labels or {}) do
      all[name] = value
   end
   for name in pairs(all) do
      names[#names + 1] = name
   end
   table.sort(names)
   for i, name in ipairs(names) do
      parts[i] = ('%s="%s"'):format(name, escape_value(all[name]))
   end
   if #parts > 0 then
      return "{" .. table.concat(parts, ",") .. "}"
   end
   return ""
end

--- The text of a family.
-- @param name of the metric: [a-zA-Z_:][a-zA-Z0-9_:]*
-- @param kind "counter", "gauge" or "histogram", whose samples have a `suffix`
-- @param help one sentence
-- @param samples array of { value, labels = { name = value } or nil }; a number alone is one
--   without labels; samples with the same labels are the caller's mistake
-- @param everywhere labels that each sample has besides, or nil
function exposition.family(name, kind, help, samples, everywhere)
   if type(samples) == "number" then
      samples = { { samples } }
   end
   local lines = { ("# HELP %s %s"):format(name, escape_help(help)), ("# TYPE %s %s"):format(name,
      kind) }
   for i = 1, math.min(#samples, exposition.SAMPLES_MAX) do
      local s = samples[i]
      lines[#lines + 1] = ("%s%s%s %s"):format(name, s.suffix or "", format_labels(s.labels,
         everywhere), format_number(s[1]))
   end
   return table.concat(lines, "\n") .. "\n", math.max(0, #samples - exposition.SAMPLES_MAX)
end

return exposition
