-- SPDX-License-Identifier: GPL-2.0-or-later
--- Asks apbasil, and reads what it answers: BASIL, a small XML over standard input and output.
--
-- Only QUERY is ever sent: reservations belong to the batch system.  Elements and attributes as
-- Slurm's src/plugins/select/alps/libalps and TORQUE's src/resmom read them.
local optional = require "taut.base.optional"

local basil = {}

local TIMEOUT_S = 20        -- an inventory of 20,000 nodes takes seconds
local ANSWER_MAX = 64 << 20 -- bytes
local DEPTH_MAX = 24
local PROTOCOLS = { "1.3", "1.2", "1.1", "1.0" }

local function whole_number(text)
   if text and #text <= 9 and text:match "^%d+$" then
      return math.tointeger(tonumber(text))
   end
   return nil
end

---------------------------------------------------------------- reading

local starts = {}

function starts.ResponseData(st, attributes)
   st.answered = attributes.status == "SUCCESS"
   st.failure = (attributes.error_class or "") .. " " .. (attributes.error_source or "")
end

function starts.Engine(st, attributes)
   st.out.protocols = attributes.basil_support
end

function starts.Inventory(st)
   st.out.nodes, st.out.reservations = {}, {}
end

function starts.Node(st, attributes)
   local nid = whole_number(attributes.node_id)
   if not nid or not st.out.nodes then
      return nil, "a Node without node_id"
   elseif st.seen[nid] then
      return nil, ("node_id %d is here twice"):format(nid)
   end
   st.seen[nid] = true
   st.node = { nid = nid, name = ("nid%05d"):format(nid), cname = attributes.name or "",
      role = attributes.role or "", state = attributes.state or "" }
   table.insert(st.out.nodes, st.node)
end

function starts.ProcessorAllocation(st, attributes)
   if not st.node or not whole_number(attributes.reservation_id) then
      return nil, "a ProcessorAllocation without node or reservation_id"
   end
   st.node.reservation = whole_number(attributes.reservation_id)
end

function starts.Processor(st)
   if st.node then
      st.node.cpus = (st.node.cpus or 0) + 1
   end
end

function starts.Reservation(st, attributes)
   local id = whole_number(attributes.reservation_id)
   if not id or not st.out.nodes then
      return nil, "a Reservation without reservation_id"
   end
   table.insert(st.out.reservations, { id = id, user = attributes.user_name or "",
      batch = attributes.batch_id or "",
      time = whole_number(attributes.time_stamp) or tonumber(attributes.time_stamp) })
end

function starts.Message(st)
   st.message = ""
end

local function make_handlers(st)
   local function stop_parser(parser, why)
      st.error = st.error or ("line %d: %s"):format(parser:pos() or 0, why)
      parser:stop()
   end
   return {
      StartElement = function(parser, name, attrs)
         st.depth = st.depth + 1
         if st.depth > DEPTH_MAX then
            return stop_parser(parser, "nested too deeply")
         elseif st.depth == 1 and name ~= "BasilResponse" then
            return stop_parser(parser, "no BasilResponse")
         end
         local ok, why = true, nil
         if starts[name] then
            ok, why = starts[name](st, attrs)
         end
         if ok == nil and why then
            stop_parser(parser, why)
         end
      end,
      EndElement = function(_, name)
         st.depth = st.depth - 1
         if name == "Node" then
            st.node = nil
         end
      end,
      CharacterData = function(_, text)
         if st.message and #st.message < 400 then
            st.message = st.message .. text
         end
      end,
      StartDoctypeDecl = function(parser)
         stop_parser(parser, "a DOCTYPE")
      end,
   }
end

--- Read a response.
-- @return { protocols } or { nodes = array of { nid, name, cname, role, state, cpus, reservation },
--   reservations = array of { id, user, batch, time } }; or nil and what is wrong
function basil.read(text)
   local st = { depth = 0, seen = {}, out = {} }
   local lxp, missing = optional.module("lxp", function() return require "lxp" end)
   if not lxp then
      return nil, missing
   end
   local parser = lxp.new(make_handlers(st))
   local ok, why = parser:parse(text)
   if ok and not st.error then
      ok, why = parser:parse()
   end
   pcall(parser.close, parser)
   if st.error or not ok then
      return nil, "apbasil: " .. (st.error or "not XML: " .. tostring(why))
   elseif not st.answered then
      why = st.message or st.failure or "no ResponseData"
      return nil, "apbasil: " .. why:gsub("%s+", " "):gsub("[^ -~]", "?")
   end
   return st.out
end

---------------------------------------------------------------- asking

local function query_apbasil(protocol, kind)
   local pipe = io.popen(("printf '<?xml version=\"1.0\"?><BasilRequest protocol=\"%s\" " ..
      "method=\"QUERY\" type=\"%s\"/>' | timeout -k 1 %d apbasil 2>&1"):format(protocol, kind,
      TIMEOUT_S))
   local text = pipe and pipe:read(ANSWER_MAX)
   if pipe then
      pipe:close()
   end
   if not text then
      return nil, ("apbasil does not answer within %d s"):format(TIMEOUT_S)
   elseif not text:match "^%s*<" then
      return nil, "apbasil: " .. text:sub(1, 200):gsub("%s+", " "):gsub("[^ -~]", "?")
   end
   return basil.read(text)
end

local protocol -- the newest that both sides speak

--- The inventory of now.  Waits for apbasil.
-- @return as basil.read
function basil.inventory()
   if not protocol then
      local engine, err = query_apbasil("1.0", "ENGINE")
      if not engine then
         return nil, err
      end
      for _, p in ipairs(PROTOCOLS) do
         protocol = protocol or ("," .. (engine.protocols or "") .. ","):find("," .. p .. ",", 1,
            true) and p
      end
      if not protocol then
         return nil, "apbasil speaks none of " .. table.concat(PROTOCOLS, ", ")
      end
   end
   local answer, err = query_apbasil(protocol, "INVENTORY")
   if answer and not answer.nodes then
      return nil, "apbasil: a response without Inventory"
   end
   return answer, err
end

--- Nodes of a reservation, by name.
function basil.nodes_of(inventory, id)
   local names = {}
   for _, n in ipairs(inventory.nodes) do
      if n.reservation == id then
         names[#names + 1] = n.name
      end
   end
   return names
end

--- The batch system's job of a reservation: its number, or nil.
function basil.job_of(reservation)
   return math.tointeger(tonumber(reservation.batch:match "^%d%d?%d?%d?%d?%d?%d?%d?%d?"))
end

return basil
