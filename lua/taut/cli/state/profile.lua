-- SPDX-License-Identifier: GPL-2.0-or-later
local ask = require "taut.base.ask"
local report = require "taut.report"

local profile = { summary = "How heavily jobs communicate, learned from their nodes' counters." }

function profile.setup(parser)
   parser:argument("what"):description "A user, or the number of a job; all users without."
      :argname "<user|job>":args "?"
end

-- "1.23 GB": the heading says that it is of a second.
local function format_rate(Bps)
   return (report.bandwidth(Bps):gsub("/s$", ""))
end

-- What it said, or what is suggested.
local function pattern_of(kept)
   local named = kept.comm and kept.comm:match "^[^:]+"
   if not named and kept.suggest then
      return kept.suggest .. "?"
   end
   return named or "-"
end

local function print_profiles(list)
   local rows = {}
   for i, p in ipairs(list) do
      local nodes = tostring(p.nodes_max)
      if p.nodes_min ~= p.nodes_max then
         nodes = ("%d-%d"):format(p.nodes_min, p.nodes_max)
      end
      rows[i] = { p.user, p.name, p.jobs, nodes, format_rate(p.sent_Bps),
         format_rate(p.received_Bps), report.percent(p.share), p.class, pattern_of(p) }
   end
   if #rows == 0 then
      print "no job has been measured"
      return
   end
   report.table({ "USER", "JOB", ">JOBS", ">NODES", ">SENT/s", ">RECV/s", ">SHARE", "CLASS",
      "PATTERN" }, rows)
   print()
   report.wrap("SENT, RECV: of one node, on average. SHARE: of its nodes' injection rate. " ..
      "PATTERN: as --comm said. Counters do not show partners: one with a question " ..
      "mark is assumed, the one that asks most of a network.", "")
end

local function print_jobs(list)
   for _, j in ipairs(list) do
      print(("job      %s of %s, %s: %s, %.0f s"):format(j.id, j.user, j.name,
         report.count(j.nodes, "node"), j.seconds or 0))
      print(("a node   sent %s and received %s a second, %s of its injection rate"):format(
         format_rate(j.sent_Bps), format_rate(j.received_Bps), report.percent(j.share)))
      print(("uneven   the busiest node sent and received %.1f times the mean"):format(
         j.uneven or 1))
      print(("class    %s; pattern %s"):format(j.class, j.comm or pattern_of(j)))
   end
   if #list == 0 then
      print "this job has not been measured"
   end
end

function profile.run(args)
   local job, user = math.tointeger(tonumber(args.what)), nil
   if not job then
      user = args.what
   end
   local d, code = ask.tautd(args, "profile", { job = job, user = user })
   if not d then
      return code
   end
   if d.jobs then
      print_jobs(d.jobs)
   else
      print_profiles(d.profiles)
   end
   return 0
end

return profile
