-- Workflows: definitions in numbered versions, and one row for each run of a node.

-- AlterTable
ALTER TABLE "job" ADD COLUMN     "workflow_id" UUID,
ADD COLUMN     "workflow_version" INTEGER;

-- AlterTable
ALTER TABLE "round" ADD COLUMN     "branch" TEXT,
ADD COLUMN     "node_run" INTEGER;

-- CreateTable
CREATE TABLE "workflow" (
    "workspace_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "client_id" TEXT,
    "name" TEXT NOT NULL,
    "description" TEXT NOT NULL DEFAULT '',
    "draft" TEXT NOT NULL,
    "draft_hash" TEXT NOT NULL,
    "draft_version" INTEGER NOT NULL DEFAULT 1,
    "published_version" INTEGER,
    "latest_version" INTEGER NOT NULL DEFAULT 0,
    "offered_as_tool" BOOLEAN NOT NULL DEFAULT false,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "deleted_at" TIMESTAMPTZ(3),

    CONSTRAINT "workflow_pkey" PRIMARY KEY ("workspace_id","id")
);

-- CreateTable
CREATE TABLE "workflow_version" (
    "workspace_id" UUID NOT NULL,
    "workflow_id" UUID NOT NULL,
    "number" INTEGER NOT NULL,
    "definition" TEXT NOT NULL,
    "hash" TEXT NOT NULL,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "workflow_version_pkey" PRIMARY KEY ("workspace_id","workflow_id","number")
);

-- CreateTable
CREATE TABLE "node_run" (
    "workspace_id" UUID NOT NULL,
    "job_id" UUID NOT NULL,
    "ordinal" INTEGER NOT NULL,
    "node_id" TEXT NOT NULL,
    "path" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "iteration" INTEGER[] DEFAULT ARRAY[]::INTEGER[],
    "type" TEXT NOT NULL,
    "label" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "input" TEXT NOT NULL,
    "output" TEXT,
    "handles" TEXT[],
    "hand_on" TEXT NOT NULL DEFAULT 'output',
    "extra" JSONB NOT NULL DEFAULT '{}',
    "error" JSONB,
    "prompt_tokens" INTEGER NOT NULL DEFAULT 0,
    "completion_tokens" INTEGER NOT NULL DEFAULT 0,
    "epoch" INTEGER NOT NULL,
    "started_at" TIMESTAMPTZ(3),
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "node_run_pkey" PRIMARY KEY ("workspace_id","job_id","ordinal")
);

-- CreateTable
CREATE TABLE "workflow_memory" (
    "workspace_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "session_id" TEXT NOT NULL,
    "text" TEXT NOT NULL,
    "metadata" JSONB NOT NULL DEFAULT '{}',
    "node_run_key" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "workflow_memory_pkey" PRIMARY KEY ("workspace_id","id")
);

-- CreateIndex
CREATE UNIQUE INDEX "node_run_workspace_id_job_id_node_id_iteration_key" ON "node_run"("workspace_id", "job_id", "node_id", "iteration");

-- CreateIndex
CREATE INDEX "workflow_workspace_id_deleted_at_id_idx" ON "workflow"("workspace_id", "deleted_at", "id");

-- CreateIndex
CREATE INDEX "workflow_memory_workspace_id_session_id_id_idx" ON "workflow_memory"("workspace_id", "session_id", "id");

-- CreateIndex
CREATE UNIQUE INDEX "workflow_memory_workspace_id_node_run_key_key" ON "workflow_memory"("workspace_id", "node_run_key");

-- AddForeignKey
ALTER TABLE "workflow" ADD CONSTRAINT "workflow_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "workflow_version" ADD CONSTRAINT "workflow_version_workspace_id_workflow_id_fkey" FOREIGN KEY ("workspace_id", "workflow_id") REFERENCES "workflow"("workspace_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "node_run" ADD CONSTRAINT "node_run_workspace_id_job_id_fkey" FOREIGN KEY ("workspace_id", "job_id") REFERENCES "job"("workspace_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "workflow_memory" ADD CONSTRAINT "workflow_memory_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- ---------------------------------------------------------------------------------------------------------------
-- Checks, partial indexes, row-level security, grants.
-- ---------------------------------------------------------------------------------------------------------------

ALTER TABLE node_run
  ADD CONSTRAINT node_run_status CHECK (status IN ('pending', 'active', 'waiting', 'completed', 'error', 'skipped', 'cancelled')),
  ADD CONSTRAINT node_run_ordinal CHECK (ordinal > 0),
  ADD CONSTRAINT node_run_hand_on CHECK (hand_on IN ('output', 'input', 'nothing'));

-- A deleted workflow keeps its rows for the jobs that ran it; its name and the client's id for it are free again.
CREATE UNIQUE INDEX workflow_name ON workflow (workspace_id, name) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX workflow_client_id ON workflow (workspace_id, client_id) WHERE deleted_at IS NULL AND client_id IS NOT NULL;
CREATE INDEX job_by_workflow ON job (workspace_id, workflow_id, id) WHERE workflow_id IS NOT NULL;
CREATE INDEX round_by_node_run ON round (workspace_id, job_id, node_run) WHERE node_run IS NOT NULL;

-- A settled node run stays as it was settled: what crashed in between begins after it.
CREATE FUNCTION node_run_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.status IN ('completed', 'error', 'skipped', 'cancelled') AND NEW.status <> OLD.status THEN
    RAISE EXCEPTION 'node run %/% is % and stays so', OLD.job_id, OLD.ordinal, OLD.status USING ERRCODE = '23514';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER node_run_guard BEFORE UPDATE ON node_run FOR EACH ROW EXECUTE FUNCTION node_run_guard();
ALTER FUNCTION node_run_guard() OWNER TO nightshift_owner;

DO $$
DECLARE t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['workflow', 'workflow_version', 'node_run', 'workflow_memory'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
    EXECUTE format('CREATE POLICY tenant ON %I TO nightshift_api
      USING (workspace_id = nullif(current_setting(''app.workspace'', true), '''')::uuid)
      WITH CHECK (workspace_id = nullif(current_setting(''app.workspace'', true), '''')::uuid)', t);
    EXECUTE format('CREATE POLICY owner ON %I TO nightshift_owner USING (true) WITH CHECK (true)', t);
    EXECUTE format('GRANT SELECT ON %I TO nightshift_api', t);
    EXECUTE format('ALTER TABLE %I OWNER TO nightshift_owner', t);
  END LOOP;
END $$;
-- Versions are history: added, never changed. Node runs are written by the engine alone.
GRANT INSERT, UPDATE, DELETE ON workflow TO nightshift_api;
GRANT INSERT ON workflow_version TO nightshift_api;
GRANT INSERT, DELETE ON workflow_memory TO nightshift_api;
CREATE POLICY engine ON node_run TO nightshift_engine USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE ON node_run TO nightshift_engine;
CREATE POLICY engine ON workflow_memory TO nightshift_engine USING (true) WITH CHECK (true);
GRANT SELECT, INSERT, UPDATE (node_run_key) ON workflow_memory TO nightshift_engine;
