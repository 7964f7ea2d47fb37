-- SPDX-License-Identifier: GPL-2.0-or-later
--- `taut policy --replay DAYS`: fetches history, plays it here, prints list and sums.
local ask = require "taut.base.ask"
local config = require "taut.config"
local hostlist = require "taut.hostlist"
local json = require "taut.json"
local policy = require "taut.policy"
local replay = require "taut.policy.replay"
local report = require "taut.report"
local sys = require "taut.sys"
local tables = require "taut.base.tables"

local policy_replay = {}

-- All pages of one kind; nil and the exit status.
local function fetch_pages(args, what, since)
   local all, after = {}, nil
   repeat
      local d, code = ask.tautd(ask.at(args), "history", { what = what, since = since,
         after = after })
      if not d then
         return nil, code
      end
      table.move(d.rows, 1, #d.rows, #all + 1, all)
      local last = d.rows[#d.rows] or {}
      after = last.id
      if what == "before" then
         after = last.component
      end
   until not d.more
   return all
end

-- "cap_nodes=4" → name and value; "none" takes a setting back to its default.
local function parse_setting(text)
   local name, value = text:match "^([%w_]+)=(.*)$"
   if not name then
      return nil, nil, ("--set: expected NAME=VALUE, got '%s'"):format(text)
   elseif value == "true" or value == "false" then
      return name, value == "true"
   elseif value == "none" then
      return name, nil
   end
   return name, tonumber(value) or value
end

--- Settings of the file, with those of --set instead.
-- @param s the `policy` section as loaded
-- @param list of "NAME=VALUE"
-- @return settings, or nil and what is wrong
function policy_replay.settings(s, list)
   local given = tables.copy(s)
   for _, text in ipairs(list) do
      local name, value, err = parse_setting(text)
      if not name then
         return nil, err
      end
      given[name] = value
   end
   return config.policy(given)
end

-- The site's partitions on the nodes of the topology.
local function cluster_of(topo, partitions)
   local cl = policy.cluster(topo)
   if next(partitions) == nil then
      return cl
   end
   cl.partitions = {}
   for _, node in pairs(cl.nodes) do
      node.partitions = {}
   end
   for p, text in pairs(partitions) do
      cl.partitions[p] = {}
      for _, name in ipairs(hostlist.expand(text, 1 << 20) or {}) do
         table.insert(cl.partitions[p], name)
         if cl.nodes[name] then
            table.insert(cl.nodes[name].partitions, p)
         end
      end
   end
   return cl
end

local function counts_in_words(map)
   local keys, parts = {}, {}
   for key in pairs(map) do
      keys[#keys + 1] = key
   end
   table.sort(keys)
   for i, key in ipairs(keys) do
      parts[i] = ("%s %d"):format(report.word(key), map[key])
   end
   return tables.unless_blank(table.concat(parts, ", ")) or "none"
end

local function action_line(word, ...)
   report.wrap((...):format(select(2, ...)), ("%-12s"):format(word), (" "):rep(12))
end

local function print_sums(sums)
   print ""
   local unknown, stopped = "", "never"
   if sums.unknown > 0 then
      unknown = ("; %d of components that are not in the topology"):format(sums.unknown)
   end
   if sums.stops ~= 0 then
      stopped = report.count(sums.stops, "time")
   end
   action_line("verdicts", "%d slow or failed%s", sums.verdicts, unknown)
   action_line("asked for", "%s (components)", counts_in_words(sums.measures))
   action_line("drains", "%d on %s, at most %d at once, %.1f node hours", sums.drains,
      report.count(sums.nodes, "node"), sums.at_once, sums.node_hours)
   action_line("for good", "%d of them: repeated drains of one node", sums.flaps)
   action_line("resumed", "%d because they were clean again", sums.releases)
   action_line("held back", "%s", counts_in_words(sums.held))
   action_line("stopped", "%s", stopped)
   action_line("was done", "%s", counts_in_words(sums.really))
   action_line("not known", "jobs that waited, nodes that were down or drained by others, " ..
      "reservations: capability_hold and maintenance hold nothing back here")
end

local function print_list(list)
   local rows = tables.map(list, function(event)
      return { os.date("%m-%d %H:%M:%S", math.floor(event.time)), report.word(event.what),
         event.node or "-", event.component or "-", event.why or "" }
   end)
   if #rows > 0 then
      report.table({ "TIME", "WHAT", "NODE", "COMPONENT", "WHY" }, rows)
   else
      print "nothing would have been done"
   end
end

local function history_of(args, since)
   local out = {}
   for _, what in ipairs { "before", "verdicts", "actions" } do
      local rows, code = fetch_pages(args, what, since)
      if not rows then
         return nil, code
      end
      out[what] = rows
   end
   return out
end

--- @param args parsed command line: replay (days), set (list), file
-- @return exit status
function policy_replay.run(args)
   local path = args.file or sys.paths.confdir .. "/taut.lua"
   local conf, err = config.load(path, sys.paths)
   local settings
   if conf then
      settings, err = policy_replay.settings(conf.policy, args.set or {})
   end
   if not settings then
      report.complain(err)
      if conf then
         return 2
      end
      return 1
   end
   local d, code = ask.tautd(ask.at(args), "partitions")
   if not d then
      return code
   end
   local o = history_of(args, d.now - args.replay * 86400)
   if not o then
      return 1
   end
   o.topology, o.settings, o.decode = conf.topology, settings, json.decode
   o.since, o.till = d.now - args.replay * 86400, d.now
   o.cluster = cluster_of(conf.topology, d.partitions)
   local list, sums = replay.run(o)
   if args.json then
      print(json.encode({ file = path, days = args.replay, list = json.array(list),
         sums = sums }, 2))
      return 0
   end
   local set = tables.unless_blank(table.concat(args.set or {}, " "))
   report.wrap(("What the policy of %s%s would have done with the verdicts of the last %s, " ..
      "in mode drain:"):format(path, report.text_with(" with ", set), report.text_if(
      args.replay == 1, "day", ("%g days"):format(args.replay))), "")
   print_list(list)
   print_sums(sums)
   return 0
end

return policy_replay
