-- What OpenAI clients got of jobs: their sessions, and each answer as a window of a job's log.

-- CreateTable
CREATE TABLE "openai_session" (
    "workspace_id" UUID NOT NULL,
    "principal" TEXT NOT NULL,
    "session_id" TEXT NOT NULL,
    "thread_id" UUID NOT NULL,
    "latest_answer" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "openai_session_pkey" PRIMARY KEY ("workspace_id","principal","session_id")
);

-- CreateTable
CREATE TABLE "openai_answer" (
    "workspace_id" UUID NOT NULL,
    "id" UUID NOT NULL,
    "job_id" UUID NOT NULL,
    "principal" TEXT NOT NULL,
    "session_id" TEXT,
    "model" TEXT NOT NULL,
    "format" TEXT NOT NULL,
    "after_seq" INTEGER NOT NULL DEFAULT 0,
    "after_round" INTEGER NOT NULL DEFAULT 0,
    "idempotency_key" TEXT,
    "request_hash" BYTEA,
    "results_digest" BYTEA,
    "said" JSONB,
    "about" JSONB,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "openai_answer_pkey" PRIMARY KEY ("workspace_id","id")
);

-- CreateTable
CREATE TABLE "openai_call_id" (
    "workspace_id" UUID NOT NULL,
    "principal" TEXT NOT NULL,
    "call_id" TEXT NOT NULL,
    "job_id" UUID NOT NULL,

    CONSTRAINT "openai_call_id_pkey" PRIMARY KEY ("workspace_id","principal","call_id")
);

-- CreateIndex
CREATE INDEX "openai_session_workspace_id_thread_id_idx" ON "openai_session"("workspace_id", "thread_id");

-- CreateIndex
CREATE INDEX "openai_answer_workspace_id_job_id_idx" ON "openai_answer"("workspace_id", "job_id");

-- CreateIndex
CREATE INDEX "openai_answer_workspace_id_principal_session_id_idx" ON "openai_answer"("workspace_id", "principal", "session_id");

-- CreateIndex
CREATE UNIQUE INDEX "openai_answer_workspace_id_principal_idempotency_key_key" ON "openai_answer"("workspace_id", "principal", "idempotency_key");

-- CreateIndex
CREATE INDEX "openai_call_id_workspace_id_job_id_idx" ON "openai_call_id"("workspace_id", "job_id");

-- AddForeignKey
ALTER TABLE "openai_session" ADD CONSTRAINT "openai_session_workspace_id_thread_id_fkey" FOREIGN KEY ("workspace_id", "thread_id") REFERENCES "thread"("workspace_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "openai_answer" ADD CONSTRAINT "openai_answer_workspace_id_job_id_fkey" FOREIGN KEY ("workspace_id", "job_id") REFERENCES "job"("workspace_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "openai_call_id" ADD CONSTRAINT "openai_call_id_workspace_id_job_id_fkey" FOREIGN KEY ("workspace_id", "job_id") REFERENCES "job"("workspace_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

-- ---------------------------------------------------------------------------------------------------------------
-- Checks, partial indexes, row-level security, grants.
-- ---------------------------------------------------------------------------------------------------------------

ALTER TABLE openai_answer
  ADD CONSTRAINT openai_answer_format CHECK (format IN ('inline', 'open-webui', 'openai')),
  ADD CONSTRAINT openai_answer_key CHECK ((idempotency_key IS NULL) = (request_hash IS NULL)),
  ADD CONSTRAINT openai_answer_window CHECK (after_seq >= 0 AND after_round >= 0);

-- A continuation that comes again.
CREATE INDEX openai_answer_applied ON openai_answer (workspace_id, principal, results_digest) WHERE results_digest IS NOT NULL;

-- Calls that wait for a client, and the jobs that wait for them, are found by the ids that the client knows.
CREATE INDEX interrupt_pending_calls ON interrupt (workspace_id, principal, call_id)
  WHERE status = 'open' AND kind = 'client_tool';

DO $$
DECLARE t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['openai_session', 'openai_answer', 'openai_call_id'] LOOP
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
