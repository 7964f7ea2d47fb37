-- SPDX-License-Identifier: GPL-2.0-or-later
--- Pages for tests: a machine as its file describes it, and verdicts that somebody makes up.
local json = require "taut.json"
local layout = require "taut.cli.page.layout"
local mend = require "taut.cli.page.mend"
local page = require "taut.report.page"
local placement = require "taut.cli.page.placement"
local scene = require "taut.cli.topology.scene"
local sys = require "taut.sys"

local pages = {}

local DAY = 86400
pages.AT = 1790000000 -- when a test's page is made

local function component(topo, c, state)
   return { component = topo.components[c], state = state or "ok", tests = 30, low_of = 9,
      low = state and 4 or 0, last = pages.AT - 300, remark = "",
      left = state == "slow" and 0.25 or state == "lossy" and 0.16 or nil,
      loss = state == "lossy" and 0.012 or nil, cable = topo:cable(c) }
end

local function case(topo, c, state, texts)
   local row = component(topo, c, state)
   row.since, row.action, row.is_link = pages.AT - DAY, "avoid", topo:is_link(c)
   row.evidence, row.reasoning = json.array {}, json.array {}
   for i, text in ipairs(texts) do
      row.reasoning[i] = { text = text }
   end
   return row
end

local function days_of(n)
   local list = {}
   for i = 1, n do
      list[i] = { from = pages.AT - (n - i) * DAY, checks = 40 + i, suspect = i % 3, slow = i // 5,
         lossy = i // 7, failed = i // 9, drains = i % 2, resumes = i % 4 == 0 and 1 or 0,
         tests = { good = 900 + 10 * i, low = 3 * i, void = 20 } }
   end
   return list
end

--- A folder of one's own: what others may write into is not read.
function pages.folder()
   local dir = os.tmpname()
   os.remove(dir)
   assert(sys.mkdir(dir, 448)) -- 0700
   return dir
end

-- A machine by the text of its file.
local function open_text(text)
   local dir = pages.folder()
   local path = dir .. "/small.lua"
   local f = assert(io.open(path, "w"))
   f:write(text)
   f:close()
   local found, err = scene.open { machine = path }
   os.remove(path)
   os.remove(dir)
   return assert(found, err)
end

pages.SMALL = 'topology = torus { dims = { 4, 2, 2 }, nodes_per_router = 2, nodes = "n[0-31]", ' ..
   'capacity = 1 * GB }'

--- Answers of a tautd about a machine.
-- @param file of its topology, or the text of one
-- @param o { bad = map component's name → state, drained = map node → reason, texts = array of
--   findings, jobs = array or nil }
-- @return what page.make wants
function pages.data(file, o)
   local found = file:find "[{]" and open_text(file) or assert(scene.open { machine = file })
   local topo = found.topo
   local d = { at = pages.AT, since = pages.AT - 14 * DAY, private = o.jobs ~= nil, links = {},
      nodes = {}, cases = {}, actions = {}, topo = topo, jobs = o.jobs, hidden = 0,
      days = days_of(14), status = { mode = "enable", switch = "on", coverage = 0.97,
         coverage_h = 24, drained = {}, held = {}, sets = {}, now = pages.AT, capped = {},
         store = { lost = 0 }, database = {} } }
   for c = 1, #topo.components do
      local state = o.bad[topo.components[c]]
      found.state[c], found.loss[c] = state, state == "lossy" and 0.012 or nil
      if topo:is_link(c) then
         d.links[#d.links + 1] = component(topo, c, state)
      end
      d.cases[#d.cases + 1] = state and case(topo, c, state, o.texts) or nil
   end
   found.has_health = true
   for n, name in ipairs(topo.nodes) do
      local tx, rx = topo.tx[n], topo.rx[n]
      local reason = o.drained[name]
      d.nodes[n] = { node = name, slurm = n % 3 == 0 and "allocated" or "idle",
         drain = reason ~= nil, reason = reason, ours = reason ~= nil,
         tx = component(topo, tx, o.bad[topo.components[tx]]),
         rx = component(topo, rx, o.bad[topo.components[rx]]) }
      if reason then
         table.insert(d.status.drained, { node = name, reason = reason,
            component = topo.components[tx] })
         table.insert(d.actions, { time = pages.AT - DAY, action = "drain", node = name,
            reason = reason, result = "done" })
      end
   end
   d.machine = assert(layout.of(found, d.links, d.nodes))
   d.repairs, d.repairs_note = mend.order(topo, d.cases, d.status.drained)
   d.cases_all = #d.cases
   if d.jobs then
      placement.add(topo, d.jobs)
   end
   return d
end

--- Write a page.
-- @return its path
function pages.write(d, path, live)
   local f = assert(io.open(path, "w"))
   assert(f:write((page.make(d, live))))
   f:close()
   return path
end

return pages
