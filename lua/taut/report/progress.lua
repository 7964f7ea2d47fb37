-- SPDX-License-Identifier: GPL-2.0-or-later
--- Progress of a long run, on standard error: a bar on a terminal, lines otherwise.
local loop = require "taut.loop"
local report = require "taut.report"
local sys = require "taut.sys"

local progress = {}
local Progress = {}
Progress.__index = Progress

local LINE_S = 5  -- lines are at least so far apart

--- @param what name of the run, before each line
-- @param how "bar", "lines", "none" or nil for what suits standard error
-- @param unit what is counted (default "phases")
function progress.new(what, how, unit)
   how = how or report.text_if(sys.isatty(2), "bar", "lines")
   return setmetatable({ what = what, how = how, unit = unit or "phases", began = loop.time(),
      said = 0, wide = 0 }, Progress)
end

--- Take the bar away, so that a line can be printed.
function Progress:clear()
   if self.wide > 0 then
      io.stderr:write("\r", (" "):rep(self.wide), "\r")
      self.wide = 0
   end
end

--- A line about the run, whatever is shown.
function Progress:say(text)
   self:clear()
   io.stderr:write("taut: ", self.what, ": ", text, "\n")
end

local function draw_bar(self, done, all)
   local room = math.max(10, math.min(sys.columns(), 100) - 40)
   local part = math.floor(room * done / math.max(1, all))
   local text = ("%s [%s%s] %d of %d %s, %d s"):format(self.what, ("#"):rep(part),
      ("."):rep(room - part), done, all, self.unit, math.floor(loop.time() - self.began))
   io.stderr:write("\r", text)
   self.wide = #text
end

local function progress_line(self, done, all)
   local now = loop.time()
   if now - self.said >= LINE_S or done == all then
      self.said = now
      self:say(("%d of %d %s, %d s"):format(done, all, self.unit, math.floor(now - self.began)))
   end
end

--- The report `begin`: who is there.
function Progress:begin(message)
   if #(message.missing or {}) > 0 then
      self:say(("%s did not come"):format(report.some(message.missing, 8)))
   end
   if #(message.unknown or {}) > 0 then
      self:say(("not in the topology: %s"):format(report.some(message.unknown, 8)))
   end
   if self.how ~= "none" and message.phases then
      self:say(("%d nodes, %d phases"):format(message.nodes, message.phases))
   end
end

--- The report `round`: how far it is, who has gone.
function Progress:round(message)
   for _, g in ipairs(message.gone or {}) do
      self:say(("%s is left out: %s"):format(g.node, g.why))
   end
   if message.done and self.how == "bar" then
      draw_bar(self, message.done, message.phases)
   elseif message.done and self.how == "lines" then
      progress_line(self, message.done, message.phases)
   end
end

function Progress:done()
   self:clear()
end

return progress
