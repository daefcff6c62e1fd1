-- replaces: a423b845741a8be6b7bbacc350f983ac77f8eb8be6d9f482fb96401022e2c619
-- How the answers of an agent show calls of server tools to OpenAI clients that do not say. Null: the default of the API.
ALTER TABLE "agent_version" ADD COLUMN "tool_event_format" TEXT;
ALTER TABLE agent_version ADD CONSTRAINT agent_version_tool_event_format
  CHECK (tool_event_format IN ('inline', 'open-webui', 'none')) NOT VALID;

-- `none` shows no calls. `agent`: as the agent that the job chooses has it.
ALTER TABLE openai_answer DROP CONSTRAINT openai_answer_format;
ALTER TABLE openai_answer ADD CONSTRAINT openai_answer_format
  CHECK (format IN ('inline', 'open-webui', 'none', 'openai', 'agent')) NOT VALID;
