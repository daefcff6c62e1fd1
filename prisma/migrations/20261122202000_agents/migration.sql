-- Agents: presets of a workspace, in numbered versions that never change.

-- AlterTable
ALTER TABLE "workspace" ADD COLUMN     "direct_models" TEXT[] DEFAULT ARRAY[]::TEXT[];

-- CreateTable
CREATE TABLE "agent" (
    "workspace_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "slug" TEXT NOT NULL,
    "description" TEXT NOT NULL,
    "version" INTEGER NOT NULL DEFAULT 1,
    "is_default" BOOLEAN NOT NULL DEFAULT false,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "archived_at" TIMESTAMPTZ(3),

    CONSTRAINT "agent_pkey" PRIMARY KEY ("workspace_id","id")
);

-- CreateTable
CREATE TABLE "agent_version" (
    "workspace_id" UUID NOT NULL,
    "agent_id" UUID NOT NULL,
    "number" INTEGER NOT NULL,
    "model" TEXT,
    "instructions" TEXT NOT NULL,
    "tools" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "external_tools" TEXT[] DEFAULT ARRAY[]::TEXT[],
    "limits" JSONB NOT NULL,
    "parameters" JSONB NOT NULL,
    "tool_approval" JSONB,
    "hash" TEXT NOT NULL,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "agent_version_pkey" PRIMARY KEY ("workspace_id","agent_id","number")
);

-- AddForeignKey
ALTER TABLE "agent" ADD CONSTRAINT "agent_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "agent_version" ADD CONSTRAINT "agent_version_workspace_id_agent_id_fkey" FOREIGN KEY ("workspace_id", "agent_id") REFERENCES "agent"("workspace_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- ---------------------------------------------------------------------------------------------------------------
-- Checks, partial indexes, row-level security, grants.
-- ---------------------------------------------------------------------------------------------------------------

ALTER TABLE agent
  ADD CONSTRAINT agent_version_counts CHECK (version > 0),
  ADD CONSTRAINT agent_default_lives CHECK (NOT is_default OR archived_at IS NULL);

-- An archived agent keeps its rows for the jobs that used it; its name is free again.
CREATE UNIQUE INDEX agent_name ON agent (workspace_id, name) WHERE archived_at IS NULL;
CREATE UNIQUE INDEX agent_slug ON agent (workspace_id, slug) WHERE archived_at IS NULL;
CREATE UNIQUE INDEX agent_default ON agent (workspace_id) WHERE is_default;

DO $$
DECLARE t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['agent', 'agent_version'] LOOP
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
-- Versions are history: added, never changed.
GRANT INSERT, UPDATE ON agent TO nightshift_api;
GRANT INSERT ON agent_version TO nightshift_api;
