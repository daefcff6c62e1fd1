-- The transaction that has written a notification, or marked it as read: a live bell goes on from those that had ended at its last
-- look, so it reads what is new, and passes over nothing that is committed late. It needs the index of what is unread no more.

ALTER TABLE notification ADD COLUMN changed_in xid8 NOT NULL DEFAULT pg_current_xact_id();
CREATE INDEX notification_workspace_id_changed_in_idx ON notification (workspace_id, changed_in);
DROP INDEX notification_unread;
GRANT UPDATE (changed_in) ON notification TO nightshift_api;
