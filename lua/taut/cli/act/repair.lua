-- SPDX-License-Identifier: GPL-2.0-or-later
local ask = require "taut.base.ask"
local report = require "taut.report"

local repair = {
   summary = "What to repair, where it is, whom to drain for it; --done: forget the evidence." }

local INDENT = (" "):rep(13)

function repair.setup(parser)
   parser:argument("component"):description(
      "Link, tx, rx, node or router: r1.0.0/X+, n5/tx, n5, leaf1.")
   parser:flag("-d --done"):description(
      "It was repaired: what spoke against it is forgotten, it is on probation.")
   parser:flag("-m --module"):description(
      "With --done: the modules at its ends were replaced, with all their links and nodes.")
   parser:flag("-r --resume")
      :description "With --done: also resume the nodes that Taut drained for it."
end

local function say(word, text)
   report.wrap(text, ("%-13s"):format(word), INDENT)
end

-- Commands to copy stay whole, however wide they are.
local function command(text)
   print(INDENT .. text)
end

local function drain_command(list, component)
   command(("scontrol update nodename=%s state=drain \\"):format(list))
   command(("  reason='repair of %s'"):format(component))
end

local function print_verdict(d)
   say(d.component, ("%s%s%s"):format(report.is(d), d.since and os.date(", since %m-%d %H:%M:%S",
      math.floor(d.since)) or "", d.action and ", action: " .. d.action or ""))
   for _, e in ipairs(d.evidence) do
      say("", ("%s left of it: %s"):format(report.percent(e.left), e.text))
   end
   if d.loss and #d.evidence == 0 then -- no lane and no width is lost: what carries light is dirty
      say("first", ("clean or replace the optics of %s; then the cable"):format(d.cable))
   end
end

local function print_parts(d)
   say("cable", d.cable)
   if d.place ~= d.cable then
      say("place", d.place)
   end
   say("kind", d.class == d.kind and d.kind or ("%s (%s)"):format(d.kind, d.class))
   say("ports", table.concat(d.ports, " and "))
   for i, m in ipairs(d.modules) do
      say(i == 1 and "modules" or "", ("%s%s: %s"):format(m.name, (#m.routers ~= 1 or m.routers[1]
         ~= m.name) and " (" .. table.concat(m.routers, " ") .. ")" or "",
         #m.nodes > 0 and m.list or "no node depends on it"))
   end
end

local function loses(n)
   return n == 1 and "1 node loses the network; drain it first:"
      or ("%d nodes lose the network; drain them first:"):format(n)
end

local function print_drains(d)
   print ""
   if #d.behind == 0 then
      say("cable out", "no node loses the network: nobody to drain")
   else
      say("cable out", loses(#d.behind))
      drain_command(d.behind_list, d.component)
   end
   for _, m in ipairs(d.modules) do
      if #m.nodes > 0 and m.list ~= d.behind_list then
         say(m.name .. " out", loses(#m.nodes))
         drain_command(m.list, d.component)
      end
   end
   if #d.drained > 0 then
      say("drained", table.concat(d.drained, " ") .. " already, by Taut")
   end
   print(("%-13staut repair %s --done"):format("afterwards", d.component))
end

local function print_done(d)
   say("forgotten", ("the evidence against %s; on probation for %g h"):format(
      #d.forgotten <= 4 and table.concat(d.forgotten, ", ") or report.count(#d.forgotten,
         "component"), d.probation_h))
   if #d.released > 0 then
      say("resumed", table.concat(d.released, " "))
   end
   for _, err in ipairs(d.failed) do
      say("not resumed", err)
   end
   if #d.drained > 0 then
      say("drained", "by Taut, still; resume them when they are well:")
      for _, node in ipairs(d.drained) do
         command("taut resume " .. node)
      end
   end
end

-- What is not well at a router.
local function print_router(d)
   if #d.links + #d.sets == 0 then
      print(d.router .. ": of its links none is suspect, slow or failed")
   end
   for _, l in ipairs(d.links) do
      say(l.component, ("%s; cable %s"):format(report.is(l), l.cable))
      command("taut repair " .. l.component)
   end
   for _, s in ipairs(d.sets) do
      report.wrap(s.text, "", "  ")
      report.wrap(table.concat(s.cables, "; "), "  cables   ", "           ")
      if s.adaptive then
         report.wrap("errors, width or speed of one of them (`taut fabric errors`, `taut fabric "
            .. "check`), or, on InfiniBand, tests on a service level with tables (`routing` in "
            .. "taut.lua(5)); else unplug one cable after the other", "  which    ",
            "           ")
      elseif not d.asked then
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
      return #d.failed > 0 and 1 or 0
   end
   print_verdict(d)
   print_parts(d)
   print_drains(d)
   return 0
end

return repair
