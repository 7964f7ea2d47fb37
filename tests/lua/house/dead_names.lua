-- SPDX-License-Identifier: GPL-2.0-or-later
--- Comments and documents name modules, functions and settings that are there: each name with an
-- underscore is a word of some code, each `room/module` is a module, a file or a folder.
-- documents.lua looks up files with an ending.
local prose = require "prose"
local tree = require "tree"

local dead_names = {}

-- What others call theirs: kernels, libraries, other programs; and places for a name.
local NOT_OURS = {}
for name in ([[c_ctl1 cma_roce_mode cma_roce_tos d_torus default_roce_mode default_roce_tos
   dump_ports_report eval_nodes eval_nodes_dfly eval_nodes_topo exposition_formats fi_mr fi_verbs
   hni_rx_paused_0 innodb_flush_log_at_trx_commit inotify_init1 lib/systemd/system
   max_switch_wait memlock_kb min_rnr_timer mlx5_10 out_ca out_ca_port out_switch out_switch_port
   rest_o sd_notify slurm_hostlist_create spank_options su3_rmd taut_noun_verb tcache_count
   topology/block topology/torus3d umad_get_smi_gsi_pairs unconfined_service_t
   voluntary_ctxt_switches]]):gmatch "%S+" do
   NOT_OURS[name] = true
end

-- A file's text without the comments that its language has.
local function without_comments(path, text)
   if path:find "%.lua$" then
      return (("\n" .. text):gsub("%-%-[^\n]*", ""))
   elseif path:find "%.[ch]$" then
      return ((" " .. text):gsub("%s/%*.-%*/", " "))
   end
   return (("\n" .. text):gsub("\n%s*#[^\n!]*", ""))
end

local function is_document(path)
   return path:find "%.md$" or path:find "^doc/.*%.[158]$"
end

-- Every word of the code.
local function words_of_code()
   local words = {}
   for _, path in ipairs(tree.all) do
      if not is_document(path) and not tree.is_given(path) then
         for word in without_comments(path, tree.text(path)):gmatch "[%a_][%w_]*" do
            words[word] = true
         end
      end
      for part in path:gmatch "[^/]+" do
         words[part:gsub("%..*$", "")] = true
      end
   end
   return words
end

-- Every end of a path, with and without what follows its dot; and the names of the folders.
local function ends_of_paths()
   local ends, folders = {}, {}
   local function add_ends(path)
      repeat
         ends[path] = true
         path = path:match "^[^/]*/(.*)$"
      until not path
   end
   for _, path in ipairs(tree.all) do
      if path:find "%.am$" then -- what is built
         for word in tree.text(path):gmatch "[%w_./-]+" do
            add_ends(word)
         end
      end
      local noun = path:gsub("%.[%w.]+$", "")
      add_ends(path)
      add_ends(noun)
      add_ends((noun:gsub("/init$", "")))
      local folder = path:match "^(.*)/"
      while folder do
         add_ends(folder)
         folders[folder:match "[^/]+$"] = true
         folder = folder:match "^(.*)/"
      end
   end
   return ends, folders
end

-- A name in capitals stands for any, as in test_NAME and tests/unit/ROOM/.
local function is_placeholder(word)
   return word:find "%u%u" ~= nil or word:find "_N$" ~= nil or word:find "%u_" ~= nil
end

--- The names in a piece of text that do not exist.
-- @param text a line
-- @param words set of the words of the code
-- @param ends set of ends of paths
-- @param folders set of the names of folders
function dead_names.find(text, words, ends, folders)
   local list = {}
   for word in text:gmatch "%f[%w_]%l[%w]*_[%w_]+" do
      word = word:gsub("^fB", ""):gsub("^dq", "")
      if not words[word] and not NOT_OURS[word] and not is_placeholder(word) then
         list[#list + 1] = word
      end
   end
   for before, word in text:gmatch "([^%w_/.-])(%l[%w_-]*/[%w_/.-]+)" do
      word = word:gsub("[./-]+$", "")
      local first = word:match "^([%w_-]+)/%l"
      if before and first and first ~= "sys" and folders[first] and not ends[word]
         and not word:find("%.")
         and not NOT_OURS[word] and not is_placeholder(word) then
         list[#list + 1] = word
      end
   end
   return list
end

--- Names that are nowhere in the tree.
function dead_names.wrong()
   local words = words_of_code()
   local ends, folders = ends_of_paths()
   local wrong = {}
   for _, path in ipairs(tree.all) do
      local is_read = path ~= "NEWS.md" and not tree.is_given(path)
      for _, paragraph in ipairs(is_read and prose.of_file(tree, path) or {}) do
         for _, line in ipairs(paragraph) do
            for _, word in ipairs(dead_names.find(" " .. line.text, words, ends, folders)) do
               wrong[#wrong + 1] = ("%s:%d: nothing is called %s"):format(path, line.number, word)
            end
         end
      end
   end
   return wrong
end

return dead_names
