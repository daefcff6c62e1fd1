-- no transaction
-- How many notifications the channels of a user were sent in the last hour.
DROP INDEX CONCURRENTLY IF EXISTS webhook_delivery_of_channels;
CREATE INDEX CONCURRENTLY webhook_delivery_of_channels ON webhook_delivery (workspace_id, created_at) WHERE channel_id IS NOT NULL;
