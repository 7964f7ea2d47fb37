-- SPDX-License-Identifier: GPL-2.0-or-later
--- Lists of nodes, as HELLOs have them, from text to names.
--
-- All nodes of a job send the same text, so a list is made once and shared by them.  A text that
-- stands for more names than there are nodes is refused before any name is made of it.  What is
-- kept is bounded: when the newer half has names enough, the older half is forgotten.
local tables = require "taut.base.tables"
local hostlist = require "taut.hostlist"
local wire = require "taut.wire"

local node_lists = {}
local NodeLists = {}
NodeLists.__index = NodeLists

local MACHINES = 4 -- so many times the machine's nodes are kept in each half

local function keep_list(self, text, list, most)
   self.held = self.held + #list.names + 1
   if self.held > MACHINES * most then
      self.older, self.newer, self.held = self.newer, {}, #list.names + 1
   end
   self.newer[text] = list
end

local function make_list(text, most)
   local names, err = hostlist.expand(text, most)
   if not names then
      return nil, err
   end
   local has = tables.set(names)
   return { names = names, has = has }
end

--- The list of this text; whoever asks shares it and must not change it.
-- @param most how many names there may be (optional: as many as the machine has nodes)
-- @return { names = array, has = set }; or nil and what is wrong
function NodeLists:list(text, most)
   local all = math.min(math.max(self.count(), 1), wire.NODES_MAX)
   most = math.min(most or all, all)
   local list = self.newer[text] or self.older[text]
   if list and #list.names > most then
      return nil, ("host list: more than %d names"):format(most)
   elseif self.newer[text] then
      return list
   end
   local err
   if not list then
      self.made = self.made + 1
      list, err = make_list(text, most)
   end
   if list then
      keep_list(self, text, list, all)
   end
   return list, err
end

--- The nodes of a HELLO, its own among them.
-- @param hello checked (hello.lua)
-- @param most as of list()
function NodeLists:of_hello(hello, most)
   local list, err = self:list(hello.nodes, most)
   if not list then
      return nil, "HELLO: nodes: " .. err
   elseif not list.has[hello.node] then
      return nil, ("HELLO: node %s is not in nodes %s"):format(hello.node, hello.nodes:sub(1, 80))
   end
   return list
end

--- @param count function() → how many nodes the machine has
function node_lists.new(count)
   return setmetatable({ count = count, newer = {}, older = {}, held = 0, made = 0 }, NodeLists)
end

return node_lists
