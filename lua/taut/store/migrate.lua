-- SPDX-License-Identifier: GPL-2.0-or-later
--- Makes a database's tables those of the present schema, from any older one on, and looks whether
-- they are.
--
-- All steps are one transaction; where the server cannot undo changes of tables (MySQL), how far it
-- came is written down after each statement, and a migration that was cut short goes on there.
local db = require "taut.store.db"
local schema = require "taut.store.schema"

local migrate = {}

local PROGRESS = "schema_statement" -- how many of the next step are done

local function number_setting(name)
   local row = db.rows_of("SELECT value FROM setting WHERE name = ?", name)[1]
   if not row then
      return 0
   end
   return math.tointeger(tonumber(row.value)) or 0
end

local function note_setting(name, value)
   db.put("setting", { name = name, value = tostring(value) })
end

-- MySQL, about a statement that was done when the note of it was not.
local function was_done(err)
   return err:find "already exists" or err:find "Duplicate" or err:find "Unknown table" or
      err:find "doesn't exist"
end

local function define_loosely(sql, may_be_done)
   local ok, err = pcall(db.define, sql)
   if not ok and not (may_be_done and was_done(err)) then
      error(err, 0)
   end
end

local function is_setting(sql)
   return sql:find "^CREATE TABLE setting"
end

-- Where progress is to be written down, the table for it comes first.
local function begin_loosely()
   for _, sql in ipairs(schema.steps[1]) do
      if is_setting(sql) then
         define_loosely(sql)
      end
   end
end

-- The statements of a step after the first `done`.
local function make_step(version, done)
   local loose = db.is_loose()
   for i = done + 1, #schema.steps[version] do
      local sql = schema.steps[version][i]
      define_loosely(sql, loose and (i == done + 1 or is_setting(sql)))
      if loose then
         note_setting(PROGRESS, i)
      end
   end
   note_setting("schema", version)
   db.run("DELETE FROM setting WHERE name = ?", PROGRESS)
end

-- Every column that will be written or asked for is there.
local function check_columns()
   for name, columns in pairs(schema.columns) do
      local ok, err = pcall(db.rows_of, ('SELECT "%s" FROM %s WHERE 1 = 0'):format(
         table.concat(columns, '", "'), name))
      if not ok then
         error(("table %s is not as schema %d has it: %s"):format(name, schema.version, err), 0)
      end
   end
end

--- Are there no tables yet, or those of an older schema?  A newer one is an error.
function migrate.is_needed()
   local version = 0
   if db.tables().setting then
      version = number_setting "schema"
   end
   if version > schema.version then
      error(("database has schema %d, this tautd knows %d"):format(version, schema.version), 0)
   end
   return version < schema.version
end

--- Inside a transaction; an error says what is wrong.
function migrate.run()
   local version, done = 0, 0
   if db.tables().setting then
      version, done = number_setting "schema", number_setting(PROGRESS)
   elseif next(db.tables()) then
      error("it has tables, and none of them is Taut's: a database of its own is needed", 0)
   elseif db.is_loose() then
      begin_loosely()
   end
   if version > schema.version then
      error(("database has schema %d, this tautd knows %d"):format(version, schema.version), 0)
   end
   for v = version + 1, schema.version do
      make_step(v, done)
      done = 0
   end
   check_columns()
end

return migrate
