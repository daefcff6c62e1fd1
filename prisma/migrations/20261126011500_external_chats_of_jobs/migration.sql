-- The user of a chat of another system, and the order of its queued jobs, which is compared by bytes.
ALTER TABLE thread ADD COLUMN external_user text;
ALTER TABLE job ADD COLUMN external_user text, ADD COLUMN queue_order text COLLATE "C";
