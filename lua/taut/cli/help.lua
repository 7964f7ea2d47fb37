-- SPDX-License-Identifier: GPL-2.0-or-later
--- `taut help`: the commands by what somebody wants, or one of them.
local help = { summary = "The commands by what you want, or one command.", has_json = false }

local PAGES = {
   { "Is all well?", {
      { "status", "coverage, verdicts, drains, alerts" },
      { "watch", "the same, live" },
      { "check --nagios", "one line, and status 0 to 3" },
      { "doctor", "problems around Taut, with remedies" },
      { "links, nodes", "bad links and nodes, with cable and reason" },
      { "report --html FILE", "a page for a browser; serve: live" },
   } },
   { "Why is that?", {
      { "explain r1.0.0/X+", "tests behind a verdict; explain n5, --job 123" },
      { "why 123", "was that job slow because of the network?" },
      { "events --node n5", "counters, logs, sweeps" },
      { "policy log", "past actions, with their evidence" },
   } },
   { "What is to be done?", {
      { "repair leaf3/17", "the cable, which nodes need it; --done: repaired" },
      { "verify leaf3/17", "test it soon; --now by a job" },
      { "ack leaf3/17", "acknowledge, with a ticket and a date: no alerts" },
      { "resume n5", "a node that Taut drained" },
      { "policy", "drain, observe, continue; --replay: a dry run" },
      { "off, on", "all checks" },
   } },
   { "Where should a job run?", {
      { "advise -N 64", "the best free, healthy nodes" },
      { "map 'n[0-63]'", "which rank on which node" },
      { "profile, steer", "what programs send; steering of jobs with --comm" },
   } },
   { "The whole machine", {
      { "audit --all", "every link, in seconds; matrix --all: all pairs" },
      { "topology", "wiring and routes: show, check, draw, route …" },
      { "fabric", "InfiniBand: links, errors, changes" },
      { "study", "what failed and slow links would cost" },
      { "config check", "is taut.lua good?  config reload" },
   } },
}

function help.setup(parser)
   parser:argument("words"):description "A command, such as explain or topology route."
      :args "*":argname "<command>"
end

function help.run()
   for i, page in ipairs(PAGES) do
      if i > 1 then
         print ""
      end
      print(page[1])
      for _, row in ipairs(page[2]) do
         print(("  taut %-19s  %s"):format(row[1], row[2]))
      end
   end
   print "\ntaut help COMMAND has its options; the manual is taut(1)."
   return 0
end

return help
