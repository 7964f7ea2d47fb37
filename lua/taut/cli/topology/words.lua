--- Words and lines that several subcommands of `taut topology` share.
local hostlist = require "taut.hostlist"
local json = require "taut.json"
local report = require "taut.report"

local words = {}

local WIDE = 79

--- Names of nodes as one host list, ascending.
function words.nodes(topo, list)
   local names = {}
   for i, n in ipairs(list) do
      names[i] = topo.nodes[n]
   end
   return #names > 0 and hostlist.compress(names) or ""
end

--- A text that has at most `most` columns.
function words.cut(text, most)
   local n = utf8.len(text)
   if (n or #text) <= most then
      return text
   end
   return n and text:sub(1, utf8.offset(text, most) - 1) .. "~" or text:sub(1, most - 1) .. "~"
end

-- Widths of the columns of a table, and of all of it.
local function widths(heads, rows)
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
function words.table(heads, rows)
   local wide, total = widths(heads, rows)
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
         row[i] = words.cut(cell, wide[i])
      end
   end
   report.table(heads, rows)
end

--- Print "label  text", broken at blanks, or after commas where it is a host list.
function words.say(label, text)
   local indent = (" "):rep(12)
   local line, empty = ("%-11s "):format(label), true
   for token in text:gmatch(text:find " " and "%S+%s*" or "[^,]+,?") do
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
function words.class(topo, c)
   local class, letter = topo:class(c), topo:kind(c):match "^(%u)[+-]$"
   return letter and class ~= letter and class == "cable" and letter .. " " .. class or class
end

--- What is known of one component, as data.
function words.component(scene, c)
   local topo = scene.topo
   local is_link = topo:is_link(c)
   local verdict = scene.state[c] or scene.has_health and "unknown" or nil
   return { component = topo.components[c], kind = topo:kind(c), class = words.class(topo, c),
      from = is_link and topo.router_name[topo:from(c)] or nil,
      to = is_link and topo.router_name[topo:to(c)] or nil,
      capacity_Bps = topo.capacity[c], verdict = verdict, left = scene.left[c],
      cable = topo:cable(c), place = topo:place(c) }
end

--- "slow at 50%", "ok", "-"
function words.health(row)
   return row.verdict and report.state { state = row.verdict, left = row.left } or "-"
end

--- Share of the routes between nodes, in words: "96 of 4032 routes (2.4%)".
function words.share(n, all)
   local whole = math.abs(n - math.floor(n + 0.5)) < 1e-6
   return ("%s of %d routes (%s)"):format(whole and ("%d"):format(math.floor(n + 0.5))
      or ("%.1f"):format(n), all, all > 0 and ("%.2g%%"):format(100 * n / all) or "0%")
end

--- Routes between nodes that use a component; sets count by their weights.
-- @return number, of how many
function words.routes_over(topo, c)
   local loads = topo:load("all-to-all", { bytes = 1 })
   return loads[c], #topo.nodes * (#topo.nodes - 1)
end

--- Nodes as data for --json.
function words.node_array(topo, list)
   local names = json.array {}
   for i, n in ipairs(list) do
      names[i] = topo.nodes[n]
   end
   return names
end

-- "r1.0.0/X+ failed, r2.0.0/X+ at 50%"
local function supposed(scene)
   local list = {}
   for c, left in pairs(scene.supposed) do
      list[#list + 1] = scene.topo.components[c] .. (left == 0 and " failed" or " at " ..
         report.percent(left))
   end
   table.sort(list)
   return table.concat(list, ", ")
end

local LOADED = 5 -- links that carry more, named

local function more_loaded(scene, list)
   local parts = {}
   for i = 1, math.min(#list, LOADED) do
      local c, was, now = table.unpack(list[i])
      local more = was > 0 and 100 * (now / was - 1)
      parts[i] = scene.topo.components[c] .. (more and (more >= 1 and " by %.0f%%" or " by %.1g%%")
         :format(more) or " (nothing before)")
   end
   return ("%s, most: %s"):format(report.count(#list, "link"), table.concat(parts, ", "))
end

--- What --fail supposes and what follows, as lines; why health is not known, on stderr.
function words.footer(scene)
   if scene.note then
      report.complain(scene.note)
   end
   local r = scene.rerouted
   if not r then
      return
   end
   print ""
   words.say("supposed", supposed(scene))
   if r.pairs and r.pairs > 0 then
      words.say("no route", ("%d pairs of nodes; %s to %s: %s"):format(r.pairs,
         scene.topo.router_name[r.unroutable[1][1]], scene.topo.router_name[r.unroutable[1][2]],
         (r.unroutable[1][3]:gsub("^no route: ", ""))))
   end
   if #r.more_loaded > 0 then
      words.say("carry more", more_loaded(scene, r.more_loaded))
   end
end

return words
