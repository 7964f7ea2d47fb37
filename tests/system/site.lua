-- SPDX-License-Identifier: GPL-2.0-or-later
-- `tautd --lua site.lua FOLDER`: do all links of a site's pages lead somewhere, to a place in a
-- page that is there where they name one?  Is nothing loaded from elsewhere?
local folder, wrong, links, texts, ids = arg[1], 0, 0, {}, {}

local function say(...)
   print(string.format(...))
   wrong = wrong + 1
end

local function read(path)
   local f = io.open(path, "rb")
   local text = f and f:read "a" -- nil of a folder
   if f then
      f:close()
   end
   return text
end

local function ids_of(path)
   if not ids[path] then
      ids[path] = {}
      for quote, id in texts[path]:gmatch "%sid=([\"'])(.-)%1" do
         ids[path][id] = quote
      end
   end
   return ids[path]
end

-- "doc/a.html" and "../b.html" → "b.html"
local function join(from, link)
   local parts = {}
   for part in ((from:match "^(.*/)" or "") .. link):gmatch "[^/]+" do
      if part == ".." then
         table.remove(parts)
      elseif part ~= "." then
         parts[#parts + 1] = part
      end
   end
   return table.concat(parts, "/")
end

local function decoded(text)
   text = text:gsub("&amp;", "&"):gsub("&quot;", '"'):gsub("&#x27;", "'")
   return (text:gsub("%%(%x%x)", function(x) return string.char(tonumber(x, 16)) end))
end

local function check(page, link)
   local path, place = link:match "^([^#]*)#?(.*)$"
   path = path == "" and page or join(page, (path:gsub("%?.*", "")))
   links = links + 1
   if not texts[path] and not read(folder .. "/" .. path) then
      say("%s: %s leads nowhere", page, link)
   elseif place ~= "" and texts[path] and not ids_of(path)[decoded(place)]
      and not ids_of(path)[place] then
      say("%s: %s: the page has no such place", page, link)
   end
end

local pipe = assert(io.popen(("cd '%s' && find . -name '*.html'"):format(folder)))
for line in pipe:lines() do
   local path = line:sub(3)
   texts[path] = read(folder .. "/" .. path)
end
pipe:close()
for page, text in pairs(texts) do
   for tag, name, _, link in text:gmatch "<(%a+)[^>]-%s(%a+)=([\"'])(.-)%3" do
      local is_link = name == "href" or name == "src"
      if is_link and link:find "^%a+:" then
         if tag ~= "a" and not link:find "^data:" then
            say("%s: <%s> loads %s", page, tag, link)
         end
      elseif is_link and page ~= "404.html" then
         check(page, link)
      end
   end
   for link in text:gmatch "<a%s[^>]-href=\"([^\"]*)\"" do
      if not link:find "^%a+:" and page ~= "404.html" then
         check(page, link)
      end
   end
end
-- where alerts lead
for line in io.lines(arg[2]) do
   local link = line:match "https://taut%.example/([^\"]*)"
   if link then
      check("index.html", link)
   end
end
print(("%d links"):format(links))
os.exit(wrong == 0 and links > 500)
