import { AgentsService } from '#chat';
import { EventFeed } from '#jobs';
import { OpenStreams } from '#platform/api';

import { startTestApi, type TestApi, type TestMember } from './api.js';
import { createTestDatabase, type TestDatabase } from './database.js';
import { eventually } from './eventually.js';
import { type CompletionsClient, completionsClient } from './openai-client.js';
import { ScriptedModel } from './scripted-model.js';

/** An API for OpenAI clients, with one workspace whose agent `helper` can add numbers. */
export interface OpenAiStage {
  readonly database: TestDatabase;
  readonly model: ScriptedModel;
  readonly test: TestApi;
  readonly owner: TestMember;
  readonly client: CompletionsClient;
  /** Another API process of the same installation, for a member of it; absent: the owner. */
  another(
    env?: Readonly<Record<string, string>>,
    member?: TestMember,
  ): Promise<{ test: TestApi; client: CompletionsClient }>;
  /** Another workspace with an agent `helper`. */
  tenant(name: string): Promise<{ owner: TestMember; client: CompletionsClient }>;
  /** After each test: every scripted reply was used, and no response is still open. */
  assertQuiet(): Promise<void>;
  close(): Promise<void>;
}

export async function openAiStage(env: Readonly<Record<string, string>> = {}): Promise<OpenAiStage> {
  const database = await createTestDatabase();
  const model = await ScriptedModel.start();
  const settings = { MODEL_BASE_URL: model.url, DELTA_FLUSH_MS: '5', BUS: 'postgres', ...env };
  const test = await startTestApi(database, { env: settings });
  const others: TestApi[] = [];
  const tenant = async (name: string) => {
    const { owner } = await test.people.workspaceOf(name);
    const agent = { name: 'Helper', instructions: 'Be brief.', tools: ['add_numbers'] };
    await test.api.app.get(AgentsService).create(owner.principal, agent);
    return { owner, client: completionsClient(test.url, owner.key) };
  };
  const { owner, client } = await tenant('main');
  return {
    ...{ database, model, test, owner, client, tenant },
    another: async (more = {}, member = owner) => {
      const other = await startTestApi(database, { env: { ...settings, ...more } });
      others.push(other);
      return { test: other, client: completionsClient(other.url, member.key) };
    },
    assertQuiet: async () => {
      model.assertDone();
      await eventually('all responses have ended', () => (test.api.app.get(OpenStreams).size === 0 ? true : undefined));
      await eventually('all tails are gone', () => (test.api.app.get(EventFeed).tails === 0 ? true : undefined));
    },
    close: async () => {
      for (const other of others) await other.close();
      await test.close();
      await model.close();
      await database.close();
    },
  };
}

type Message = Readonly<Record<string, unknown>>;

export const user = (content: string): Message => ({ role: 'user', content });

/** A function of the client. */
export const weather = {
  type: 'function',
  function: { name: 'get_weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } },
} as const;

/** A call of it, as a provider asks for it. */
export const ask = (id: string, city: string) => ({ id, name: 'get_weather', arguments: JSON.stringify({ city }) });

/** The assistant message with the tool calls that a client received. */
export const called = (...calls: readonly ReturnType<typeof ask>[]): Message => ({
  role: 'assistant',
  content: null,
  tool_calls: calls.map(({ id, name, arguments: args }) => ({
    id,
    type: 'function',
    function: { name, arguments: args },
  })),
});

export const result = (id: string, content: string): Message => ({ role: 'tool', tool_call_id: id, content });

/** A body for the agent, with the client's function. */
export const withTools = (messages: readonly Message[], more: object = {}): Message => ({
  model: 'helper',
  tools: [weather],
  messages,
  ...more,
});

export const plain = (text: string, more: object = {}): Message => ({
  model: 'helper',
  messages: [user(text)],
  ...more,
});
