-- Tools and people: what a job waits for, who decides it, and tools that are a workspace's own data.

-- AlterTable
ALTER TABLE "job" ADD COLUMN     "answered" INTEGER NOT NULL DEFAULT 0;

-- AlterTable
ALTER TABLE "workspace" ADD COLUMN     "outbound_hosts" TEXT[] DEFAULT ARRAY[]::TEXT[];

-- AlterTable
ALTER TABLE "tool_call" ADD COLUMN     "approval" TEXT,
ADD COLUMN     "approved_arguments" TEXT,
ADD COLUMN     "cancel_requested_at" TIMESTAMPTZ(3),
ADD COLUMN     "created_by" UUID,
ADD COLUMN     "decided_by" TEXT,
ADD COLUMN     "decision_id" UUID,
ADD COLUMN     "duration_ms" INTEGER,
ADD COLUMN     "exec_attempts" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "exec_epoch" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "exec_owner" TEXT,
ADD COLUMN     "exec_until" TIMESTAMPTZ(3),
ADD COLUMN     "executed_arguments" TEXT,
ADD COLUMN     "grant_id" UUID,
ADD COLUMN     "queued_at" TIMESTAMPTZ(3),
ADD COLUMN     "result_bytes" INTEGER,
ADD COLUMN     "runtime" TEXT NOT NULL DEFAULT 'server',
ADD COLUMN     "thread_id" UUID,
ADD COLUMN     "tool_version" TEXT;

-- AlterTable
ALTER TABLE "interrupt" ADD COLUMN     "admin_required" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "call_id" TEXT,
ADD COLUMN     "claim_device" TEXT,
ADD COLUMN     "claim_digest" BYTEA,
ADD COLUMN     "claim_until" TIMESTAMPTZ(3),
ADD COLUMN     "claimed_by" TEXT,
ADD COLUMN     "decidable_by" TEXT NOT NULL DEFAULT 'requester',
ADD COLUMN     "device_id" TEXT,
ADD COLUMN     "expire_action" TEXT NOT NULL DEFAULT 'deny',
ADD COLUMN     "four_eyes" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "node_id" TEXT,
ADD COLUMN     "path" TEXT[] DEFAULT ARRAY[]::TEXT[],
ADD COLUMN     "principal" TEXT,
ADD COLUMN     "remind_at" TIMESTAMPTZ(3),
ADD COLUMN     "requester" UUID,
ADD COLUMN     "root_job_id" UUID,
ADD COLUMN     "thread_id" UUID,
ADD COLUMN     "tool" TEXT,
ADD COLUMN     "validated_at" TIMESTAMPTZ(3);

-- CreateTable
CREATE TABLE "approval_policy" (
    "workspace_id" UUID NOT NULL,
    "version" INTEGER NOT NULL,
    "policy" JSONB NOT NULL,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "approval_policy_pkey" PRIMARY KEY ("workspace_id","version")
);

-- CreateTable
CREATE TABLE "approval_grant" (
    "workspace_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "thread_id" UUID NOT NULL,
    "requester" UUID NOT NULL,
    "agent" TEXT NOT NULL DEFAULT '',
    "operation" TEXT NOT NULL,
    "policy_version" INTEGER NOT NULL DEFAULT 0,
    "interrupt_id" UUID NOT NULL,
    "granted_by" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,
    "revoked_at" TIMESTAMPTZ(3),
    "revoked_by" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "approval_grant_pkey" PRIMARY KEY ("workspace_id","id")
);

-- CreateTable
CREATE TABLE "workspace_secret" (
    "workspace_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "cipher" BYTEA NOT NULL,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "workspace_secret_pkey" PRIMARY KEY ("workspace_id","id")
);

-- CreateTable
CREATE TABLE "workspace_tool" (
    "workspace_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "enabled" BOOLEAN NOT NULL DEFAULT true,
    "version" INTEGER NOT NULL DEFAULT 1,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "removed_at" TIMESTAMPTZ(3),

    CONSTRAINT "workspace_tool_pkey" PRIMARY KEY ("workspace_id","id")
);

-- CreateTable
CREATE TABLE "workspace_tool_version" (
    "workspace_id" UUID NOT NULL,
    "tool_id" UUID NOT NULL,
    "version" INTEGER NOT NULL,
    "definition" JSONB NOT NULL,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "workspace_tool_version_pkey" PRIMARY KEY ("workspace_id","tool_id","version")
);

-- CreateTable
CREATE TABLE "mcp_server" (
    "workspace_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "transport" TEXT NOT NULL,
    "settings" JSONB NOT NULL,
    "enabled" BOOLEAN NOT NULL DEFAULT true,
    "last_error" TEXT,
    "listed_at" TIMESTAMPTZ(3),
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "mcp_server_pkey" PRIMARY KEY ("workspace_id","id")
);

-- CreateTable
CREATE TABLE "mcp_tool" (
    "workspace_id" UUID NOT NULL,
    "server_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "definition" JSONB NOT NULL,
    "hash" TEXT NOT NULL,
    "accepted_definition" JSONB,
    "accepted_hash" TEXT,
    "accepted_by" TEXT,
    "accepted_at" TIMESTAMPTZ(3),
    "gone_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "mcp_tool_pkey" PRIMARY KEY ("workspace_id","server_id","name")
);

-- CreateTable
CREATE TABLE "tool_output" (
    "workspace_id" UUID NOT NULL,
    "tool_call_id" UUID NOT NULL,
    "job_id" UUID NOT NULL,
    "text" TEXT NOT NULL,
    "bytes" INTEGER NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "tool_output_pkey" PRIMARY KEY ("workspace_id","tool_call_id")
);

-- CreateIndex
CREATE INDEX "approval_grant_workspace_id_thread_id_idx" ON "approval_grant"("workspace_id", "thread_id");

-- CreateIndex
CREATE UNIQUE INDEX "workspace_secret_workspace_id_name_key" ON "workspace_secret"("workspace_id", "name");

-- CreateIndex
CREATE UNIQUE INDEX "mcp_server_workspace_id_name_key" ON "mcp_server"("workspace_id", "name");

-- CreateIndex
CREATE INDEX "tool_output_workspace_id_job_id_idx" ON "tool_output"("workspace_id", "job_id");

-- CreateIndex
CREATE INDEX "interrupt_workspace_id_status_id_idx" ON "interrupt"("workspace_id", "status", "id");

-- AddForeignKey
ALTER TABLE "approval_policy" ADD CONSTRAINT "approval_policy_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "approval_grant" ADD CONSTRAINT "approval_grant_workspace_id_thread_id_fkey" FOREIGN KEY ("workspace_id", "thread_id") REFERENCES "thread"("workspace_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "workspace_secret" ADD CONSTRAINT "workspace_secret_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "workspace_tool" ADD CONSTRAINT "workspace_tool_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "workspace_tool_version" ADD CONSTRAINT "workspace_tool_version_workspace_id_tool_id_fkey" FOREIGN KEY ("workspace_id", "tool_id") REFERENCES "workspace_tool"("workspace_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "mcp_server" ADD CONSTRAINT "mcp_server_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "mcp_tool" ADD CONSTRAINT "mcp_tool_workspace_id_server_id_fkey" FOREIGN KEY ("workspace_id", "server_id") REFERENCES "mcp_server"("workspace_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "tool_output" ADD CONSTRAINT "tool_output_workspace_id_tool_call_id_fkey" FOREIGN KEY ("workspace_id", "tool_call_id") REFERENCES "tool_call"("workspace_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- ---------------------------------------------------------------------------------------------------------------
-- Checks, partial indexes, row-level security, grants.
-- ---------------------------------------------------------------------------------------------------------------

ALTER TABLE tool_call
  ADD CONSTRAINT tool_call_runtime CHECK (runtime IN ('server', 'client', 'http', 'mcp')),
  ADD CONSTRAINT tool_call_executor CHECK (executor IN ('worker', 'queue', 'client')),
  ADD CONSTRAINT tool_call_approval CHECK (approval IN ('policy', 'person', 'grant', 'denied', 'expired', 'blocked', 'withdrawn'));
ALTER TABLE interrupt
  ADD CONSTRAINT interrupt_decidable_by CHECK (decidable_by IN ('requester', 'approvers', 'members')),
  ADD CONSTRAINT interrupt_settled CHECK (status = 'open' OR decided_at IS NOT NULL);
ALTER TABLE mcp_server ADD CONSTRAINT mcp_server_transport CHECK (transport IN ('http', 'stdio'));

-- A removed tool keeps its rows for the history; its name is free again.
CREATE UNIQUE INDEX workspace_tool_name ON workspace_tool (workspace_id, name) WHERE removed_at IS NULL;
CREATE INDEX interrupt_reminder ON interrupt (remind_at) WHERE status = 'open' AND remind_at IS NOT NULL;
-- Claims that were validated and ran out: the client began and was not heard of again.
CREATE INDEX interrupt_claim ON interrupt (claim_until) WHERE status = 'open' AND validated_at IS NOT NULL;
-- A call has one open request at a time.
CREATE UNIQUE INDEX interrupt_one_open ON interrupt (workspace_id, tool_call_id) WHERE status = 'open' AND tool_call_id IS NOT NULL;
-- The isolated tool queue: what was sent and has not ended.
CREATE INDEX tool_call_queued ON tool_call (exec_until NULLS FIRST) WHERE status = 'running' AND executor = 'queue';

-- A settled request stays as it was settled, whoever races for it.
CREATE FUNCTION interrupt_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.status <> 'open' AND (NEW.status <> OLD.status OR NEW.outcome IS DISTINCT FROM OLD.outcome) THEN
    RAISE EXCEPTION 'interrupt % is % and stays so', OLD.id, OLD.status USING ERRCODE = '23514';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER interrupt_guard BEFORE UPDATE ON interrupt FOR EACH ROW EXECUTE FUNCTION interrupt_guard();
ALTER FUNCTION interrupt_guard() OWNER TO nightshift_owner;

DO $$
DECLARE t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['approval_policy', 'approval_grant', 'workspace_secret', 'workspace_tool', 'workspace_tool_version',
                           'mcp_server', 'mcp_tool', 'tool_output'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
    EXECUTE format('CREATE POLICY tenant ON %I TO nightshift_api
      USING (workspace_id = nullif(current_setting(''app.workspace'', true), '''')::uuid)
      WITH CHECK (workspace_id = nullif(current_setting(''app.workspace'', true), '''')::uuid)', t);
    EXECUTE format('CREATE POLICY owner ON %I TO nightshift_owner USING (true) WITH CHECK (true)', t);
    EXECUTE format('GRANT SELECT, INSERT ON %I TO nightshift_api', t);
    EXECUTE format('ALTER TABLE %I OWNER TO nightshift_owner', t);
  END LOOP;
  -- Versions are history: added, never changed.
  FOREACH t IN ARRAY ARRAY['approval_grant', 'workspace_secret', 'workspace_tool', 'mcp_server', 'mcp_tool', 'tool_output'] LOOP
    EXECUTE format('GRANT UPDATE, DELETE ON %I TO nightshift_api', t);
  END LOOP;
END $$;
-- A result that is too large for its row is written in the same statement as the row.
CREATE POLICY engine ON tool_output TO nightshift_engine USING (true) WITH CHECK (true);
GRANT SELECT, INSERT ON tool_output TO nightshift_engine;
