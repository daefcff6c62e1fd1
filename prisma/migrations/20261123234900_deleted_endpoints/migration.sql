-- A removed endpoint disappears at once; the retention deletes its deliveries in batches, and then the row.
ALTER TABLE "webhook_endpoint" ADD COLUMN "deleted_at" TIMESTAMPTZ(3);
ALTER TABLE webhook_endpoint
  ADD CONSTRAINT webhook_endpoint_deleted CHECK (deleted_at IS NULL OR NOT enabled) NOT VALID;
