-- A job that starts later is queued with in_line until this instant has come.
ALTER TABLE "job" ADD COLUMN "start_at" TIMESTAMPTZ(3);
