-- SPDX-License-Identifier: GPL-2.0-or-later
-- A strict reader of Prometheus' text format 0.0.4: what it does not know is an error.
-- Source: https://prometheus.io/docs/instrumenting/exposition_formats/
local promparse = {}

local TYPES = { counter = true, gauge = true, histogram = true, summary = true, untyped = true }

-- "name="value",…" → table and its canonical text; an error names the line.
local function labels_of(text, where)
  local labels, at = {}, 1
  while at <= #text do
    local name, from = text:match('^([a-zA-Z_][a-zA-Z0-9_]*)="()', at)
    assert(name, where .. "label name expected at: " .. text:sub(at))
    assert(not name:find "^__", where .. "reserved label " .. name)
    assert(labels[name] == nil, where .. "label twice: " .. name)
    local value, i = {}, from
    while true do
      local c = text:sub(i, i)
      assert(c ~= "" and c ~= "\n", where .. "value without an end")
      if c == '"' then
        break
      elseif c == "\\" then
        local e = text:sub(i + 1, i + 1)
        value[#value + 1] = assert(({ ["\\"] = "\\", n = "\n", ['"'] = '"' })[e],
          where .. "bad escape \\" .. e)
        i = i + 2
      else
        value[#value + 1] = c
        i = i + 1
      end
    end
    labels[name] = table.concat(value)
    at = i + 1
    if text:sub(at, at) == "," then
      at = at + 1
      assert(at <= #text, where .. "comma at the end")
    else
      assert(at > #text, where .. "comma expected at: " .. text:sub(at))
    end
  end
  return labels
end

local function number_of(text, where)
  local special = ({ ["+Inf"] = math.huge, ["-Inf"] = -math.huge, NaN = 0 / 0 })[text]
  if special then
    return special
  end
  assert(text:find "^-?%d+%.?%d*$" or text:find "^-?%d+%.?%d*[eE][+-]?%d+$",
    where .. "no number: " .. text)
  return tonumber(text)
end

local function key_of(name, labels)
  local parts = {}
  for k, v in pairs(labels) do
    parts[#parts + 1] = k .. "=" .. v
  end
  table.sort(parts)
  return name .. "{" .. table.concat(parts, ",") .. "}"
end

-- Text → map name → { type, help, samples = { { labels, value } } }; map "name{a=b}" → value.
function promparse.read(text)
  assert(utf8.len(text), "no UTF-8")
  assert(text:sub(-1) == "\n", "the last line has no end")
  assert(not text:find "\r", "carriage return")
  local families, values, current, n = {}, {}, nil, 0
  for line in text:gmatch "([^\n]*)\n" do
    n = n + 1
    local where = ("line %d: "):format(n)
    local word, name, rest = line:match "^# (%u+) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.*)$"
    if word == "HELP" then
      assert(not families[name], where .. name .. " begins again")
      assert(not rest:gsub("\\\\", ""):gsub("\\n", ""):find "\\", where .. "bad escape in HELP")
      current = { name = name, help = rest, samples = {} }
      families[name] = current
    elseif word == "TYPE" then
      assert(current and current.name == name, where .. "TYPE without its HELP before it")
      assert(not current.type and #current.samples == 0, where .. "TYPE twice or too late")
      assert(TYPES[rest], where .. "unknown type " .. rest)
      current.type = rest
      assert(rest ~= "counter" or name:find "_total$", where .. "counter without _total")
    else
      assert(line:sub(1, 1) ~= "#" and line ~= "", where .. "what is this: " .. line)
      local metric, tail = line:match "^([a-zA-Z_:][a-zA-Z0-9_:]*)(.*)$"
      local family = current and current.type == "histogram" and metric:gsub("_bucket$", "")
        :gsub("_sum$", ""):gsub("_count$", "") or metric
      assert(current and family == current.name and current.type,
        where .. "sample outside its family: " .. line)
      local inside, value = tail:match "^{(.*)} ([^ ]+)$"
      if not inside then
        inside, value = "", tail:match "^ ([^ ]+)$"
      end
      assert(value, where .. "no value: " .. line)
      local labels = labels_of(inside, where)
      local key = key_of(metric, labels)
      assert(values[key] == nil, where .. "sample twice: " .. key)
      values[key] = number_of(value, where)
      assert(current.type ~= "counter" or values[key] >= 0, where .. "counter below 0")
      current.samples[#current.samples + 1] = { labels = labels, value = values[key] }
    end
  end
  return families, values
end

return promparse
