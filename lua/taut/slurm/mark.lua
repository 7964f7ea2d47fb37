-- SPDX-License-Identifier: GPL-2.0-or-later
--- What Taut did to a job, as its AdminComment says it: `taut: comm=halo3d excluded=n[0-3]
-- switches=1@120 preferred=1 placed=1763653000:n[4-7]`.
--
-- etc/job_submit.lua writes it with the job; so the state of steering lives in Slurm, ends with the
-- job, and outlives every tautd.
local hostlist = require "taut.hostlist"

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
function mark.format(m)
   local parts = { "taut: comm=" .. m.comm }
   for _, name in ipairs(ORDER) do
      if m[name] then
         parts[#parts + 1] = ("%s=%s"):format(name, m[name])
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
      count = count + (set[name] and 0 or 1)
      set[name] = true
   end
   return set, count
end

--- Do two host lists name the same nodes?
function mark.same(a, b)
   local x, n = mark.names(a)
   local y, m = mark.names(b)
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
function mark.words(m)
   local list = {}
   if m.excluded then
      local _, count = mark.names(m.excluded)
      list[#list + 1] = ("%d nodes excluded"):format(count or 0)
   end
   if m.switches then
      list[#list + 1] = ("switches %s"):format(m.switches)
   end
   if m.preferred then
      list[#list + 1] = "cells preferred"
   end
   if m.placed then
      list[#list + 1] = "placed"
   elseif m.tried then
      list[#list + 1] = "placed in vain"
   end
   return #list > 0 and table.concat(list, ", ") or "nothing needed"
end

return mark
