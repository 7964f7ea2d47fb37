-- SPDX-License-Identifier: GPL-2.0-or-later
--- What `ibnetdiscover` prints: its sections by node, or with -p one line per port.
--
-- Forms as infiniband-diags writes them (ibnetdiscover.c: out_switch, out_ca, out_switch_port,
-- out_ca_port, dump_ports_report); the net files of ibsim are the first of the two.
local grammar = require "taut.topology.import.grammar"
local ib = require "taut.topology.import.ib"
local lpeg = require "lpeg"
local source = require "taut.topology.import.source"

local ibnetdiscover = {
   summary = "InfiniBand fabric as `ibnetdiscover` (also with -p) prints it",
}

local P, R, S, C, Cg, Ct, Cc = lpeg.P, lpeg.R, lpeg.S, lpeg.C, lpeg.Cg, lpeg.Ct, lpeg.Cc
local ws, sep, eol = grammar.ws, grammar.sep, grammar.eol
local number, guid = grammar.number, grammar.guid
local quote = source.quote

local TYPE = { S = "switch", H = "ca", R = "router" }

-- "S-0008f10500200b50"
local id = P '"' * Cg(S "SHR", "kind") * "-" * Cg(guid, "guid") * '"'
local peer = P '"' * Cg(S "SHR", "peer_kind") * "-" * Cg(guid, "peer") * '"' *
   "[" * Cg(number, "peer_port") * "]"
local external = (P "[" * P "ext " * number * "]" / 0) ^ -1
local rate = Cg(C(R "09" ^ 1 * "x"), "width") * Cg(C((R("AZ", "az", "09") + "?") ^ 1), "speed") *
   (sep * P "s=" * P(1) ^ 0) ^ -1 * eol
local end_of_port = sep * rate + eol -- ibnetdiscover of 2009 prints no rate
-- a description may have quotes itself: it ends where the rest fits
local function described(rest)
   return P '"' * Cg(C((1 - P '"' * rest) ^ -128), "desc") * P '"' * rest
end

local own_lid = (1 - P "lid ") ^ 0 * "lid " * Cg(number, "lid") * (sep * "lmc " * number / 0) ^ -1
local node_word = P "Switch" * Cc "switch" + P "Ca" * Cc "ca" + P "Rt" * Cc "router"
local heading = Ct(Cg(node_word, "type") * sep * Cg(number, "nports") * sep * id * ws * "#" * ws *
   described(ws * (own_lid * eol + eol)))

local switch_port = P "#" * ws * described(sep * "lid " * Cg(number, "peer_lid") * end_of_port)
local ca_port = P "#" * ws * "lid " * Cg(number, "lid") * sep * "lmc " * Cg(number, "lmc") * sep *
   described(sep * "lid " * Cg(number, "peer_lid") * end_of_port)
local port = Ct(P "[" * Cg(number, "number") * "]" * external *
   (P "(" * Cg(guid, "guid") * ")") ^ -1 * sep * peer * external *
   (P "(" * Cg(guid, "peer_port_guid") * ")") ^ -1 * ws * (ca_port + switch_port))

local setting = Ct((C "switchguid" + C "caguid" + C "rtguid") * "=" * guid *
   (P "(" * guid * ")" / 0) ^ -1 * eol)
local system = P "sysimgguid=" * guid * (P "(" * guid * ")" / 0) ^ -1 * eol
local ignored = eol + ws * "#" + (P "vendid=" + "devid=" + "sysimgguid=") + P "Chassis" +
   "Non-Chassis"
-- what the tool says on its error output, when both went into one file
local complaint = P "src/" * (1 - P ".c:") ^ 1 * ".c:" +
   P "ib" * (P "warn" + "panic" + "error") * ":"
local difference = S "<>" * sep

local function start_section(st, src, line, header)
   local own = TYPE[header.kind]
   if own ~= header.type then
      src:fail(line, "a %s whose id begins with '%s-', expected the two to agree", header.type,
         header.kind)
   end
   if st.guid and st.guid ~= header.guid then
      src:fail(line, "%s follows GUID %s of line %d, expected the same", quote(header.guid),
         quote(st.guid), st.guid_line)
   end
   local other = st.at[header.guid]
   if other then
      src:fail(line, "GUID %s is here and in line %d, expected it once", quote(header.guid),
         other.line)
   end
   st.element = { type = header.type, guid = header.guid, desc = header.desc, lid = header.lid,
      nports = header.nports,
      line = line, system = st.system, ports = {} }
   st.at[header.guid] = st.element
   st.elements[#st.elements + 1] = st.element
   st.guid, st.system = nil, nil
end

local function add_port(st, src, line, told)
   local e = st.element
   if not e then
      src:fail(line, "port %d before any node, expected a line such as 'Switch 36 \"S-...\"'",
         told.number)
   end
   if told.number > e.nports or told.number == 0 then
      src:fail(line, "port %d of a node with %d ports", told.number, e.nports)
   end
   if e.ports[told.number] then
      src:fail(line, "port %d is here and in line %d, expected it once", told.number,
         e.ports[told.number].line)
   end
   if not told.width and not st.no_rate then
      st.no_rate = true
      src:note(line, "ports without a rate: give --capacity, or it is learned")
   end
   told.line = line
   e.ports[told.number] = told
end

-- Files of other programs that are taken for ours: how a line of theirs begins, whose it is.
local DIALECTS = {
   { "^%s*{ ?[%u-]+ Ports:", "a list of links, as ibdiagnet (.lst) and opensm-subnet.lst have it" },
   { "IBDIAG", "written by ibdiagnet" }, { "^START_%u", "ibdiagnet's database (.db_csv)" },
   { "^%d+:%d+:.*| ", "ibdiagnet's network dump (.net_dump)" },
   { "^%s*Link Summary", "of Omni-Path: format opareport" },
   { "^Unicast lids", "forwarding tables, opensm-lfts" },
   { "^%s*%d+%s+%d+%[", "what iblinkinfo prints" },
   { "^CA: .*:%s*$", "what iblinkinfo prints" },
   { "^Switch: 0x%x+ .*:%s*$", "what iblinkinfo prints" },
   { "&quot;", "HTML: save it as plain text" },
   { '^%a+%s+%d+%s+"[SHR]%-', "a line of a node that was broken in two?" },
   { '^%[%d+%].*"[SHR]%-', "a line of a port that was broken in two?" },
}

-- " (whose it is)", where that can be told.
local function dialect_of(line)
   for _, d in ipairs(DIALECTS) do
      if line:find(d[1]) then
         return (" (%s)"):format(d[2])
      end
   end
   return ""
end

-- One line of the form in sections.
local function section_line(st, src, line_number, line)
   local p = port:match(line)
   if p then
      return add_port(st, src, line_number, p)
   elseif ignored:match(line) then
      st.system = system:match(line) or st.system
      return
   end
   local h = heading:match(line)
   if h then
      return start_section(st, src, line_number, h)
   end
   local s = setting:match(line)
   if s then
      st.guid, st.guid_line = s[2], line_number
   elseif complaint:match(line) then
      src:note(line_number, "%s is not part of the fabric", quote(line))
   elseif difference:match(line) then
      src:fail(line_number, "%s is what --diff prints, expected a whole fabric", quote(line))
   else
      src:fail(line_number, "%s%s, expected a node, one of its ports, or a comment", quote(line),
         dialect_of(line))
   end
end

-- With -p, adapters are told by the GUIDs of their ports:
--    CA 134 1 0x7cfe9003003b4bde 4x EDR - SW 1719 10 0x7cfe9003009ce5b0 ( 'a' - 'b' )
local kind = P "SW" * Cc "switch" + P "CA" * Cc "ca" + P "RT" * Cc "router"
local function end_of(prefix)
   return Cg(kind, prefix .. "type") * sep * Cg(number, prefix .. "lid") * sep *
      Cg(number, prefix .. "port") * sep * Cg(guid, prefix .. "guid")
end
local here = end_of "" * sep * Cg(C(R "09" ^ 1 * "x"), "width") * sep *
   Cg(grammar.word, "speed") * ws
local last = P "'" * ws * ")" * eol
local joined = P "-" * sep * end_of "peer_" * ws * "(" * ws * "'" *
   Cg(grammar.upto "' - '", "desc") * "' - '" * Cg(grammar.upto(last), "peer_desc") * last
local alone = P "'" * Cg(grammar.upto(P "'" * eol), "desc") * "'" * eol +
   Cg(C((1 - P "'") ^ 0), "desc") * eol
local port_line = Ct(ws * here * (joined + alone))
local looks_like_ports = ws * kind * sep * grammar.digit

local function element_of(st, src, line_number, told)
   local e, is_switch = st.at[told.guid], told.type == "switch"
   if not e then
      e = { type = told.type, guid = told.guid, desc = told.desc, line = line_number, ports = {},
         nports = 0 }
      if is_switch then
         e.lid = told.lid
      else
         e.only_port = told.port
      end
      st.at[told.guid] = e
      st.elements[#st.elements + 1] = e
   elseif e.type ~= told.type then
      src:fail(line_number, "GUID %s is a %s here and a %s in line %d", quote(told.guid), told.type,
         e.type, e.line)
   end
   return e
end

local function port_report_line(st, src, line_number, line)
   if ignored:match(line) then
      return
   end
   local t = port_line:match(line)
   if not t then
      if complaint:match(line) then
         return src:note(line_number, "%s is not part of the fabric", quote(line))
      end
      src:fail(line_number,
         "%s, expected a line such as 'SW 1 1 0x... 4x EDR - CA 2 1 0x... ( 'a' - 'b' )'",
         quote(line))
   end
   local e = element_of(st, src, line_number, t)
   if e.lid and e.lid ~= t.lid then
      src:note(line_number, "GUID %s has lid %d here and %d in line %d", quote(t.guid), t.lid,
         e.lid, e.line)
   end
   e.nports = math.max(e.nports, t.port)
   if e.ports[t.port] or (st.open[e] and st.open[e][t.port]) then
      src:fail(line_number, "port %d of %s is here and in line %d, expected it once", t.port,
         quote(t.guid), (e.ports[t.port] or { line = st.open[e] and st.open[e][t.port] }).line)
   end
   if t.peer_guid then
      local port_guid
      if t.type == "ca" then
         port_guid = t.guid
      end
      e.ports[t.port] = { line = line_number, lid = t.lid, guid = port_guid,
         peer = t.peer_guid, peer_port = t.peer_port, peer_lid = t.peer_lid,
         width = t.width, speed = t.speed }
   else
      st.open[e] = st.open[e] or {}
      st.open[e][t.port] = line_number
   end
end

--- Read it; which of the two forms it is shows in its first lines.
function ibnetdiscover.read(src, opts)
   local st = { elements = {}, at = {}, open = {} }
   local step
   for n, line in src:lines(1024) do
      if not step and (system:match(line) or not ignored:match(line)) then
         step = section_line
         if looks_like_ports:match(line) then
            step = port_report_line
         end
      end
      if step then
         step(st, src, n, line)
      end
   end
   return ib.assemble(src, "ibnetdiscover", st.elements, opts)
end

return ibnetdiscover
