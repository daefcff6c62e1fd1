-- Where users and workspaces are sent their notifications, beside the inbox. Their deliveries are those of webhooks.

-- AlterTable
ALTER TABLE "webhook_delivery" ADD COLUMN "channel_id" UUID, ADD COLUMN "notification_id" UUID;

-- CreateTable
CREATE TABLE "notification_channel" (
    "workspace_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "user_id" UUID,
    "kind" TEXT NOT NULL,
    "address" TEXT NOT NULL,
    "events" TEXT[],
    "enabled" BOOLEAN NOT NULL,
    "disabled_because" TEXT,
    "include_title" BOOLEAN NOT NULL,
    "secret_cipher" BYTEA,
    "confirmed_at" TIMESTAMPTZ(3),
    "code_cipher" BYTEA,
    "code_until" TIMESTAMPTZ(3),
    "code_tries" INTEGER NOT NULL DEFAULT 0,
    "active_since" TIMESTAMPTZ(3) NOT NULL,
    "dropped" INTEGER NOT NULL DEFAULT 0,
    "failures" INTEGER NOT NULL DEFAULT 0,
    "last_error" TEXT,
    "last_sent_at" TIMESTAMPTZ(3),
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "notification_channel_pkey" PRIMARY KEY ("workspace_id","id")
);

-- CreateTable
CREATE TABLE "notification_cursor" (
    "workspace_id" UUID NOT NULL,
    "position" xid8 NOT NULL DEFAULT pg_snapshot_xmin(pg_current_snapshot()),

    CONSTRAINT "notification_cursor_pkey" PRIMARY KEY ("workspace_id")
);

-- CreateIndex
CREATE INDEX "notification_channel_workspace_id_user_id_idx" ON "notification_channel"("workspace_id", "user_id");

-- AddForeignKey
ALTER TABLE "notification_channel" ADD CONSTRAINT "notification_channel_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "notification_channel" ADD CONSTRAINT "notification_channel_workspace_id_user_id_fkey" FOREIGN KEY ("workspace_id", "user_id") REFERENCES "membership"("workspace_id", "user_id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "notification_cursor" ADD CONSTRAINT "notification_cursor_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- ---------------------------------------------------------------------------------------------------------------
-- Checks, partial indexes, row-level security, grants.
-- ---------------------------------------------------------------------------------------------------------------

-- Each minute, a worker finds the workspaces that have channels.
CREATE INDEX notification_channel_active ON notification_channel (workspace_id) WHERE enabled AND confirmed_at IS NOT NULL;

ALTER TABLE notification_channel
  ADD CONSTRAINT notification_channel_kind CHECK (kind IN ('email', 'webhook')),
  ADD CONSTRAINT notification_channel_secret CHECK ((secret_cipher IS NOT NULL) = (kind = 'webhook')),
  ADD CONSTRAINT notification_channel_disabled CHECK (disabled_because IS NULL OR NOT enabled);

ALTER TABLE webhook_delivery
  DROP CONSTRAINT webhook_delivery_target,
  ADD CONSTRAINT webhook_delivery_target CHECK (num_nonnulls(endpoint_id, channel_id, target) = 1) NOT VALID;

DO $$
DECLARE t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['notification_channel', 'notification_cursor'] LOOP
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

-- The engine finds the workspaces that have channels.
GRANT SELECT (workspace_id, enabled, confirmed_at) ON notification_channel TO nightshift_engine;
