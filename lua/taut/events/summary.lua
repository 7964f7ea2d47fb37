-- SPDX-License-Identifier: GPL-2.0-or-later
--- What the counters of one job's nodes say together: bytes, errors, stalls, the worst node.
local json = require "taut.json"
local meaning = require "taut.events.meaning"
local tables = require "taut.base.tables"

local summary = {}

local function add_counter(node, source, name, amount)
   local kind, times, side = meaning.kind(source, name)
   if kind == "bytes" then
      local field = "received"
      if side == "send" then
         field = "sent"
      end
      node.bytes[source] = node.bytes[source] or { sent = 0, received = 0 }
      node.bytes[source][field] = node.bytes[source][field] + amount * times
   elseif kind == "error" and amount > 0 then
      node.worst[name] = (node.worst[name] or 0) + amount
   elseif kind == "stall" then
      node.stalls[name] = (node.stalls[name] or 0) + amount
   elseif name == "task_cpu_us" and amount > 0 then
      node.cpu_s = (node.cpu_s or 0) + amount / 1e6
   elseif name == "tcp_out" then
      node.segments = (node.segments or 0) + amount
   end
end

-- One interface is often seen by several sources, each with its own count of the same bytes: the
-- largest is the whole.
local function find_most_bytes(node)
   local best = { sent = 0, received = 0 }
   for _, b in pairs(node.bytes) do
      if b.sent + b.received > best.sent + best.received then
         best = b
      end
   end
   return best
end

-- The same rows by node: array of { node, seconds, bytes (by source), stalls, worst, notes, sent,
-- received }.
local function sum_per_node(rows)
   local nodes, list = {}, {}
   for _, g in ipairs(rows) do
      local node = nodes[g.node]
      if not node then
         node = { node = g.node, bytes = {}, stalls = {}, worst = {}, notes = {},
            seconds = 0 }
         nodes[g.node], list[#list + 1] = node, node
      end
      node.seconds = math.max(node.seconds, g.seconds or 0)
      if g.note then
         node.notes[#node.notes + 1] = ("%s %s"):format(g.interface, g.note)
      end
      for name, amount in pairs(tables.or_empty(g.counters)) do
         if type(amount) == "number" then
            add_counter(node, g.source, name, amount)
         end
      end
   end
   for _, node in ipairs(list) do
      local bytes = find_most_bytes(node)
      node.sent, node.received = bytes.sent, bytes.received
   end
   return list
end

-- Counters that are part of another one: what both count is counted once.
local WITHIN = { carrier_changes = "carrier_down_count", rx_crc_errors = "rx_errors" }

local function count_errors(node)
   local n = 0
   for name, v in pairs(node.worst) do
      if not node.worst[WITHIN[name] or ""] then
         n = n + v
      end
   end
   return n
end

local function add_amounts(into, from)
   for name, v in pairs(from) do
      into[name] = (into[name] or 0) + v
   end
end

--- @param rows of the store's `growth_of_job`, with `counters` decoded
-- @return { nodes, seconds, sent, received, errors, by_error, stalls (name → growth), worst
--   { node, errors, name, amount } or nil, segments = that TCP sent or nil, notes { node, note } },
--   nil where there are no rows; and an array of { node, seconds, sent, received, cpu_s = processor
--   time of its tasks, or nil }
function summary.of(rows)
   local nodes = sum_per_node(rows)
   if #nodes == 0 then
      return nil, nodes
   end
   local s = { nodes = 0, seconds = 0, sent = 0, received = 0, errors = 0, by_error = {},
      stalls = {}, notes = json.array {} }
   for _, node in ipairs(nodes) do
      node.errors = count_errors(node)
      s.nodes, s.seconds = s.nodes + 1, math.max(s.seconds, node.seconds)
      s.sent, s.received = s.sent + node.sent, s.received + node.received
      s.errors = s.errors + node.errors
      if node.segments then
         s.segments = (s.segments or 0) + node.segments
      end
      add_amounts(s.by_error, node.worst)
      add_amounts(s.stalls, node.stalls)
      if node.errors > 0 and (not s.worst or node.errors > s.worst.errors) then
         s.worst = { node = node.node, errors = node.errors }
         for name, v in pairs(node.worst) do
            if not s.worst.amount or v > s.worst.amount
               or v == s.worst.amount and name < s.worst.name then
               s.worst.name, s.worst.amount = name, v
            end
         end
      end
      for _, note in ipairs(node.notes) do
         s.notes[#s.notes + 1] = { node = node.node, note = note }
      end
   end
   return s, nodes
end

--- Rows of the store's `growth_of_job`, of which the counters are decoded here, and what those of
-- the job's last start say together.
-- @return as summary.of, with `line`
function summary.of_job(rows)
   local restart, last = 0, {}
   for _, g in ipairs(rows) do
      g.counters = json.decode(g.counters)
      restart = math.max(restart, g.restart or 0)
   end
   for _, g in ipairs(rows) do
      if (g.restart or 0) == restart then
         last[#last + 1] = g
      end
   end
   local s = summary.of(last)
   if s then
      s.line = summary.line(s)
   end
   return s
end

local function format_bytes(bytes)
   local units = { { 1e15, "PB" }, { 1e12, "TB" }, { 1e9, "GB" }, { 1e6, "MB" }, { 1e3, "kB" } }
   for _, u in ipairs(units) do
      if bytes >= u[1] then
         return ("%.3g %s"):format(bytes / u[1], u[2])
      end
   end
   return ("%d B"):format(bytes)
end

--- One line, for a job's AdminComment: ASCII, at most 255 bytes.
function summary.line(counted)
   local parts = { ("taut: %d nodes, sent %s, received %s"):format(counted.nodes,
      format_bytes(counted.sent), format_bytes(counted.received)) }
   if counted.errors == 0 then
      parts[#parts + 1] = "no errors"
   else
      parts[#parts + 1] = ("%d errors"):format(counted.errors)
   end
   if counted.worst then
      parts[#parts + 1] = ("worst %s (%s +%d)"):format(counted.worst.node, counted.worst.name,
         counted.worst.amount)
   end
   local stalls = {}
   for name, v in pairs(counted.stalls) do
      if v > 0 then
         stalls[#stalls + 1] = ("%s +%d"):format(name, v)
      end
   end
   table.sort(stalls)
   if #stalls > 0 then
      parts[#parts + 1] = "stalls " .. table.concat(stalls, " ", 1, math.min(3, #stalls))
   end
   if #counted.notes > 0 then
      parts[#parts + 1] = ("%d nodes with gaps"):format(#counted.notes)
   end
   return (table.concat(parts, ", "):gsub("[^\32-\126]", "?"):gsub("|", "/"):sub(1, 255))
end

return summary
