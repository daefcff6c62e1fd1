-- Each text of the input of a job, and of the event of a trigger run, that can be the hash of a file. Null: not computed, as by older builds.
ALTER TABLE "job" ADD COLUMN "file_hashes" TEXT[];
ALTER TABLE "trigger_run" ADD COLUMN "file_hashes" TEXT[];
