-- SPDX-License-Identifier: GPL-2.0-or-later
--- What administrators switched: the policy's mode, whether there are checks at all, and steering.
--
-- Kept in the file `brakes` beside the database, which is the last word, and in the database
-- (store/brakes.lua).  Values that were never set are those of the configuration.  Where something
-- was kept and neither can be read, nothing is guessed: checks are off and the mode is observe.
local brakes = require "taut.store.brakes"
local sys = require "taut.sys"

local switches = {}
local Switches = {}
Switches.__index = Switches

--- "enable" or "observe".
function Switches:mode()
   if self.lost then
      return self.kept.mode or "observe"
   end
   return self.kept.mode or self.site.conf.mode
end

--- "on" or "off".
function Switches:checks()
   if self.lost then
      return self.kept.switch or "off"
   end
   return self.kept.switch or "on"
end

--- Are there to be checks now?
function Switches:are_checks_on()
   return self:checks() ~= "off"
end

--- "on" or "off" where somebody said so, or nil.
function Switches:steering()
   if self.lost then
      return self.kept.steering or "off"
   end
   return self.kept.steering
end

---------------------------------------------------------------- keeping

--- Have the file on disk, if it is not.
-- @return true, or nil and why it is not
function Switches:save()
   if self.path and self.is_unsaved then
      local ok, err = brakes.write(self.path, self.kept)
      if not ok then
         if err ~= self.error then
            sys.log("err", ("brakes: not stored: %s"):format(err))
         end
         self.error = err
         return nil, err
      end
   end
   self.is_unsaved, self.error = false, nil
   return true
end

local function keep_switches(self)
   self.is_unsaved = true
   self:save()
   self.journal:add("setting", { name = "brakes", value = brakes.text(self.kept) })
end

local function set_switch(self, name, value)
   self.said[name] = true
   self.kept[name] = value
   self.kept.generation = self.kept.generation + 1
   keep_switches(self)
end

function Switches:set_mode(mode)
   set_switch(self, "mode", mode)
end

function Switches:set_checks(value)
   set_switch(self, "switch", value)
end

function Switches:set_steering(value)
   set_switch(self, "steering", value)
end

---------------------------------------------------------------- a start

--- Look at what an earlier tautd kept; before the store makes a database.
-- @param path of the file
-- @param database its path
-- @return for Switches:open
function switches.look(path, database)
   local file, err, is_there = brakes.read(path)
   if is_there and not file then
      sys.log("err", "brakes: " .. err)
   end
   local lost = not file and (is_there and err or sys.stat(database) and path .. " is not there")
   return { path = path, file = file, is_bad = is_there and not file, lost = lost or nil }
end

--- Take what `look` saw.
-- @param token of the lease under which this tautd acts; nil: it is alone
function Switches:open(seen, token)
   self.token = token
   self.path, self.file, self.is_bad, self.lost = seen.path, seen.file, seen.is_bad, seen.lost
   self.kept = brakes.newest(seen.file) or self.kept
   self.kept.token = token or self.kept.token
end

-- The database's copy; nil where it has none, or a damaged one.
local function parse_stored(text)
   if not text then
      return nil
   end
   local b, err = brakes.parse(text)
   if not b then
      sys.log("err", "database: brakes: " .. err)
   end
   return b
end

--- Take what the database kept; what was said since is newer.
-- @param settings map name → value
function Switches:restore(settings)
   local newest = brakes.newest(self.file, parse_stored(settings.brakes))
   if not newest and (self.is_bad or settings.brakes) then
      self:give_up "the database has no good copy"
      return
   end
   self.lost, self.is_given_up = nil, nil
   newest = newest or { generation = 0 }
   for name in pairs(self.said) do
      newest[name] = self.kept[name]
   end
   newest.generation = math.max(newest.generation, self.kept.generation)
   if next(self.said) then
      newest.generation = newest.generation + 1
   end
   newest.token = self.token or newest.token
   self.kept = newest
   local text = brakes.text(newest)
   if text ~= settings.brakes or not self.file or text ~= brakes.text(self.file) then
      keep_switches(self)
   end
end

--- The database cannot be read (now): where the file cannot be either, that is said.
function Switches:give_up(why)
   if self.lost and not self.is_given_up then
      self.is_given_up = true
      self.lost = ("%s, and %s"):format(self.lost, why)
      sys.log("err", "brakes: " .. self:trouble())
   end
end

--- What is wrong, or nil.
function Switches:trouble()
   if self.lost then
      local mode = self:mode()
      if mode == "enable" then
         mode = "drain"
      end
      return ("what was said of mode, on and off is not known (%s): checks are %s, mode is %s " ..
         "until somebody says otherwise"):format(self.lost, self:checks(), mode)
   end
   return self.error and "not stored: " .. self.error
end

--- @param options { site, journal }
function switches.new(options)
   return setmetatable({ site = options.site, journal = options.journal, kept = { generation = 0 },
      said = {} }, Switches)
end

return switches
