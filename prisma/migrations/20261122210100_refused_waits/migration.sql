-- A request to a person, of a job that is not to wait for people: the job is cancelled for it, by whoever sees it first.

ALTER TABLE "interrupt" ADD COLUMN     "refused" BOOLEAN NOT NULL DEFAULT false;

CREATE INDEX interrupt_refused ON interrupt (id) WHERE status = 'open' AND refused;
