import { type Client, createClient } from 'graphql-ws';
import { Agent, type Dispatcher } from 'undici';
import { WebSocket } from 'ws';

import type { JobClient, JobTimes } from '../measure/load.js';
import type { Nightshift } from '../stack/nightshift.js';

const START = `mutation Start($input: StartChatInput!) {
  startChat(input: $input) { jobId userErrors { code message } }
}`;

const FOLLOW = `subscription Follow($jobId: ID!) {
  jobEvents(jobId: $jobId, after: 0) {
    __typename
    ... on TextDeltaEvent { seq text }
    ... on ToolCallUpdatedEvent { seq toolCall { name status result } }
    ... on JobFinishedEvent { seq status reason }
  }
}`;

const body = (input: object) => JSON.stringify({ query: START, variables: { input } });
const startBody = body({ message: 'What is 6 * 7? Tell me a long story about it.', tools: ['calculate'] });

interface StartReply {
  readonly data?: {
    readonly startChat: { readonly jobId: string | null; readonly userErrors: readonly { readonly message: string }[] };
  };
  readonly errors?: readonly { readonly message: string }[];
}

interface FollowedEvent {
  readonly __typename: string;
  readonly text?: string;
  readonly status?: string;
}

/**
 * Runs jobs through the public API, as any client does: a GraphQL mutation over a kept HTTP connection, then a
 * subscription that receives the deltas and the end. Clients are used again: each has one socket for all its subscriptions.
 */
export class GraphqlClient implements JobClient {
  private readonly agent = new Agent({ pipelining: 1, connections: null });
  private readonly idle: Client[] = [];
  private readonly clients: Client[] = [];

  /** `textLength`: how much text has to arrive; less is a failure. */
  constructor(
    private readonly nightshift: Nightshift,
    private readonly textLength: number,
  ) {}

  async run(): Promise<JobTimes> {
    const client = this.idle.pop() ?? this.connect();
    const startedAt = performance.now();
    const jobId = await this.start();
    const { firstDeltaAt, length } = await follow(client, jobId);
    if (length !== this.textLength) throw new Error(`${length} of ${this.textLength} characters arrived`);
    this.idle.push(client);
    return { firstDeltaMs: firstDeltaAt - startedAt, totalMs: performance.now() - startedAt };
  }

  /** Only the mutation: resolves when the job is accepted. */
  async start(): Promise<string> {
    const { body: reply } = await this.agent.request(this.request());
    const { data, errors } = (await reply.json()) as StartReply; // by the schema; anything else fails below
    const problem = [...(errors ?? []), ...(data?.startChat.userErrors ?? [])][0];
    if (problem !== undefined) throw new Error(problem.message);
    if (data?.startChat.jobId == null) throw new Error('no job was started');
    return data.startChat.jobId;
  }

  async close(): Promise<void> {
    for (const client of this.clients) await client.dispose();
    await this.agent.close();
  }

  private request(): Dispatcher.RequestOptions {
    const authorization = `Bearer ${this.nightshift.workspace.apiKey}`;
    const headers = { 'content-type': 'application/json', authorization };
    return { origin: this.nightshift.url, path: '/graphql', method: 'POST', headers, body: startBody };
  }

  private connect(): Client {
    const client = createClient({
      url: `${this.nightshift.url.replace(/^http/, 'ws')}/graphql`,
      webSocketImpl: WebSocket,
      connectionParams: { authorization: `Bearer ${this.nightshift.workspace.apiKey}` },
      retryAttempts: 0,
      lazyCloseTimeout: 60_000,
    });
    this.clients.push(client);
    return client;
  }
}

async function follow(client: Client, jobId: string): Promise<{ firstDeltaAt: number; length: number }> {
  let firstDeltaAt = 0;
  let length = 0;
  let end: string | undefined;
  await new Promise<void>((resolve, reject) => {
    client.subscribe<{ jobEvents: FollowedEvent }>(
      { query: FOLLOW, variables: { jobId } },
      {
        next: ({ data, errors }) => {
          if (errors !== undefined) reject(new Error(errors[0]?.message));
          const event = data?.jobEvents;
          if (event?.__typename === 'JobFinishedEvent') end = event.status;
          if (event?.__typename !== 'TextDeltaEvent') return;
          if (firstDeltaAt === 0) firstDeltaAt = performance.now();
          length += event.text?.length ?? 0;
        },
        error: (error) => {
          reject(error instanceof Error ? error : new Error(JSON.stringify(error)));
        },
        complete: resolve,
      },
    );
  });
  if (end !== 'COMPLETED') throw new Error(`the job ended as ${end ?? 'nothing'}`);
  return { firstDeltaAt, length };
}
