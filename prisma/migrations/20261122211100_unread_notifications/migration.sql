-- What a live bell looks at, again and again: it is as large as what is unread, not as what is kept.
CREATE INDEX notification_unread ON notification (workspace_id, id) WHERE read_at IS NULL;
