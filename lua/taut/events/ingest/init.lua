-- SPDX-License-Identifier: GPL-2.0-or-later
--- Logs of other programs: lines that say something about a link or a node become observations.
--
-- A format is a module with `summary`, `line` (LPeg: what a line that means something begins
-- with; it fills a table and has a `time`), `words` (each such line has one of these) and
-- `observe(record, state)`.  Adding one is a file and a line.  Text comes in pieces, which are
-- searched for the words, so that lines which mean nothing cost next to nothing.
local lpeg = require "lpeg"
local clock = require "taut.events.ingest.clock"
local tables = require "taut.base.tables"

local ingest = {}

--- Formats by name.
ingest.formats = {
   kernel = require "taut.events.ingest.kernel",
   netwatch = require "taut.events.ingest.netwatch",
   opensm = require "taut.events.ingest.opensm",
}

local LINE_MAX = 65536 -- bytes of a line that is waited for
local NOTES = 20       -- lines that are named, of those that are wrong

--- Names of the formats, sorted.
function ingest.names()
   local names = tables.keys(ingest.formats)
   return names
end

local patterns = {}

-- One line → its record.
local function pattern_of(name)
   patterns[name] = patterns[name] or lpeg.Ct(ingest.formats[name].line)
   return patterns[name]
end

-- Iterate over the lines of a text that have one of the words: where each begins.
local function lines_with(text, words)
   local next_at, at = {}, 1
   return function()
      local first = math.huge
      for i, word in ipairs(words) do
         if not next_at[i] or next_at[i] < at then
            next_at[i] = text:find(word, at, true) or math.huge
         end
         first = math.min(first, next_at[i])
      end
      if first == math.huge then
         return nil
      end
      local start = at
      local before = text:sub(at, first):match "^.*\n()"
      if before then
         start = at + before - 1
      end
      at = (text:find("\n", first, true) or #text) + 1
      return start
   end
end

local Reader = {}
Reader.__index = Reader

local function count_lines(text, from, till)
   local n, at = 0, from
   while true do
      at = text:find("\n", at, true)
      if not at or at >= till then
         return n
      end
      n, at = n + 1, at + 1
   end
end

local function make_printable(text)
   return (text:gsub("[^\32-\126]", "?"):sub(1, 400))
end

-- Everything of a file becomes text that may be shown.
local function clean_strings(values)
   for k, v in pairs(values) do
      if type(v) == "string" then
         values[k] = make_printable(v)
      elseif type(v) == "table" then
         clean_strings(v)
      end
   end
   return values
end

local function take_record(self, text, start, record, fn)
   local time = clock.seconds(record.time, self.now)
   local o, err
   if time then
      o, err = self.format.observe(record, self.state)
   else
      err = "no time that there is"
   end
   if o then
      o.source, o.to = self.name, time
      o.untrusted = self.format.forgeable and not self.trusted or nil
      fn(clean_strings(o))
   elseif err then
      self.wrong = self.wrong + 1
      if #self.notes < NOTES then
         self.notes[#self.notes + 1] = { line = self.lines + count_lines(text, 1, start) + 1,
            text = make_printable(err) }
      end
   end
end

--- Take the next piece of the log.
-- @param piece any number of bytes
-- @param fn called with each observation
-- @return bytes of whole lines that were taken (the rest waits)
function Reader:feed(piece, fn)
   local text = self.rest .. piece
   local stop = #text
   while stop > 0 and text:byte(stop) ~= 10 do
      stop = stop - 1
   end
   self.rest = text:sub(stop + 1)
   if stop == 0 and #text > LINE_MAX then
      self.rest, self.skipping = "", true -- no such line means anything
      return #text
   elseif stop == 0 then
      return 0
   end
   local whole = text:sub(1, stop)
   if self.skipping then
      whole = (" "):rep((whole:find("\n", 1, true) or 1) - 1) ..
         whole:sub(whole:find("\n", 1, true) or 1)
      self.skipping = nil
   end
   local pattern = pattern_of(self.name)
   for start in lines_with(whole, self.format.words) do
      local record = lpeg.match(pattern, whole, start)
      if record then
         take_record(self, whole, start, record, fn)
      end
   end
   if self.counting then
      self.lines = self.lines + count_lines(whole, 1, stop + 1)
   end
   return stop
end

--- The last line may lack its end.
function Reader:finish(fn)
   if self.rest ~= "" then
      self:feed("\n", fn)
   end
end

--- Begin to read a log.
-- @param name of the format
-- @param options now (seconds), state (what an earlier reader of the same log left), counting
--   (number the lines, for messages), trusted (nobody but who is meant to can write to this log;
--   otherwise observations of a format that anybody may write are marked `untrusted`)
-- @return reader: feed(), finish(), state, notes { line, text }, wrong; or nil and what is known
function ingest.reader(name, options)
   local format = ingest.formats[name]
   if not format then
      return nil, ("log format '%s' is not known (known: %s)"):format(tostring(name),
         table.concat(ingest.names(), ", "))
   end
   return setmetatable({ name = name, format = format, rest = "", lines = 0, notes = {}, wrong = 0,
      now = options.now, state = options.state or {}, counting = options.counting,
      trusted = options.trusted }, Reader)
end

return ingest
