-- SPDX-License-Identifier: GPL-2.0-or-later
-- time limit: 600 s
-- A page in a real Chromium: every control does what it says, the console stays empty, hostile
-- words stay words, in light, dark and on paper.
local browser = require "lib.browser"
local json = require "taut.json"
local lu = require "luaunit"
local pages = require "lib.pages"
local sys = require "taut.sys"

local tests = {}

local HOSTILE = "</script><script>window.broken = 1</script><img src=x onerror='window.broken = 2'>"
local FINDINGS = { "10 of 11 tests since it last did well were low", "score 8.8, needs 8", HOSTILE,
   "four", "five" }

local dir, b

local function data()
   return pages.data(pages.SMALL, { bad = { ["r1.0.0/X+"] = "slow", ["n3/tx"] = "failed",
      ["r2.1.1/Z+"] = "suspect" }, drained = { n3 = "taut: " .. HOSTILE }, texts = FINDINGS,
      jobs = { { id = 7, user = HOSTILE, name = HOSTILE, nodes = "n[8-15]", count = 8,
         start = pages.AT - 4000 } } })
end

-- Each test begins with the page as it is when it is opened.
function tests.setUp()
   if not browser.is_there() then
      lu.skip "chromium is not installed"
   elseif not b then
      dir = pages.folder()
      pages.write(data(), dir .. "/page.html")
      b = browser.start()
   end
   b:scheme "light"
   b:open("file://" .. dir .. "/page.html")
end

-- The picture as it is, as a text.
local function picture()
   b:frame()
   return b:value "document.getElementById('picture').toDataURL()"
end

local function text(id)
   return b:value(("document.getElementById('%s').textContent"):format(id))
end

-- Where the picture's middle is in the window.
local function middle()
   return table.unpack(b:value [[(() => { const e = document.getElementById('picture');
      e.scrollIntoView({ block: 'center', behavior: 'instant' });
      const r = e.getBoundingClientRect();
      return [r.left + r.width / 2, r.top + r.height / 2]; })()]])
end

local function quiet()
   lu.assertEquals(b.complaints, {})
   lu.assertEquals(b:value "String(window.broken)", "undefined")
end

local function changes(fn)
   local before = picture()
   fn()
   local after = picture()
   lu.assertTrue(before ~= after)
   return before, after
end

function tests.test_buttons_of_the_picture()
   local whole = changes(function() b:click "#closer" end)
   changes(function() b:click "#farther" b:click "#farther" end)
   changes(function() b:click "#whole" end)
   lu.assertTrue(picture() == whole, "the whole machine is drawn as it was at first")
   changes(function() b:click "#next" end)
   lu.assertStrContains(text "about", "1 of 3: n3: ")
   lu.assertStrContains(text "about", "n3/tx failed")
   lu.assertStrContains(text "about", HOSTILE)
   b:click "#next"
   lu.assertStrContains(text "about", "2 of 3: r1.0.0/X+ slow at 25%, action: avoid")
   b:click "#previous"
   b:click "#previous"
   lu.assertStrContains(text "about", "3 of 3: r2.1.1/Z+ suspect")
   quiet()
end

-- "Next not well" names it and leads on: to its row of the table, to the routers at its ends.
function tests.test_the_panel_leads_further()
   local function is_shown() return b:value "!document.getElementById('panel').hidden" end
   lu.assertFalse(is_shown())
   b:click "#next"
   b:click "#next"
   lu.assertTrue(is_shown())
   lu.assertEquals(b:value "[...document.querySelectorAll('#ways button')].map(e => e.textContent)",
      { "r1.0.0/X+: all of its evidence", "router r1.0.0", "router r2.0.0" })
   b:click "#ways button"
   lu.assertTrue(b:value "document.getElementById('case-r1.0.0/X+').querySelector('details').open")
   b:click "#ways button:nth-of-type(2)"
   lu.assertStrContains(text "about", "router r1.0.0")
   b:click "#let-go"
   lu.assertFalse(is_shown())
   quiet()
end

-- What to do first stands before the picture, and that before the tables.
function tests.test_what_to_do_first_comes_first()
   local places = b:value [[['first', 'summary', 'machine', 'verdicts', 'repairs', 'nodes'].map(
      (id) => document.getElementById(id).getBoundingClientRect().top)]]
   for i = 2, #places do
      lu.assertTrue(places[i] > places[i - 1], i)
   end
   lu.assertStrContains(text "first", "repair")
   lu.assertStrContains(text "summary", "nodes slow, lossy or failed")
   lu.assertStrContains(text "summary", "nodes drained by others")
end

-- On a phone nothing is wider than it, and each cell says what it is.
function tests.test_a_phone()
   b:size(400, 800)
   b:open("file://" .. dir .. "/page.html")
   b:click "#next"
   lu.assertTrue(b:value "document.documentElement.scrollWidth <= 400")
   lu.assertTrue(b:value [[[...document.querySelectorAll('main table')].every(
      (t) => t.scrollWidth <= t.parentElement.clientWidth + 1)]])
   lu.assertStrContains(b:value [[getComputedStyle(document.querySelector('#verdicts td'),
      '::before').content]], "Verdict: ")
   b:size(1280, 900)
   quiet()
end

function tests.test_search()
   b:click "#find"
   b:type "r1.0.0/x"
   lu.assertStrContains(text "found", "link r1.0.0/X+")
   b:key "Enter"
   lu.assertStrContains(text "about", "cable r1.0.0/X+ to r2.0.0/X-")
   b:click "#found button"
   lu.assertEquals(b:value "document.activeElement.id", "picture")
   b:click "#find"
   b:value "document.getElementById('find').select()"
   b:type "nothing"
   lu.assertEquals(text "found", "nothing has this in its name")
   b:key "Escape"
   lu.assertEquals({ text "found", text "about", b:value "document.getElementById('find').value" },
      { "", "", "" })
   quiet()
end

function tests.test_keys()
   local x, y = middle()
   b:click_at(x, y)
   b:key "Escape"
   b:key "0"
   local whole = picture()
   for _, key in ipairs { "ArrowLeft", "ArrowUp", "+", "-", "ArrowRight", "ArrowDown" } do
      changes(function() b:key(key) end)
   end
   b:key "n"
   lu.assertStrContains(text "about", "1 of 3")
   b:key "p"
   lu.assertStrContains(text "about", "3 of 3")
   b:key "Escape"
   lu.assertEquals(text "about", "")
   b:key "0"
   lu.assertTrue(picture() == whole)
   quiet()
end

function tests.test_mouse()
   local x, y = middle()
   local whole = changes(function() b:mouse("mouseWheel", x, y, { deltaX = 0, deltaY = -300 }) end)
   changes(function()
      b:mouse("mousePressed", x, y, { button = "left", buttons = 1, clickCount = 1 })
      b:mouse("mouseMoved", x + 60, y + 40, { button = "left", buttons = 1 })
      b:mouse("mouseReleased", x + 60, y + 40, { button = "left", clickCount = 1 })
   end)
   lu.assertEquals(text "about", "") -- a drag is no click
   b:click "#whole"
   lu.assertTrue(picture() == whole)
   -- the slow link comes to the middle; what the pointer says there is its evidence
   b:click "#next"
   b:click "#next"
   x, y = middle()
   b:mouse("mouseMoved", x, y)
   b:frame()
   lu.assertFalse(b:value "document.getElementById('tip').hidden")
   lu.assertStrContains(text "tip", "r1.0.0/X+ slow at 25%")
   lu.assertStrContains(text "tip", "10 of 11 tests since it last did well were low")
   lu.assertStrContains(text "tip", "(click for all)")
   lu.assertStrContains(text "tip", "low 4 of 9 tests, tested 5 min ago")
   b:click_at(x, y)
   lu.assertStrContains(text "about", "five")
   quiet()
end

function tests.test_choices()
   changes(function()
      b:value [[(() => { const e = document.getElementById('colours'); e.value = 'slurm';
         e.dispatchEvent(new Event('change')); })()]]
   end)
   lu.assertEquals(text "legend", "idlebusydrainednot in servicenot known")
   changes(function() b:click "#only" end)
   lu.assertTrue(b:value "document.getElementById('only').checked")
   local light = b:value "getComputedStyle(document.body).backgroundColor"
   changes(function()
      b:value [[(() => { const e = document.getElementById('theme'); e.value = 'dark';
         e.dispatchEvent(new Event('change')); })()]]
   end)
   lu.assertNotEquals(b:value "getComputedStyle(document.body).backgroundColor", light)
   quiet()
end

function tests.test_tables_lead_into_the_picture()
   changes(function() b:click "#verdicts button.show[data-name='r1.0.0/X+']" end)
   lu.assertStrContains(text "about", "r1.0.0/X+ slow")
   changes(function() b:click "#jobs button.show" end)
   lu.assertEquals(text "about", "Job 7: 8 nodes, marked in the picture")
   b:click "#nodes button.show[data-name='n3']"
   lu.assertStrContains(text "about", "n3: drained in Slurm")
   b:click "#verdicts details summary"
   lu.assertTrue(b:value "document.querySelector('#verdicts details').open")
   b:click "#trend details summary"
   lu.assertTrue(b:value "document.querySelector('#trend tbody').rows.length === 14")
   quiet()
end

-- Luminance of what is written, and of what it is written on, as WCAG 2 has it.
local CONTRAST = [[(() => {
   const parts = (c) => c.match(/[\d.]+/g).map(Number);
   const lum = (c) => { const v = parts(c).slice(0, 3).map((x) => { x /= 255;
      return x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4; });
      return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };
   const back = (e) => { while (e) { const c = getComputedStyle(e).backgroundColor;
      if (!/, 0\)$/.test(c)) { return c; } e = e.parentElement; } return 'rgb(255, 255, 255)'; };
   const poor = [];
   for (const e of document.querySelectorAll('body *')) {
      const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
      if (own && e.tagName !== 'SCRIPT' && e.tagName !== 'NOSCRIPT' && e.getClientRects().length) {
         const a = lum(getComputedStyle(e).color), b = lum(back(e));
         const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
         if (ratio < 4.5) { poor.push(e.tagName + ' ' + e.textContent.slice(0, 20) + ' ' + ratio); }
      }
   }
   return poor;
})()]]

function tests.test_light_and_dark_can_be_read()
   local light = picture()
   lu.assertEquals(b:value(CONTRAST), {})
   b:scheme "dark"
   lu.assertTrue(picture() ~= light)
   lu.assertEquals(b:value(CONTRAST), {})
   b:scheme "light"
   lu.assertTrue(picture() == light)
   quiet()
end

function tests.test_who_cannot_see_it()
   lu.assertEquals(b:value [[[...document.querySelectorAll('button, input, select, canvas, a')]
      .filter((e) => !(e.getAttribute('aria-label') || e.textContent.trim() ||
         e.closest('label'))).length]], 0)
   lu.assertEquals(b:value [[[...document.querySelectorAll('table')].filter((t) => !t.caption ||
      [...t.querySelectorAll('th')].some((h) => !h.scope)).length]], 0)
   lu.assertEquals(b:value [[[...document.querySelectorAll('main > section')].filter((s) =>
      !s.getAttribute('aria-label') && !document.getElementById(s.getAttribute('aria-labelledby')))
      .length]], 0)
   -- names and roles as a screen reader gets them
   local names = {}
   b:ask "Accessibility.enable"
   for _, node in ipairs(b:ask("Accessibility.getFullAXTree").nodes) do
      local role = node.role and node.role.value
      if role == "button" or role == "textbox" or role == "searchbox" or role == "combobox" then
         lu.assertTrue(node.name ~= nil and node.name.value ~= "", role)
         names[node.name.value] = true
      end
   end
   b:ask "Accessibility.disable"
   for _, name in ipairs { "Zoom in", "Zoom out", "Whole machine", "Next not well" } do
      lu.assertTrue(names[name], name)
   end
   -- from the top what to do first, then all of the picture's controls are reached by the keyboard,
   -- in order
   b:value "document.activeElement.blur()"
   local reached = {}
   for i = 1, 14 do
      b:key "Tab"
      reached[i] = b:value "document.activeElement.id || document.activeElement.className"
   end
   lu.assertEquals(reached, { "skip", "show", "show", "find", "previous", "next", "closer",
      "farther", "whole", "colours", "only", "theme", "print", "picture" })
   quiet()
end

-- Words that are cut in two, of those that have up to 20 letters.
local CUT = [[(() => {
   const cut = [], range = document.createRange();
   const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
   for (let n = walker.nextNode(); n; n = walker.nextNode()) {
      for (const word of n.data.matchAll(/\S+/g)) {
         range.setStart(n, word.index);
         range.setEnd(n, word.index + word[0].length);
         const lines = new Set([...range.getClientRects()].map((r) => Math.round(r.top)));
         const isWhole = lines.size <= 1;
         if (!isWhole && word[0].length <= 20 && /^[\w.:/+]+$/.test(word[0])) { cut.push(word[0]); }
      }
   }
   return cut;
})()]]

-- What is wider than the window: section and width.
local WIDER = [[[...document.querySelectorAll('main *')].filter((e) =>
   (matchMedia('print').matches || !e.closest('.wide > *')) &&
   e.getBoundingClientRect().right + scrollX > innerWidth + 1).map((e) => e.closest('section').id +
   ' ' + e.tagName + ' ' + e.getBoundingClientRect().right)]]

-- On paper the columns of a table once were as narrow as a letter.
function tests.test_no_word_is_cut()
   for _, media in ipairs { "", "print" } do
      b:ask("Emulation.setEmulatedMedia", { media = media })
      for _, wide in ipairs { 700, 1280 } do
         b:size(wide, 900)
         b:frame()
         lu.assertEquals(b:value(CUT), {}, media .. wide)
         lu.assertEquals(b:value(WIDER), {}, media .. wide)
      end
   end
   b:ask("Emulation.setEmulatedMedia", { media = "" })
   quiet()
end

-- The trend's letters, as they are on the screen.
function tests.test_small_letters_can_be_read()
   lu.assertTrue(b:value [[Math.min(...[...document.querySelectorAll('.chart text')].map((t) =>
      t.getBoundingClientRect().height))]] >= 9)
   lu.assertEquals(b:value [[[...document.querySelectorAll('.chart text')].filter((t) => {
      const own = t.getBoundingClientRect(), all = t.closest('svg').getBoundingClientRect();
      return own.left < all.left || own.right > all.right || own.bottom > all.bottom ||
         own.top < all.top; }).map((t) => t.textContent)]], {})
end

function tests.test_paper()
   local before = picture()
   b:value "window.printed = 0; window.print = () => { window.printed += 1; }"
   b:click "#print"
   lu.assertEquals(b:value "window.printed", 1)
   b:scheme "dark"
   b:scheme "light"
   local pdf = b:pdf()
   lu.assertEquals(pdf:sub(1, 5), "%PDF-")
   lu.assertTrue(#pdf > 20000)
   lu.assertTrue(picture() == before, "after printing the picture is as before")
   b:ask("Emulation.setEmulatedMedia", { media = "print" })
   lu.assertEquals(b:value "getComputedStyle(document.querySelector('.tools')).display", "none")
   b:ask("Emulation.setEmulatedMedia", { media = "" })
   quiet()
end

function tests.test_the_same_page_is_the_same_picture()
   local first = b:screenshot()
   b:open("file://" .. dir .. "/page.html")
   lu.assertTrue(b:screenshot() == first)
   b:size(700, 900)
   b:frame()
   lu.assertTrue(b:value "document.documentElement.scrollWidth <= 700")
   b:size(1280, 900)
   quiet()
end

function tests.test_words_of_others_are_words()
   lu.assertEquals(b:value "document.querySelectorAll('script').length", 2)
   lu.assertEquals(b:value "document.images.length", 0)
   lu.assertStrContains(text "jobs", HOSTILE)
   lu.assertStrContains(text "nodes", HOSTILE)
   -- and were one let through, the page's policy would not run it
   b:value [[(() => { const e = document.createElement('div'); document.body.append(e);
      e.innerHTML = "<img src=x onerror='window.broken = 3'>"; })()]]
   b:value "new Promise((done) => setTimeout(() => done(1), 200))"
   lu.assertEquals(b:value "String(window.broken)", "undefined")
   b.complaints = {} -- it says that it refused that
end

-- What the page says when an expression is true, at most `limit` looks later.
local function wait_for(expression, limit)
   for _ = 1, limit or 100 do
      if b:value(expression) then
         return
      end
      b:value "new Promise((done) => setTimeout(() => done(1), 200))"
   end
   lu.fail("never: " .. expression .. "; " .. text "when")
end

-- Where a server that live_page.lua is listens, when it does.
local function live_server()
   local script = (os.getenv "TAUT_SRCDIR" or ".") .. "/tests/lua/lib/live_page.lua"
   os.execute(table.concat({ sys.paths.program, "--lua", script, dir, ">/dev/null 2>&1 &" }, " "))
   for _ = 1, 300 do
      local f = io.open(dir .. "/port")
      if f then
         local port = f:read "a"
         f:close()
         os.remove(dir .. "/port")
         return "http://127.0.0.1:" .. port .. "/"
      end
      os.execute "sleep 0.1"
   end
   lu.fail "no server"
end

function tests.test_news_of_a_page_that_is_served()
   local url = live_server()
   b:open(url)
   lu.assertStrContains(text "verdicts", "r1.0.0/X+")
   b:value "document.querySelector('#trend details').open = true"
   b:click "#closer"
   local before = picture()
   b:value(("fetch('%schange').then(() => 1)"):format(url))
   wait_for "document.getElementById('verdicts').textContent.includes('r3.1.1/Y+')"
   lu.assertFalse(b:value "document.getElementById('verdicts').textContent.includes('r1.0.0/X+')")
   lu.assertTrue(picture() ~= before)
   lu.assertTrue(b:value "document.querySelector('#trend details').open")
   b:click "#next"
   lu.assertStrContains(text "about", "1 of 1: r3.1.1/Y+ failed")
   quiet()
   b:value(("fetch('%send').then(() => 1)"):format(url))
   wait_for "document.getElementById('when').textContent.startsWith('No answer (')"
   lu.assertTrue(b:value "document.body.classList.contains('stale')")
   b.complaints = {} -- of the server that is gone
end

-- (luaunit runs tests by name: this is the last)
function tests.test_zz_end()
   quiet()
   b:close()
   os.remove(dir .. "/page.html")
   os.remove(dir)
   lu.assertEquals(json.encode(b.complaints), "{}")
end

return tests
