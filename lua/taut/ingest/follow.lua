--- Follows one log: from where it was read to, through rotation and truncation.
--
-- The position is { dev, inode, offset, state }: the file, how many of its bytes were taken in
-- whole lines, and what the format remembers.  A file that was renamed away is read to its end
-- before the new one is begun, also when it was renamed while nobody looked: it is then looked for
-- beside its old name (NAME.1, NAME.0, NAME-*).
local ingest = require "taut.ingest"
local sys = require "taut.sys"

local follow = {}
local Follower = {}
Follower.__index = Follower

local PIECE = 1 << 18

local function same(a, b)
   return a and b and a.dev == b.dev and a.inode == b.inode
end

-- A file of the log's folder that is the one the position speaks of.
local function find_rotated(path, position)
   for _, suffix in ipairs { ".1", ".0", ".old" } do
      if same(sys.stat(path .. suffix), position) then
         return path .. suffix
      end
   end
   return nil
end

local function open(self, path, offset)
   local stat, err = sys.stat(path)
   if not stat then
      return nil, err
   elseif not stat.regular then
      return nil, path .. ": not a regular file" -- a pipe would hold us up
   end
   local f
   f, err = io.open(path, "rb")
   if not f then
      return nil, err
   end
   f:seek("set", offset)
   self.file, self.dev, self.inode, self.offset = f, stat.dev, stat.inode, offset
   self.reader.rest = ""
   return true
end

local function close(self)
   if self.file then
      self.file:close()
      self.file = nil
   end
end

-- Open what is to be read next: the rest of a file that was renamed, or the log.
local function begin(self, stat)
   local p = self.position
   self.position = nil
   if p and same(stat, p) then
      return open(self, self.path, p.offset <= stat.size and p.offset or 0)
   end
   local old = p and find_rotated(self.path, p)
   if old then
      return open(self, old, p.offset)
   elseif not p and not self.from_start then
      -- a log that is followed for the first time is read from now on: what it says of last year
      -- is nobody's news (`taut ingest` reads the whole of a file)
      return open(self, self.path, stat.size)
   end
   return open(self, self.path, 0)
end

-- Read on, at most `most` bytes.  Returns how many there were.
local function read_on(self, most, fn)
   local got = 0
   self.file:seek("cur", 0) -- an end that was met once is not the end for ever
   while got < most do
      local piece = self.file:read(math.min(PIECE, most - got))
      if not piece then
         break
      end
      got = got + #piece
      self.offset = self.offset + self.reader:feed(piece, fn)
   end
   return got
end

--- Look for news.
-- @param most bytes to read now
-- @param fn called with each observation
-- @return bytes read (fewer than `most`: there is no more now), or nil and why not; the same error
--   comes each time, the caller says it once
function Follower:look(most, fn)
   self.reader.now = sys.now()
   local stat, err = sys.stat(self.path)
   if not self.file then
      if not stat then
         return nil, err
      end
      local ok
      ok, err = begin(self, stat)
      if not ok then
         return nil, err
      end
   elseif stat and same(stat, self) and stat.size < self.offset then
      close(self) -- it was cut (copytruncate): begin anew
      local ok
      ok, err = open(self, self.path, 0)
      if not ok then
         return nil, err
      end
   end
   local got = read_on(self, most, fn)
   if got < most and stat and not same(stat, self) then
      self.reader:finish(fn) -- renamed and read to its end
      close(self)
      local ok
      ok, err = open(self, self.path, 0)
      if not ok then
         return nil, err
      end
      got = got + read_on(self, most - got, fn)
   end
   return got
end

--- Where it has read to, for the store.
function Follower:at()
   if not self.file then
      return self.position
   end
   return { dev = self.dev, inode = self.inode, offset = self.offset, state = self.reader.state }
end

--- @param format name
-- @param path of the log
-- @param position of at(), of an earlier run; nil for a log never read
-- @param from_start read a log never read from its beginning
-- @return follower, or nil and why not
function follow.new(format, path, position, from_start)
   local reader, err = ingest.reader(format, { now = sys.now(), state = position
      and position.state })
   if not reader then
      return nil, err
   end
   return setmetatable({ path = path, position = position, reader = reader,
      from_start = from_start }, Follower)
end

return follow
