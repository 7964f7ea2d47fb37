-- SPDX-License-Identifier: GPL-2.0-or-later
--- What the subcommands of `taut study` share: a machine to study, constants, options.
local calibrate = require "taut.study.calibrate"
local hostlist = require "taut.hostlist"
local jobs = require "taut.study.jobs"
local machine = require "taut.study.machine"
local pattern = require "taut.place.pattern"
local scene = require "taut.cli.topology.scene"
local sys = require "taut.sys"
local tables = require "taut.base.tables"
local terminal = require "taut.report"
local time = require "taut.study.time"
local whole = require "taut.cli.whole"
local work = require "taut.study.work"

local common = {}

---------------------------------------------------------------- values of options

--- A converter of lists: "5,10,15" by a converter of one.
function common.list(one)
   return function(text)
      local list = {}
      for word in (text .. ","):gmatch "([^,]*)," do
         local value, err = one(word)
         if value == nil then
            return nil, err
         end
         list[#list + 1] = value
      end
      return list
   end
end

--- Percent, 0 to 100, as a share.
function common.percent(text)
   local n = tonumber((text:gsub("%%$", "")))
   if not n or not (n >= 0 and n <= 100) then
      return nil, "expected percent from 0 to 100, got " .. text
   end
   return n / 100
end

--- Percent above 0.
function common.some_percent(text)
   local n, err = common.percent(text)
   if n == 0 then
      return nil, "expected percent above 0, got " .. text
   end
   return n, err
end

common.whole = whole

function common.above_zero(text)
   local n = tonumber(text)
   if n and n > 0 and n < math.huge then
      return n
   end
   return nil, "expected a number above 0, got " .. text
end

--- A motif's text; it is read when the machine is known.
function common.motif(text)
   local M, err = pattern.motif(text)
   return M and text, err
end

---------------------------------------------------------------- options

function common.setup(parser, default)
   parser:option("-p --pattern"):description("Motif or pattern, with parameters: " ..
      "halo3d26:points=30, sweep3d, lqcd, exchange:bytes=4Mi, … (" .. default .. ")")
      :argname "<pattern>":count "*":convert(common.motif)
   parser:option("--ntasks-per-node"):description "Ranks on a node (1)."
      :argname "<n>":convert(common.whole(1, 65536))
   parser:option("--calibrate"):description(
      "Fit the time model to points measured without failures: CSV of pattern, ranks, time_s.")
      :argname "<file>"
   parser:flag("--hottest"):description(
      "Ranks wait for the slowest route of all, not for the mean of their messages.")
   parser:option("--flops"):description "Operations a second of a rank, without --calibrate (1e10)."
      :argname "<n>":convert(common.above_zero)
   parser:option("--message-us"):description "Start of a message, without --calibrate (1)."
      :argname "<us>":convert(common.above_zero)
   common.setup_machine(parser)
end

function common.setup_machine(parser)
   parser:flag("--inside"):description(
      "Look inside the groups of a dragonfly with adaptive routing, too: by routers.")
   scene.setup(parser)
end

function common.setup_links(parser)
   parser:option("-k --kind"):description "Only links of this kind: global, X, uplink …"
      :argname "<kind>":count "*"
   parser:option("--seeds"):description "Random sets of links (8).":argname "<n>"
      :convert(common.whole(1, 1000))
end

local function parse_part(text)
   local k, n = text:match "^(%d+)/(%d+)$"
   k, n = math.tointeger(tonumber(k)), math.tointeger(tonumber(n))
   if not k or k < 1 or n < k or n > work.MOST_PARTS then
      return nil, "expected K/N, such as 2/16, got " .. text
   end
   return { k, n }
end

--- Options of studies that consist of many tasks.
function common.setup_work(parser)
   parser:option("--work"):description "Keep results in this folder, and go on with them."
      :argname "<folder>"
   parser:option("-j --jobs"):description "So many processes, with --work.":argname "<n>"
      :convert(common.whole(1, 256))
   parser:option("--part"):description "Only this part of the tasks, with --work: K/N."
      :argname "<part>":convert(parse_part)
   parser:option("--sbatch"):description(
      "Write a job array of so many parts, and its collecting job, into --work; do nothing else.")
      :argname "<parts>":convert(common.whole(1, work.MOST_PARTS))
end

function common.setup_nodes(parser)
   parser:option("-w --nodelist"):description "Only these nodes, in this order (all)."
      :argname "<list>"
end

---------------------------------------------------------------- tasks

-- Options that say how a study is done and what is written, not what it is; values they have.
local HOW = { ["--work"] = 1, ["--jobs"] = 1, ["-j"] = 1, ["--part"] = 1, ["--sbatch"] = 1 }
local OUTPUT = { ["--csv"] = 1, ["--svg"] = 1, ["--png"] = 1, ["--html"] = 1, ["--json"] = 0 }

-- The words of the command line that make the study what it is, and those of its output.
local function words_of(argv)
   local words, output, i = {}, {}, 1
   while i <= #argv do
      local name = argv[i]:match "^(%-%-[^=]+)=" or argv[i]:match "^%-j" or argv[i]
      local values = HOW[name] or OUTPUT[name] or 0
      local last, list = i, words
      if argv[i] == name then
         last = i + values
      end
      if OUTPUT[name] then
         list = output
      end
      if not HOW[name] then
         table.move(argv, i, math.min(last, #argv), #list + 1, list)
      end
      i = last + 1
   end
   return words, output
end

--- Do the tasks of a study: here, by several processes, a part of them, or write a job array.
-- @param tasks, solve as work.run has them
-- @return map key → result; or nil and the exit status, which has been explained
function common.solve(args, tasks, solve)
   if not args.work then
      if args.jobs or args.part or args.sbatch then
         terminal.complain "study: --jobs, --part and --sbatch want a folder: --work"
         return nil, 2
      end
      local results, err = work.run(tasks, solve, {})
      return results, not results and common.fail(err)
   end
   local words, output = words_of(args.argv)
   local argv = { sys.paths.program, table.unpack(words) }
   table.move({ "--work", args.work }, 1, 2, #argv + 1, argv)
   local done, err
   if args.sbatch then
      done, err = work.sbatch(args.work, argv, output, args.sbatch, tasks, words)
      if done then
         print(("%s: submits %d parts of %s, and the job that joins them"):format(done,
            math.min(args.sbatch, #tasks), terminal.count(#tasks, "task")))
         done = true
      end
   else
      done, err = work.run(tasks, solve, { dir = args.work, words = words, part = args.part,
         jobs = args.jobs, argv = argv })
   end
   if type(done) == "table" then
      return done
   elseif done then
      return nil, 0
   end
   return nil, common.fail(err)
end

--- Say what is wrong.
-- @return the exit status
function common.fail(err)
   terminal.complain("study: ", err)
   if err:find "^%-%-" then
      return 2 -- what an option says is wrong
   end
   return 1
end

---------------------------------------------------------------- the machine

-- Constants, and a sentence that says where they come from.
local function constants(opened, args)
   local start = { flops = args.flops or time.usual.flops, b = time.usual.b,
      message_s = time.usual.message_s }
   if args.message_us then
      start.message_s = args.message_us * 1e-6
   end
   if not args.calibrate then
      opened.waits = args.hottest
      return start, ("Assumed: %.3g flop/s a rank, %.3g us a message; --calibrate fits them.")
         :format(start.flops, start.message_s * 1e6)
   end
   local f, err = io.open(args.calibrate)
   if not f then
      return nil, err
   end
   local points
   points, err = calibrate.read(f:lines(), args.calibrate)
   f:close()
   local c
   if points then
      c, err = calibrate.fit(opened, points, start)
   end
   if not c then
      return nil, "calibration: " .. err
   end
   opened.waits = args.hottest or c.waits
   return c, ("Fitted to %d points of %s: %.3g flop/s a rank, %.3g us a message, b = %.3g, " ..
      "ranks wait for the %s; mean error %.1f %%, largest %.1f %%."):format(c.points,
      args.calibrate, c.flops, c.message_s * 1e6, c.b,
      terminal.text_if(c.waits, "slowest way", "mean of their messages"), c.error * 100,
      c.worst * 100)
end

--- Open a machine.
-- @return machine and what scene.one gives; or nil and what is wrong
function common.machine(args)
   local found, err = scene.one(args)
   local m
   if found then
      m, err = machine.new(found.topo, { inside = args.inside })
   end
   if m then
      return m, found
   end
   return nil, err
end

--- What is known to be slow or failed, of a scene: map component → share; nil where nothing is.
function common.known_left(found)
   if next(found.left) then
      return found.left
   end
   return nil
end

-- A list with something in it, as options have it; nil for an empty one and for none.
local function list_or_nil(list)
   return list and tables.unless_empty(list)
end

--- Open what is to be studied.
-- @return { machine, known = map component → share left, c = constants, notes, per_node, patterns,
--   path }, or nil and what is wrong
function common.open(args, default)
   local m, found = common.machine(args)
   if not m then
      return nil, found
   end
   m.threads = nil
   if args.part or args.jobs then
      m.threads = 1 -- others have their own parts
   end
   local c, note = constants(m, args)
   if not c then
      return nil, note
   end
   return { machine = m, known = common.known_left(found), c = c,
      notes = { ("%s: %d nodes, %d links; ways by %s."):format(found.path, #m.topo.nodes,
         #m.topo.components - m.topo.first_link + 1, m.level), note, found.note },
      per_node = args.ntasks_per_node or 1, patterns = list_or_nil(args.pattern) or { default },
      path = found.path }
end

--- Links that may fail, by --kind.
-- @return as Machine:links
function common.links(studied, args)
   return studied.machine:links(list_or_nil(args.kind))
end

--- Nodes of --nodelist; all without it.
-- @return array of node numbers, or nil and what is wrong
function common.nodes(studied, list)
   local nodes, seen = {}, {}
   if not list then
      for n = 1, #studied.machine.topo.nodes do
         nodes[n] = n
      end
      return nodes
   end
   local names, err = hostlist.expand(list, #studied.machine.topo.nodes + 1)
   if not names then
      return nil, "--nodelist: " .. err
   end
   for i, name in ipairs(names) do
      nodes[i] = studied.machine.topo.node_id[name]
      if not nodes[i] or seen[name] then
         return nil, ("--nodelist: %s '%s'"):format(terminal.text_if(seen[name], "twice",
            "no node"), name)
      end
      seen[name] = true
   end
   return nodes
end

--- One job on the nodes of --nodelist, the first `most` of all without it.
-- @return array of it; or nil and what is wrong
function common.one_job(studied, args, most)
   local nodes, err = common.nodes(studied, args.nodelist)
   if not nodes then
      return nil, err
   end
   nodes = table.move(nodes, 1, math.min(#nodes, most or #nodes), 1, {})
   return { jobs.on(studied.machine, nodes, studied.per_node) }
end

return common
