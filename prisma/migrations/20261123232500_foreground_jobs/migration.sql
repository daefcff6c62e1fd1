-- The job runs only while a client follows it. Decided when the job is accepted.
ALTER TABLE job ADD COLUMN foreground boolean NOT NULL DEFAULT false;
