-- SPDX-License-Identifier: GPL-2.0-or-later
--- What Omni-Path's FastFabric tools print: reports as text, as XML, and rows of `opaextract…`.
--
-- Forms as the sources of opa-ff have them (opareport.c: ShowLinksReport, ShowLinkPortBriefSummary,
-- ShowAllLIDReport; the scripts opaextractsellinks and opaextractlids).
local report = require "taut.report"
local source = require "taut.topology.import.source"
local xml = require "taut.topology.import.xml"

local forms = {}

local quote = source.quote

local TYPES = { FI = "ca", SW = "switch" }

-- Bytes of a line, or of an element's text: a name has 64 at most.  Patterns over what has blanks
-- in it take time of the square of its length.
local MOST_BYTES = 1024

local function guid_of(src, line, text)
   local digits = text and text:match "^0x(%x+)$"
   if not digits or #digits > 16 then
      src:fail(line, "NodeGUID %s, expected 0x and at most 16 hex digits", quote(text or ""))
   end
   return "0x" .. ("0"):rep(16 - #digits) .. digits:lower()
end

local function number_of(src, line, text, what)
   local n = text and text:match "^%d%d?%d?$" and math.tointeger(tonumber(text))
   if not n then
      src:fail(line, "%s %s, expected a number up to 999", what, quote(text or ""))
   end
   return n
end

local function type_of(src, line, text)
   return TYPES[text] or src:fail(line, "type %s, expected FI or SW", quote(text or ""))
end

-- One end of a link, or whose a lid is.
local function port_of(src, line, guid, number, kind, desc)
   return { line = line, guid = guid_of(src, line, guid), type = type_of(src, line, kind),
      number = number_of(src, line, number, "port"), desc = (desc or ""):gsub("%s+$", "") }
end

--- Which of them it is, by the first line that has something: "xml", "rows" or "text".
function forms.kind(src)
   for _, line in src:lines(math.maxinteger) do -- XML may be a single one
      if line:find "^%s*<" then
         return "xml"
      elseif line:find "^0x%x+;%d+;[FS][IW];" then
         return "rows"
      elseif line:find "%S" then
         return "text"
      end
   end
   src:fail(nil, "an empty file, expected what opareport prints")
end

---------------------------------------------------------------- XML

-- Elements of a Link, or of a Value, whose text is kept.
local KEPT = { NodeGUID = true, PortGUID = true, PortNum = true, NodeType = true, NodeDesc = true,
   Rate = true, EndLID = true, LinkCount = true, ReportedLIDCount = true, MatchingLinks = true,
   ConnectedFICount = true }

--- @param on { link = function(line, rate, port, port), lid = function(line, text, port), total =
--   function(line, name, text) }: of LinkCount and the like
function forms.xml(src, on)
   local path, texts, bytes, link, port, own = {}, nil, 0, nil, nil, {}
   local function finish_port(line)
      local p = port_of(src, line, own.NodeGUID, own.PortNum, own.NodeType, own.NodeDesc)
      if own.PortGUID then
         p.port_guid = guid_of(src, line, own.PortGUID) or nil
      end
      return p
   end
   xml.read(src, {
      begins = function(line, name, attrs, depth)
         path[depth], path[depth + 1] = name, nil
         texts, bytes = nil, 0
         if KEPT[name] then
            texts = {}
         end
         if depth == 1 and name ~= "Report" then
            src:fail(line, "%s, expected the Report of opareport -x", quote(name))
         elseif name == "Link" then
            link = { line = line }
         elseif name == "Port" and link or name == "Value" and path[depth - 1] == "LIDs" then
            port, own = { line = line, lid = attrs.LID }, {}
         end
      end,
      text = function(line, piece)
         if texts then
            texts[#texts + 1], bytes = piece, bytes + #piece
            if bytes > MOST_BYTES then
               src:fail(line, "a text of more than %d bytes, expected at most that many",
                  MOST_BYTES)
            end
         end
      end,
      ends = function(line, name)
         local text = texts and table.concat(texts):match "^%s*(.-)%s*$"
         texts = nil
         if text and (name:find "Count$" or name == "MatchingLinks") then
            on.total(line, name, text)
         elseif text and port then
            own[name] = text
         elseif text and link and name == "Rate" then
            link.rate = text
         elseif name == "Port" and port and link then
            link[#link + 1] = finish_port(port.line)
            port = nil
         elseif name == "Value" and port then
            on.lid(port.line, port.lid, finish_port(port.line))
            port = nil
         elseif name == "Link" and link then
            if #link ~= 2 then
               src:fail(link.line, "a Link with %d of 2 ports", #link)
            end
            on.link(link.line, link.rate, link[1], link[2])
            link = nil
         end
      end })
end

---------------------------------------------------------------- text

-- What XML calls the totals of a report.
local TOTALS = { ["Links in Fabric"] = "LinkCount", ["Matching Links"] = "MatchingLinks",
   ["Reported LID"] = "ReportedLIDCount" }

local function split_words(src, line, text)
   local guid, number, kind, desc = text:match "^(0x%x+)%s+(%d+)%s+(%a+)%s*(.*)$"
   if guid then
      return port_of(src, line, guid, number, kind, desc)
   end
end

--- As forms.xml.  Reports that are neither of links nor of lids are passed over.
function forms.text(src, on)
   local section, first
   for n, line in src:lines(MOST_BYTES) do
      local rate, rest = line:match "^%s*([%d.]+g)%s+(.*)$"
      local back = line:match "^%s*<%->%s+(.*)$"
      local lid, of_lid = line:match "^%s*(0x%x+[-%dx%a]*)%s+(0x.*)$"
      local count, what = line:match "^%s*(%d+) (.*)$"
      if line:find "^%s*[%a -]*Link Summary%s*$" then
         section = "link"
      elseif line:find "^%s*LID Summary%s*$" then
         section = "lid"
      elseif line:find "^%s*%-%-%-%-" or line:find "^%s*=====" then
         if first then
            src:fail(first.line, "a link without its other end, expected one that begins with <->")
         end
         section = nil
      elseif section == "link" and (rate or line:find "^%s*[%?a][%?n][%?y]%s+0x") then
         local port = split_words(src, n, rest or line:match "(0x.*)$")
         if first or not port then
            src:fail(n, report.text_if(first, "a link before the other end of the one above",
               "%s, expected a rate, a GUID, a port, FI or SW, and a name"), quote(line))
         end
         first = { line = n, rate = rate, port = port }
      elseif section == "link" and back then
         local port = first and split_words(src, n, back)
         if not port then
            src:fail(n, "%s, expected the other end of a link", quote(line))
         end
         on.link(first.line, first.rate, first.port, port)
         first = nil
      elseif section == "lid" and lid then
         local port = split_words(src, n, of_lid)
         on.lid(n, lid, port or src:fail(n, "%s, expected a lid, a GUID, a port, FI or SW",
            quote(line)))
      elseif section and count then
         on.total(n, TOTALS[what:match "Links in Fabric" or what:match "Matching Links"
            or what:match "Reported LID"] or what, count)
      end
   end
   if first then
      src:fail(first.line, "a link without its other end; is the file cut short?")
   end
end

---------------------------------------------------------------- rows

local function split_row(line)
   local list = {}
   for field in (line .. ";"):gmatch "([^;]*);" do
      list[#list + 1] = field
   end
   return list
end

--- Rows of opaextractsellinks (eight fields) and opaextractlids (five).
function forms.rows(src, on)
   for n, line in src:lines(MOST_BYTES) do
      local f = split_row(line)
      if not line:find "%S" then
         goto continue
      elseif #f == 8 then
         on.link(n, nil, port_of(src, n, f[1], f[2], f[3], f[4]),
            port_of(src, n, f[5], f[6], f[7], f[8]))
      elseif #f == 5 then
         on.lid(n, f[5], port_of(src, n, f[1], f[2], f[3], f[4]))
      else
         src:fail(n, "%s, expected eight fields of opaextractsellinks or five of opaextractlids",
            quote(line))
      end
      ::continue::
   end
end

--- Read whichever form it is.
function forms.read(src, on)
   local kind = forms.kind(src)
   forms[kind](src, on)
   return kind
end

return forms
