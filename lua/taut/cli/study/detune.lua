-- SPDX-License-Identifier: GPL-2.0-or-later
local common = require "taut.cli.study.common"
local detune = require "taut.study.detune"
local json = require "taut.json"
local mix = require "taut.cli.study.mix"
local pattern = require "taut.place.pattern"
local report = require "taut.cli.study.report"
local tables = require "taut.base.tables"
local terminal = require "taut.report"

local command = {
   summary = "What it costs where links or nodes' ports are slower: lanes, widths, PCIe.",
}

local DEFAULT = "exchange:bytes=4Mi"
local MOST_EXCHANGE = 256 -- ranks if no nodes are given

function command.setup(parser)
   common.setup(parser, DEFAULT)
   common.setup_nodes(parser)
   mix.setup(parser)
   parser:option("-k --kind"):description "Only links of this kind: global, X, uplink …"
      :argname "<kind>":count "*"
   parser:option("-l --links"):description "Percent of their speed (25,50,75,100)."
      :argname "<list>":convert(common.list(common.some_percent))
   parser:option("-i --injection"):description "Percent of full speed at which nodes send (100)."
      :argname "<list>":convert(common.list(common.some_percent))
   parser:option("-b --bytes"):description "Message sizes, for patterns that take bytes."
      :argname "<list>"
   parser:option("--measured"):description(
      "Fit how fast a host sends to a run: percent of the links' speed=times as long (25=3.42).")
      :argname "<point>":convert(function(text)
         local percent, ratio = text:match "^([%d.]+)%%?=([%d.]+)$"
         percent, ratio = tonumber(percent), tonumber(ratio)
         if not (percent and ratio and percent > 0 and percent < 100 and ratio >= 1) then
            return nil, "expected PERCENT=RATIO such as 25=3.42, got " .. text
         end
         return { percent / 100, ratio }
      end)
   common.setup_work(parser)
   report.setup(parser)
end

-- A pattern with another size of its messages; "": its own.
local function with_bytes(text, size)
   if size == "" then
      return text
   end
   local before = ":"
   if text:find ":" then
      before = terminal.text_if(not text:match ":bytes=[^,]*$", ",")
   end
   return text:gsub(",?bytes=[^,]*", ""):gsub(":,", ":") .. before .. "bytes=" .. size
end

local function patterns_of(studied, args)
   local list = {}
   for _, p in ipairs(studied.patterns) do
      for size in ((args.bytes or "") .. ","):gmatch "([^,]*)," do
         list[#list + 1] = with_bytes(p, size)
      end
   end
   return list
end

-- Shares with 1 among them, which the others are held against.
local function with_full(shares)
   local list, has = {}, false
   for i, v in ipairs(shares) do
      list[i], has = v, has or v == 1
   end
   if not has then
      list[#list + 1] = 1
   end
   table.sort(list)
   return list
end

local function report_of(studied, options, rows, note)
   local R = { title = "What slower links and injection would cost", notes = studied.notes,
      heads = { "MOTIF", ">INJECTION" }, rows = {}, csv = { heads = { "pattern", "links",
      "injection", "ratio" }, rows = {} }, curves = { x = "speed of the links, %",
      y = "times as long", series = {} }, footer = { "Time relative to full speed." } }
   R.footer[2] = tables.unless_blank(note)
   for _, share in ipairs(options.shares) do
      R.heads[#R.heads + 1] = (">LINKS %g%%"):format(share * 100)
   end
   local at = {}
   for _, r in ipairs(rows) do
      local key = r.pattern .. "|" .. r.inject
      local line = at[key]
      if not line then
         line = { r.pattern, ("%g%%"):format(r.inject * 100) }
         at[key], R.rows[#R.rows + 1] = line, line
         line.series = { points = {}, name = r.pattern }
         if r.inject < 1 then
            line.series.name = ("%s, inject %g%%"):format(r.pattern, r.inject * 100)
         end
         R.curves.series[#R.curves.series + 1] = line.series
      end
      line[#line + 1] = ("%.3f"):format(r.ratio)
      table.insert(line.series.points, { r.links * 100, r.ratio })
      R.csv.rows[#R.csv.rows + 1] = { r.pattern, r.links, r.inject, r.ratio }
   end
   R.data = { machine = studied.path, constants = studied.c,
      inject_Bps = studied.machine.inject_Bps,
      rows = json.array(rows) }
   return R
end

-- Fits the injection to the first pattern; a sentence, or nothing, or nil and what is wrong.
local function fit_injection(studied, options, args)
   if not args.measured then
      return ""
   end
   local M = pattern.motif(options.patterns[1])
   local both = setmetatable({ shares = { args.measured[1], 1 } }, { __index = options })
   local solved, err = detune.solve(studied.machine, M, options.list, both)
   local Bps
   if solved then
      Bps, err = detune.fit_inject(studied.machine, solved, args.measured[1], args.measured[2],
         studied.c)
   end
   if not Bps then
      return nil, err
   end
   studied.machine.inject_Bps = Bps
   return ("Injection fitted to %g times as long at %g%%: %s a node."):format(args.measured[2],
      args.measured[1] * 100, terminal.bandwidth(Bps))
end

-- All nodes are many for the default, an all-to-all.
local function jobs_as_usual(studied, args)
   local most = not args.nodelist and (not args.pattern or #args.pattern == 0) and MOST_EXCHANGE
   return common.one_job(studied, args, most or nil)
end

function command.run(args)
   local s, err = common.open(args, DEFAULT)
   local list, may, note
   if s then
      list, err = mix.jobs(s, args, jobs_as_usual)
   end
   if list then
      may, err = common.links(s, args)
   end
   local o = may and { patterns = patterns_of(s, args), links = may, per_node = s.per_node,
      known = s.known, shares = with_full(args.links or detune.shares),
      inject = args.injection or { 1 }, list = list }
   if o then
      note, err = fit_injection(s, o, args)
   end
   if not note then
      return common.fail(err)
   end
   local tasks = {}
   for i, text in ipairs(o.patterns) do
      tasks[i] = { key = text }
   end
   local results, status = common.solve(args, tasks, function(task)
      return detune.task(s.machine, task.key, o)
   end)
   if not results then
      return status
   end
   return report.give(report_of(s, o, detune.rows(s.machine, o, results, s.c), note), args)
end

return command
