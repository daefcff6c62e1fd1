-- The plans of every list query over 1,000,000 jobs in 50 workspaces. Run against a migrated, empty database:
--   psql "$DATABASE_URL" -f bench/sql/list-plans.sql
\set ON_ERROR_STOP on
SET session_replication_role = replica; -- filling up, not testing foreign keys
CREATE TEMP TABLE tenant AS SELECT n AS place, ('00000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid AS id FROM generate_series(1, 50) n;
INSERT INTO workspace (id, name) SELECT id, 'workspace ' || place FROM tenant;
INSERT INTO thread (workspace_id, id, title, created_by)
SELECT t.id, ('01000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'thread ' || n,
       ('0a000000-0000-7000-8000-' || lpad((n % 200)::text, 12, '0'))::uuid
  FROM generate_series(1, 200000) n JOIN tenant t ON t.place = n % 50 + 1;
INSERT INTO job (workspace_id, id, kind, status, thread_id, created_by, principal, model, input, created_at, finished_at)
SELECT t.id, ('02000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid, 'chat',
       CASE WHEN n % 100 < 90 THEN 'completed' WHEN n % 100 < 97 THEN 'failed' ELSE 'cancelled' END,
       ('01000000-0000-7000-8000-' || lpad((n % 200000 + 1)::text, 12, '0'))::uuid,
       ('0a000000-0000-7000-8000-' || lpad((n % 200)::text, 12, '0'))::uuid, 'user', 'm', '{}',
       now() - (1000000 - n) * interval '1 second', now()
  FROM generate_series(1, 1000000) n JOIN tenant t ON t.place = (n % 200000 + 1) % 50 + 1;
INSERT INTO message (workspace_id, id, thread_id, position, role, content)
SELECT t.id, ('03000000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid,
       ('01000000-0000-7000-8000-' || lpad((n % 200000 + 1)::text, 12, '0'))::uuid, n / 200000 + 1, 'user', '"hi"'
  FROM generate_series(1, 999999) n JOIN tenant t ON t.place = (n % 200000 + 1) % 50 + 1;
RESET session_replication_role;
VACUUM ANALYZE workspace, thread, job, message;

SET ROLE nightshift_api;
SELECT set_config('app.workspace', '00000000-0000-7000-8000-000000000007', false);
\set W '\'00000000-0000-7000-8000-000000000007\''
\echo == jobs, newest first
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, BUFFERS OFF, SUMMARY ON) SELECT * FROM job WHERE workspace_id = :W ORDER BY workspace_id DESC, id DESC LIMIT 51;
\echo == jobs, a page in the middle
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, BUFFERS OFF, SUMMARY ON) SELECT * FROM job WHERE workspace_id = :W AND id < '02000000-0000-7000-8000-000000500000' ORDER BY workspace_id DESC, id DESC LIMIT 51;
\echo == jobs by status
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, BUFFERS OFF, SUMMARY ON) SELECT * FROM job WHERE workspace_id = :W AND status IN ('completed') ORDER BY workspace_id DESC, id DESC LIMIT 51;
\echo == jobs of a thread
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, BUFFERS OFF, SUMMARY ON) SELECT * FROM job WHERE workspace_id = :W AND thread_id = '01000000-0000-7000-8000-000000000006' ORDER BY workspace_id DESC, id DESC LIMIT 51;
\echo == jobs of a creator
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, BUFFERS OFF, SUMMARY ON) SELECT * FROM job WHERE workspace_id = :W AND created_by = '0a000000-0000-7000-8000-000000000005' ORDER BY workspace_id DESC, id DESC LIMIT 51;
\echo == jobs of a stretch of time long ago (uuid v7 bounds make it a key range)
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, BUFFERS OFF, SUMMARY ON) SELECT * FROM job WHERE workspace_id = :W AND id >= '02000000-0000-7000-8000-000000300000' AND id < '02000000-0000-7000-8000-000000310000' AND created_at >= now() - interval '700000 seconds' AND created_at < now() - interval '690000 seconds' ORDER BY workspace_id DESC, id DESC LIMIT 51;
\echo == unfinished jobs by user (capacity check)
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, BUFFERS OFF, SUMMARY ON) SELECT created_by, count(*) FROM job WHERE workspace_id = :W AND status IN ('queued', 'running', 'waiting') GROUP BY 1;
\echo == threads of a member
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, BUFFERS OFF, SUMMARY ON) SELECT * FROM thread WHERE workspace_id = :W AND created_by = '0a000000-0000-7000-8000-000000000006' ORDER BY id DESC LIMIT 51;
\echo == threads, newest first
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, BUFFERS OFF, SUMMARY ON) SELECT * FROM thread WHERE workspace_id = :W ORDER BY workspace_id DESC, id DESC LIMIT 51;
\echo == messages of a thread
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, BUFFERS OFF, SUMMARY ON) SELECT * FROM message WHERE workspace_id = :W AND thread_id = '01000000-0000-7000-8000-000000000006' ORDER BY position LIMIT 51;
RESET ROLE;
SET ROLE nightshift_engine;
\echo == sweeper: what may be claimable
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, BUFFERS OFF, SUMMARY ON) SELECT workspace_id, id FROM job WHERE status = 'queued' AND NOT in_line ORDER BY created_at LIMIT 100;
\echo == sweeper: leases that ran out
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, BUFFERS OFF, SUMMARY ON) SELECT workspace_id, id FROM job WHERE status = 'running' AND lease_until < clock_timestamp() LIMIT 100;
