-- SPDX-License-Identifier: GPL-2.0-or-later
--- `taut topology import`: what other programs know of a machine's wiring, as a topology of Taut.
local hostlist = require "taut.hostlist"
local import = require "taut.topology.import"
local output = require "taut.cli.output"
local recognise = require "taut.topology.import.recognise"
local report = require "taut.report"
local tables = require "taut.base.tables"
local write = require "taut.topology.import.write"

local command = {
   summary = "Make a topology file from the output of another program.",
   offline = true,
   has_json = false,
}

local UNITS = { [""] = 1, kB = 1e3, MB = 1e6, GB = 1e9 }

local function bandwidth(word)
   local number, unit = word:match "^([%d.]+)(%a*)$"
   local v = tonumber(number)
   if not v or v <= 0 or not UNITS[unit] then
      return nil, ("expected bytes per second such as 12.5GB, got '%s'"):format(word)
   end
   return v * UNITS[unit]
end

local function parse_further(word)
   local format, path = word:match "^([%w-]+):(.+)$"
   if not format then
      return nil, ("expected FORMAT:FILE, got '%s'"):format(word)
   end
   return { format = format, path = path }
end

function command.setup(parser)
   local lines = {}
   for _, f in ipairs(import.formats()) do
      local text = report.lines(f.summary, ("  %-14s "):format(f.name), (" "):rep(17))
      table.move(text, 1, #text, #lines + 1, lines)
   end
   parser:epilog("Formats (auto: by what the file has):\n" .. table.concat(lines, "\n"))
   parser:argument("format"):args(1)
   parser:argument("file"):description "The file; - for standard input; of LLDP several."
      :args "+"
   parser:option("--with"):description(
      "Another file of the same machine, which adds to the first."):argname "<format>:<file>"
      :count("*"):convert(parse_further)
   parser:option("--nodes"):description "The machine's nodes: a host list."
      :argname "<list>"
   parser:option("--topology"):description "Which one of a topology.yaml.":argname "<name>"
   parser:option("--capacity"):description "What a link carries, where the file does not say."
      :argname "<bytes/s>":convert(bandwidth)
   parser:option("--as"):description "Write a model where one fits, or always a graph."
      :choices { "model", "graph" }:default "model"
   parser:option("-o --output"):description "The file to write; standard output by default."
      :argname "<file>"
   parser:flag("-v --verbose"):description "All lines that were passed over, not one of a kind."
end

local function print_remark(what, ...)
   report.complain(what:format(...))
end

-- Notes that differ in names and numbers only are one line, and a count.
local function say_notes(wiring, is_verbose)
   local order, of = {}, {}
   for i, n in ipairs(wiring.notes) do
      local kind = i
      if not is_verbose then
         kind = n.text:gsub('%b""', "A"):gsub("%w*[%d/][%w/:.-]*", "N")
      end
      if not of[kind] then
         of[kind] = { first = n, count = 0 }
         order[#order + 1] = of[kind]
      end
      of[kind].count = of[kind].count + 1
   end
   for _, k in ipairs(order) do
      local n, more = k.first, ""
      if k.count > 1 then
         more = (" (and %s like it, --verbose)"):format(report.count(k.count - 1, "line"))
      end
      print_remark("%s:%d: %s%s", n.file or wiring.source, n.line, n.text, more)
   end
end

local function say_what_it_is(wiring, found, is_verbose)
   print_remark("%s: %s", wiring.source, recognise.words(found))
   for _, m in ipairs(found.misfits) do
      print_remark("does not fit: %s", m)
   end
   say_notes(wiring, is_verbose)
end

--- @return exit status
function command.run(args)
   local nodes, err
   if args.nodes then
      nodes, err = hostlist.expand(args.nodes)
      if not nodes then
         print_remark("--nodes: %s", err)
         return 2
      end
   end
   local w
   w, err = import.read(args.format, args.file, { with = args.with, nodes = nodes,
      topology = args.topology })
   if not w then
      print_remark("%s", err)
      if args.format == "auto" or tables.any(import.formats(), function(format)
         return format.name == args.format
      end) then
         return 1
      end
      return 2
   end
   local found = recognise.kind(w)
   say_what_it_is(w, found, args.verbose)
   if #w.nodes == 0 then
      print_remark("%s", import.lacks_nodes(w))
      return 1
   elseif #w.cables == 0 and #w.routers > 1 then
      print_remark("%s: no cable between %d routers, expected a file that has them", w.source,
         #w.routers)
      return 1
   end
   local text, kind, why = write.text(w, found, { as = args.as, capacity = args.capacity })
   if why then
      print_remark("%s: written as a graph: %s", w.source, why)
   elseif kind ~= "graph" and found.missing and #found.missing > 0 then
      print_remark("%s: written as a %s, of which %s down", w.source, kind,
         report.text_if(#found.missing == 1, "1 cable is", #found.missing .. " cables are"))
   end
   local ok
   ok, err = output.write(args.output, text)
   if not ok then
      print_remark("%s", err)
      return 1
   end
   return 0
end

return command
