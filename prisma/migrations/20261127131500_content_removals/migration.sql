-- Contents without the row of a file: those of uploads that have not stored it, and those of removed files. The retention deletes them from their stores.
CREATE TABLE "content_removal" (
    "workspace_id" UUID NOT NULL,
    "file_id" UUID NOT NULL,
    "store" TEXT NOT NULL,
    "uploading" BOOLEAN NOT NULL DEFAULT false,
    "due_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "content_removal_pkey" PRIMARY KEY ("workspace_id","file_id")
);

CREATE INDEX "content_removal_workspace_id_due_at_idx" ON "content_removal"("workspace_id", "due_at");

ALTER TABLE "content_removal" ADD CONSTRAINT "content_removal_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE content_removal ADD CONSTRAINT content_removal_store CHECK (store IN ('postgres', 's3'));

ALTER TABLE content_removal ENABLE ROW LEVEL SECURITY;
ALTER TABLE content_removal FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON content_removal TO nightshift_api
  USING (workspace_id = nullif(current_setting('app.workspace', true), '')::uuid)
  WITH CHECK (workspace_id = nullif(current_setting('app.workspace', true), '')::uuid);
CREATE POLICY owner ON content_removal TO nightshift_owner USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON content_removal TO nightshift_api;
ALTER TABLE content_removal OWNER TO nightshift_owner;
