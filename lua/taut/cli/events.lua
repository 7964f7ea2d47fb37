local ask = require "taut.cli.ask"
local report = require "taut.report"
local when = require "taut.cli.when"

local events = { summary = "What counters, sweeps and logs saw: where, when, and which jobs ran." }

function events.setup(parser)
   parser:option("-n --node"):description "Of this node.":argname "<name>"
   parser:option("-l --link"):description "Of this link or port: r1.0.0/X+, leaf3/17."
      :argname "<name>"
   parser:option("-j --job"):description "While this job ran there.":argname "<id>"
      :convert(function(v) return math.tointeger(tonumber(v)) end)
   parser:option("-s --since"):description "From then on: 90m, 12h, 2d, 2026-03-05."
      :argname "<time>":default "1d":convert(when.since)
   parser:option("--limit"):description "At most so many, the latest.":argname "<n>":default "1000"
      :convert(function(v) return math.tointeger(tonumber(v)) end)
   parser:flag("-q --serious"):description "Leave out what is harmless."
end

local function window(e)
   local till = os.date("%m-%d %H:%M:%S", math.floor(e.to))
   if not e.from or e.to - e.from < 60 then
      return till
   end
   local format = os.date("%m-%d", math.floor(e.from)) == os.date("%m-%d", math.floor(e.to))
      and "%H:%M" or "%m-%d %H:%M"
   return ("%s-%s"):format(os.date("%m-%d %H:%M", math.floor(e.from)),
      os.date(format, math.floor(e.to)))
end

local function jobs(e)
   if not e.jobs or #e.jobs == 0 then
      return e.during == "idle" and "idle" or "-"
   end
   return table.concat(e.jobs, " ", 1, math.min(4, #e.jobs)) .. (#e.jobs > 4
      and (" +%d"):format(#e.jobs - 4) or "")
end

function events.run(args)
   local d, code = ask.tautd(args, "events", { node = args.node, link = args.link, job = args.job,
      since = args.job and 0 or args.since, limit = args.limit, serious = args.serious })
   if not d then
      return code
   end
   local rows = {}
   for i, e in ipairs(d.observations) do
      rows[i] = { window(e), e.source, e.class, e.components and e.components[1]
         and table.concat(e.components, " ") or e.port or e.node or "-",
         e.left and report.percent(e.left) or "-", jobs(e), e.text }
   end
   if #rows == 0 then
      print "no events"
      return 0
   end
   report.table({ "TIME", "FROM", "CLASS", "COMPONENT", ">LEFT", "JOBS", "WHAT" }, rows)
   return 0
end

return events
