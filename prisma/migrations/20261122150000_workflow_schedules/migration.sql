-- Schedules of workflows, and one row for each slot that came.

-- CreateTable
CREATE TABLE "workflow_schedule" (
    "workspace_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "workflow_id" UUID NOT NULL,
    "cron" TEXT NOT NULL,
    "time_zone" TEXT NOT NULL,
    "missed" TEXT NOT NULL,
    "prompt" TEXT NOT NULL,
    "enabled" BOOLEAN NOT NULL,
    "stopped_because" TEXT,
    "next_slot_at" TIMESTAMPTZ(3),
    "created_by" TEXT NOT NULL,
    "saved_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "workflow_schedule_pkey" PRIMARY KEY ("workspace_id","id")
);

-- CreateTable
CREATE TABLE "scheduled_slot" (
    "workspace_id" UUID NOT NULL,
    "schedule_id" UUID NOT NULL,
    "slot_at" TIMESTAMPTZ(3) NOT NULL,
    "status" TEXT NOT NULL,
    "job_id" UUID,
    "error" JSONB,
    "try_at" TIMESTAMPTZ(3),
    "planned_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "scheduled_slot_pkey" PRIMARY KEY ("workspace_id","schedule_id","slot_at")
);

-- CreateIndex
CREATE INDEX "workflow_schedule_workspace_id_workflow_id_idx" ON "workflow_schedule"("workspace_id", "workflow_id");

-- AddForeignKey
ALTER TABLE "workflow_schedule" ADD CONSTRAINT "workflow_schedule_workspace_id_workflow_id_fkey" FOREIGN KEY ("workspace_id", "workflow_id") REFERENCES "workflow"("workspace_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "scheduled_slot" ADD CONSTRAINT "scheduled_slot_workspace_id_schedule_id_fkey" FOREIGN KEY ("workspace_id", "schedule_id") REFERENCES "workflow_schedule"("workspace_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- ---------------------------------------------------------------------------------------------------------------
-- Checks, partial indexes, row-level security, grants.
-- ---------------------------------------------------------------------------------------------------------------

ALTER TABLE workflow_schedule
  ADD CONSTRAINT workflow_schedule_missed CHECK (missed IN ('skip', 'once', 'all')),
  ADD CONSTRAINT workflow_schedule_comes CHECK (NOT enabled OR next_slot_at IS NOT NULL);
ALTER TABLE scheduled_slot
  ADD CONSTRAINT scheduled_slot_status CHECK (status IN ('due', 'started', 'skipped', 'failed')),
  ADD CONSTRAINT scheduled_slot_due CHECK ((status = 'due') = (try_at IS NOT NULL)),
  ADD CONSTRAINT scheduled_slot_started CHECK ((status = 'started') = (job_id IS NOT NULL));

-- What the workers look for, across workspaces.
CREATE INDEX workflow_schedule_due ON workflow_schedule (next_slot_at) WHERE enabled;
CREATE INDEX scheduled_slot_to_start ON scheduled_slot (try_at) WHERE status = 'due';

DO $$
DECLARE t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['workflow_schedule', 'scheduled_slot'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
    EXECUTE format('CREATE POLICY tenant ON %I TO nightshift_api
      USING (workspace_id = nullif(current_setting(''app.workspace'', true), '''')::uuid)
      WITH CHECK (workspace_id = nullif(current_setting(''app.workspace'', true), '''')::uuid)', t);
    EXECUTE format('CREATE POLICY engine ON %I FOR SELECT TO nightshift_engine USING (true)', t);
    EXECUTE format('CREATE POLICY owner ON %I TO nightshift_owner USING (true) WITH CHECK (true)', t);
    EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %I TO nightshift_api', t);
    EXECUTE format('GRANT SELECT ON %I TO nightshift_engine', t);
    EXECUTE format('ALTER TABLE %I OWNER TO nightshift_owner', t);
  END LOOP;
END $$;
