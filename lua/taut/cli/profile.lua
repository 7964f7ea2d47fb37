local ask = require "taut.cli.ask"
local report = require "taut.report"

local profile = { summary = "How heavily jobs communicate, learnt from what their nodes counted." }

function profile.setup(parser)
   parser:argument("what"):description "A user, or the number of a job; all users without."
      :argname "<user|job>":args "?"
end

local function rate(v)
   return v and report.bandwidth(v) or "-"
end

local function classed(p)
   return p.class .. (p.suggest and not p.comm and (" (" .. p.suggest .. "?)") or "")
end

local function print_profiles(list)
   local rows = {}
   for i, p in ipairs(list) do
      local nodes = p.nodes_min == p.nodes_max and tostring(p.nodes_max)
         or ("%d-%d"):format(p.nodes_min, p.nodes_max)
      rows[i] = { p.user, p.name, p.jobs, nodes, rate(p.sent_Bps), rate(p.received_Bps),
         report.percent(p.share), report.percent(p.share_max), ("%.1f"):format(p.uneven or 1),
         p.comm or "-", classed(p) }
   end
   if #rows == 0 then
      print "no job has been measured"
      return
   end
   report.table({ "USER", "JOB", ">JOBS", ">NODES", ">SENT", ">RECEIVED", ">SHARE", ">MOST",
      ">UNEVEN", "--comm", "COMMUNICATION" }, rows)
   print()
   report.wrap("SENT, RECEIVED: of one node, on average. SHARE: of what its nodes can inject. " ..
      "UNEVEN: the busiest node over the mean. Counters do not tell who talks to whom: a " ..
      "pattern in brackets is the one that asks most of a network.", "")
end

local function print_jobs(list)
   local rows = {}
   for i, j in ipairs(list) do
      rows[i] = { j.id, j.user, j.name, j.nodes, ("%.0f s"):format(j.seconds or 0),
         rate(j.sent_Bps), rate(j.received_Bps), report.percent(j.share),
         ("%.1f"):format(j.uneven or 1), j.comm or "-", classed(j) }
   end
   if #rows == 0 then
      print "this job has not been measured"
      return
   end
   report.table({ ">ID", "USER", "JOB", ">NODES", ">TIME", ">SENT", ">RECEIVED", ">SHARE",
      ">UNEVEN", "--comm", "COMMUNICATION" }, rows)
end

function profile.run(args)
   local job = math.tointeger(tonumber(args.what))
   local d, code = ask.tautd(args, "profile", { job = job, user = not job and args.what or nil })
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
