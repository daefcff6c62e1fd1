-- replaces: 6f93a960ceafedf947e794737ec59d402a68de4af6139ada68ba94d89d2be823
-- A continuation that failed is not repeated: the next request like it resumes from the results that it applied.
-- `request_digest` tells equal requests from those with other parameters; `resumes` is the answer whose results a new one takes over.
ALTER TABLE "openai_answer" ADD COLUMN "request_digest" BYTEA, ADD COLUMN "resumes" UUID;

-- Ids of calls come again once the job that had them has ended. A run is then looked up by its conversation as well.
ALTER TABLE "openai_call_id" ADD COLUMN "reused" BOOLEAN NOT NULL DEFAULT false;
