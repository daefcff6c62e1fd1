-- A page of events has a limit in bytes, and Postgres would have to decompress a large body to measure it.
ALTER TABLE job_event ADD COLUMN body_bytes int;
