-- SPDX-License-Identifier: GPL-2.0-or-later
-- What tests/bench/report_browser asks.
--   report_browser.lua lanes SOCKET MACHINE: tell tautd that 40 links have lost lanes
--   report_browser.lua look PAGE: open it in Chromium, and print figures
local json = require "taut.json"
local sys = require "taut.sys"

local LINKS = 40

local actions = {}

function actions.lanes(socket, machine)
   local topo = assert(require("taut.config").machine(machine))
   local events = json.array {}
   local links = #topo.components - topo.first_link + 1
   for i = 1, LINKS do
      local c = topo.first_link + (i * 7919) % links
      local router = topo:from(c)
      events[i] = { source = "netwatch", to = sys.now(), what = "lanes", class = "degrading",
         at = { gemini = topo.layout and topo.layout.cname and topo.layout.cname(router)
            or topo.router_name[router], direction = topo:kind(c) },
         left = i % 4 == 0 and 0 or 0.5, text = "lanes lost" }
   end
   local line = assert(sys.request(socket, json.encode { cmd = "record",
      args = { events = events } }, 30000))
   local reply = json.decode(line)
   assert(reply.ok, reply.error)
end

---------------------------------------------------------------- the browser

local function median(list)
   table.sort(list)
   return list[#list // 2 + 1]
end

-- How long it takes until what a key asked for is on the screen, in ms: the frame after the one
-- that drew it.
local DRAG = [[(async () => {
   const c = document.getElementById('picture'), times = [];
   const frame = () => new Promise((done) => requestAnimationFrame(() => done(1)));
   for (let i = 0; i < %d; i++) {
      const from = performance.now();
      c.dispatchEvent(new KeyboardEvent('keydown', { key: i %% 4 ? 'ArrowLeft' : '+' }));
      await frame();
      await frame();
      times.push(performance.now() - from);
   }
   return times;
})()]]

-- It may be told a moment later.
local PAINT = [[new Promise((done) => new PerformanceObserver((list) => {
   const e = list.getEntriesByName('first-contentful-paint')[0];
   if (e) { done(e.startTime); }
}).observe({ type: 'paint', buffered: true }))]]

local SEARCH = [[(() => {
   const find = document.getElementById('find'), from = performance.now();
   find.value = 'nid1234';
   find.dispatchEvent(new Event('input'));
   return performance.now() - from;
})()]]

local LOOK = [[(async () => {
   const c = document.getElementById('picture'), b = c.getBoundingClientRect(), times = [];
   const frame = () => new Promise((done) => requestAnimationFrame(() => done(1)));
   for (let i = 0; i < 20; i++) {
      const from = performance.now();
      c.dispatchEvent(new PointerEvent('pointermove', { clientX: b.left + 20 * i + 100,
         clientY: b.top + 100, pointerId: 1 }));
      await frame();
      await frame();
      times.push(performance.now() - from);
   }
   return times;
})()]]

local function look_once(browser, path, quick)
   local b = browser.start()
   b:open("file://" .. path)
   local out = { paint = b:value(PAINT),
      drawn = b:value "performance.getEntriesByType('navigation')[0].loadEventStart",
      drag = median(b:value(DRAG:format(quick and 8 or 40))), search = b:value(SEARCH),
      look = median(b:value(LOOK)) }
   assert(#b.complaints == 0, b.complaints[1])
   b:close()
   return out
end

function actions.look(path)
   local browser, figure = require "lib.browser", require "figure"
   local quick = (os.getenv "BENCH_QUICK" or "") ~= ""
   local all = {}
   for _ = 1, quick and 2 or 5 do
      for name, ms in pairs(look_once(browser, path, quick)) do
         all[name] = all[name] or {}
         table.insert(all[name], ms)
      end
   end
   figure("report_first_paint", median(all.paint) / 1000, "s", "<=", 2)
   figure("report_drawn", median(all.drawn) / 1000, "s", "<=", 4)
   figure("report_drag_frame", median(all.drag), "ms", "<=", 250)
   figure("report_search", median(all.search), "ms", "<=", 250)
   figure("report_look", median(all.look), "ms", "<=", 250)
end

actions[arg[1]](table.unpack(arg, 2))
