-- no transaction
-- Of equal requests that come together, one resumes.
DROP INDEX CONCURRENTLY IF EXISTS openai_answer_resumes;
CREATE UNIQUE INDEX CONCURRENTLY openai_answer_resumes ON openai_answer (workspace_id, resumes, request_digest) WHERE resumes IS NOT NULL;
