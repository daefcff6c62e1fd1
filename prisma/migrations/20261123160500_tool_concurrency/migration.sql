-- How many calls of its tool run at once in the workspace, as the tool was defined when the call was sent. Null: no limit of its own.
ALTER TABLE tool_call ADD COLUMN concurrency int;
GRANT SELECT (concurrency) ON tool_call TO nightshift_tools;
