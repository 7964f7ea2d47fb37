-- SPDX-License-Identifier: GPL-2.0-or-later
--- Read a whole log once, for what it says; tautd follows logs by itself (`events.follow`).
local ask = require "taut.base.ask"
local formats = require "taut.events.ingest"
local json = require "taut.json"
local report = require "taut.report"
local sys = require "taut.sys"
local tables = require "taut.base.tables"

local ingest = { summary = "Read events about links from a log (netwatch, kernel, opensm)." }

local PIECE = 1 << 20
local PER_REQUEST = 500

function ingest.setup(parser)
   parser:argument("format"):description("One of " .. table.concat(formats.names(), ", ") .. ".")
   parser:argument("file"):description "The log; - is standard input."
   parser:flag("--record"):description "Hand the events to tautd, which keeps them."
   parser:flag("--trusted"):description("Only kernels can write to this log: its lines count as " ..
      "evidence (see events.follow in taut.lua(5)).")
end

-- Read the log; add(o) for each observation.
-- @return reader, or nil and why not
local function read_log(args, add)
   local reader, err = formats.reader(args.format, { now = sys.now(), counting = true,
      trusted = args.trusted })
   if not reader then
      return nil, err
   end
   local f = io.stdin
   if args.file ~= "-" then
      f, err = io.open(args.file, "rb")
      if not f then
         return nil, err
      end
   end
   while true do
      local piece
      piece, err = f:read(PIECE)
      if not piece then
         break
      end
      reader:feed(piece, add)
   end
   reader:finish(add)
   if args.file ~= "-" then
      f:close()
   end
   if err then
      return nil, ("%s: %s"):format(args.file, err)
   end
   return reader
end

-- In pieces that a request line can hold.
local function record_list(args, list)
   for first = 1, #list, PER_REQUEST do
      local piece = table.move(list, first, math.min(first + PER_REQUEST - 1, #list), 1,
         json.array {})
      local reply = ask.tautd(ask.at(args), "record", { events = piece })
      if not reply then
         return false
      end
   end
   return true
end

local ROW = "%-19s  %-10s  %4s  "

-- As it comes: a log may be longer than memory.  A terminal gets all of a text, in its columns,
-- another program a line for each.
local function print_row(observation, is_first)
   if is_first then
      io.stdout:write(ROW:format("TIME", "CLASS", "LEFT"), "WHAT\n")
   end
   local head = ROW:format(os.date("%Y-%m-%d %H:%M:%S", math.floor(observation.to)),
      observation.class, report.percent(observation.left))
   if sys.isatty(1) then
      report.wrap(observation.text, head, (" "):rep(#head))
   else
      io.stdout:write(head, observation.text, "\n")
   end
end

local function complain_of_lines(args, reader)
   for _, note in ipairs(reader.notes) do
      io.stderr:write(("%s:%d: %s\n"):format(args.file, note.line, note.text))
   end
   if reader.wrong > #reader.notes then
      io.stderr:write(("%s: and %d lines more like these\n"):format(args.file,
         reader.wrong - #reader.notes))
   end
end

function ingest.run(args)
   local list, count = json.array {}, 0
   local reader, err = read_log(args, function(observation)
      count = count + 1
      if args.record or args.json then
         list[count] = observation
      end
      if not args.json then
         print_row(observation, count == 1)
      end
   end)
   if not reader then
      report.complain("ingest: ", err)
      if tables.has(formats.names(), args.format) then
         return 1
      end
      return 2
   end
   complain_of_lines(args, reader)
   if args.record and not record_list(args, list) then
      return 1
   end
   if args.json then
      print(json.encode({ observations = list, lines = reader.lines, wrong = reader.wrong }, 2))
   else
      print(("%s, %s"):format(report.count(reader.lines, "line"), report.count(count, "event")))
   end
   return 0
end

return ingest
