local ask = require "taut.cli.ask"
local report = require "taut.report"

local advise = { summary = "The best free, healthy nodes for a communication-heavy job." }

local function whole(v)
   return math.tointeger(tonumber(v)), "expected a whole number, got " .. v
end

function advise.setup(parser)
   parser:option("-N --nodes"):description "How many nodes.":argname "<count>":convert(whole)
      :count(1)
   parser:option("-p --partition"):description "Only nodes of this partition.":argname "<name>"
   parser:option("--top"):description "How many answers (default 5).":argname "<n>"
      :convert(whole)
   parser:flag("--nodelist"):description "Print only the best host list, for sbatch --nodelist."
end

local function where(c)
   return c.shape and ("%s box at (%s)"):format(c.shape, table.concat(c.at, ",")) or
      "Slurm's order"
end

local function sentence(c)
   local parts = { ("%s: %.2f hops between its nodes on average, %d at most"):format(where(c),
      c.mean_hops, c.max_hops) }
   if c.density then
      parts[#parts + 1] = ("density %.2f"):format(c.density)
   end
   if c.crossing > 0 then
      parts[#parts + 1] = ("%s of its pairs cross %s, down to %s"):format(
         report.percent(c.crossing), table.concat(c.crosses, ", "), report.percent(c.slowest))
   end
   for i, a in ipairs(c.avoids) do
      if i <= 4 then
         parts[#parts + 1] = ("its routes do not use %s, which is at %s"):format(a.component,
            report.percent(a.left))
      end
   end
   return table.concat(parts, "; ")
end

function advise.run(args)
   local d, code = ask.tautd(args, "advise", { count = args.nodes, partition = args.partition,
      top = args.top })
   if not d then
      return code
   end
   if args.nodelist then
      print(d.candidates[1].nodelist)
      return 0
   end
   for i, c in ipairs(d.candidates) do
      print(("%d. %s"):format(i, c.nodelist))
      report.wrap(sentence(c), "   ")
   end
   print(("without advice: %s"):format(d.slurm.nodelist))
   report.wrap(sentence(d.slurm), "   ")
   print(("\nsbatch -N %d --nodelist=%s …"):format(d.count, d.candidates[1].nodelist))
   return 0
end

return advise
