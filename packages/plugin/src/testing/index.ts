import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { ScriptedModel } from './scripted-model.js';
import { findServer, type LogLine, readKey, type ServerProcess, startServer } from './server-process.js';

export type { ModelRequest, ScriptedCall, ScriptedModel, ScriptedReply } from './scripted-model.js';
export type { LogLine } from './server-process.js';

/** The options of a test server. */
export interface TestServerOptions {
  /** Modules, packages and folders of plugins, as in PLUGINS. The server also loads those in `./plugins`. */
  readonly plugins?: readonly string[];
  /** More settings of the server (docs/configuration.md of Nightshift). */
  readonly env?: Readonly<Record<string, string>>;
  /** The folder of the package `nightshift`; default: the nearest one, searched upwards from the working directory. */
  readonly server?: string;
  /** The base of relative paths of plugins; default: the working directory. */
  readonly workingDirectory?: string;
}

/** One entry of the log of a job. */
export interface RecordedEvent {
  /** Its number in the job, from 1. */
  readonly seq: number;
  /** The kind, such as `tool-call-updated` or `job-finished` (PROTOCOL.md of Nightshift). */
  readonly type: string;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A chat to run. */
export interface ChatInput {
  readonly message: string;
  /** Names of the tools that the model may call. */
  readonly tools?: readonly string[];
  /** An agent: id, slug or name; `auto`: a model chooses it. */
  readonly agent?: string;
  /** Labels of the job. */
  readonly labels?: Readonly<Record<string, string>>;
}

/** A workflow to run. */
export interface WorkflowInput {
  /** A workflow document (docs/workflow-definitions.md of Nightshift); it is saved and published. */
  readonly definition: Readonly<Record<string, unknown>>;
  readonly prompt: string;
  /** Labels of the job. */
  readonly labels?: Readonly<Record<string, string>>;
}

/** A job that has ended. */
export interface FinishedJob {
  readonly jobId: string;
  readonly status: string;
  /** The text of the model, or the output of the workflow. */
  readonly text: string;
  readonly events: readonly RecordedEvent[];
}

/** A real server with embedded Postgres, a scripted model and the plugins under test. */
export interface TestServer {
  /** Changes with each restart. */
  readonly url: string;
  /** An API key of an owner of the demo workspace. */
  readonly key: string;
  readonly model: ScriptedModel;
  /** Sends a GraphQL operation; rejects with the first error of the response. */
  graphql(query: string, variables?: object): Promise<Readonly<Record<string, unknown>>>;
  /** Starts a chat and returns the id of its job. */
  start(input: ChatInput): Promise<string>;
  /** Follows a job to its end. */
  finished(jobId: string): Promise<FinishedJob>;
  /** `start` and `finished`. */
  run(input: ChatInput): Promise<FinishedJob>;
  /** Saves, publishes and starts a workflow, and returns the id of its job. Rejects with the reasons if it is invalid. */
  startWorkflow(input: WorkflowInput): Promise<string>;
  /** `startWorkflow` and `finished`. */
  runWorkflow(input: WorkflowInput): Promise<FinishedJob>;
  /** Log lines of the running process so far. */
  logs(): readonly LogLine[];
  /** Kills the server without notice, as a crash does (SIGKILL). */
  kill(): Promise<void>;
  /** Stops the server if it runs, and starts it on the same data. */
  restart(): Promise<void>;
  /** Stops everything and deletes the data. */
  close(): Promise<void>;
}

/** Starts a server; it takes 3 to 10 s. Call `close` at the end of the test. */
export async function createTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const { plugins = [], env = {}, workingDirectory = process.cwd() } = options;
  const server = options.server ?? findServer(workingDirectory);
  const dataDir = mkdtempSync(join(tmpdir(), 'nightshift-test-'));
  const model = await ScriptedModel.start();
  const settings = { PLUGINS: plugins.join(','), MODEL_BASE_URL: model.url, LEASE_MS: '3000', ...env };
  const begin = () => startServer({ server, dataDir, workingDirectory, env: settings });
  const clean = async () => {
    await model.close();
    rmSync(dataDir, { recursive: true, force: true });
  };
  let process_: ServerProcess | null = await begin().catch(async (error: unknown) => {
    await clean();
    throw error;
  });
  const end = async (signal: 'SIGTERM' | 'SIGKILL') => {
    await process_?.end(signal);
    process_ = null;
  };
  const running = () => {
    if (process_ === null) throw new Error('The server does not run: call restart().');
    return process_;
  };
  return new RunningTestServer({
    ...{ model, key: readKey(dataDir), running },
    kill: () => end('SIGKILL'),
    restart: async () => {
      await end('SIGTERM');
      process_ = await begin();
    },
    close: async () => {
      await end('SIGTERM');
      await clean();
    },
  });
}

interface Parts extends Pick<TestServer, 'model' | 'key' | 'kill' | 'restart' | 'close'> {
  readonly running: () => ServerProcess;
}

const START = `mutation ($input: StartChatInput!) { startChat(input: $input) { jobId userErrors { code message } } }`;

const IMPORT = `mutation ($input: ImportWorkflowInput!) {
  importWorkflow(input: $input) { workflow { id } userErrors { message issues } }
}`;
const PUBLISH = `mutation ($id: ID!) { publishWorkflow(input: { id: $id }) { userErrors { message issues } } }`;
const START_WORKFLOW = `mutation ($input: StartWorkflowInput!) {
  startWorkflow(input: $input) { jobId userErrors { message issues } }
}`;

interface Payload {
  readonly workflow?: { readonly id: string } | null;
  readonly jobId?: string | null;
  readonly userErrors: readonly { readonly message: string; readonly issues: readonly string[] }[];
}

class RunningTestServer implements TestServer {
  readonly model: ScriptedModel;
  readonly key: string;
  readonly kill: TestServer['kill'];
  readonly restart: TestServer['restart'];
  readonly close: TestServer['close'];

  constructor(private readonly parts: Parts) {
    ({ model: this.model, key: this.key, kill: this.kill, restart: this.restart, close: this.close } = parts);
  }

  get url(): string {
    return this.parts.running().url;
  }

  logs(): readonly LogLine[] {
    return this.parts.running().logs();
  }

  async graphql(query: string, variables: object = {}): Promise<Readonly<Record<string, unknown>>> {
    const response = await this.fetch('/graphql', { method: 'POST', body: JSON.stringify({ query, variables }) });
    const { data, errors } = (await response.json()) as {
      readonly data?: Readonly<Record<string, unknown>>;
      readonly errors?: readonly { readonly message: string }[];
    }; // GraphQL over HTTP, section 6.4, requires one of the two
    if (data === undefined || errors !== undefined) throw new Error(errors?.[0]?.message ?? `HTTP ${response.status}`);
    return data;
  }

  async start({ agent, ...chat }: ChatInput): Promise<string> {
    const selection = agent === undefined ? {} : { agent: agent === 'auto' ? { auto: true } : { id: agent } };
    const { startChat } = (await this.graphql(START, { input: { ...chat, ...selection } })) as {
      readonly startChat: {
        readonly jobId: string | null;
        readonly userErrors: readonly { readonly message: string }[];
      };
    }; // the query selects it
    if (startChat.jobId === null) throw new Error(startChat.userErrors[0]?.message ?? 'The job was not started.');
    return startChat.jobId;
  }

  async startWorkflow({ definition, ...input }: WorkflowInput): Promise<string> {
    const { workflow } = await this.changed(IMPORT, { input: { definition } });
    const { id: workflowId = '' } = workflow ?? {};
    await this.changed(PUBLISH, { id: workflowId });
    const { jobId } = await this.changed(START_WORKFLOW, { input: { workflowId, ...input } });
    return jobId ?? '';
  }

  async runWorkflow(input: WorkflowInput): Promise<FinishedJob> {
    return this.finished(await this.startWorkflow(input));
  }

  /** The payload of a mutation; rejects with its errors. */
  private async changed(mutation: string, variables: object): Promise<Payload> {
    const [payload] = Object.values(await this.graphql(mutation, variables)) as readonly Payload[]; // the mutations select it
    if (payload === undefined) throw new Error('The response is empty.');
    const [error] = payload.userErrors;
    if (error !== undefined) throw new Error([error.message, ...error.issues].join('\n'));
    return payload;
  }

  async finished(jobId: string): Promise<FinishedJob> {
    const response = await this.fetch(`/api/jobs/${jobId}/stream`, { headers: { 'last-event-id': '0' } });
    const events = (await response.text()).split('\n\n').flatMap(toEvent);
    const status = (await (await this.fetch(`/api/jobs/${jobId}/status`)).json()) as {
      readonly job_status: string;
      readonly content?: string;
    }; // docs/clients.md describes the response
    return { jobId, status: status.job_status, text: status.content ?? '', events };
  }

  async run(input: ChatInput): Promise<FinishedJob> {
    return this.finished(await this.start(input));
  }

  private async fetch(
    path: string,
    init: {
      readonly method?: string;
      readonly body?: string;
      readonly headers?: Readonly<Record<string, string>>;
    } = {},
  ): Promise<Response> {
    const headers = { authorization: `Bearer ${this.key}`, 'content-type': 'application/json', ...init.headers };
    return fetch(`${this.url}${path}`, { ...init, headers });
  }
}

/** A frame of server-sent events (HTML Standard, section 9.2); comments have no data. */
function toEvent(frame: string): readonly RecordedEvent[] {
  const fieldOf = (name: string) =>
    frame
      .split('\n')
      .find((line) => line.startsWith(`${name}:`))
      ?.slice(name.length + 1)
      .trim();
  const [id, type, data] = [fieldOf('id'), fieldOf('event'), fieldOf('data')];
  if (id === undefined || type === undefined || data === undefined) return [];
  return [{ seq: Number(id), type, body: JSON.parse(data) as RecordedEvent['body'] }];
}
