-- A continuation that failed is not repeated: the next request like it resumes from the results that it applied.
-- `request_digest` tells equal requests from those with other parameters; `resumes` is the answer whose results a new one takes over.
ALTER TABLE "openai_answer" ADD COLUMN "request_digest" BYTEA, ADD COLUMN "resumes" UUID;

-- Of equal requests that come together, one resumes.
CREATE UNIQUE INDEX openai_answer_resumes ON openai_answer (workspace_id, resumes, request_digest) WHERE resumes IS NOT NULL;

-- Ids of calls come again once the job that had them has ended. A run is then looked up by its conversation as well.
ALTER TABLE "openai_call_id" ADD COLUMN "reused" BOOLEAN NOT NULL DEFAULT false;
