-- What people are told of jobs that nobody watched, and who watches.

-- CreateTable
CREATE TABLE "notification" (
    "workspace_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "type" TEXT NOT NULL,
    "job_id" UUID NOT NULL,
    "interrupt_id" UUID,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "read_at" TIMESTAMPTZ(3),

    CONSTRAINT "notification_pkey" PRIMARY KEY ("workspace_id","id")
);

-- Nothing is lost with it: processes that still run write their rows again. So it needs no log, and its commits wait for no disk.
CREATE UNLOGGED TABLE "job_viewer" (
    "workspace_id" UUID NOT NULL,
    "job_id" UUID NOT NULL,
    "process" UUID NOT NULL,
    "seen_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "job_viewer_pkey" PRIMARY KEY ("workspace_id","job_id","process")
);

-- CreateIndex
CREATE INDEX "notification_workspace_id_user_id_id_idx" ON "notification"("workspace_id", "user_id", "id");

-- AddForeignKey
ALTER TABLE "notification" ADD CONSTRAINT "notification_workspace_id_job_id_fkey" FOREIGN KEY ("workspace_id", "job_id") REFERENCES "job"("workspace_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- ---------------------------------------------------------------------------------------------------------------
-- Checks, the index that makes a second one impossible, row-level security, grants.
-- ---------------------------------------------------------------------------------------------------------------

CREATE UNIQUE INDEX "notification_workspace_id_job_id_type_interrupt_id_key"
  ON "notification"("workspace_id", "job_id", "type", "interrupt_id") NULLS NOT DISTINCT;

ALTER TABLE notification
  ADD CONSTRAINT notification_type CHECK (type IN ('job_completed', 'job_failed', 'input_needed')),
  ADD CONSTRAINT notification_interrupt CHECK ((interrupt_id IS NOT NULL) = (type = 'input_needed'));

DO $$
DECLARE t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['notification', 'job_viewer'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
    EXECUTE format('CREATE POLICY tenant ON %I TO nightshift_api
      USING (workspace_id = nullif(current_setting(''app.workspace'', true), '''')::uuid)
      WITH CHECK (workspace_id = nullif(current_setting(''app.workspace'', true), '''')::uuid)', t);
    EXECUTE format('CREATE POLICY engine ON %I TO nightshift_engine USING (true) WITH CHECK (true)', t);
    EXECUTE format('CREATE POLICY owner ON %I TO nightshift_owner USING (true) WITH CHECK (true)', t);
    EXECUTE format('GRANT SELECT ON %I TO nightshift_api', t);
    EXECUTE format('ALTER TABLE %I OWNER TO nightshift_owner', t);
  END LOOP;
END $$;

GRANT INSERT, UPDATE (read_at), DELETE ON notification TO nightshift_api;
GRANT SELECT, INSERT ON notification TO nightshift_engine;
GRANT SELECT, INSERT, UPDATE, DELETE ON job_viewer TO nightshift_engine;
