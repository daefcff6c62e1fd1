-- CreateTable
CREATE TABLE "trigger_definition" (
    "workspace_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "database" TEXT NOT NULL,
    "trigger_id" TEXT NOT NULL,
    "origin" TEXT NOT NULL,
    "enabled" BOOLEAN NOT NULL DEFAULT true,
    "own_rows" BOOLEAN NOT NULL DEFAULT false,
    "definition" JSONB NOT NULL,
    "saved_by" TEXT NOT NULL,
    "fired" INTEGER NOT NULL DEFAULT 0,
    "failed" INTEGER NOT NULL DEFAULT 0,
    "last_fired_at" TIMESTAMPTZ(3),
    "last_error" TEXT,
    "last_error_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "saved_at" TIMESTAMPTZ(6) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "trigger_definition_pkey" PRIMARY KEY ("workspace_id","id")
);

-- CreateTable
CREATE TABLE "trigger_run" (
    "workspace_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "trigger_id" UUID NOT NULL,
    "key" TEXT NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'due',
    "event" JSONB,
    "job_id" UUID,
    "error" JSONB,
    "try_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "trigger_run_pkey" PRIMARY KEY ("workspace_id","id")
);

-- CreateTable
CREATE TABLE "document_change" (
    "workspace_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "ordinal" BIGINT GENERATED ALWAYS AS IDENTITY,
    "database" TEXT NOT NULL,
    "key" TEXT,
    "body" JSONB,
    "received_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "document_change_pkey" PRIMARY KEY ("workspace_id","id")
);

-- CreateIndex
CREATE UNIQUE INDEX "trigger_definition_workspace_id_database_trigger_id_key" ON "trigger_definition"("workspace_id", "database", "trigger_id");

-- CreateIndex
CREATE UNIQUE INDEX "trigger_run_workspace_id_trigger_id_key_key" ON "trigger_run"("workspace_id", "trigger_id", "key");

-- CreateIndex
CREATE INDEX "trigger_run_workspace_id_trigger_id_id_idx" ON "trigger_run"("workspace_id", "trigger_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "document_change_workspace_id_database_key_key" ON "document_change"("workspace_id", "database", "key");

-- AddForeignKey
ALTER TABLE "trigger_definition" ADD CONSTRAINT "trigger_definition_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "trigger_run" ADD CONSTRAINT "trigger_run_workspace_id_trigger_id_fkey" FOREIGN KEY ("workspace_id", "trigger_id") REFERENCES "trigger_definition"("workspace_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "document_change" ADD CONSTRAINT "document_change_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- ---------------------------------------------------------------------------------------------------------------
-- Checks, partial indexes, row-level security, grants.
-- ---------------------------------------------------------------------------------------------------------------

ALTER TABLE trigger_definition
  ADD CONSTRAINT trigger_definition_origin CHECK (origin IN ('api', 'file'));
ALTER TABLE trigger_run
  ADD CONSTRAINT trigger_run_status CHECK (status IN ('due', 'started', 'failed')),
  ADD CONSTRAINT trigger_run_due CHECK ((try_at IS NULL) = (status <> 'due'));

-- A request to /hooks names the trigger alone.
CREATE UNIQUE INDEX trigger_definition_id ON trigger_definition (id);
CREATE INDEX trigger_run_due_at ON trigger_run (try_at) WHERE status = 'due';
CREATE INDEX document_change_open ON document_change (workspace_id, ordinal) WHERE body IS NOT NULL;

DO $$
DECLARE t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['trigger_definition', 'trigger_run', 'document_change'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
    EXECUTE format('CREATE POLICY tenant ON %I TO nightshift_api
      USING (workspace_id = nullif(current_setting(''app.workspace'', true), '''')::uuid)
      WITH CHECK (workspace_id = nullif(current_setting(''app.workspace'', true), '''')::uuid)', t);
    EXECUTE format('CREATE POLICY engine ON %I TO nightshift_engine USING (true) WITH CHECK (true)', t);
    EXECUTE format('CREATE POLICY owner ON %I TO nightshift_owner USING (true) WITH CHECK (true)', t);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO nightshift_api', t);
    EXECUTE format('ALTER TABLE %I OWNER TO nightshift_owner', t);
  END LOOP;
END $$;

-- The engine finds the trigger of a request, and what lost its queue message.
GRANT SELECT (workspace_id, id, enabled) ON trigger_definition TO nightshift_engine;
GRANT SELECT (workspace_id, id, trigger_id, status, try_at) ON trigger_run TO nightshift_engine;
GRANT SELECT (workspace_id, received_at, body) ON document_change TO nightshift_engine;
-- The files of triggers name workspaces.
GRANT SELECT (name) ON workspace TO nightshift_engine;
