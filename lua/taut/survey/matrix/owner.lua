-- SPDX-License-Identifier: GPL-2.0-or-later
--- What the owner of a matrix makes of the reports: progress, words and files, for each rail.
local data = require "taut.survey.matrix.data"
local files = require "taut.survey.matrix.files"
local loop = require "taut.loop"
local progress = require "taut.report.progress"
local sentences = require "taut.survey.matrix.sentences"
local tables = require "taut.base.tables"
local words = require "taut.report"

local owner = {
   -- Exit status besides 0, as of `taut audit`: not run, slow pairs found, not all measured.
   FAILED = 1, SLOW = 3, INCOMPLETE = 4,
}
local Owner = {}
Owner.__index = Owner

local function complain_of_file(wrong)
   for _, text in ipairs(wrong) do
      io.stderr:write("taut: matrix: ", text, "\n")
   end
   return #wrong == 0
end

---------------------------------------------------------------- what comes in

--- The report `begin`: an empty matrix for each rail.
function Owner:begin(report)
   local l = report.layout
   self.job = report.job
   self.bar:begin(report)
   for i, one in ipairs(tables.or_empty(l and (l.rails or { l }))) do
      local m = data.new(one.names, { good = one.good, mode = self.mode, apart = one.apart })
      self.list[i] = { m = m, layout = one, seen = 0, pairs = m:pairs_of(), rail = one.rail,
         want = files.of_rail(self.want, l.rails and one.rail) }
      self.of[one.rail or 1] = self.list[i]
      if (one.apart or 0) > 0 then
         self.bar:say(("%d pairs are left out: no link joins the parts that their nodes are in")
            :format(one.apart))
      end
   end
end

-- Pairs are what a matrix counts its progress in; a second look at some is said once.
function Owner:round(report)
   local results = report.results or {}
   local one = self.of[tables.or_empty(results[1]).rail or 1]
   if one and one.seen == one.pairs and not one.again then
      one.again = true
      self.bar:say(("measuring again, alone, what was slow or discarded%s"):format(
         words.text_with(" on rail ", one.rail)))
   end
   for _, row in ipairs(results) do
      local m = one and one.m
      local i, j = m and m.index[row.from], m and m.index[row.to]
      if i and j then
         if not m.class[m:key(i, j)] then
            one.seen = one.seen + 1
         end
         m:set(i, j, row)
      end
   end
   local seen, all = self:seen()
   self.bar:round { gone = report.gone, done = not (one and one.again) and seen, phases = all }
   self:save()
end

--- How many pairs were measured, and of how many.
function Owner:seen()
   local seen, all = 0, 0
   for _, one in ipairs(self.list) do
      seen, all = seen + one.seen, all + one.pairs
   end
   return seen, all
end

--- What step.hold calls.
function Owner:handlers()
   return {
      begin = function(report) self:begin(report) end,
      wait = function(report) self.bar:say(report.why) end,
      round = function(report) self:round(report) end,
      stopping = function() self.bar:say "stopping: what runs is finished first" end,
   }
end

---------------------------------------------------------------- what goes out

local function subtitle_of(self, one, summary, why)
   local m = one.m
   return ("%d nodes%s, %d of %d pairs, %s%s; median %s; %s, job %s"):format(m.n,
      words.text_with(", rail ", one.rail), summary.measured, summary.pairs, words.text_if(
      one.layout.steps, "in classic steps, pairs share links", "each alone on its route"),
      words.text_if(why, " (ended early)"), sentences.median(m, summary),
      os.date "%Y-%m-%d %H:%M",
      self.job or "?")
end

-- What the files and words of one rail are made of.
local function outcome_of(self, one, found, why)
   local m = one.m
   if m.mode == "latency" then
      m:judge_latency(one.layout.latency_times)
   end
   for _, f in ipairs(found.findings) do
      f.text = sentences.finding(m, f)
   end
   local s = m:summary()
   return { findings = found.findings, unnamed = found.unnamed, why = why, summary = s,
      rail = one.rail, levels = one.layout.levels, subtitle = subtitle_of(self, one, s, why),
      info = { job = self.job and tostring(self.job), time = os.time(), steps = one.layout.steps,
         test_ms = one.layout.ms, rail = one.rail, ended_early = why } }
end

local function nothing_found(matrix)
   return { findings = {}, unnamed = matrix:summary().low }
end

-- Ctrl-C in srun is a SIGKILL here a moment later: the results are in the files before.  Seldom
-- enough that it takes a twentieth of the time at most.
function Owner:save()
   local began = loop.time()
   if began < (self.save_at or 0) then
      return
   end
   for _, one in ipairs(self.list) do
      if one.seen > 0 then
         complain_of_file(files.write(one.m, outcome_of(self, one, nothing_found(one.m),
            "not finished"), files.without_stdout(one.want)))
      end
   end
   local now = loop.time()
   self.save_at = now + 20 * (now - began)
end

-- One rail's words and files.  Returns true, or false where a file could not be written.
local function finish_one(self, one, found, why)
   local o = outcome_of(self, one, found or nothing_found(one.m), why)
   if not files.uses_stdout(self.want) then
      sentences.print(one.m, o)
   end
   one.summary = o.summary
   return complain_of_file(files.write(one.m, o, one.want))
end

local function exit_status(self)
   local incomplete = false
   for _, one in ipairs(self.list) do
      local s = one.summary
      if s.low > 0 then
         return owner.SLOW
      end
      incomplete = incomplete or s.measured < s.pairs or s.void > 0
   end
   if incomplete then
      return owner.INCOMPLETE
   end
   return 0
end

-- What was found of the k-th rail; of a machine with one fabric that is all of it.
local function found_of(found, index)
   if found.rails and found.rails[index] then
      return found.rails[index]
   end
   return found.findings and found
end

--- All has come: say and write it.
-- @param last the report `end`, or nil
-- @param err why there is none
-- @return exit status
function Owner:finish(last, err)
   self.bar:done()
   if not self.list[1] or self:seen() == 0 then
      io.stderr:write("taut: matrix: ", err or last.why or "nothing was measured", "\n")
      return owner.FAILED
   end
   local found, written = tables.or_empty(last).found or {}, true
   for i, one in ipairs(self.list) do
      written = finish_one(self, one, found_of(found, i), err or last.why) and written
   end
   if err or not written then
      return owner.FAILED
   end
   return exit_status(self)
end

---------------------------------------------------------------- beginning

--- The files that are wanted.
function owner.want(args)
   return { csv = args.csv, json = args.json_file, svg = args.svg, png = args.png }
end

--- @param args of the command line
-- @return nil where a file cannot be written, which was said: before the nodes are kept busy for
--   nothing
function owner.new(args)
   local want = owner.want(args)
   if not complain_of_file(files.check(want)) then
      return nil
   end
   return setmetatable({ bar = progress.new("matrix", args.progress, "pairs"), want = want,
      mode = words.text_if(args.latency, "latency", "stream"), list = {}, of = {} }, Owner)
end

return owner
