-- Outbound webhooks: endpoints of workspaces, and the deliveries to them and to the targets of triggers.

-- CreateTable
CREATE TABLE "webhook_endpoint" (
    "workspace_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "url" TEXT NOT NULL,
    "description" TEXT NOT NULL,
    "events" TEXT[],
    "enabled" BOOLEAN NOT NULL,
    "disabled_because" TEXT,
    "signature" TEXT NOT NULL,
    "headers" JSONB NOT NULL,
    "only_unwatched" BOOLEAN NOT NULL,
    "include_content" BOOLEAN NOT NULL,
    "secret_cipher" BYTEA NOT NULL,
    "previous_cipher" BYTEA,
    "previous_until" TIMESTAMPTZ(3),
    "failing_since" TIMESTAMPTZ(3),
    "dead_since_success" INTEGER NOT NULL DEFAULT 0,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "webhook_endpoint_pkey" PRIMARY KEY ("workspace_id","id")
);

-- CreateTable
CREATE TABLE "webhook_delivery" (
    "workspace_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "ordinal" BIGINT GENERATED ALWAYS AS IDENTITY,
    "endpoint_id" UUID,
    "trigger_id" TEXT,
    "type" TEXT NOT NULL,
    "job_id" UUID,
    "order_key" TEXT,
    "body" TEXT NOT NULL,
    "target" JSONB,
    "status" TEXT NOT NULL DEFAULT 'pending',
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "message" INTEGER NOT NULL DEFAULT 0,
    "next_at" TIMESTAMPTZ(3) NOT NULL,
    "reason" TEXT,
    "log" JSONB NOT NULL DEFAULT '[]',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "webhook_delivery_pkey" PRIMARY KEY ("workspace_id","id")
);

-- CreateIndex
CREATE INDEX "webhook_delivery_workspace_id_ordinal_idx" ON "webhook_delivery"("workspace_id", "ordinal");

-- CreateIndex
CREATE INDEX "webhook_delivery_workspace_id_endpoint_id_ordinal_idx" ON "webhook_delivery"("workspace_id", "endpoint_id", "ordinal");

-- AddForeignKey
ALTER TABLE "webhook_endpoint" ADD CONSTRAINT "webhook_endpoint_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "webhook_delivery" ADD CONSTRAINT "webhook_delivery_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "webhook_delivery" ADD CONSTRAINT "webhook_delivery_workspace_id_endpoint_id_fkey" FOREIGN KEY ("workspace_id", "endpoint_id") REFERENCES "webhook_endpoint"("workspace_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- ---------------------------------------------------------------------------------------------------------------
-- Checks, partial indexes, row-level security, grants.
-- ---------------------------------------------------------------------------------------------------------------

-- The statements that write events ask for the enabled endpoints of a workspace.
CREATE INDEX webhook_endpoint_enabled ON webhook_endpoint (workspace_id) WHERE enabled;
-- The delivery that is next in its order, and those that lost their message.
CREATE INDEX webhook_delivery_in_order ON webhook_delivery (workspace_id, order_key, ordinal) WHERE status = 'pending' AND order_key IS NOT NULL;
CREATE INDEX webhook_delivery_due ON webhook_delivery (next_at) WHERE status = 'pending';
CREATE INDEX webhook_delivery_finished ON webhook_delivery (workspace_id, finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX webhook_delivery_dead ON webhook_delivery (workspace_id, ordinal) WHERE status = 'dead';

ALTER TABLE webhook_endpoint
  ADD CONSTRAINT webhook_endpoint_signature CHECK (signature IN ('standard', 'syntrix', 'both')),
  ADD CONSTRAINT webhook_endpoint_disabled CHECK (disabled_because IS NULL OR NOT enabled);
ALTER TABLE webhook_delivery
  ADD CONSTRAINT webhook_delivery_status CHECK (status IN ('pending', 'delivered', 'dead')),
  ADD CONSTRAINT webhook_delivery_finished CHECK ((finished_at IS NULL) = (status = 'pending')),
  ADD CONSTRAINT webhook_delivery_target CHECK ((endpoint_id IS NULL) = (target IS NOT NULL));

DO $$
DECLARE t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['webhook_endpoint', 'webhook_delivery'] LOOP
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

-- The engine writes deliveries with the events of its jobs, and finds those that are due.
GRANT SELECT (workspace_id, id, events, enabled, only_unwatched, include_content) ON webhook_endpoint TO nightshift_engine;
GRANT SELECT, INSERT ON webhook_delivery TO nightshift_engine;
