-- SPDX-License-Identifier: GPL-2.0-or-later
-- What NEWS.md promises to stay: commands, options, settings, metrics and keys of the last release,
-- in tests/data/promise.txt, are in this tree.  TAUT_GOLDEN=write writes the list anew, for a
-- release; the keys of what tautd answers, and of on_event, are looked at in the lab
-- (commands.bats), and stay as they are in the list.
local cli = require "taut.cli"
local json = require "taut.json"
local looptest = require "lib.looptest"
local lu = require "luaunit"
local promised = require "lib.promised"
local settings = require "taut.config.settings"

local tests = {}
local TOP = os.getenv "TAUT_SRCDIR" or "."

-- Commands that need no tautd, and what their answers are called in the list.
local MACHINE = 'topology = torus { dims = { 4, 4 }, nodes_per_router = 1, nodes = "n[0-15]", ' ..
   'capacity = 24e6 }\n'
local ANSWERS = { "topology show", "topology show r0.0", "topology show n0",
   "topology show r0.0/X+",
   "topology route n0 n5 --back", "topology load ring", "topology dependents r0.0/X+ --cable",
   "topology exposed r0.0/X+ --routes 2", "topology classes", "topology export slurm",
   "topology draw -o @/m.svg", "map n[0-7] --pattern ring",
   "study links --split 1 -p ring --seeds 1 --failed 1",
   "study detune --bytes 4k --split 2 -p ring",
   "study inject -p shift:by=5 --nodelist n[0-15]", "study latency --seeds 1 --failed 0 --load 5",
   "study repair --split 1 -p all-to-all --seeds 1",
   "study outlook --split 1 -p all-to-all --per-day 0.5 --seeds 1 --most 4",
   "topology check --slurm-conf @/slurm.conf" }

-- And of those that have no machine, or two.  Two trees differ in all that a difference may be.
local TREE = 'topology = fattree { nodes_per_leaf = 2, levels = { { down = 4, up = %d } }, ' ..
   'nodes = "%s", capacity = { tx = %s, rx = 1e9, link = %s } }\n'
local ALONE = { "topology diff @/first.lua @/second.lua --json",
   "ingest netwatch tests/data/logs/netwatch.txt --json",
   "ingest kernel tests/data/logs/kernel.txt --json",
   "ingest opensm tests/data/logs/opensm-3.3.23.txt --json",
   "study run --share 50,100 --repeat 2 --json -- true" }

local function read(path)
   local f = assert(io.open(path))
   local text = f:read "a"
   f:close()
   return text
end

-- What a command prints.
local function printed(...)
   local write, show, parts = io.write, print, {}
   rawset(io, "write", function(text) parts[#parts + 1] = text end)
   rawset(_G, "print", function(text) parts[#parts + 1] = text .. "\n" end)
   local ok, err = pcall(cli.main, { ... })
   rawset(io, "write", write)
   rawset(_G, "print", show)
   assert(ok, err)
   return table.concat(parts)
end

-- Commands and their long options, as a shell completes them.
local function add_commands(names)
   for line in printed("completion", "fish"):gmatch "[^\n]+" do
      local under, name = line:match "using_command ?([%w_ -]*)' %-xa '([%w-]+)'"
      if name then
         names[("command taut %s %s"):format(under, name):gsub("  ", " ")] = true
      end
      local of, option = line:match "seen_command ?([%w_ -]*)'.- %-l ([%w-]+)"
      if option and option ~= "help" then
         names[("option taut %s --%s"):format(of, option):gsub("  ", " ")] = true
      end
   end
end

-- Those of the model may change.
local function add_settings(names, of, prefix)
   for name, entry in pairs(of) do
      if type(entry[2]) == "function" or entry[1] ~= nil then
         names["setting " .. prefix .. name] = not entry.model or nil
      else
         add_settings(names, entry, prefix .. name .. ".")
      end
   end
end

local function add_metrics(names)
   for name in read(TOP .. "/lua/taut/core/metrics/init.lua"):gmatch '"(taut_[a-z_]+)"' do
      names["metric " .. name] = true
   end
end

local function add_answer(names, line, folder)
   local words = { "--socket", "/nonexistent" }
   for word in line:gsub("@", folder):gsub("tests/data", TOP .. "/%0"):gmatch "%S+" do
      words[#words + 1] = word
   end
   local text = printed(table.unpack(words))
   local answer = json.decode(text)
   lu.assertTrue(answer ~= nil and not answer.error, line .. ": " .. text)
   promised.add_answer(names, line:match "^topology %a+" or line:match "^study %a+" or
      line:match "^%a+", answer)
end

local function add_answers(names)
   local folder <close> = looptest.folder()
   for name, text in pairs { ["m.lua"] = MACHINE, ["slurm.conf"] = "NodeName=n[0-14],x\n",
      ["first.lua"] = TREE:format(2, "n[0-7]", 1e9, 1e9),
      ["second.lua"] = TREE:format(3, "n[2-3],n[0-1],n[4-6],m7", 2e9, 2e9) } do
      local file = assert(io.open(folder.path .. "/" .. name, "w"))
      file:write(text)
      file:close()
   end
   for _, line in ipairs(ANSWERS) do
      add_answer(names, line .. " -m @/m.lua --fail r1.1/X+=0.5 --json", folder.path)
   end
   for _, line in ipairs(ALONE) do
      looptest.quietly(function() add_answer(names, line, folder.path) end)
   end
end

local function all_names()
   local names = {}
   add_commands(names)
   add_settings(names, settings.all, "")
   add_metrics(names)
   add_answers(names)
   return names
end

-- Of these the lab has the answers.
local function is_of_lab(name)
   return name:find "^event " or name:find "^json " and not name:find "^json taut map " and
      not name:find "^json taut topology " and not name:find "^json taut study " and
      not name:find "^json taut ingest "
end

local function write(names)
   local list = {}
   for _, name in ipairs(promised.names "") do
      list[#list + 1] = is_of_lab(name) and name or nil
   end
   for name in pairs(names) do
      list[#list + 1] = name
   end
   table.sort(list)
   local f = assert(io.open(promised.path, "w"))
   f:write(table.concat(list, "\n"), "\n")
   f:close()
end

function tests.test_what_the_last_release_had_is_there()
   local names = all_names()
   if os.getenv "TAUT_GOLDEN" == "write" then
      write(names)
   end
   local count = {}
   for _, name in ipairs(promised.names "") do
      local is_there = names[name] or is_of_lab(name)
      lu.assertTrue(is_there and true, name .. " is gone: NEWS.md promised it")
      local kind = name:match "^%a+"
      count[kind] = (count[kind] or 0) + 1
   end
   for kind, least in pairs { command = 50, option = 300, setting = 45, metric = 40, json = 500,
      event = 10 } do
      lu.assertTrue((count[kind] or 0) >= least, kind)
   end
end

return tests
