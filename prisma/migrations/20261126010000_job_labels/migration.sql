-- Texts by name, which the starter of a job and hooks of its start have given it.
ALTER TABLE "job" ADD COLUMN "labels" JSONB NOT NULL DEFAULT '{}';
