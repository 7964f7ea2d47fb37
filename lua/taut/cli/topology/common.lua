-- SPDX-License-Identifier: GPL-2.0-or-later
--- Words and lines that several subcommands of `taut topology` share.
local tables = require "taut.base.tables"
local hostlist = require "taut.hostlist"
local json = require "taut.json"
local report = require "taut.report"

local common = {}

local WIDE = 79

--- What an option takes that is a number of something.
function common.whole(text)
   return tables.within(math.tointeger(tonumber(text)), 1, math.huge),
      "expected a whole number of at least 1, got " .. text
end

--- The exit status after an error: 2 where an option is wrong.
-- @param err text; one about an option begins with its name
function common.status_of(err)
   if err:find "^%-%-" then
      return 2
   end
   return 1
end

--- Names of nodes as one host list, ascending.
function common.nodes(topo, list)
   local names = tables.map(list, function(node) return topo.nodes[node] end)
   if #names == 0 then
      return ""
   end
   return hostlist.compress(names)
end

--- A text that has at most `most` columns; of a long name the port stays.
function common.cut(text, most)
   local n = utf8.len(text)
   if (n or #text) <= most then
      return text
   end
   local port = text:match "^[^ ]*(/[%w+-]+)$"
   if port and #port < most - 1 then
      return common.cut(text:sub(1, -1 - #port) .. "~", most - #port) .. port
   end
   if n then
      return text:sub(1, utf8.offset(text, most) - 1) .. "~"
   end
   return text:sub(1, most - 1) .. "~"
end

-- Widths of the columns of a table, and of all of it.
local function column_widths(heads, rows)
   local wide, total = {}, 2 * (#heads - 1)
   for i, h in ipairs(heads) do
      wide[i] = utf8.len((h:gsub("^>", "")))
      for _, row in ipairs(rows) do
         wide[i] = math.max(wide[i], utf8.len(row[i]) or #row[i])
      end
      total = total + wide[i]
   end
   return wide, total
end

local NARROW = 10 -- a column of text is not cut shorter

--- Print a table no wider than 79 columns: the widest columns of text are cut.
-- @param heads, rows as report.table has them
function common.table(heads, rows)
   local wide, total = column_widths(heads, rows)
   while total > WIDE do
      local most
      for i, h in ipairs(heads) do
         if h:sub(1, 1) ~= ">" and wide[i] > NARROW and (not most or wide[i] > wide[most]) then
            most = i
         end
      end
      if not most then
         break
      end
      wide[most], total = wide[most] - 1, total - 1
   end
   for _, row in ipairs(rows) do
      for i, cell in ipairs(row) do
         row[i] = common.cut(cell, wide[i])
      end
   end
   report.table(heads, rows)
end

--- Print "label  text", broken at blanks, or after commas where it is a host list.
function common.say(label, text)
   local indent = (" "):rep(12)
   local line, empty = ("%-11s "):format(label), true
   for token in text:gmatch(report.text_if(text:find " ", "%S+%s*", "[^,]+,?")) do
      local bare = token:gsub("%s+$", "")
      if not empty and utf8.len(line) + (utf8.len(bare) or #bare) > WIDE then
         print((line:gsub("%s+$", "")))
         line = indent
      end
      line, empty = line .. token, false
   end
   print((line:gsub("%s+$", "")))
end

--- Bandwidth class in words; where ports of several dimensions share one, with the dimension:
-- "Y cable", "mezzanine", "X".
function common.class(topo, component)
   local class, axis = topo:class(component), topo:axis(component)
   if class == "cable" and #axis == 1 then
      return axis .. " " .. class
   end
   return class
end

--- What is known of one component, as data.
function common.component(scene, component)
   local topo, verdict, from, to = scene.topo, scene.state[component], nil, nil
   if scene.has_health then
      verdict = verdict or "unknown"
   end
   if topo:is_link(component) then
      from, to = topo.router_name[topo:from(component)], topo.router_name[topo:to(component)]
   end
   return { component = topo.components[component], kind = topo:kind(component),
      class = common.class(topo, component), from = from, to = to,
      capacity_Bps = topo:known_capacity(component),
      verdict = verdict, left = scene.left[component], loss = (scene.loss or {})[component],
      cable = topo:cable(component), place = topo:place(component) }
end

--- "slow at 50%", "loses 1.2 %", "ok", "-"
function common.health(row)
   if not row.verdict then
      return "-"
   end
   return report.state { state = row.verdict, left = row.left, loss = row.loss }
end

--- What was learned, one line for each class; nothing where all is configured.
function common.say_learned(scene)
   for i, r in ipairs(scene.learned or {}) do
      common.say(report.text_if(i == 1, "learned"), ("%s: %s"):format(r.class, report.learned(r)))
   end
end

--- Share of the routes between nodes, in words: "96 of 4032 routes (2.4%)".
function common.share(count, all)
   local rounded, percent = math.floor(count + 0.5), "0%"
   local text = ("%.1f"):format(count)
   if math.abs(count - rounded) < 1e-6 then
      text = ("%d"):format(rounded)
   end
   if all > 0 then
      percent = ("%.2g%%"):format(100 * count / all)
   end
   return ("%s of %d routes (%s)"):format(text, all, percent)
end

--- Routes between nodes that use a component; sets count by their weights.
-- @return number, of how many
function common.routes_over(topo, component)
   local loads = topo:load("all-to-all", { bytes = 1 })
   return loads[component], #topo.nodes * (#topo.nodes - 1)
end

--- Nodes as data for --json.
function common.node_array(topo, list)
   local names = json.array {}
   for i, n in ipairs(list) do
      names[i] = topo.nodes[n]
   end
   return names
end

---------------------------------------------------------------- what --fail supposes

local LISTED = 100 -- pairs of routers, and links, in --json
local LOADED = 5   -- links that carry more, named in text
local LOST = 5     -- pairs of routers without a route, named in text

-- What --fail supposes, and what follows; nil without it.
local function what_is_supposed(scene)
   local topo, r = scene.topo, scene.rerouted
   if not r then
      return nil
   end
   local d = { components = json.array {}, pairs_without_route = r.pairs or 0,
      router_pairs = #(r.unroutable or {}), router_pairs_are_all = r.is_all,
      router_pairs_without_route = json.array {},
      links_that_carry_more = #r.more_loaded, carry_more = json.array {} }
   table.move(scene.supposed_names, 1, #scene.supposed_names, 1, d.components)
   table.sort(d.components, function(one, other) return one.component < other.component end)
   for i = 1, math.min(d.router_pairs, LISTED) do
      local from, to, why = table.unpack(r.unroutable[i])
      d.router_pairs_without_route[i] = { from = topo.router_name[from],
         to = topo.router_name[to], why = why }
   end
   for i = 1, math.min(#r.more_loaded, LISTED) do
      local c, was, now = table.unpack(r.more_loaded[i])
      d.carry_more[i] = { component = topo.components[c], routes_before = was, routes_now = now }
   end
   return d
end

-- "r1.0.0/X+ failed, r2.0.0/X+ at 50%"
local function component_words(list)
   local parts = tables.map(list, function(link)
      return link.component .. report.text_if(link.left == 0, " failed",
         " at " .. report.percent(link.left))
   end)
   return table.concat(parts, ", ")
end

local function say_lost(answer)
   common.say("no route", ("%s of nodes, on %s%s of routers:"):format(
      report.count(answer.pairs_without_route, "pair"),
      report.text_if(not answer.router_pairs_are_all, "at least "),
      report.count(answer.router_pairs, "pair")))
   for i, p in ipairs(answer.router_pairs_without_route) do
      if i > LOST then
         common.say("", ("… and %d more (--json names %d of them)"):format(answer.router_pairs
            - LOST, #answer.router_pairs_without_route))
         return
      end
      common.say("", ("%s to %s: %s"):format(p.from, p.to, p.why))
   end
end

-- By how much more a link carries than before.
local function growth_words(link)
   if link.routes_before <= 0 then
      return " (nothing before)"
   end
   local more = 100 * (link.routes_now / link.routes_before - 1)
   return report.text_if(more >= 1, " by %.0f%%", " by %.1g%%"):format(more)
end

local function more_words(answer)
   local parts = {}
   for i = 1, math.min(#answer.carry_more, LOADED) do
      local k = answer.carry_more[i]
      parts[i] = k.component .. growth_words(k)
   end
   return ("%s, most: %s"):format(report.count(answer.links_that_carry_more, "link"),
      table.concat(parts, ", "))
end

--- What --fail supposes and what follows, as lines; why health is not known, on stderr.
-- @param is_said what has no route was said above
function common.footer(scene, is_said)
   if scene.note then
      report.complain(scene.note)
   end
   local d = what_is_supposed(scene)
   if not d then
      return
   end
   print ""
   common.say("supposed", component_words(d.components))
   if d.pairs_without_route > 0 and not is_said then
      say_lost(d)
   end
   if d.links_that_carry_more > 0 then
      common.say("carry more", more_words(d))
   end
end

--- Print an answer as JSON, with the fabric's name where there are several; with --fail what it
-- supposes and what follows in `supposed`.
function common.json(scene, data)
   data.supposed = what_is_supposed(scene)
   data.fabric = scene.fabric and scene.fabric.name
   if scene.answers then -- of several fabrics, which are printed together
      scene.answers[data.fabric] = data
      return
   end
   print(json.encode(data, 2))
end

return common
