-- The newest answers of a session are read without the others.

DROP INDEX "openai_answer_workspace_id_principal_session_id_idx";

CREATE INDEX "openai_answer_workspace_id_principal_session_id_id_idx" ON "openai_answer"("workspace_id", "principal", "session_id", "id");
