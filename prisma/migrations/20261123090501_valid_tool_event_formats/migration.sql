-- Reads all rows, while others write.
ALTER TABLE agent_version VALIDATE CONSTRAINT agent_version_tool_event_format;
ALTER TABLE openai_answer VALIDATE CONSTRAINT openai_answer_format;
