-- Feature flags of the installation. They belong to no workspace: the operator changes them, and the serving processes read them.
CREATE TABLE "feature_flag" (
    "name" TEXT NOT NULL,
    "description" TEXT NOT NULL DEFAULT '',
    "default_on" BOOLEAN NOT NULL DEFAULT false,
    "rollout_percent" INTEGER NOT NULL DEFAULT 0,
    "rollout_by" TEXT NOT NULL DEFAULT 'workspace',
    "allowed" UUID[] NOT NULL DEFAULT ARRAY[]::UUID[],
    "denied" UUID[] NOT NULL DEFAULT ARRAY[]::UUID[],
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "feature_flag_pkey" PRIMARY KEY ("name")
);

-- Append-only: what the operator changed. Entries stay when their flag is removed.
CREATE TABLE "feature_flag_change" (
    "id" UUID NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "flag" TEXT NOT NULL,
    "action" TEXT NOT NULL,
    "details" JSONB NOT NULL,

    CONSTRAINT "feature_flag_change_pkey" PRIMARY KEY ("id")
);

CREATE INDEX "feature_flag_change_flag_id_idx" ON "feature_flag_change"("flag", "id");

ALTER TABLE feature_flag
  ADD CONSTRAINT feature_flag_name CHECK (name ~ '^[a-z0-9]+(-[a-z0-9]+)*$' AND length(name) <= 64),
  ADD CONSTRAINT feature_flag_description CHECK (length(description) <= 500),
  ADD CONSTRAINT feature_flag_rollout CHECK (rollout_percent BETWEEN 0 AND 100 AND rollout_by IN ('workspace', 'user')),
  ADD CONSTRAINT feature_flag_lists CHECK (cardinality(allowed) <= 1000 AND cardinality(denied) <= 1000 AND NOT allowed && denied);

-- Only the engine reads flags: the lists name ids of all workspaces, which the role of the API must not see. No serving role writes.
DO $$
DECLARE t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['feature_flag', 'feature_flag_change'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
    EXECUTE format('CREATE POLICY owner ON %I TO nightshift_owner USING (true) WITH CHECK (true)', t);
    EXECUTE format('ALTER TABLE %I OWNER TO nightshift_owner', t);
  END LOOP;
END $$;
CREATE POLICY engine ON feature_flag FOR SELECT TO nightshift_engine USING (true);
GRANT SELECT ON feature_flag TO nightshift_engine;
