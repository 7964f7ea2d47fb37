-- SPDX-License-Identifier: GPL-2.0-or-later
--- What tests saw of every component, what classes of unknown capacity showed, and which nodes were
-- heard in which boot: so much that it is kept in pieces, and so that a restart resumes.
--
-- Each event adds a small row about what it tested ("c+N"), in the batch of its tests.  Now and
-- then all is written, a slice at a time ("c1", "c2" …), while no check is under way; then the rows
-- from before are dropped.  Rows are numbered in the order in which they are true (`seq`): whoever
-- reads them takes them in that order.
--
-- First letter of a row's `part`: c components (taut.keep), l learned (learned_capacity.lua), n
-- nodes: their slices are written where one booted, and stay.
local json = require "taut.json"
local keep = require "taut.keep"
local loop = require "taut.loop"
local sys = require "taut.sys"
local tables = require "taut.base.tables"

local snapshot = {}
local Snapshot = {}
Snapshot.__index = Snapshot

local SLICE = 1024          -- components, or nodes, of a row
local EVERY_S = 600         -- between two times that all is written
local BYTES_MOST = 4194304  -- of rows about events, then all is written sooner
local PAUSE_MS = 20         -- between two slices
local BUSY_MS, BUSY_MOST = 100, 100 -- so long, so often a slice waits for checks to end

local function add_row(self, part, data)
   self.seq = self.seq + 1
   self.journal:add("seen", { part = part, seq = self.seq, data = data })
   return #data
end

---------------------------------------------------------------- an event

local function add_new(self, letter, data)
   self.bytes = self.bytes + add_row(self, ("%s+%d"):format(letter, self.seq + 1), data)
end

-- While the database cannot be written, or was not read, nothing piles up here: all is written when
-- it can be.
local function is_kept(self)
   self.is_news = true
   self.is_behind = self.is_behind or self.journal:state().error ~= nil
   return not self.is_behind
end

--- Components were tested, or forgotten.
-- @param set of them
function Snapshot:components(set)
   if next(set) and is_kept(self) then
      local list = tables.keys(set)
      add_new(self, "c", self.diagnosis:pack_seen(self.coverage, list))
      local shown = self.diagnosis:pack_shown(list)
      if shown then
         add_new(self, "l", json.encode(shown))
      end
   end
end

-- "NAME BOOT HEARD NAME …": boot id or "-", heard in seconds or 0.
-- @param list of nodes, or a first and a last
local function pack_nodes(self, list, last)
   local out, n = {}, 0
   local names, boots, heard = self.site.topo.nodes, self.findings.boots, self.cluster.last_heard
   for i = last and list or 1, last or #list do
      local node = last and i or list[i]
      local name, boot = names[node], boots[node]
      local at = heard[name]
      if boot or at then
         out[n + 1], out[n + 2], out[n + 3] = name, boot or "-", math.floor(at or 0)
         n = n + 3
      end
   end
   return table.concat(out, " ")
end

--- Nodes were heard in a boot that is new.
-- @param list of nodes
function Snapshot:booted(list)
   for _, n in ipairs(list) do
      self.booted_in[(n - 1) // SLICE + 1] = true
   end
   if #list > 0 and is_kept(self) then
      add_new(self, "n", pack_nodes(self, list))
   end
end

---------------------------------------------------------------- all of it

-- One slice of components.
local function write_components(self, slice, to)
   local from = (slice - 1) * SLICE + 1
   add_row(self, "c" .. slice, self.diagnosis:pack_seen(self.coverage, from, to))
   local shown = self.diagnosis:pack_shown(from, to)
   if shown then
      add_row(self, "l" .. slice, json.encode(shown))
   end
end

-- One slice of nodes; `heard` alone is not a reason to write it.
local function write_nodes(self, slice, is_last)
   local first, nodes = (slice - 1) * SLICE + 1, #self.site.topo.nodes
   if self.booted_in[slice] or is_last then
      self.booted_in[slice] = nil
      add_row(self, "n" .. slice, pack_nodes(self, first, math.min(first + SLICE - 1, nodes)))
   end
   return slice * SLICE < nodes
end

--- Write one slice; after begin().  Those of the nodes come last.
-- @param is_last tautd ends: nodes, too, in which nothing booted
-- @return whether there are more
function Snapshot:write_slice(slice, is_last)
   local components = #self.site.topo.components
   local own = (components + SLICE - 1) // SLICE
   if slice <= own then
      write_components(self, slice, math.min(slice * SLICE, components))
      return true
   end
   return write_nodes(self, slice - own, is_last)
end

--- Begin to write all.
-- @return number of the first row of it: all below are of before
function Snapshot:begin()
   self.is_news, self.is_behind, self.bytes = false, false, 0
   return self.seq + 1
end

--- All at once, before tautd ends.
function Snapshot:all()
   local first, i = self:begin(), 1
   while self:write_slice(i, true) do
      i = i + 1
   end
   self.journal:add("seen_before", { seq = first })
end

-- A slice a turn, while no plan or test runs.
local function write_some(self, first, slice, waited)
   if self.is_stopped then
      return
   elseif self.is_busy() and waited < BUSY_MOST then
      loop.timer(BUSY_MS, function() write_some(self, first, slice, waited + 1) end)
   elseif self:write_slice(slice) then
      loop.timer(PAUSE_MS, function() write_some(self, first, slice + 1, 0) end)
   else
      self.is_writing = false
      self.journal:add("seen_before", { seq = first })
   end
end

local function is_due(self)
   local since = loop.now_ns() // 1000000000 - self.at_s
   return self.is_news and self.is_read and not self.is_writing and not self.journal:state().error
      and (since >= EVERY_S or self.bytes >= BYTES_MOST or self.is_behind)
end

--- Look whether all is to be written, every now and then.
function Snapshot:look()
   if is_due(self) then
      self.is_writing, self.at_s = true, loop.now_ns() // 1000000000
      write_some(self, self:begin(), 1, 0)
   end
end

--- No more turns of its own.
function Snapshot:stop()
   self.is_stopped = true
end

---------------------------------------------------------------- back

-- One node that was kept.
local function take_node(self, name, boot, heard)
   local n = self.site.topo.node_id[name]
   if n and heard then
      heard = math.max(heard, self.cluster.last_heard[name] or 0)
      self.cluster.last_heard[name] = nil
      if heard > 0 then
         self.cluster.last_heard[name] = heard
      end
      if boot ~= "-" then
         self.findings.boots[n] = boot
      end
   end
end

local function take_nodes(self, data, old)
   for name, boot, heard in data:gmatch "(%S+) (%S+) (%S+)" do
      if old then
         name = old.node(name) or name
      end
      take_node(self, name, boot, tonumber(heard))
   end
end

--- Take what the store kept.
-- @param rows of the table `seen`
-- @param old { map = component then → now, node = function(name then) → name now } where they are
--   of another machine, or nil
-- @return function(c): was anything kept of component c?
function Snapshot:restore(rows, old)
   table.sort(rows, function(one, other) return one.seq < other.seq end)
   local kept = keep.new(#self.site.topo.components)
   local take = {
      c = function(data)
         local n, err = kept:read(data, old and old.map)
         if n then
            return nil
         end
         return err
      end,
      l = function(data) return self.diagnosis:restore_shown(json.decode(data), old) end,
      n = function(data) return take_nodes(self, data, old) end,
   }
   for _, row in ipairs(rows) do
      local fn = take[row.part:sub(1, 1)]
      local why = fn and fn(row.data)
      if why then
         sys.log("warning", ("database: seen: %s: %s"):format(row.part, why))
      end
   end
   self.seq = math.max(self.seq, tables.or_empty(rows[#rows]).seq or 0)
   self.diagnosis:restore_seen(kept, self.coverage)
   self.is_read, self.is_behind = true, self.is_news
   return function(component) return kept:has(component) end
end

--- What the store kept is of another machine, and forgotten.
-- @param rows of the table `seen`
function Snapshot:forget(rows)
   for _, row in ipairs(rows) do
      self.seq = math.max(self.seq, row.seq)
   end
   self.journal:add("forget_known", {})
   self.is_read, self.is_behind = true, self.is_news
end

--- @param options { site, journal, diagnosis, coverage, cluster, findings, is_busy = function(): is
--   a check under way? }
function snapshot.new(options)
   options.seq, options.bytes, options.is_news, options.at_s = 0, 0, false,
      loop.now_ns() // 1000000000
   options.is_behind = true -- until it was read
   options.booted_in = {} -- set of slices of nodes
   return setmetatable(options, Snapshot)
end

return snapshot
