-- no transaction
-- The labels of the jobs that exist.
INSERT INTO job_label (workspace_id, job_id, name, value)
SELECT j.workspace_id, j.id, l.key, l.value FROM job j CROSS JOIN LATERAL jsonb_each_text(j.labels) l WHERE j.labels <> '{}' ON CONFLICT DO NOTHING;
