import { ApprovalPoliciesService } from '#approvals';
import { AgentsService } from '#chat';
import { defineTool, ToolRegistry } from '#tools';

import { type CallOptions, type Reply, startTestApi, type TestApi, type TestMember } from './api.js';
import { createTestDatabase, type TestDatabase } from './database.js';
import { advertised } from './rest-client.js';
import { ScriptedModel } from './scripted-model.js';
import { createGate, type Gate } from './scripted-reply.js';

/** An API whose agent `Clerk` has tools, in two workspaces. */
export interface ExecuteStage {
  readonly database: TestDatabase;
  readonly model: ScriptedModel;
  readonly test: TestApi;
  readonly people: Readonly<Record<'owner' | 'admin' | 'stranger', TestMember>>;
  /** Keys that tools were called with, in order. */
  readonly called: string[];
  /** Blocks the tools `slow` and `lost`; `reset` closes it again. */
  gate: Gate;
  /** Rules of the owner's workspace. */
  policy(rules: readonly object[]): Promise<void>;
  /** As the owner, unless the options name another key. */
  execute(body: object, options?: CallOptions): Promise<Reply>;
  /** For the next test. */
  reset(): Promise<void>;
  close(): Promise<void>;
}

/** The tools of the agent, by name. */
export const clerksTools = 'ask_person, echo, fail, forbidden, json, late, long, lost, open_file, slow';

export async function openExecuteStage(): Promise<ExecuteStage> {
  const database = await createTestDatabase();
  const model = await ScriptedModel.start();
  const env = { MODEL_BASE_URL: model.url, TOOL_TIMEOUT_MS: '60000', STARTS_PER_MINUTE: '100000' };
  const test = await startTestApi(database, { env });
  const { owner, admin } = await test.people.workspaceOf('execute');
  const stranger = (await test.people.workspaceOf('strangers')).owner;
  const stage: ExecuteStage = {
    ...{ database, model, test, people: { owner, admin, stranger }, called: [], gate: createGate() },
    policy: async (rules) => {
      const policies = test.api.app.get(ApprovalPoliciesService);
      await policies.save(owner.principal, { policy: { rules }, expectedVersion: null });
    },
    execute: (body, options = {}) => test.call('POST', '/v1/tools/execute', { key: owner.key, body, ...options }),
    reset: async () => {
      stage.gate = createGate();
      stage.called.length = 0;
      await stage.policy([]);
    },
    close: async () => {
      stage.gate.open();
      await test.close();
      await model.close();
      await database.close();
    },
  };
  registerTools(stage);
  for (const { principal } of [owner, stranger])
    await test.api.app.get(AgentsService).create(principal, {
      name: 'Clerk',
      description: 'Knows tools.',
      tools: ['echo', 'fail', 'json', 's*', 'forbidden', 'ask_person', 'la*', 'lo*'],
      externalTools: ['open_file'],
    });
  return stage;
}

const textInput = {
  type: 'object',
  properties: { text: { type: 'string' } },
  required: ['text'],
  additionalProperties: false,
} as const;

function registerTools(stage: ExecuteStage): void {
  const tool = (name: string, execute: (args: Readonly<Record<string, unknown>>) => unknown, more: object = {}) => {
    const spec = { name, description: name, input: textInput, effect: 'once' as const, ...more };
    const called = async (args: Readonly<Record<string, unknown>>, { idempotencyKey }: { idempotencyKey: string }) => {
      stage.called.push(idempotencyKey);
      return await execute(args);
    };
    stage.test.api.app.get(ToolRegistry).register(defineTool({ ...spec, execute: called }));
  };
  const openFile = advertised('open_file').function;
  tool('echo', ({ text }) => text);
  tool('json', ({ text }) => ({ echoed: text, n: [1, 2] }));
  tool('long', ({ text }) => ({ long: String(text).repeat(300_000) }));
  tool('fail', ({ text }) => {
    throw new Error(`no ${String(text)} here`);
  });
  tool('slow', async ({ text }) => {
    await stage.gate.opened;
    return `slow ${String(text)}`;
  });
  tool('late', () => new Promise(() => undefined), { timeoutMs: 30 });
  tool('lost', () => stage.gate.opened, { onUnknown: 'report' });
  tool('forbidden', ({ text }) => text);
  tool('elsewhere', ({ text }) => text);
  tool('open_file', ({ path }) => `file ${String(path)}`, {
    ...{ input: openFile.parameters, description: openFile.description },
  });
}

/** A call of the tool `echo`, changed. */
export const echo = (change: object = {}) => ({
  agent: 'clerk',
  tool_name: 'echo',
  arguments: { text: 'hi' },
  ...change,
});

export const withKey = (key: string) => ({ headers: { 'idempotency-key': key } });

/** The error body of a refused request. */
export function errorOf(reply: Reply): object {
  return (reply.body as { error: object }).error; // the contract's shape
}

export function executedJob({ headers }: Reply): string {
  return headers.get('x-job-id') ?? '';
}
