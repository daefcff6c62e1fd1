-- Where the server tools of a workspace run. The setting of the installation counts if it is stricter.
ALTER TABLE workspace ADD COLUMN tool_isolation text NOT NULL DEFAULT 'per_tool';
ALTER TABLE workspace ADD CONSTRAINT workspace_tool_isolation_check CHECK (tool_isolation IN ('per_tool', 'queue')) NOT VALID;
