-- SPDX-License-Identifier: GPL-2.0-or-later
--- Chromium without a window, told what to do over two pipes (--remote-debugging-pipe): messages
-- are JSON, each ended by a zero byte.
-- Source: https://chromedevtools.github.io/devtools-protocol/
local json = require "taut.json"

local browser = {}
local Browser = {}
Browser.__index = Browser

local LATE_S = 60 -- for one answer, beside whatever else the machine does

--- Is there one?
function browser.is_there()
   return (os.execute "command -v chromium >/dev/null 2>&1")
end

-- One message; they come as fast as Chromium writes them.
local function read(self)
   local parts, n = {}, 0
   while true do
      local c = self.out:read(1)
      if not c then
         error("chromium ended: " .. (io.open(self.dir .. "/log"):read "a"):sub(-2000))
      elseif c == "\0" then
         return assert(json.decode(table.concat(parts)))
      end
      n = n + 1
      parts[n] = c
   end
end

local COMPLAINTS = { ["Runtime.exceptionThrown"] = function(p)
   return p.exceptionDetails.exception and p.exceptionDetails.exception.description
      or p.exceptionDetails.text
end, ["Runtime.consoleAPICalled"] = function(p)
   return (p.type == "error" or p.type == "warning") and json.encode(p.args) or nil
end, ["Log.entryAdded"] = function(p)
   return p.entry.level ~= "info" and p.entry.level ~= "verbose" and p.entry.text or nil
end }

-- What comes unasked: complaints are kept, and which events were seen.
local function event(self, m)
   self.seen[m.method] = (self.seen[m.method] or 0) + 1
   local text = COMPLAINTS[m.method] and COMPLAINTS[m.method](m.params)
   self.complaints[#self.complaints + 1] = text
end

--- Ask.
-- @param method of the protocol
-- @return its result; an error of the protocol ends the test
function Browser:ask(method, params)
   self.id = self.id + 1
   self.to:write(json.encode { id = self.id, method = method, sessionId = self.session,
      params = params and next(params) and params or nil }, "\0")
   self.to:flush()
   while true do
      local m = read(self)
      if m.id == self.id then
         return m.result or error(method .. ": " .. json.encode(m.error), 2)
      elseif m.method then
         event(self, m)
      end
   end
end

--- Wait until the page is loaded and drawn.
function Browser:open(url)
   self.seen["Page.loadEventFired"] = nil
   self:ask("Page.navigate", { url = url })
   while not self.seen["Page.loadEventFired"] do
      event(self, read(self))
   end
   self:frame()
end

--- The value of an expression in the page; a promise is waited for.
function Browser:value(text)
   local r = self:ask("Runtime.evaluate", { expression = text, returnByValue = true,
      awaitPromise = true })
   if r.exceptionDetails then
      error(text .. ": " .. json.encode(r.exceptionDetails), 2)
   end
   return r.result.value
end

--- Wait for two frames: what was asked for is drawn then.
function Browser:frame()
   self:value([[new Promise((done) =>
      requestAnimationFrame(() => requestAnimationFrame(() => done(1))))]])
end

--- Move the mouse to a place of the window, or press, or let go.
function Browser:mouse(kind, x, y, more)
   local p = { type = kind, x = x, y = y, button = "none" }
   for k, v in pairs(more or {}) do
      p[k] = v
   end
   self:ask("Input.dispatchMouseEvent", p)
end

--- Click on a place.
function Browser:click_at(x, y)
   self:mouse("mouseMoved", x, y)
   self:mouse("mousePressed", x, y, { button = "left", clickCount = 1 })
   self:mouse("mouseReleased", x, y, { button = "left", clickCount = 1 })
   self:frame()
end

--- Click in the middle of an element.
-- @param selector of CSS
function Browser:click(selector)
   local at = self:value(([[(() => { const e = document.querySelector(%s);
      e.scrollIntoView({ block: 'center', behavior: 'instant' });
      const b = e.getBoundingClientRect();
      return [b.left + b.width / 2, b.top + b.height / 2]; })()]]):format(json.encode(selector)))
   self:click_at(at[1], at[2])
end

local CODES = { Enter = 13, Escape = 27, ArrowLeft = 37, ArrowUp = 38, ArrowRight = 39,
   ArrowDown = 40, Tab = 9 }

--- Press a key: a name of the protocol, or a character.
function Browser:key(key)
   local text = #key == 1 and key or key == "Enter" and "\r" or nil
   self:ask("Input.dispatchKeyEvent", { type = "keyDown", key = key, text = text,
      windowsVirtualKeyCode = CODES[key] or key:upper():byte() })
   self:ask("Input.dispatchKeyEvent", { type = "keyUp", key = key,
      windowsVirtualKeyCode = CODES[key] or key:upper():byte() })
   self:frame()
end

--- Type a text.
function Browser:type(text)
   self:ask("Input.insertText", { text = text })
   self:frame()
end

local DIGITS = {}
for i = 0, 63 do
   DIGITS[("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"):byte(i + 1)] = i
end

local function base64(text)
   local out = {}
   for i = 1, #text, 4 do
      local a, b, c, d = text:byte(i, i + 3)
      local v = DIGITS[a] << 18 | DIGITS[b] << 12 | (DIGITS[c] or 0) << 6 | (DIGITS[d] or 0)
      out[#out + 1] = string.char(v >> 16 & 255, v >> 8 & 255, v & 255):sub(1,
         not DIGITS[c] and 1 or not DIGITS[d] and 2 or 3)
   end
   return table.concat(out)
end

--- A picture of the window (or of all of the page) as PNG, the page on paper as PDF.
function Browser:screenshot(whole)
   return base64(self:ask("Page.captureScreenshot",
      { captureBeyondViewport = whole or false }).data)
end

function Browser:pdf()
   return base64(self:ask("Page.printToPDF", { printBackground = false }).data)
end

function Browser:size(width, height)
   self:ask("Emulation.setDeviceMetricsOverride", { width = width, height = height,
      deviceScaleFactor = 1, mobile = false })
end

--- What the system says: "dark" or "light"; and that nothing is to move by itself.
function Browser:scheme(name)
   self:ask("Emulation.setEmulatedMedia", { features = json.array { {
      name = "prefers-color-scheme", value = name }, {
      name = "prefers-reduced-motion", value = "reduce" } } })
   self:frame()
end

function Browser:close()
   pcall(function() self:ask "Browser.close" end)
   self.to:close()
   self.out:close()
   -- it writes into its folder until it has ended
   os.execute(("for i in 1 2 3 4 5 6 7 8 9; do rm -rf '%s' 2>/dev/null && break; sleep 0.2; done")
      :format(self.dir))
end

--- Start one.
-- @return browser with an empty page: complaints = array of what its console said
function browser.start()
   local pipe = assert(io.popen "mktemp -d")
   local dir = pipe:read "l"
   pipe:close()
   assert(os.execute(("mkfifo '%s/to' '%s/from'"):format(dir, dir)))
   -- the sandbox wants more than a container of a test gives, and only our own pages are opened
   assert(os.execute(([[cd '%s' && HOME='%s' timeout %d chromium --headless=new --no-sandbox \
      --disable-gpu --disable-dev-shm-usage --no-first-run --hide-scrollbars \
      --user-data-dir='%s/p' \
      --disable-extensions --disable-background-networking --remote-debugging-pipe \
      about:blank 3<to 4>from >log 2>&1 &]]):format(dir, dir, 10 * LATE_S, dir)))
   local self = setmetatable({ dir = dir, id = 0, seen = {}, complaints = {},
      to = assert(io.open(dir .. "/to", "w")),
      out = assert(io.open(dir .. "/from", "r")) }, Browser)
   self.out:setvbuf("full", 1 << 20)
   local target = self:ask("Target.createTarget", { url = "about:blank" }).targetId
   self.session = self:ask("Target.attachToTarget",
      { targetId = target, flatten = true }).sessionId
   for _, domain in ipairs { "Page", "Runtime", "Log" } do
      self:ask(domain .. ".enable")
   end
   self:size(1280, 900)
   return self
end

return browser
