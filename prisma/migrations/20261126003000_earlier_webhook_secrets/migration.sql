-- The secrets of an endpoint before the previous one: each signs for 24 hours, also after further rotations. One sealed value.
ALTER TABLE "webhook_endpoint" ADD COLUMN "earlier_cipher" BYTEA;
