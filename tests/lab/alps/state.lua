-- SPDX-License-Identifier: GPL-2.0-or-later
--- What the lab's ALPS knows: nodes, reservations and applications, in one file that `run` locks.
local state = {}

local FILE = os.getenv "LAB_ALPS" .. "/state"

local function write(out, v)
   if type(v) ~= "table" then
      out:write(("%q"):format(v))
      return
   end
   out:write "{"
   for key, value in pairs(v) do
      out:write(("[%q]="):format(key))
      write(out, value)
      out:write ",\n"
   end
   out:write "}"
end

function state.save(s)
   local out = assert(io.open(FILE .. ".new", "w"))
   out:write "return "
   write(out, s)
   assert(out:close())
   assert(os.rename(FILE .. ".new", FILE))
end

local function is_alive(pid)
   local f = io.open(("/proc/%d/stat"):format(pid))
   return f ~= nil and f:close()
end

-- An application ends with its aprun, a released reservation with its last application.
local function tidy(s)
   for id, r in pairs(s.reservations) do
      for apid, app in pairs(r.apps) do
         if not is_alive(app.pid) then
            r.apps[apid] = nil
         end
      end
      if r.released and not next(r.apps) then
         s.reservations[id] = nil
      end
   end
end

function state.load()
   local s = assert(loadfile(FILE, "t", {}))()
   tidy(s)
   return s
end

--- Numbers as "2-5,9".
function state.parse_list(text)
   local list = {}
   for part in text:gmatch "[^,]+" do
      local from, to = part:match "^%s*(%d+)%-?(%d*)%s*$"
      if not from then
         return nil
      end
      for n = math.tointeger(from), math.tointeger(to ~= "" and to or from) do
         list[#list + 1] = n
      end
   end
   return list
end

--- node id → id of the reservation that has it
function state.holders(s)
   local holder = {}
   for id, r in pairs(s.reservations) do
      for _, nid in ipairs(r.nodes) do
         holder[nid] = id
      end
   end
   return holder
end

--- Keys in order.
function state.sorted(t)
   local keys = {}
   for k in pairs(t) do
      keys[#keys + 1] = k
   end
   table.sort(keys)
   return keys
end

return state
