-- SPDX-License-Identifier: GPL-2.0-or-later
local ask = require "taut.base.ask"
local report = require "taut.report"
local tables = require "taut.base.tables"

local repair = {
   summary = "What to repair, where it is, whom to drain for it; --done: forget the evidence." }

local INDENT = (" "):rep(13)

function repair.setup(parser)
   parser:argument("component"):description(
      "Link, tx, rx, node or router: r1.0.0/X+, n5/tx, n5, leaf1.")
   parser:flag("-d --done"):description(
      "It was repaired: drop the evidence against it, begin probation.")
   parser:flag("-m --module"):description(
      "With --done: the modules at its ends were replaced, with all their links and nodes.")
   parser:flag("-r --resume")
      :description "With --done: also resume the nodes that Taut drained for it."
end

local function print_row(word, text)
   report.wrap(text, ("%-13s"):format(word), INDENT)
end

-- Commands to copy stay whole, however wide they are.
local function print_command(text)
   print(INDENT .. text)
end

local function drain_command(list, component)
   print_command(("scontrol update nodename=%s state=drain \\"):format(list))
   print_command(("  reason='repair of %s'"):format(component))
end

local function print_verdict(answer)
   local text = report.is(answer)
   if answer.since then
      text = text .. os.date(", since %m-%d %H:%M:%S", math.floor(answer.since))
   end
   print_row(answer.component, text .. report.text_with(", action: ", answer.action))
   for _, e in ipairs(answer.evidence) do
      print_row("", ("%s left of it: %s"):format(report.percent(e.left), e.text))
   end
   -- no lane and no width is lost: what carries light is dirty
   if answer.loss and #answer.evidence == 0 then
      print_row("first", ("clean or replace the optics of %s; then the cable"):format(answer.cable))
   end
end

local function print_parts(answer)
   print_row("cable", answer.cable)
   if answer.place ~= answer.cable then
      print_row("place", answer.place)
   end
   print_row("kind", answer.kind
      .. report.text_with(" (", answer.class ~= answer.kind and answer.class, ")"))
   print_row("ports", table.concat(answer.ports, " and "))
   for i, m in ipairs(answer.modules) do
      local name = m.name
      if #m.routers ~= 1 or m.routers[1] ~= name then
         name = ("%s (%s)"):format(name, table.concat(m.routers, " "))
      end
      print_row(report.text_if(i == 1, "modules"), ("%s: %s"):format(name,
         report.text_if(#m.nodes > 0, m.list, "no node depends on it")))
   end
end

local function nodes_that_lose(count)
   if count == 1 then
      return "1 node loses the network; drain it first:"
   end
   return ("%d nodes lose the network; drain them first:"):format(count)
end

local function print_drains(answer)
   print ""
   if #answer.behind == 0 then
      print_row("cable out", "no node loses the network: no node to drain")
   else
      print_row("cable out", nodes_that_lose(#answer.behind))
      drain_command(answer.behind_list, answer.component)
   end
   for _, m in ipairs(answer.modules) do
      if #m.nodes > 0 and m.list ~= answer.behind_list then
         print_row(m.name .. " out", nodes_that_lose(#m.nodes))
         drain_command(m.list, answer.component)
      end
   end
   if #answer.drained > 0 then
      print_row("drained", table.concat(answer.drained, " ") .. " already, by Taut")
   end
   print(("%-13staut repair %s --done"):format("afterwards", answer.component))
end

local function print_done(answer)
   local forgotten = table.concat(answer.forgotten, ", ")
   if #answer.forgotten > 4 then
      forgotten = report.count(#answer.forgotten, "component")
   end
   print_row("forgotten", ("the evidence against %s; on probation for %g h"):format(forgotten,
      answer.probation_h))
   if #answer.released > 0 then
      print_row("resumed", table.concat(answer.released, " "))
   end
   for _, err in ipairs(answer.failed) do
      print_row("not resumed", err)
   end
   if #answer.drained > 0 then
      print_row("drained", "by Taut, still; resume them when they are well:")
      for _, node in ipairs(answer.drained) do
         print_command("taut resume " .. node)
      end
   end
end

-- What is not well at a router.
local function print_router(answer)
   if #answer.links + #answer.sets == 0 then
      print(answer.router .. ": of its links none is suspect, slow or failed")
   end
   for _, l in ipairs(answer.links) do
      print_row(l.component, ("%s; cable %s"):format(report.is(l), l.cable))
      print_command("taut repair " .. l.component)
   end
   for _, s in ipairs(answer.sets) do
      report.wrap(s.text, "", "  ")
      report.wrap(table.concat(s.cables, "; "), "  cables   ", "           ")
      if s.adaptive then
         report.wrap("errors, width or speed of one of them (`taut fabric errors`, `taut fabric "
            .. "check`), or, on InfiniBand, tests on a service level with tables (`routing` in "
            .. "taut.lua(5)); else unplug one cable after the other", "  which    ",
            "           ")
      elseif not answer.asked then
         report.wrap("`addresses` in taut.lua(5) has tests ask which link they take; until " ..
            "then, unplug one cable after the other", "  which    ", "           ")
      end
   end
end

function repair.run(args)
   if (args.module or args.resume) and not args.done then
      report.complain("repair: --module and --resume go with --done")
      return 2
   end
   local d, code = ask.tautd(args, "repair", { component = args.component, done = args.done,
      module = args.module, release = args.resume })
   if not d then
      return code
   elseif d.router then
      print_router(d)
      return 0
   elseif args.done then
      print_done(d)
      return tables.one_if(#d.failed > 0)
   end
   print_verdict(d)
   print_parts(d)
   print_drains(d)
   return 0
end

return repair
