-- SPDX-License-Identifier: GPL-2.0-or-later
--- apbasil of the lab: one request on standard input, one answer on standard output.  As strict as
-- what it stands for: unknown elements, methods, protocols and reservations are refused.
local lxp = require "lxp"
local state = require "state"

local PROTOCOLS = { ["1.0"] = true, ["1.1"] = true, ["1.2"] = true, ["1.3"] = true }
local ELEMENTS = { BasilRequest = true, ReserveParamArray = true, ReserveParam = true,
   NodeParamArray = true, NodeParam = true }

local request, params, node_list = nil, nil, nil

local function fail(class, source, text, ...)
   error({ class = class, source = source, text = text:format(...) }, 0)
end

local function backend(text, ...)
   fail("PERMANENT", "BACKEND", "ALPS error: " .. text, ...)
end

---------------------------------------------------------------- the request

local function read_request(text)
   local unknown
   local parser = lxp.new {
      StartElement = function(_, name, attrs)
         unknown = unknown or not ELEMENTS[name] and name or nil
         if name == "BasilRequest" then
            request = attrs
         elseif name == "ReserveParamArray" then
            params = { user = attrs.user_name, batch = attrs.batch_id }
         elseif name == "ReserveParam" and params then
            params.width, params.nppn = tonumber(attrs.width), tonumber(attrs.nppn)
         elseif name == "NodeParam" then
            node_list = ""
         end
      end,
      CharacterData = function(_, chars)
         node_list = node_list and node_list .. chars
      end,
   }
   local ok, why = parser:parse(text)
   if not ok or not parser:parse() or not request then
      fail("PERMANENT", "PARSER", "not a BasilRequest: %s", tostring(why))
   elseif unknown then
      fail("PERMANENT", "PARSER", "unknown element %s", unknown)
   elseif not PROTOCOLS[request.protocol or ""] then
      fail("PERMANENT", "PARSER", "protocol %s is not supported", tostring(request.protocol))
   end
end

local function reservation(s)
   local id = math.tointeger(tonumber(request.reservation_id))
   return id, s.reservations[id]
end

---------------------------------------------------------------- answers

local methods, queries = {}, {}

function queries.ENGINE()
   return '<Engine name="ALPS" version="5.2.3" basil_support="1.3,1.2,1.1,1.0"/>'
end

local function processors(s, id)
   local list = {}
   for k = 0, s.cpus - 1 do
      list[#list + 1] = ('<ComputeUnit ordinal="%d"><ProcessorArray><Processor ordinal="%d">%s' ..
         '</Processor></ProcessorArray></ComputeUnit>'):format(k, k,
         id and ('<ProcessorAllocation reservation_id="%d"/>'):format(id) or "")
   end
   return table.concat(list)
end

local function node(s, nid, id)
   local n = s.nodes[nid]
   return ('<Node node_id="%d" name="%s" architecture="XT" role="%s" state="%s" router_id="%d">' ..
      '<SocketArray><Socket ordinal="0" architecture="x86_64" clock_mhz="2100"><SegmentArray>' ..
      '<Segment ordinal="0"><ComputeUnitArray>%s</ComputeUnitArray><MemoryArray>' ..
      '<Memory type="OS" page_size_kb="4" page_count="262144"/></MemoryArray><LabelArray/>' ..
      '</Segment></SegmentArray></Socket></SocketArray><AcceleratorArray/></Node>')
      :format(nid, n.cname, n.role, n.state, nid // 2, processors(s, id))
end

local function application(apid, app)
   return ('<Application application_id="%d" user_id="%d" group_id="%d" time_stamp="%d">' ..
      '<CommandArray><Command width="%d" depth="1" nppn="1" memory="1000" architecture="XT" ' ..
      'cmd="%s"/></CommandArray></Application>'):format(apid, app.uid, app.uid, app.time,
      app.width, app.cmd:gsub("[^%w._-]", "_"))
end

local function reservation_text(id, r)
   local apps = { application(0, { uid = 0, time = 0, width = r.width, cmd = "BASIL" }) }
   for _, apid in ipairs(state.sorted(r.apps)) do
      apps[#apps + 1] = application(apid, r.apps[apid])
   end
   return ('<Reservation reservation_id="%d" user_name="%s" account_name="DEFAULT" ' ..
      'time_stamp="%d" batch_id="%s" reservation_mode="EXCLUSIVE" gpc_mode="NONE">' ..
      '<ApplicationArray>%s</ApplicationArray></Reservation>'):format(id, r.user, r.time, r.batch,
      table.concat(apps))
end

function queries.INVENTORY(s)
   local nodes, list, holder = {}, {}, state.holders(s)
   for _, nid in ipairs(state.sorted(s.nodes)) do
      nodes[#nodes + 1] = node(s, nid, holder[nid])
   end
   for _, id in ipairs(state.sorted(s.reservations)) do
      list[#list + 1] = reservation_text(id, s.reservations[id])
   end
   return ('<Inventory mpp_host="lab" timestamp="%d"><NodeArray changecount="1" ' ..
      'schedchangecount="1">%s</NodeArray><ReservationArray>%s</ReservationArray></Inventory>')
      :format(os.time(), table.concat(nodes, "\n"), table.concat(list, "\n"))
end

function methods.QUERY(s)
   local query = queries[request.type or ""]
   if not query then
      fail("PERMANENT", "PARSER", "unknown type %s", tostring(request.type))
   end
   return query(s)
end

-- All nodes, from another one on each time, so that jobs use the whole machine.
local function from_anywhere(s)
   local all, list = state.sorted(s.nodes), {}
   for i = 1, #all do
      list[i] = all[(i + 7 * s.next_reservation) % #all + 1]
   end
   return list
end

-- The nodes that were asked for, or the next that are free.
local function choose(s)
   local holder, count = state.holders(s), math.ceil(params.width / params.nppn)
   local asked = node_list and state.parse_list(node_list) or from_anywhere(s)
   local list = {}
   for _, nid in ipairs(asked or {}) do
      local n = s.nodes[nid]
      local is_free = n and n.state == "UP" and n.role == "BATCH" and not holder[nid]
      if node_list and not is_free then
         backend("apsched: node %d is not available", nid)
      elseif is_free and #list < count then
         list[#list + 1] = nid
      end
   end
   if #list < count or count < 1 then
      fail("TRANSIENT", "BACKEND", "ALPS error: apsched: %d nodes are free, %d were asked for",
         #list, count)
   end
   return list
end

function methods.RESERVE(s)
   if not params or not params.width or (params.nppn or 0) < 1 then
      fail("PERMANENT", "PARSER", "RESERVE without ReserveParam")
   end
   local nodes, id = choose(s), s.next_reservation
   s.next_reservation = id + 1
   s.reservations[id] = { user = params.user, batch = params.batch or "UNKNOWN", nodes = nodes,
      width = params.width, nppn = params.nppn, time = os.time(), apps = {} }
   local list = {}
   for i, nid in ipairs(nodes) do
      list[i] = ('<ReservedNode node_id="%d"/>'):format(nid)
   end
   return ('<Reserved reservation_id="%d"><ReservedNodeArray>%s</ReservedNodeArray></Reserved>')
      :format(id, table.concat(list))
end

function methods.CONFIRM(s)
   local id, r = reservation(s)
   local pagg = math.tointeger(tonumber(request.pagg_id or request.admin_cookie))
   if not r then
      backend("apsched: cannot find resId %s", tostring(id))
   elseif not pagg or pagg == 0 then
      fail("PERMANENT", "PARSER", "CONFIRM without pagg_id")
   elseif r.pagg and r.pagg ~= pagg then
      backend("apsched: resId %d is confirmed already", id)
   end
   r.pagg = pagg
   return request.protocol == "1.0" and "<Confirmed/>"
      or ('<Confirmed reservation_id="%d" pagg_id="%d"/>'):format(id, pagg)
end

-- The reservation stays until its applications are gone.
function methods.RELEASE(s)
   local id, r = reservation(s)
   if not r then
      backend("apsched: No entry for resId %s", tostring(id))
   end
   local claims = #state.sorted(r.apps)
   r.released = true
   if claims == 0 then
      s.reservations[id] = nil
   end
   return ('<Released reservation_id="%d" claims="%d"/>'):format(id, claims)
end

---------------------------------------------------------------- the program

local function envelope(protocol, body)
   return ('<?xml version="1.0"?>\n<BasilResponse protocol="%s">%s</BasilResponse>\n')
      :format(protocol, body)
end

local function answer()
   read_request(io.read "a")
   local method = methods[request.method or ""]
   if not method then
      fail("PERMANENT", "PARSER", "unknown method %s", tostring(request.method))
   end
   local s = state.load()
   local body = method(s)
   if request.method ~= "QUERY" then
      state.save(s)
   end
   return ('<ResponseData status="SUCCESS" method="%s">%s</ResponseData>')
      :format(request.method, body)
end

local function main()
   local ok, body = pcall(answer)
   if not ok then
      body = type(body) == "table" and body or { class = "PERMANENT", source = "INTERNAL",
         text = tostring(body):gsub("[<>&]", "?") }
      body = ('<ResponseData status="FAILURE" method="%s" error_class="%s" error_source="%s">' ..
         '<Message severity="ERROR">%s</Message></ResponseData>')
         :format(request and request.method or "UNDEFINED", body.class, body.source, body.text)
   end
   io.write(envelope(request and request.protocol or "1.0", body))
end

return main
