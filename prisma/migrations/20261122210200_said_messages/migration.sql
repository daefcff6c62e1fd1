-- What a client says to a job that goes on with its results: in the conversation it stands within the job's answer, behind the
-- round whose calls it had been asked to run. The job may be gone one day; the message stays.

ALTER TABLE "message" ADD COLUMN     "after_round" INTEGER,
ADD COLUMN     "said_to_job_id" UUID;

ALTER TABLE message ADD CONSTRAINT message_said_to CHECK ((said_to_job_id IS NULL) = (after_round IS NULL));
