-- A schedule can have a name, by which it is saved again. Several schedules of a workspace may have none.
ALTER TABLE "workflow_schedule" ADD COLUMN "name" TEXT;
ALTER TABLE workflow_schedule ADD CONSTRAINT workflow_schedule_name CHECK (char_length(name) BETWEEN 1 AND 100);

-- CreateIndex
CREATE UNIQUE INDEX "workflow_schedule_workspace_id_name_key" ON "workflow_schedule"("workspace_id", "name");
