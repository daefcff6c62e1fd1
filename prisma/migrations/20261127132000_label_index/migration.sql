-- The labels of jobs as rows, by which a list finds the jobs of a label in the order of their ids. Row-level security allows no index on jsonb (its
-- operators are not leakproof), and an index of job would make each change of its status more expensive.
CREATE TABLE "job_label" (
    "workspace_id" UUID NOT NULL,
    "job_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "value" TEXT NOT NULL,

    CONSTRAINT "job_label_pkey" PRIMARY KEY ("workspace_id","job_id","name")
);

CREATE INDEX "job_label_workspace_id_name_value_job_id_idx" ON "job_label"("workspace_id", "name", "value", "job_id");

ALTER TABLE "job_label" ADD CONSTRAINT "job_label_workspace_id_job_id_fkey" FOREIGN KEY ("workspace_id", "job_id") REFERENCES "job"("workspace_id", "id") ON DELETE CASCADE ON UPDATE CASCADE;

ALTER TABLE job_label ENABLE ROW LEVEL SECURITY;
ALTER TABLE job_label FORCE ROW LEVEL SECURITY;
CREATE POLICY tenant ON job_label TO nightshift_api
  USING (workspace_id = nullif(current_setting('app.workspace', true), '')::uuid)
  WITH CHECK (workspace_id = nullif(current_setting('app.workspace', true), '')::uuid);
CREATE POLICY owner ON job_label TO nightshift_owner USING (true) WITH CHECK (true);
GRANT SELECT, INSERT ON job_label TO nightshift_api;
ALTER TABLE job_label OWNER TO nightshift_owner;

-- A trigger, so that jobs that older builds start have them too. Labels never change after the start.
CREATE FUNCTION job_labels() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
  INSERT INTO public.job_label (workspace_id, job_id, name, value)
  SELECT NEW.workspace_id, NEW.id, l.key, l.value FROM jsonb_each_text(NEW.labels) l ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
ALTER FUNCTION job_labels() OWNER TO nightshift_owner;
CREATE TRIGGER job_labels AFTER INSERT ON job FOR EACH ROW WHEN (NEW.labels <> '{}') EXECUTE FUNCTION job_labels();
