local ask = require "taut.cli.ask"
local report = require "taut.report"

local explain = { summary = "Every test behind a verdict; what a job's check saw." }

function explain.setup(parser)
   parser:argument("what"):description "Node or component: n5, n5/tx, r1.0.0/X+.":args "?"
   parser:option("-j --job"):description "A job instead.":argname "<id>"
      :convert(function(v) return math.tointeger(tonumber(v)) end)
end

local function time_of(t)
   return os.date("%m-%d %H:%M:%S", math.floor(t))
end

local function print_component(c, now)
   print(("%s is %s"):format(c.component, report.state(c)))
   print(("  capacity %s, %s, last tested %s, last cleared %s"):format(
      report.bandwidth(c.capacity_Bps), report.count(c.tests, "test"), report.ago(c.last, now),
      report.ago(c.cleared_at, now)))
   if c.low > 0 then
      print(("  run: %d low since it was last cleared (suspect at %d), %d confirmed (slow at %d)")
         :format(c.low, c.needs.suspect_low, c.confirmed, c.needs.slow_low))
      print("  far ends: " .. table.concat(c.far_ends, " ", 1, math.min(16, #c.far_ends)))
   end
   if c.busy > 0 then
      print(("  %s: several streams together got more than one: shared, not broken"):format(
         report.count(c.busy, "time")))
   end
   if c.state == "slow" or c.state == "failed" then
      print(("  action: %s; cable %s"):format(c.action or "-", c.cable))
   end
end

local function print_tests(tests)
   if #tests == 0 then
      print "no tests stored"
      return
   end
   local rows = {}
   for i, t in ipairs(tests) do
      local job = t.job and t.job > 0 and tostring(t.job) or t.purpose or "-"
      rows[i] = { time_of(t.time), job, t.src .. ">" .. t.dst, tostring(t.streams),
         report.bandwidth(t.bw_Bps), report.percent(t.ratio), t.class,
         t.class == "void" and t.why or t.route }
   end
   report.table({ "TIME", ">JOB", "PAIR", ">N", ">MEASURED", ">OF", "CLASS", "ROUTE" }, rows)
end

local function print_history(verdicts, actions)
   for _, v in ipairs(verdicts or {}) do
      print(("%s  %s: %s to %s"):format(time_of(v.time), v.component, v.was, v.state))
   end
   for _, a in ipairs(actions or {}) do
      print(("%s  %s %s by %s: %s"):format(time_of(a.time), a.node, a.action, a.who or "?",
         a.reason or ""))
   end
end

local function print_growth(growth)
   local rows = {}
   for i, g in ipairs(growth) do
      local c = g.counters
      local bad = {}
      for name, v in pairs(c) do
         if v > 0 and (name:match "error" or name:match "drop" or name:match "carrier") then
            bad[#bad + 1] = ("%s +%d"):format(name, v)
         end
      end
      table.sort(bad)
      rows[i] = { g.node, g.interface, ("%.1f s"):format(g.seconds),
         report.bytes(c.tx_bytes or 0), report.bytes(c.rx_bytes or 0),
         #bad > 0 and table.concat(bad, ", ") or "none" }
   end
   if #rows > 0 then
      print "\ncounters from the end of the check to the epilog"
      report.table({ "NODE", "PORT", ">TIME", ">SENT", ">RECEIVED", "ERRORS" }, rows)
   end
end

local function print_job(d)
   for _, e in ipairs(d.events) do
      local head = ("%s  %s of %s on %s: "):format(time_of(e.time), e.purpose, d.about,
         report.count(e.expected or 0, "node"))
      print(head .. (e.heard and ("%d said hello, %s"):format(e.heard,
         report.count(e.tests or 0, "test")) or e.note or ""))
   end
   if #d.tests > 0 then
      print_tests(d.tests)
   end
   print_growth(d.growth)
end

local function print_thing(d)
   if d.node then
      local n = d.node
      print(("%s in Slurm: %s%s%s"):format(n.name, n.slurm or "?", n.drain and ", drained" or "",
         n.reason and n.reason ~= "" and ": " .. n.reason or ""))
      if n.held then
         print("  would be drained, but " .. n.held)
      end
   end
   for _, c in ipairs(d.components) do
      print_component(c, d.now)
   end
   print ""
   print_history(d.verdicts, d.actions)
   print_tests(d.tests)
end

function explain.run(args)
   if (args.what == nil) == (args.job == nil) then
      io.stderr:write("taut: explain: give a node or component, or --job ID\n")
      return 2
   end
   local d, code = ask.tautd(args, "explain", { what = args.what, job = args.job })
   if not d then
      return code
   end
   if d.components then
      print_thing(d)
   else
      print_job(d)
   end
   return 0
end

return explain
