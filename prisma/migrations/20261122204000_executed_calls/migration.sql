-- A call that waits for a client, and that somebody had the server run instead: once, whatever comes of it. The mark goes with
-- the call it is about, not with the job that ran it.
CREATE TABLE "executed_call" (
    "workspace_id" UUID NOT NULL,
    "tool_call_id" UUID NOT NULL,
    "job_id" UUID NOT NULL,

    CONSTRAINT "executed_call_pkey" PRIMARY KEY ("workspace_id","tool_call_id")
);

ALTER TABLE "executed_call" ADD CONSTRAINT "executed_call_workspace_id_tool_call_id_fkey" FOREIGN KEY ("workspace_id", "tool_call_id") REFERENCES "tool_call"("workspace_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE executed_call ENABLE ROW LEVEL SECURITY;
ALTER TABLE executed_call FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON executed_call TO nightshift_api
  USING (workspace_id = nullif(current_setting('app.workspace', true), '')::uuid)
  WITH CHECK (workspace_id = nullif(current_setting('app.workspace', true), '')::uuid);
CREATE POLICY owner ON executed_call TO nightshift_owner USING (true) WITH CHECK (true);
GRANT SELECT, INSERT ON executed_call TO nightshift_api;
ALTER TABLE executed_call OWNER TO nightshift_owner;
