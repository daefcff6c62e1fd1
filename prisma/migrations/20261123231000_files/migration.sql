-- Files of workspaces: attachments of messages, and what tools made.

-- CreateTable
CREATE TABLE "stored_file" (
    "workspace_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "hash" TEXT NOT NULL,
    "mime" TEXT NOT NULL,
    "bytes" INTEGER NOT NULL,
    "name" TEXT,
    "store" TEXT NOT NULL,
    "created_by" UUID,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "kept_until" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "stored_file_pkey" PRIMARY KEY ("workspace_id","id")
);

-- CreateTable
CREATE TABLE "file_chunk" (
    "workspace_id" UUID NOT NULL,
    "file_id" UUID NOT NULL,
    "number" INTEGER NOT NULL,
    "data" BYTEA NOT NULL,

    CONSTRAINT "file_chunk_pkey" PRIMARY KEY ("workspace_id","file_id","number")
);

-- CreateIndex
CREATE UNIQUE INDEX "stored_file_workspace_id_hash_key" ON "stored_file"("workspace_id", "hash");

-- CreateIndex
CREATE INDEX "stored_file_workspace_id_kept_until_idx" ON "stored_file"("workspace_id", "kept_until");

-- AddForeignKey
ALTER TABLE "stored_file" ADD CONSTRAINT "stored_file_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "file_chunk" ADD CONSTRAINT "file_chunk_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- ---------------------------------------------------------------------------------------------------------------
-- Checks, storage, row-level security, grants.
-- ---------------------------------------------------------------------------------------------------------------

ALTER TABLE stored_file
  ADD CONSTRAINT stored_file_hash CHECK (hash ~ '^[0-9a-f]{64}$'),
  ADD CONSTRAINT stored_file_bytes CHECK (bytes > 0),
  ADD CONSTRAINT stored_file_store CHECK (store IN ('postgres', 's3'));

-- Images and PDFs are compressed already.
ALTER TABLE file_chunk ALTER COLUMN data SET STORAGE EXTERNAL;

DO $$
DECLARE t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['stored_file', 'file_chunk'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
    EXECUTE format('CREATE POLICY tenant ON %I TO nightshift_api
      USING (workspace_id = nullif(current_setting(''app.workspace'', true), '''')::uuid)
      WITH CHECK (workspace_id = nullif(current_setting(''app.workspace'', true), '''')::uuid)', t);
    EXECUTE format('CREATE POLICY owner ON %I TO nightshift_owner USING (true) WITH CHECK (true)', t);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO nightshift_api', t);
    EXECUTE format('ALTER TABLE %I OWNER TO nightshift_owner', t);
  END LOOP;
END $$;
