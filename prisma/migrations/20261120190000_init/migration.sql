-- Roles are cluster-wide and survive databases, hence the guards. The migrator gives the two serving roles a login.
DO $$
DECLARE wanted text;
BEGIN
  FOREACH wanted IN ARRAY ARRAY['nightshift_owner', 'nightshift_api', 'nightshift_engine'] LOOP
    IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = wanted) THEN
      EXECUTE format('CREATE ROLE %I NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE', wanted);
    END IF;
  END LOOP;
END $$;

-- CreateTable
CREATE TABLE "workspace" (
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "max_jobs_per_user" INTEGER NOT NULL DEFAULT 5,
    "max_jobs" INTEGER NOT NULL DEFAULT 100,
    "when_busy" TEXT NOT NULL DEFAULT 'reject',
    "require_user_key" BOOLEAN NOT NULL DEFAULT false,
    "delta_retention_ms" BIGINT,
    "job_retention_ms" BIGINT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "workspace_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "app_user" (
    "id" UUID NOT NULL,
    "email" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "issuer" TEXT,
    "subject" TEXT,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "app_user_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "membership" (
    "workspace_id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "role" TEXT NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "membership_pkey" PRIMARY KEY ("workspace_id","user_id")
);

-- CreateTable
CREATE TABLE "api_key" (
    "workspace_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "user_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "prefix" TEXT NOT NULL,
    "hash" BYTEA NOT NULL,
    "scopes" TEXT[],
    "expires_at" TIMESTAMPTZ(3),
    "last_used_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "api_key_pkey" PRIMARY KEY ("workspace_id","id")
);

-- CreateTable
CREATE TABLE "model_provider" (
    "workspace_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "base_url" TEXT NOT NULL,
    "default_model" TEXT NOT NULL,
    "key_cipher" BYTEA,
    "key_hint" TEXT,
    "is_default" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "model_provider_pkey" PRIMARY KEY ("workspace_id","id")
);

-- CreateTable
CREATE TABLE "thread" (
    "workspace_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "client_id" TEXT,
    "title" TEXT NOT NULL DEFAULT '',
    "created_by" UUID NOT NULL,
    "when_busy" TEXT,
    "next_position" INTEGER NOT NULL DEFAULT 1,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "thread_pkey" PRIMARY KEY ("workspace_id","id")
);

-- CreateTable
CREATE TABLE "message" (
    "workspace_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "thread_id" UUID NOT NULL,
    "position" INTEGER NOT NULL,
    "role" TEXT NOT NULL,
    "client_id" TEXT,
    "content" JSONB,
    "job_id" UUID,
    "created_by" UUID,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "message_pkey" PRIMARY KEY ("workspace_id","id")
);

-- CreateTable
CREATE TABLE "job" (
    "workspace_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "format" SMALLINT NOT NULL DEFAULT 1,
    "status" TEXT NOT NULL DEFAULT 'queued',
    "in_line" BOOLEAN NOT NULL DEFAULT false,
    "thread_id" UUID,
    "message_id" UUID,
    "message_client_id" TEXT,
    "created_by" UUID,
    "principal" TEXT NOT NULL,
    "idempotency_key" TEXT,
    "retry_of" UUID,
    "model" TEXT NOT NULL,
    "input" JSONB NOT NULL,
    "background_mode" JSONB,
    "key_cipher" BYTEA,
    "lease_epoch" INTEGER NOT NULL DEFAULT 0,
    "lease_owner" TEXT,
    "lease_until" TIMESTAMPTZ(3),
    "lease_writes" INTEGER NOT NULL DEFAULT 0,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "last_seq" INTEGER NOT NULL DEFAULT 0,
    "restarts" INTEGER NOT NULL DEFAULT 0,
    "content_length" INTEGER NOT NULL DEFAULT 0,
    "worked_ms" INTEGER NOT NULL DEFAULT 0,
    "deadline_at" TIMESTAMPTZ(3),
    "cancel_requested_at" TIMESTAMPTZ(3),
    "reason" TEXT,
    "error" JSONB,
    "prompt_tokens" INTEGER NOT NULL DEFAULT 0,
    "completion_tokens" INTEGER NOT NULL DEFAULT 0,
    "rounds" INTEGER NOT NULL DEFAULT 0,
    "tool_calls" INTEGER NOT NULL DEFAULT 0,
    "deltas_trimmed" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "started_at" TIMESTAMPTZ(3),
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "job_pkey" PRIMARY KEY ("workspace_id","id")
);

-- CreateTable
CREATE TABLE "admission" (
    "workspace_id" UUID NOT NULL,
    "principal" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "request_hash" BYTEA,
    "job_id" UUID,
    "cancelled_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "admission_pkey" PRIMARY KEY ("workspace_id","principal","key")
);

-- CreateTable
CREATE TABLE "round" (
    "workspace_id" UUID NOT NULL,
    "job_id" UUID NOT NULL,
    "number" INTEGER NOT NULL,
    "model" TEXT NOT NULL,
    "text" TEXT NOT NULL DEFAULT '',
    "reasoning" TEXT NOT NULL DEFAULT '',
    "finish_reason" TEXT NOT NULL,
    "partial" BOOLEAN NOT NULL DEFAULT false,
    "prompt_tokens" INTEGER NOT NULL DEFAULT 0,
    "completion_tokens" INTEGER NOT NULL DEFAULT 0,
    "usage_estimated" BOOLEAN NOT NULL DEFAULT false,
    "epoch" INTEGER NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL,
    "finished_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "round_pkey" PRIMARY KEY ("workspace_id","job_id","number")
);

-- CreateTable
CREATE TABLE "tool_call" (
    "workspace_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "job_id" UUID NOT NULL,
    "round" INTEGER NOT NULL,
    "ordinal" INTEGER NOT NULL,
    "call_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "arguments" TEXT NOT NULL,
    "effect" TEXT NOT NULL,
    "executor" TEXT NOT NULL DEFAULT 'worker',
    "status" TEXT NOT NULL DEFAULT 'pending',
    "idem_key" TEXT NOT NULL,
    "started_epoch" INTEGER,
    "approved_at" TIMESTAMPTZ(3),
    "result" TEXT,
    "error" JSONB,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "started_at" TIMESTAMPTZ(3),
    "finished_at" TIMESTAMPTZ(3),

    CONSTRAINT "tool_call_pkey" PRIMARY KEY ("workspace_id","id")
);

-- CreateTable
CREATE TABLE "interrupt" (
    "workspace_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "job_id" UUID NOT NULL,
    "tool_call_id" UUID,
    "kind" TEXT NOT NULL,
    "status" TEXT NOT NULL DEFAULT 'open',
    "title" TEXT NOT NULL,
    "request" JSONB NOT NULL,
    "outcome" JSONB,
    "decided_by" TEXT,
    "decided_at" TIMESTAMPTZ(3),
    "expires_at" TIMESTAMPTZ(3),
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "interrupt_pkey" PRIMARY KEY ("workspace_id","id")
);

-- CreateTable
CREATE TABLE "job_event" (
    "workspace_id" UUID NOT NULL,
    "job_id" UUID NOT NULL,
    "seq" INTEGER NOT NULL,
    "epoch" INTEGER NOT NULL,
    "attempt" SMALLINT NOT NULL DEFAULT 0,
    "type" TEXT NOT NULL,
    "body" JSONB NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "job_event_pkey" PRIMARY KEY ("workspace_id","job_id","seq")
);

-- CreateTable
CREATE TABLE "audit_entry" (
    "workspace_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "actor" TEXT NOT NULL,
    "action" TEXT NOT NULL,
    "subject_type" TEXT NOT NULL,
    "subject_id" TEXT NOT NULL,
    "details" JSONB NOT NULL,

    CONSTRAINT "audit_entry_pkey" PRIMARY KEY ("workspace_id","id")
);

-- CreateIndex
CREATE UNIQUE INDEX "app_user_email_key" ON "app_user"("email");

-- CreateIndex
CREATE UNIQUE INDEX "app_user_issuer_subject_key" ON "app_user"("issuer", "subject");

-- CreateIndex
CREATE INDEX "membership_user_id_idx" ON "membership"("user_id");

-- CreateIndex
CREATE UNIQUE INDEX "api_key_prefix_key" ON "api_key"("prefix");

-- CreateIndex
CREATE INDEX "api_key_user_id_idx" ON "api_key"("user_id");

-- CreateIndex
CREATE UNIQUE INDEX "model_provider_workspace_id_name_key" ON "model_provider"("workspace_id", "name");

-- CreateIndex
CREATE INDEX "thread_workspace_id_created_by_id_idx" ON "thread"("workspace_id", "created_by", "id");

-- CreateIndex
CREATE UNIQUE INDEX "thread_workspace_id_created_by_client_id_key" ON "thread"("workspace_id", "created_by", "client_id");

-- CreateIndex
CREATE UNIQUE INDEX "message_workspace_id_thread_id_position_key" ON "message"("workspace_id", "thread_id", "position");

-- CreateIndex
CREATE INDEX "job_workspace_id_thread_id_id_idx" ON "job"("workspace_id", "thread_id", "id");

-- CreateIndex
CREATE INDEX "job_workspace_id_created_by_id_idx" ON "job"("workspace_id", "created_by", "id");

-- CreateIndex
CREATE INDEX "job_workspace_id_status_id_idx" ON "job"("workspace_id", "status", "id");

-- CreateIndex
CREATE INDEX "admission_workspace_id_job_id_idx" ON "admission"("workspace_id", "job_id");

-- CreateIndex
CREATE UNIQUE INDEX "tool_call_workspace_id_job_id_round_ordinal_key" ON "tool_call"("workspace_id", "job_id", "round", "ordinal");

-- CreateIndex
CREATE INDEX "interrupt_workspace_id_job_id_idx" ON "interrupt"("workspace_id", "job_id");

-- CreateIndex
CREATE INDEX "interrupt_workspace_id_tool_call_id_idx" ON "interrupt"("workspace_id", "tool_call_id");

-- AddForeignKey
ALTER TABLE "membership" ADD CONSTRAINT "membership_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "membership" ADD CONSTRAINT "membership_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "app_user"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "api_key" ADD CONSTRAINT "api_key_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "api_key" ADD CONSTRAINT "api_key_user_id_fkey" FOREIGN KEY ("user_id") REFERENCES "app_user"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "model_provider" ADD CONSTRAINT "model_provider_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "thread" ADD CONSTRAINT "thread_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "message" ADD CONSTRAINT "message_workspace_id_thread_id_fkey" FOREIGN KEY ("workspace_id", "thread_id") REFERENCES "thread"("workspace_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "message" ADD CONSTRAINT "message_workspace_id_job_id_fkey" FOREIGN KEY ("workspace_id", "job_id") REFERENCES "job"("workspace_id", "id") ON DELETE NO ACTION ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "job" ADD CONSTRAINT "job_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "job" ADD CONSTRAINT "job_workspace_id_thread_id_fkey" FOREIGN KEY ("workspace_id", "thread_id") REFERENCES "thread"("workspace_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "admission" ADD CONSTRAINT "admission_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "admission" ADD CONSTRAINT "admission_workspace_id_job_id_fkey" FOREIGN KEY ("workspace_id", "job_id") REFERENCES "job"("workspace_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "round" ADD CONSTRAINT "round_workspace_id_job_id_fkey" FOREIGN KEY ("workspace_id", "job_id") REFERENCES "job"("workspace_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "tool_call" ADD CONSTRAINT "tool_call_workspace_id_job_id_fkey" FOREIGN KEY ("workspace_id", "job_id") REFERENCES "job"("workspace_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "interrupt" ADD CONSTRAINT "interrupt_workspace_id_job_id_fkey" FOREIGN KEY ("workspace_id", "job_id") REFERENCES "job"("workspace_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "interrupt" ADD CONSTRAINT "interrupt_workspace_id_tool_call_id_fkey" FOREIGN KEY ("workspace_id", "tool_call_id") REFERENCES "tool_call"("workspace_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "job_event" ADD CONSTRAINT "job_event_workspace_id_job_id_fkey" FOREIGN KEY ("workspace_id", "job_id") REFERENCES "job"("workspace_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "audit_entry" ADD CONSTRAINT "audit_entry_workspace_id_fkey" FOREIGN KEY ("workspace_id") REFERENCES "workspace"("id") ON DELETE CASCADE ON UPDATE CASCADE;


-- ---------------------------------------------------------------------------------------------------------------
-- What Prisma's schema language cannot say: checks, partial indexes, triggers, row-level security, grants.
-- ---------------------------------------------------------------------------------------------------------------

ALTER TABLE membership ADD CONSTRAINT membership_role CHECK (role IN ('owner', 'admin', 'member', 'viewer'));
ALTER TABLE workspace
  ADD CONSTRAINT workspace_when_busy CHECK (when_busy IN ('reject', 'enqueue', 'interrupt')),
  ADD CONSTRAINT workspace_caps CHECK (max_jobs_per_user > 0 AND max_jobs > 0);
ALTER TABLE thread ADD CONSTRAINT thread_when_busy CHECK (when_busy IN ('reject', 'enqueue', 'interrupt'));
ALTER TABLE message
  ADD CONSTRAINT message_role CHECK (role IN ('system', 'user', 'assistant', 'tool')),
  ADD CONSTRAINT message_position CHECK (position > 0);
ALTER TABLE job
  ADD CONSTRAINT job_kind CHECK (kind IN ('chat', 'workflow')),
  ADD CONSTRAINT job_status CHECK (status IN ('queued', 'running', 'waiting', 'completed', 'failed', 'cancelled')),
  ADD CONSTRAINT job_line CHECK (NOT in_line OR status IN ('queued', 'cancelled', 'failed')),
  ADD CONSTRAINT job_lease CHECK ((status = 'running') = (lease_until IS NOT NULL)),
  ADD CONSTRAINT job_end CHECK ((status IN ('completed', 'failed', 'cancelled')) = (finished_at IS NOT NULL));
ALTER TABLE tool_call
  ADD CONSTRAINT tool_call_effect CHECK (effect IN ('pure', 'idempotent', 'once')),
  ADD CONSTRAINT tool_call_status CHECK (status IN ('pending', 'awaiting_approval', 'awaiting_client', 'running',
    'completed', 'error', 'timed_out', 'skipped', 'denied', 'cancelled', 'interrupted')),
  ADD CONSTRAINT tool_call_place CHECK (round > 0 AND ordinal > 0);
ALTER TABLE interrupt
  ADD CONSTRAINT interrupt_kind CHECK (kind IN ('tool_approval', 'client_tool', 'human_input', 'unknown_outcome')),
  ADD CONSTRAINT interrupt_status CHECK (status IN ('open', 'resolved', 'expired', 'cancelled'));
ALTER TABLE job_event ADD CONSTRAINT job_event_seq CHECK (seq > 0);

-- One active job per thread, whatever processes race for it. Jobs in line do not count until their turn.
CREATE UNIQUE INDEX job_one_active ON job (workspace_id, thread_id)
  WHERE status IN ('queued', 'running', 'waiting') AND NOT in_line;
-- Caps are counted over this one; it holds unfinished jobs only.
CREATE INDEX job_unfinished ON job (workspace_id, created_by) WHERE status IN ('queued', 'running', 'waiting');
-- The sweeper reads job_unfinished too. No index holds lease_until: a renewal must not touch indexes.
CREATE INDEX job_ended ON job (finished_at) WHERE finished_at IS NOT NULL AND NOT deltas_trimmed;
CREATE INDEX interrupt_open ON interrupt (workspace_id, job_id) WHERE status = 'open';
CREATE INDEX interrupt_expiry ON interrupt (expires_at) WHERE status = 'open';
CREATE INDEX tool_call_running ON tool_call (workspace_id, job_id) WHERE status = 'running';
-- At most one end per job, whoever writes it.
CREATE UNIQUE INDEX job_event_one_end ON job_event (workspace_id, job_id) WHERE type = 'job-finished';
-- Most messages have neither: what is asked by person or tool stands by itself.
CREATE UNIQUE INDEX message_client_id ON message (workspace_id, thread_id, client_id) WHERE client_id IS NOT NULL;
CREATE INDEX message_job ON message (workspace_id, job_id) WHERE job_id IS NOT NULL;
CREATE INDEX admission_age ON admission (created_at) WHERE job_id IS NULL;
-- Job rows are updated a few times each; room on the page spares index entries.
ALTER TABLE job SET (fillfactor = 70);

-- Terminal is final, epochs and event numbers only grow. Stays on in production: it is the last line of the fence.
CREATE FUNCTION job_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.status IN ('completed', 'failed', 'cancelled') AND NEW.status <> OLD.status THEN
    RAISE EXCEPTION 'job % is % and stays so', OLD.id, OLD.status USING ERRCODE = '23514';
  END IF;
  IF NEW.lease_epoch < OLD.lease_epoch OR NEW.last_seq < OLD.last_seq THEN
    RAISE EXCEPTION 'job %: lease_epoch and last_seq never fall', OLD.id USING ERRCODE = '23514';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER job_guard BEFORE UPDATE ON job FOR EACH ROW EXECUTE FUNCTION job_guard();

-- A group commit calls this when a part did not match its rows: the whole statement is rolled back, the caller tries the
-- jobs one by one. A raised last_seq without its event would be a gap.
CREATE FUNCTION commit_mismatch(part text) RETURNS int LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RAISE EXCEPTION 'part % of the commit did not match its rows', part USING ERRCODE = 'NS001';
END $$;

CREATE FUNCTION audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'audit entries are never changed' USING ERRCODE = '23514';
END $$;
CREATE TRIGGER audit_is_append_only BEFORE UPDATE ON audit_entry
  FOR EACH ROW EXECUTE FUNCTION audit_is_append_only();

-- Row-level security. The API's role sees the workspace of its transaction and nothing else; nullif() because a pooled
-- connection holds '' after SET LOCAL ends. The owner has a policy of its own, or migrations would change 0 rows in silence.
DO $$
DECLARE t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['membership', 'api_key', 'model_provider', 'thread', 'message', 'job', 'admission', 'round',
                           'tool_call', 'interrupt', 'job_event', 'audit_entry'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', t);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', t);
    EXECUTE format('CREATE POLICY tenant ON %I TO nightshift_api
      USING (workspace_id = nullif(current_setting(''app.workspace'', true), '''')::uuid)
      WITH CHECK (workspace_id = nullif(current_setting(''app.workspace'', true), '''')::uuid)', t);
    EXECUTE format('CREATE POLICY owner ON %I TO nightshift_owner USING (true) WITH CHECK (true)', t);
    EXECUTE format('GRANT SELECT, INSERT ON %I TO nightshift_api', t);
    IF t <> 'audit_entry' THEN
      EXECUTE format('GRANT UPDATE, DELETE ON %I TO nightshift_api', t);
    END IF;
  END LOOP;
  -- The engine spans workspaces, and touches only what the loop writes.
  FOREACH t IN ARRAY ARRAY['job', 'job_event', 'tool_call', 'interrupt', 'round'] LOOP
    EXECUTE format('CREATE POLICY engine ON %I TO nightshift_engine USING (true) WITH CHECK (true)', t);
  END LOOP;
END $$;
GRANT SELECT, UPDATE ON job TO nightshift_engine;
GRANT SELECT, INSERT, DELETE ON job_event TO nightshift_engine;
GRANT SELECT, INSERT, UPDATE ON tool_call TO nightshift_engine;
GRANT SELECT, INSERT, UPDATE ON interrupt TO nightshift_engine;
GRANT SELECT, INSERT ON round TO nightshift_engine;

ALTER TABLE workspace ENABLE ROW LEVEL SECURITY;
ALTER TABLE workspace FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON workspace TO nightshift_api
  USING (id = nullif(current_setting('app.workspace', true), '')::uuid)
  WITH CHECK (id = nullif(current_setting('app.workspace', true), '')::uuid);
CREATE POLICY owner ON workspace TO nightshift_owner USING (true) WITH CHECK (true);
CREATE POLICY engine ON workspace FOR SELECT TO nightshift_engine USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON workspace TO nightshift_api;
GRANT SELECT (id, delta_retention_ms, job_retention_ms) ON workspace TO nightshift_engine;

-- Users belong to no workspace; one sees those one shares a workspace with.
ALTER TABLE app_user ENABLE ROW LEVEL SECURITY;
ALTER TABLE app_user FORCE ROW LEVEL SECURITY;
CREATE POLICY fellow ON app_user FOR SELECT TO nightshift_api USING (EXISTS (
  SELECT 1 FROM membership m WHERE m.user_id = app_user.id
     AND m.workspace_id = nullif(current_setting('app.workspace', true), '')::uuid));
CREATE POLICY owner ON app_user TO nightshift_owner USING (true) WITH CHECK (true);
GRANT SELECT ON app_user TO nightshift_api;

-- Everything belongs to the owner role, which nobody serves as. The migrator has made its login a member.
DO $$
DECLARE t text;
BEGIN
  GRANT USAGE, CREATE ON SCHEMA public TO nightshift_owner;
  GRANT USAGE ON SCHEMA public TO nightshift_api, nightshift_engine;
  FOREACH t IN ARRAY ARRAY['workspace', 'app_user', 'membership', 'api_key', 'model_provider', 'thread', 'message', 'job',
                           'admission', 'round', 'tool_call', 'interrupt', 'job_event', 'audit_entry'] LOOP
    EXECUTE format('ALTER TABLE %I OWNER TO nightshift_owner', t);
  END LOOP;
  ALTER FUNCTION job_guard() OWNER TO nightshift_owner;
  ALTER FUNCTION audit_is_append_only() OWNER TO nightshift_owner;
END $$;
