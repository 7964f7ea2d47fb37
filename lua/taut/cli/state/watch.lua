-- SPDX-License-Identifier: GPL-2.0-or-later
--- `taut watch`: `taut status` again and again, on one screen.
local ask = require "taut.base.ask"
local loop = require "taut.loop"
local report = require "taut.report"
local status = require "taut.cli.state.status"
local sys = require "taut.sys"
local tables = require "taut.base.tables"

local watch = { summary = "taut status, live.", has_json = false }

local TIMEOUT_MS = 5000
local OPEN, CLOSE = "\27[?1049h\27[?25l", "\27[?25h\27[?1049l" -- a screen of its own, no cursor
local HOME, REST, DOWN = "\27[H", "\27[K", "\27[J"

function watch.setup(parser)
   parser:option("-n --interval"):description "Seconds between two looks (5)."
      :argname "<seconds>":default "5":convert(function(text)
         return tables.within(tonumber(text), 1, 3600),
            ("--interval: expected seconds from 1 to 3600, got %s"):format(text)
      end)
   parser:option("--times"):description "Look so often, then end.":argname "<n>"
      :convert(function(text)
         return tables.within(math.tointeger(tonumber(text)), 1, math.huge),
            ("--times: expected a whole number from 1 on, got %s"):format(text)
      end)
end

-- The lines that fn prints.
local function lines_of(fn, ...)
   local lines, plain = {}, print
   rawset(_G, "print", function(text)
      for line in (tostring(text or "") .. "\n"):gmatch "([^\n]*)\n" do
         lines[#lines + 1] = line
      end
   end)
   local ok, err = pcall(fn, ...)
   rawset(_G, "print", plain)
   if ok then
      return lines
   end
   return { tostring(err) }
end

-- Where a look stands against the one before.
local function head_lines(args, answer, before)
   local text = ("%s  tautd at %s"):format(os.date "%H:%M:%S", ask.where(args))
   if before then
      text = ("%s; since the last look %d jobs, %d tests, %d low"):format(text,
         answer.jobs_started - before.jobs_started, answer.tests.good + answer.tests.low
         + answer.tests.void -
         before.tests.good - before.tests.low - before.tests.void,
            answer.tests.low - before.tests.low)
   end
   return text
end

local function take_look(args, before)
   local s, err, unanswered = ask.request(args, "status", {}, TIMEOUT_MS)
   if not s and unanswered then
      return nil, { os.date "%H:%M:%S", ask.unanswered(args, err) }
   elseif not s then
      return nil, { os.date "%H:%M:%S", err }
   end
   s = ask.plain(s)
   local lines = lines_of(status.show, s)
   table.insert(lines, 1, head_lines(args, s, before))
   table.insert(lines, 2, "")
   return s, lines
end

-- As much as fits; what does not is said.
local function draw_lines(lines)
   local rows = sys.rows()
   local out = { HOME }
   local most = #lines
   if most > rows then
      most = rows - 1
   end
   for i = 1, most do
      out[#out + 1] = report.cut(lines[i]) .. REST .. report.text_if(i < rows, "\n")
   end
   if most < #lines then
      out[#out + 1] = ("… %d lines more: taut status"):format(#lines - most) .. REST
   end
   out[#out + 1] = DOWN
   return sys.put(table.concat(out))
end

-- Without a terminal: one after the other.
local function print_lines(lines)
   return sys.put(table.concat(lines, "\n") .. "\n\n")
end

local function show_each(args, show)
   local s, times = nil, 0
   local code = 0
   local function next_turn()
      local now, lines = take_look(args, s)
      s, code = now or s, tables.one_if(not now)
      times = times + 1
      if not show(lines) or times == args.times then
         return loop.stop()
      end
      loop.timer(math.floor(args.interval * 1000), next_turn)
   end
   for _, name in ipairs { "INT", "TERM", "HUP" } do
      loop.signal(name, loop.stop)
   end
   loop.timer(0, next_turn)
   loop.run()
   return code
end

function watch.run(args)
   if not sys.isatty(1) then
      return show_each(args, print_lines)
   end
   sys.put(OPEN)
   local ok, code = pcall(show_each, args, draw_lines)
   sys.put(CLOSE)
   if not ok then
      error(code, 0)
   end
   return code
end

return watch
