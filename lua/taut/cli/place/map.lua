-- SPDX-License-Identifier: GPL-2.0-or-later
--- `taut map`: which rank goes on which node.
local files = require "taut.place.rankmap.files"
local hostlist = require "taut.hostlist"
local json = require "taut.json"
local output = require "taut.cli.output"
local pattern = require "taut.place.pattern"
local rankmap = require "taut.place.rankmap"
local report = require "taut.report"
local scene = require "taut.cli.topology.scene"
local common = require "taut.cli.topology.common"
local whole = require "taut.cli.whole"

local map = { summary = "The rank order in which a job's communication takes least time." }

local MOST_RANKS = 1 << 17

function map.setup(parser)
   parser:argument("list"):description "The job's nodes, as a host list."
   parser:option("--pattern"):description(
      "Its communication: NAME or NAME:PARAMETER=VALUE,… with a name of " ..
      table.concat(pattern.names, ", ") .. "; matrix:FILE is a file of your own.")
      :argname "<pattern>":count(1)
   parser:option("-n --ntasks"):description "How many ranks (one on each node).":argname "<n>"
      :convert(whole(1, MOST_RANKS))
   parser:option("--ntasks-per-node"):description "How many on each node.":argname "<n>"
      :convert(whole(1, MOST_RANKS))
   parser:option("-o --output"):description(
      "Write the order to this file (- for the standard output)."):argname "<file>"
   parser:option("--format"):description(
      "hostfile for SLURM_HOSTFILE, mpich for MPICH_RANK_ORDER."):choices(files.names)
      :default "hostfile"
   parser:option("--way"):description "Try only this one.":choices(rankmap.names)
   parser:option("--scotch"):description "Scotch's mapping program (scotch_gmap).":argname "<file>"
   scene.setup(parser)
end

-- Nodes by number, in the order of the machine's table: that is Slurm's.
local function nodes_of(self, list)
   local names, err = hostlist.expand(list, #self.topo.nodes + 1)
   if not names then
      return nil, err
   end
   local nodes, seen = {}, {}
   for i, name in ipairs(names) do
      nodes[i], err = self:node(name)
      if not nodes[i] then
         return nil, err
      elseif seen[name] then
         return nil, ("node '%s' is given twice"):format(name)
      end
      seen[name] = true
   end
   table.sort(nodes)
   return nodes
end

local function ranks_of(args, count)
   local per = args.ntasks_per_node
   if not per then
      return args.ntasks or count
   elseif args.ntasks and args.ntasks ~= per * count then
      return nil, ("--ntasks %d is not %d on each of %d nodes"):format(args.ntasks, per, count)
   elseif per * count > MOST_RANKS then
      return nil, ("%d ranks, expected at most %d"):format(per * count, MOST_RANKS)
   end
   return per * count
end

local function pattern_of(args, ranks)
   local spec, err = pattern.read(args.pattern)
   if not spec then
      return nil, err
   end
   return pattern.make(spec, ranks)
end

-- What taut.rankmap wants.
local function job_of(args, self)
   local nodes, err = nodes_of(self, args.list)
   local ranks, per, P
   if nodes then
      ranks, err = ranks_of(args, #nodes)
   end
   if ranks then
      per, err = rankmap.spread(ranks, #nodes)
   end
   if per then
      P, err = pattern_of(args, ranks)
   end
   if not P then
      return nil, err
   end
   return { topo = self.topo, nodes = nodes, per = per, P = P, left = self.left, only = args.way,
      scotch = args.scotch }
end

local function format_seconds(seconds)
   if seconds == math.huge then
      return "never"
   elseif seconds < 1e-3 then
      return ("%.3g us"):format(seconds * 1e6)
   elseif seconds < 1 then
      return ("%.3g ms"):format(seconds * 1e3)
   end
   return ("%.4g s"):format(seconds)
end

local function gain_in_words(mapped)
   if mapped.best == mapped.block then
      return "Nothing better than Slurm's block order was found."
   elseif mapped.gain == 1 then
      return ("%s takes the same time as Slurm's block order, with %.0f %% of its bytes on links.")
         :format(mapped.best.name, 100 * mapped.best.on_links / mapped.block.on_links)
   end
   return ("With %s the communication takes %s of what it takes in Slurm's block order.")
      :format(mapped.best.name, report.percent(mapped.best.time_s / mapped.block.time_s))
end

local function describe_job(job)
   local P = job.P
   local most, least = job.per[1], job.per[#job.per]
   local grid, each = "", tostring(most)
   if P.grid then
      grid = (" (grid %s)"):format(table.concat(P.grid, "x"))
   end
   if most ~= least then
      each = ("%d or %d"):format(least, most)
   end
   return ("%s of %s%s on %s, %s on each"):format(P.name, report.count(P.ranks, "rank"), grid,
      report.count(#job.nodes, "node"), each)
end

local function print_ways(self, job, mapped)
   common.say("pattern", job.words)
   local rows = {}
   for i, t in ipairs(mapped.tried) do
      rows[i] = { t.name, format_seconds(t.time_s), ("%.2f"):format(t.hops_mean),
         report.bytes(math.floor(t.on_links)), self.topo.components[t.slowest or 0] or "-",
         report.text_if(t == mapped.best, "<- used") }
   end
   common.table({ "ORDER", ">TIME", ">HOPS", ">ON LINKS", "SLOWEST", "" }, rows)
   for _, s in ipairs(mapped.skipped) do
      print(("%s: not tried: %s"):format(s.name, s.why))
   end
   print ""
   report.wrap(gain_in_words(mapped), "")
   common.footer(self)
end

local function plain_data(job, mapped)
   local tried, hosts = json.array {}, json.array {}
   local function finite_or_nil(value)
      if value < math.huge then
         return value
      end
      return nil
   end
   for i, t in ipairs(mapped.tried) do
      tried[i] = { name = t.name, about = t.about, seconds = finite_or_nil(t.time_s),
         mean_hops = t.hops_mean, bytes_on_links = t.on_links,
         slowest = t.slowest and job.topo.components[t.slowest] }
   end
   for r, n in ipairs(mapped.best.order) do
      hosts[r] = job.topo.nodes[n]
   end
   return { pattern = job.P.name, ranks = job.P.ranks, nodes = #job.nodes, order = mapped.best.name,
      block_seconds = finite_or_nil(mapped.block.time_s),
         seconds = finite_or_nil(mapped.best.time_s),
      gain = finite_or_nil(mapped.gain), tried = tried, hosts = hosts }
end

function map.run(args)
   local self, err = scene.one(args)
   if not self then
      report.complain("map: ", err)
      return 1
   end
   local job
   job, err = job_of(args, self)
   if not job then
      report.complain("map: ", err)
      if err:find "has no node '" then
         return 1
      end
      return 2
   end
   job.words = describe_job(job)
   local d = rankmap.search(job)
   if d.best.lost > 0 then
      report.complain(("map: %d pairs of ranks have no route between their nodes"):format(
         d.best.lost))
      return 1
   end
   if args.json then
      common.json(self, plain_data(job, d))
   elseif args.output ~= "-" then
      print_ways(self, job, d)
   end
   if args.output then
      local ok
      ok, err = output.write(args.output, files[args.format](job, d.best.order))
      if not ok then
         report.complain("map: ", err)
         return 1
      end
   end
   if not args.json and args.output ~= "-" then
      print(report.text_if(args.output, "use it: ", "with -o FILE: ")
         .. files.usage[args.format](args.output or "FILE", job))
   end
   return 0
end

return map
