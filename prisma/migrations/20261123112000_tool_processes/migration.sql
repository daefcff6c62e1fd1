-- The login of isolated tool processes. It takes and settles calls and reads what executing a call needs, of calls that it has
-- claimed and of no others. `app.tool_process` is a random name that each process sets on its connections and writes to
-- tool_call.exec_owner with a claim; the role cannot read that column, so no tool process can act for another one.
DO $$
BEGIN
  IF NOT EXISTS (SELECT 1 FROM pg_roles WHERE rolname = 'nightshift_tools') THEN
    CREATE ROLE nightshift_tools NOLOGIN NOSUPERUSER NOBYPASSRLS NOCREATEDB NOCREATEROLE;
  END IF;
END $$;
GRANT USAGE ON SCHEMA public TO nightshift_tools;

-- Views of nightshift_owner, for what grants and policies cannot express: parts of a JSON column, and which calls a process has claimed.
-- Tool processes have this schema first in their search path, so a view hides the table of its name.
CREATE SCHEMA tool_process AUTHORIZATION nightshift_owner;
GRANT USAGE ON SCHEMA tool_process TO nightshift_tools;

-- Every call that the process has claimed and that no other process has claimed since, also when it is settled.
CREATE VIEW tool_process.own_call WITH (security_barrier) AS
  SELECT workspace_id, id, job_id, status, executor, decided_by FROM public.tool_call
   WHERE exec_owner = nullif(current_setting('app.tool_process', true), '');

-- Those of them that are not settled.
CREATE VIEW tool_process.claimed_call WITH (security_barrier) AS
  SELECT workspace_id, id, job_id, decided_by FROM tool_process.own_call WHERE status = 'running' AND executor = 'queue';

-- Of a job's input: the approval policies and the agent. No messages.
CREATE VIEW tool_process.job WITH (security_barrier) AS
  SELECT j.workspace_id, j.id, j.thread_id, j.created_by, j.principal, j.model,
         (SELECT jsonb_object_agg(part.key, part.value) FROM jsonb_each(j.input) part
           WHERE part.key IN ('toolApproval', 'callerPolicies', 'agent', 'routing')) AS input
    FROM public.job j
   WHERE EXISTS (SELECT FROM tool_process.claimed_call c WHERE c.workspace_id = j.workspace_id AND c.job_id = j.id);

-- Which agent a job chose.
CREATE VIEW tool_process.round WITH (security_barrier) AS
  SELECT r.workspace_id, r.job_id, r.number, r.captured FROM public.round r
    JOIN tool_process.job j ON j.workspace_id = r.workspace_id AND j.id = r.job_id
   WHERE r.number = 0 AND j.input ? 'routing';

-- On which terms a person approved the call.
CREATE VIEW tool_process.interrupt WITH (security_barrier) AS
  SELECT i.workspace_id, i.id, i.tool_call_id, i.kind, i.decidable_by, i.four_eyes, i.admin_required,
         jsonb_build_object('outcome', i.outcome->'outcome') AS outcome
    FROM public.interrupt i
   WHERE i.kind = 'tool_approval'
     AND EXISTS (SELECT FROM tool_process.claimed_call c WHERE c.workspace_id = i.workspace_id AND c.id = i.tool_call_id);

-- The requesters and approvers of claimed calls, as principal ids.
CREATE VIEW tool_process.principal WITH (security_barrier) AS
  SELECT j.workspace_id, j.principal AS id FROM tool_process.job j
   UNION SELECT c.workspace_id, c.decided_by FROM tool_process.claimed_call c WHERE c.decided_by IS NOT NULL
   UNION SELECT g.workspace_id, unnest(ARRAY[g.granted_by, 'user:' || g.requester]) FROM public.approval_grant g
    JOIN tool_process.job j ON j.workspace_id = g.workspace_id AND j.thread_id = g.thread_id
   WHERE g.revoked_at IS NULL AND g.expires_at > clock_timestamp();

DO $$
DECLARE v text;
BEGIN
  FOREACH v IN ARRAY ARRAY['own_call', 'claimed_call', 'job', 'round', 'interrupt', 'principal'] LOOP
    EXECUTE format('ALTER VIEW tool_process.%I OWNER TO nightshift_owner', v);
    EXECUTE format('GRANT SELECT ON tool_process.%I TO nightshift_tools', v);
  END LOOP;
END $$;

-- Claim, renew, release. Everything else about a call is written by the process that applies its result.
GRANT SELECT (workspace_id, id, job_id, round, call_id, name, runtime, arguments, approved_arguments, executed_arguments, effect,
              idem_key, tool_version, status, executor, approval, decided_by, queued_at, cancel_requested_at, exec_until, exec_epoch,
              exec_attempts),
      UPDATE (exec_epoch, exec_owner, exec_attempts, exec_until, started_at, queued_at, progress_seq) ON tool_call TO nightshift_tools;
CREATE POLICY tools_read ON tool_call FOR SELECT TO nightshift_tools USING (
  exec_owner = nullif(current_setting('app.tool_process', true), '')
  OR status = 'running' AND executor = 'queue' AND cancel_requested_at IS NULL
     AND (exec_until IS NULL OR effect IN ('pure', 'idempotent') AND exec_until < statement_timestamp()));
CREATE POLICY tools_claim ON tool_call FOR UPDATE TO nightshift_tools USING (
  status = 'running' AND executor = 'queue'
  AND (exec_owner = nullif(current_setting('app.tool_process', true), '')
       OR cancel_requested_at IS NULL
          AND (exec_until IS NULL OR effect IN ('pure', 'idempotent') AND exec_until < statement_timestamp())))
WITH CHECK (
  status = 'running' AND executor = 'queue'
  AND (exec_owner = nullif(current_setting('app.tool_process', true), '') OR exec_owner IS NULL AND exec_until IS NULL));

-- A claim locks the job FOR SHARE, which requires the privilege to update some column; the policy lets no update pass.
GRANT SELECT (workspace_id, id, thread_id, principal, finished_at, cancel_requested_at), UPDATE (restarts) ON job TO nightshift_tools;
CREATE POLICY tools_read ON job FOR SELECT TO nightshift_tools USING (EXISTS (
  SELECT FROM public.tool_call t WHERE t.workspace_id = job.workspace_id AND t.job_id = job.id
     AND t.status = 'running' AND t.executor = 'queue'));
CREATE POLICY tools_lock ON job FOR UPDATE TO nightshift_tools USING (EXISTS (
  SELECT FROM public.tool_call t WHERE t.workspace_id = job.workspace_id AND t.job_id = job.id
     AND t.status = 'running' AND t.executor = 'queue')) WITH CHECK (false);

-- What a workspace with a claimed call has for its tools.
DO $$
DECLARE t text;
BEGIN
  FOREACH t IN ARRAY ARRAY['approval_policy', 'agent_version', 'workspace_tool', 'workspace_tool_version', 'workspace_secret',
                           'mcp_server', 'mcp_tool'] LOOP
    EXECUTE format('CREATE POLICY tools_read ON %1$I FOR SELECT TO nightshift_tools USING (EXISTS (
      SELECT FROM tool_process.claimed_call c WHERE c.workspace_id = %1$I.workspace_id))', t);
  END LOOP;
END $$;
GRANT SELECT (workspace_id, version, policy, created_by, created_at) ON approval_policy TO nightshift_tools;
GRANT SELECT (workspace_id, agent_id, number, tool_approval) ON agent_version TO nightshift_tools;
GRANT SELECT (workspace_id, id, version, enabled, removed_at) ON workspace_tool TO nightshift_tools;
GRANT SELECT (workspace_id, tool_id, version, definition) ON workspace_tool_version TO nightshift_tools;
GRANT SELECT (workspace_id, id, name, cipher) ON workspace_secret TO nightshift_tools;
GRANT SELECT (id, outbound_hosts) ON workspace TO nightshift_tools;
CREATE POLICY tools_read ON workspace FOR SELECT TO nightshift_tools USING (EXISTS (
  SELECT FROM tool_process.claimed_call c WHERE c.workspace_id = workspace.id));
GRANT SELECT (workspace_id, id, thread_id, requester, agent, operation, policy_version, granted_by, expires_at, revoked_at)
   ON approval_grant TO nightshift_tools;
CREATE POLICY tools_read ON approval_grant FOR SELECT TO nightshift_tools USING (EXISTS (
  SELECT FROM tool_process.job j WHERE j.workspace_id = approval_grant.workspace_id AND j.thread_id = approval_grant.thread_id));

-- The roles and keys of requesters and approvers; nothing that a request could be authenticated with.
GRANT SELECT (workspace_id, id, user_id, prefix, scopes, expires_at, revoked_at) ON api_key TO nightshift_tools;
CREATE POLICY tools_read ON api_key FOR SELECT TO nightshift_tools USING (EXISTS (
  SELECT FROM tool_process.principal p WHERE p.workspace_id = api_key.workspace_id AND p.id = 'key:' || api_key.id));
GRANT SELECT (workspace_id, user_id, role) ON membership TO nightshift_tools;
CREATE POLICY tools_read ON membership FOR SELECT TO nightshift_tools USING (
  EXISTS (SELECT FROM tool_process.principal p WHERE p.workspace_id = membership.workspace_id AND p.id = 'user:' || membership.user_id)
  OR EXISTS (SELECT FROM public.api_key k WHERE k.workspace_id = membership.workspace_id AND k.user_id = membership.user_id));

-- What an MCP server lists when a process connects to it. Only people accept definitions; those columns are not granted.
GRANT SELECT (workspace_id, id, name, transport, settings, enabled, last_error), UPDATE (listed_at, last_error)
   ON mcp_server TO nightshift_tools;
GRANT SELECT (workspace_id, server_id, name, definition, hash, gone_at, accepted_definition, accepted_hash),
      INSERT (workspace_id, server_id, name, definition, hash), UPDATE (definition, hash, gone_at), DELETE
   ON mcp_tool TO nightshift_tools;
CREATE POLICY tools_list ON mcp_server FOR UPDATE TO nightshift_tools USING (EXISTS (
  SELECT FROM tool_process.claimed_call c WHERE c.workspace_id = mcp_server.workspace_id));
CREATE POLICY tools_list ON mcp_tool FOR INSERT TO nightshift_tools WITH CHECK (EXISTS (
  SELECT FROM tool_process.claimed_call c WHERE c.workspace_id = mcp_tool.workspace_id));
CREATE POLICY tools_relist ON mcp_tool FOR UPDATE TO nightshift_tools USING (EXISTS (
  SELECT FROM tool_process.claimed_call c WHERE c.workspace_id = mcp_tool.workspace_id));
CREATE POLICY tools_unlist ON mcp_tool FOR DELETE TO nightshift_tools USING (accepted_hash IS NULL AND EXISTS (
  SELECT FROM tool_process.claimed_call c WHERE c.workspace_id = mcp_tool.workspace_id));

-- That a call was approved by a timed grant.
GRANT INSERT (workspace_id, id, at, actor, action, subject_type, subject_id, details) ON audit_entry TO nightshift_tools;
CREATE POLICY tools_grant_used ON audit_entry FOR INSERT TO nightshift_tools WITH CHECK (
  actor = 'system' AND action = 'approval-grant-used' AND subject_type = 'ApprovalGrant'
  AND EXISTS (SELECT FROM tool_process.claimed_call c
               WHERE c.workspace_id = audit_entry.workspace_id AND c.job_id::text = details->>'jobId'));
