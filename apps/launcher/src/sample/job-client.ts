import { createClient } from 'graphql-ws';
import { z } from 'zod';

import type { SampleEvent } from './sample-event.js';
import { toSampleEvent } from './to-sample-event.js';

/** What the sample wants to be answered. */
export interface SampleQuestion {
  readonly text: string;
  readonly tools: readonly string[];
}

const START = `mutation Start($input: StartChatInput!) {
  startChat(input: $input) { jobId userErrors { code message } }
}`;

const FOLLOW = `subscription Follow($jobId: ID!) {
  jobEvents(jobId: $jobId, after: 0) {
    __typename
    ... on RoundStartedEvent { round model }
    ... on RoundRestartedEvent { round }
    ... on TextDeltaEvent { text }
    ... on ToolCallEvent { toolCall { callId name status arguments result error } }
    ... on ToolCallUpdatedEvent { toolCall { callId name status arguments result error } }
    ... on JobFinishedEvent { status reason error { message } }
  }
}`;

const startReply = z.object({
  data: z
    .object({
      startChat: z.object({
        jobId: z.string().nullish(),
        userErrors: z.array(z.object({ code: z.string(), message: z.string() })),
      }),
    })
    .nullish(),
  errors: z.array(z.object({ message: z.string() })).optional(),
});

/** A client of the public GraphQL API, with nothing that any other client does not have. */
export class JobClient {
  /** `url` is the api's base, `apiKey` the whole key. */
  constructor(
    private readonly url: string,
    private readonly apiKey: string,
  ) {}

  /** Starts a job in a new thread and returns its id. Rejects with the reason when it is refused. */
  async startChat({ text, tools }: SampleQuestion, signal: AbortSignal): Promise<string> {
    const response = await fetch(`${this.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${this.apiKey}` },
      body: JSON.stringify({ query: START, variables: { input: { message: text, tools } } }),
      signal,
    });
    const reply = startReply.safeParse(await response.json());
    if (!reply.success) throw new Error(`The api answered ${response.status} in a shape this client does not know.`);
    const { data, errors = [] } = reply.data;
    const problem = [...errors, ...(data?.startChat.userErrors ?? [])][0];
    if (problem !== undefined) throw new Error(problem.message);
    if (data?.startChat.jobId == null) throw new Error('The api started no job and did not say why.');
    return data.startChat.jobId;
  }

  /** The job's events from its first on, until it ends. Stops without a word on abort; rejects when the socket closes. */
  async *follow(jobId: string, signal: AbortSignal): AsyncGenerator<SampleEvent> {
    const client = createClient({
      url: `${this.url.replace(/^http/, 'ws')}/graphql`,
      connectionParams: { authorization: `Bearer ${this.apiKey}` },
      retryAttempts: 0,
    });
    const leave = () => void client.dispose();
    signal.addEventListener('abort', leave, { once: true });
    try {
      for await (const { data, errors } of client.iterate({ query: FOLLOW, variables: { jobId } })) {
        if (errors?.[0] !== undefined) throw new Error(errors[0].message);
        const event = toSampleEvent(data?.['jobEvents']);
        if (event !== null) yield event;
      }
    } catch (error) {
      if (!signal.aborted) throw toError(error);
    } finally {
      signal.removeEventListener('abort', leave);
      await client.dispose();
    }
  }
}

/** graphql-ws rejects with close events and with lists of GraphQL errors. */
function toError(cause: unknown): Error {
  if (cause instanceof Error) return cause;
  const first: unknown = Array.isArray(cause) ? cause[0] : cause;
  if (first instanceof Error) return first;
  const known = z.object({ code: z.number(), reason: z.string() }).safeParse(first);
  const said = z.object({ message: z.string() }).safeParse(first);
  if (said.success && said.data.message !== '') return new Error(said.data.message, { cause });
  const why = known.success ? ` (${known.data.code} ${known.data.reason})` : '';
  return new Error(`The connection to the api was closed${why}.`, { cause });
}
