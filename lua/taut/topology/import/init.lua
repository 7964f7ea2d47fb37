-- SPDX-License-Identifier: GPL-2.0-or-later
--- Importers: descriptions of a machine's wiring as other programs write them.
--
-- The registry names each importer; adding one is a file and a line.  A module has
--   summary            what it reads, in a line
--   most_bytes         of a file, when that is fewer than source.limits.file_bytes
--   several            true: one machine has many files, opts.more of read has the others
--   read(src, opts)    → wiring (see taut.import.wiring); gives up by src:fail
--   names(src)         → map GUID → { name, line }: what a map of names has, instead of read
--   apply(wiring, src) adds to a wiring what the file knows more (tables, nodes)
local guess = require "taut.topology.import.guess"
local report = require "taut.report"
local tables = require "taut.base.tables"
local source = require "taut.topology.import.source"

local import = {}

local registry = {
   { "slurm-conf", "slurm.conf" },
   { "slurm-yaml", "slurm.yaml" },
   { "slurm-names", "slurm.names" },
   { "ibnetdiscover", "ib.ibnetdiscover" },
   { "nodemap", "ib.nodemap" },
   { "opensm-lfts", "ib.opensm_lfts" },
   { "opensm-fdbs", "ib.opensm_fdbs" },
   { "opareport", "opa" },
   { "opa-lids", "opa.lids" },
   { "lldp", "lldp" },
   { "rtr", "cray.rtr" },
   { "xtdb2proc", "cray.xtdb2proc" },
   { "xtprocadmin", "cray.xtprocadmin" },
   { "basil", "cray.alps_basil" },
}

local module_of = {}
for _, entry in ipairs(registry) do
   module_of[entry[1]] = "taut.topology.import." .. entry[2]
end

local function load_module(format)
   local name = module_of[format]
   if not name then
      local known = tables.map(registry, function(entry) return entry[1] end)
      return nil, ("format '%s' is not known, expected one of %s"):format(tostring(format),
         table.concat(known, ", "))
   end
   return require(name)
end

--- The formats, in order: array of { name =, summary =, alone = true when it describes a wiring }.
function import.formats()
   local list = {}
   for i, entry in ipairs(registry) do
      local m = require(module_of[entry[1]])
      list[i] = { name = entry[1], summary = m.summary, alone = m.read ~= nil }
   end
   return list
end

-- Runs one step of an importer; whatever goes wrong in it becomes nil and a text with the place.
local function run_guarded(src, step, ...)
   local ok, result = xpcall(step, function(err)
      if type(err) == "table" and err.import then
         return err.import
      end
      return ("%s:%d: cannot be read: %s"):format(src.path, src.line, tostring(err))
   end, ...)
   if ok then
      return result
   end
   return nil, result
end

-- A file whose format its contents tell.
local function open_any(path)
   local src, err = source.open(path)
   local format
   if src then
      format, err = guess.format(src)
   end
   local m = format and load_module(format)
   if not m then
      return nil, err
   elseif m.most_bytes and #src.text > m.most_bytes then
      return nil, ("%s: %d bytes, expected at most %d"):format(path, #src.text, m.most_bytes)
   end
   return m, src, format
end

local function open_source(format, path)
   if format == "auto" then
      return open_any(path)
   end
   local m, err = load_module(format)
   if not m then
      return nil, err
   end
   local src
   src, err = source.open(path, m.most_bytes)
   if not src then
      return nil, err
   end
   return m, src, format
end

-- The further files of a call, opened: maps of names apart from the rest.
local function open_others(with)
   local names, others = nil, {}
   for _, w in ipairs(with or {}) do
      local m, src = open_source(w.format, w.path)
      if not m then
         return nil, src
      end
      if m.names then
         local map, err = run_guarded(src, m.names, src)
         if not map then
            return nil, err
         end
         names = names or {}
         for guid, entry in pairs(map) do
            names[guid] = entry
         end
      elseif m.apply then
         others[#others + 1] = { m = m, src = src }
      else
         return nil, ("%s: '%s' cannot be added to another file"):format(w.path, w.format)
      end
   end
   return names or false, others
end

-- Further files of the same format, opened.
local function open_more(module, format, paths)
   local list = {}
   if #paths > 1 and not module.several then
      return nil, ("%s: of '%s' one file is read, expected no further one (--with adds to it)")
         :format(paths[2], format)
   end
   for i = 2, #paths do
      local src, err = source.open(paths[i], module.most_bytes)
      if not src then
         return nil, err
      end
      list[#list + 1] = src
   end
   return list
end

--- Read a wiring.
-- @param format name of an importer ("ibnetdiscover"), or "auto": what the first file shows
-- @param path of the file, or an array of them; "-" for standard input
-- @param opts { with = { { format =, path = }, … }: files that add to it; nodes = array of the
--   names of the machine's nodes; topology = name of one of several in a topology.yaml }
-- @return wiring, or nil and "FILE:LINE: what, expected what"
function import.read(format, path, opts)
   opts = opts or {}
   local paths = path
   if type(path) ~= "table" then
      paths = { path }
   end
   path = paths[1]
   local m, src
   m, src, format = open_source(format, path)
   if not m then
      return nil, src
   end
   local more, wrong = open_more(m, format, paths)
   if not more then
      return nil, wrong
   end
   if not m.read then
      return nil, ("%s: '%s' describes no wiring by itself, expected it to be added to %s"):format(
         path, format, report.text_if(m.names, "ibnetdiscover", "one that does"))
   end
   local names, others = open_others(opts.with)
   if names == nil then
      return nil, others
   end
   local known
   if opts.nodes then
      known = {}
      for i, name in ipairs(opts.nodes) do
         known[i], known[name] = name, true
      end
   end
   local wiring, err = run_guarded(src, m.read, src, { names = names or nil, nodes = known,
      topology = opts.topology, more = more })
   if not wiring then
      return nil, err
   end
   for _, each in ipairs(more) do
      table.move(each.notes, 1, #each.notes, #wiring.notes + 1, wiring.notes)
      src.more_notes = src.more_notes + each.more_notes
   end
   for _, other in ipairs(others) do
      local done
      done, err = run_guarded(other.src, function()
         other.m.apply(wiring, other.src)
         return true
      end)
      if not done then
         return nil, err
      end
      table.move(other.src.notes, 1, #other.src.notes, #wiring.notes + 1, wiring.notes)
      src.more_notes = src.more_notes + other.src.more_notes
   end
   if src.more_notes > 0 then
      wiring.notes[#wiring.notes + 1] = { line = 1, file = src.path,
         text = ("and %d more of these"):format(src.more_notes) }
   end
   return wiring
end

--- What to say of a wiring that has no node: who knows them.
function import.lacks_nodes(wiring)
   return ("%s: no node%s"):format(wiring.source, report.text_if(wiring.format == "rtr",
      ", expected the inventory, too: --with xtdb2proc:FILE, xtprocadmin:FILE or basil:FILE"))
end

--- The module of a format, or nil and which there are.
import.module = load_module

--- Add what a source has to a wiring, which is spoilt when that fails.
-- @param wiring
-- @param format name of an importer that can be added
-- @param src source
-- @return the wiring, or nil and what is wrong
function import.add(wiring, format, src)
   local m, err = load_module(format)
   if not m then
      return nil, err
   end
   return run_guarded(src, function()
      m.apply(wiring, src)
      return wiring
   end)
end

--- Read a wiring from text instead of a file; for tests and for what was fetched otherwise.
-- @param text
-- @param path what errors call it
-- @return as import.read
function import.parse(format, text, path)
   local m, err = load_module(format)
   if not m then
      return nil, err
   end
   local src = source.of(text, path or "text")
   return run_guarded(src, m.read or m.names, src, {})
end

return import
