-- SPDX-License-Identifier: GPL-2.0-or-later
--- What Taut did to a job, as its AdminComment says it: `taut: comm=halo3d excluded=n[0-3]
-- switches=1@120 preferred=1 placed=1763653000:n[4-7]`.
--
-- etc/job_submit.lua writes it with the job; so the state of steering lives in Slurm, ends with the
-- job, and outlives every tautd.
local hostlist = require "taut.hostlist"
local tables = require "taut.base.tables"

local mark = {}

local MOST = 1 << 20 -- names of one list
local ORDER = { "excluded", "switches", "preferred", "placed", "tried" }

--- @param text AdminComment
-- @return { comm, excluded = host list, switches, preferred, placed = "SECONDS:HOST LIST" and, out
--   of it, placed_at, placed_on; tried = seconds when it was taken back }, or nil where it is none
--   of ours
function mark.parse(text)
   local comm, rest = (text or ""):match "^taut: comm=(%S+)(.*)$"
   if not comm then
      return nil
   end
   local m = { comm = comm }
   for _, name in ipairs(ORDER) do
      m[name] = rest:match(" " .. name .. "=(%S+)")
   end
   local at, on = (m.placed or ""):match "^(%d+):(.+)$"
   m.placed_at, m.placed_on = tonumber(at), on
   return m
end

--- The text that parse() reads.
function mark.format(marked)
   local parts = { "taut: comm=" .. marked.comm }
   for _, name in ipairs(ORDER) do
      if marked[name] then
         parts[#parts + 1] = ("%s=%s"):format(name, marked[name])
      end
   end
   return table.concat(parts, " ")
end

--- Names of a host list as a set, and how many; an unreadable one is nil.
function mark.names(text)
   local list = hostlist.expand(text or "", MOST)
   if not list then
      return nil
   end
   local set, count = {}, 0
   for _, name in ipairs(list) do
      if not set[name] then
         count = count + 1
      end
      set[name] = true
   end
   return set, count
end

--- Do two host lists name the same nodes?
function mark.same(one, other)
   local x, n = mark.names(one)
   local y, m = mark.names(other)
   if not x or not y or n ~= m then
      return false
   end
   for name in pairs(x) do
      if not y[name] then
         return false
      end
   end
   return true
end

--- What was done, in words for a table.
function mark.words(marked)
   local list = {}
   if marked.excluded then
      local _, count = mark.names(marked.excluded)
      list[#list + 1] = ("%d nodes excluded"):format(count or 0)
   end
   if marked.switches then
      list[#list + 1] = ("switches %s"):format(marked.switches)
   end
   if marked.preferred then
      list[#list + 1] = "cells preferred"
   end
   if marked.placed then
      list[#list + 1] = "placed"
   elseif marked.tried then
      list[#list + 1] = "placed in vain"
   end
   return tables.unless_blank(table.concat(list, ", ")) or "nothing needed"
end

return mark
