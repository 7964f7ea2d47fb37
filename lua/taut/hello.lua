--- Checks what a HELLO says before anything is done with it.
local hello = {}

local PURPOSES = { prolog = true, epilog = true, idle = true }
local NAME_MAX, NODES_MAX = 255, 1 << 20

local function is_text(v, most)
   return type(v) == "string" and #v <= most
end

local function is_whole(v, least, most)
   return math.type(v) == "integer" and v >= least and v <= most
end

-- field → check; a field that fails is named in the error.
local fields = {
   { "v", function(v) return v == 2 end, "2 (install the same release on the node)" },
   { "purpose", function(v) return PURPOSES[v] end, "prolog, epilog or idle" },
   { "job", function(v) return is_whole(v, 0, (1 << 32) - 1) end, "a job id" },
   { "node", function(v) return is_text(v, NAME_MAX) and v ~= "" end, "a node name" },
   { "nodes", function(v) return is_text(v, NODES_MAX) end, "a host list" },
   { "endpoint", function(v) return is_text(v, 64) end, "an address and a port" },
   { "budget_ms", function(v) return is_whole(v, 0, 60000) end, "0 to 60000" },
   { "key", function(v) return is_text(v, 64) and v:match("^%x+$") and #v == 64 end,
      "64 hex digits" },
   { "boot", function(v) return v == nil or is_text(v, 64) end, "a boot id" },
   { "restart", function(v) return v == nil or is_whole(v, 0, 1 << 31) end, "a count" },
   { "uid", function(v) return v == nil or is_whole(v, 0, (1 << 32) - 1) end, "a uid" },
   { "counters", function(v) return v == nil or type(v) == "table" and #v <= 64 end,
      "at most 64 interfaces" },
}

--- @param h decoded HELLO
-- @return true, or nil and which field is wrong
function hello.check(h)
   if type(h) ~= "table" then
      return nil, "HELLO is no object"
   end
   for _, f in ipairs(fields) do
      if not f[2](h[f[1]]) then
         local got = tostring(h[f[1]]):sub(1, 40):gsub("%c", "?")
         return nil, ("HELLO: %s: expected %s, got %s"):format(f[1], f[3], got)
      end
   end
   return true
end

return hello
