-- A Syntrix database whose chats this workspace answers. Secrets are kept as secrets of the workspace and named here.
CREATE TABLE "syntrix_connection" (
    "workspace_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "settings" JSONB NOT NULL,
    "created_by" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "syntrix_connection_pkey" PRIMARY KEY ("workspace_id","id")
);

-- A delivery that was accepted, with the job that it started; kept for 7 days, so that a repetition starts nothing.
CREATE TABLE "syntrix_delivery" (
    "workspace_id" UUID NOT NULL,
    "connection_id" UUID NOT NULL,
    "key" TEXT NOT NULL,
    "job_id" UUID NOT NULL,
    "received_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "syntrix_delivery_pkey" PRIMARY KEY ("workspace_id","connection_id","key")
);

-- The job that answers a turn of a chat, and `createdAt` of the newest document that it read.
CREATE TABLE "syntrix_turn" (
    "workspace_id" UUID NOT NULL,
    "connection_id" UUID NOT NULL,
    "key" TEXT NOT NULL,
    "job_id" UUID NOT NULL,
    "newest" JSONB NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "syntrix_turn_pkey" PRIMARY KEY ("workspace_id","connection_id","key")
);

CREATE UNIQUE INDEX "syntrix_connection_workspace_id_name_key" ON "syntrix_connection"("workspace_id", "name");
CREATE INDEX "syntrix_connection_name_created_at_idx" ON "syntrix_connection"("name", "created_at");
CREATE INDEX "syntrix_delivery_workspace_id_connection_id_received_at_idx" ON "syntrix_delivery"("workspace_id", "connection_id", "received_at");
CREATE UNIQUE INDEX "syntrix_turn_workspace_id_job_id_key" ON "syntrix_turn"("workspace_id", "job_id");

ALTER TABLE "syntrix_connection" ADD CONSTRAINT "syntrix_connection_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "syntrix_delivery" ADD CONSTRAINT "syntrix_delivery_workspace_id_connection_id_fkey" FOREIGN KEY ("workspace_id", "connection_id") REFERENCES "syntrix_connection"("workspace_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;
ALTER TABLE "syntrix_turn" ADD CONSTRAINT "syntrix_turn_workspace_id_connection_id_fkey" FOREIGN KEY ("workspace_id", "connection_id") REFERENCES "syntrix_connection"("workspace_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

DO $$
DECLARE t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['syntrix_connection', 'syntrix_delivery', 'syntrix_turn'] LOOP
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

-- A delivery names its connection before its workspace is known.
CREATE POLICY engine ON syntrix_connection FOR SELECT TO nightshift_engine USING (true);
GRANT SELECT ON syntrix_connection TO nightshift_engine;
