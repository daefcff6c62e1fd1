import { createClient } from 'graphql-ws';
import { z } from 'zod';

import type { OpenRequest } from './open-request.js';
import type { SampleEvent } from './sample-event.js';

const text = z.object({ __typename: z.literal('TextDeltaEvent'), text: z.string() });
const roundStarted = z.object({ __typename: z.literal('RoundStartedEvent'), round: z.number(), model: z.string() });
const roundFinished = z.object({ __typename: z.literal('RoundFinishedEvent'), round: z.number() });
const restarted = z.object({ __typename: z.literal('RoundRestartedEvent'), round: z.number() });
const call = z.object({
  __typename: z.enum(['ToolCallEvent', 'ToolCallUpdatedEvent']),
  toolCall: z.object({
    callId: z.string(),
    name: z.string(),
    status: z.string(),
    arguments: z.string(),
    result: z.string().nullable(),
    error: z.string().nullable(),
  }),
});
const jobWaiting = z.object({ __typename: z.literal('JobWaitingEvent') });
const finished = z.object({
  __typename: z.literal('JobFinishedEvent'),
  status: z.string(),
  reason: z.string(),
  error: z.object({ message: z.string() }).nullish(),
});
const known = z.discriminatedUnion('__typename', [
  text,
  roundStarted,
  roundFinished,
  restarted,
  call,
  jobWaiting,
  finished,
]);

const openStatuses = ['PENDING', 'RUNNING', 'AWAITING_APPROVAL', 'AWAITING_CLIENT'];

/** Parses an entry of `jobEvents`; null for an event that the sample does not show. Pure. */
export function toSampleEvent(entry: unknown): SampleEvent | null {
  const parsed = known.safeParse(entry);
  if (!parsed.success) return null;
  const event = parsed.data;
  switch (event.__typename) {
    case 'TextDeltaEvent':
      return { type: 'text', text: event.text };
    case 'RoundStartedEvent':
      return { type: 'round-started', round: event.round, model: event.model };
    case 'RoundFinishedEvent':
      return { type: 'round-finished', round: event.round };
    case 'RoundRestartedEvent':
      return { type: 'round-restarted', round: event.round };
    case 'ToolCallEvent':
    case 'ToolCallUpdatedEvent': {
      const { callId: id, name, status, arguments: args, result, error } = event.toolCall;
      const isSettled = !openStatuses.includes(status);
      return { type: 'tool-call', id, name, isSettled, args, outcome: result ?? error ?? status.toLowerCase() };
    }
    case 'JobWaitingEvent':
      return { type: 'waiting' };
    case 'JobFinishedEvent':
      return {
        type: 'finished',
        status: event.status.toLowerCase(),
        reason: event.error?.message ?? event.reason,
      };
    default:
      return event satisfies never;
  }
}

/** The message of the sample, and its options. */
export interface SampleQuestion {
  /** The client's id of the assistant message, by which a later start finds the job. */
  readonly name: string;
  readonly text: string;
  readonly tools: readonly string[];
}

const START = `mutation Start($input: StartChatInput!) {
  startChat(input: $input) { jobId userErrors { code message } }
}`;

const WAITING = `query { jobs(first: 100, filter: { status: { eq: WAITING } }) { nodes { id messageClientId } } }`;

const REQUESTS = `query Requests($jobId: ID!) {
  job(id: $jobId) { interrupts { id title request mayDecide } }
}`;

const FOLLOW = `subscription Follow($jobId: ID!) {
  jobEvents(jobId: $jobId, after: 0) {
    __typename
    ... on RoundStartedEvent { round model }
    ... on RoundFinishedEvent { round }
    ... on RoundRestartedEvent { round }
    ... on TextDeltaEvent { text }
    ... on ToolCallEvent { toolCall { callId name status arguments result error } }
    ... on ToolCallUpdatedEvent { toolCall { callId name status arguments result error } }
    ... on JobFinishedEvent { status reason error { message } }
  }
}`;

const failures = z.array(z.object({ message: z.string() })).optional();
const started = z.object({
  startChat: z.object({
    jobId: z.string().nullish(),
    userErrors: z.array(z.object({ code: z.string(), message: z.string() })),
  }),
});
const waiting = z.object({
  jobs: z.object({ nodes: z.array(z.object({ id: z.string(), messageClientId: z.string().nullable() })) }),
});
const requests = z.object({
  job: z.object({
    interrupts: z.array(
      z.object({
        id: z.string(),
        title: z.string(),
        request: z.looseObject({
          argumentsPreview: z.string().nullish(),
          reason: z.string().nullish(),
          argumentsHash: z.string().nullish(),
          approvable: z.boolean().nullish(),
        }),
        mayDecide: z.boolean(),
      }),
    ),
  }),
});

/** A client of the public GraphQL API, without any special access. */
export class JobClient {
  /** `url` is the base URL of the api, `apiKey` the whole key. */
  constructor(
    private readonly url: string,
    private readonly apiKey: string,
  ) {}

  /** Starts a job in a new thread and returns its id. Rejects with the reason if the start is refused. */
  async startChat({ name, text, tools }: SampleQuestion, signal: AbortSignal): Promise<string> {
    const variables = { input: { message: text, tools, clientMessageId: name } };
    const { jobId, userErrors } = (await this.ask(started, { query: START, variables, signal })).startChat;
    const [problem] = userErrors;
    if (problem !== undefined) throw new Error(problem.message);
    if (jobId == null) throw new Error('The API returned no job and no error.');
    return jobId;
  }

  /** Finds a job with this name that waits for a person; null: there is none. */
  async findWaiting(name: string, signal: AbortSignal): Promise<string | null> {
    const { nodes } = (await this.ask(waiting, { query: WAITING, signal })).jobs;
    return nodes.find(({ messageClientId }) => messageClientId === name)?.id ?? null;
  }

  /** The requests that a job waits for now. */
  async openRequests(jobId: string, signal: AbortSignal): Promise<readonly OpenRequest[]> {
    const { job } = await this.ask(requests, { query: REQUESTS, variables: { jobId }, signal });
    return job.interrupts.map(({ id, title, request, mayDecide }) => ({
      ...{ id, title, mayDecide },
      preview: request.argumentsPreview ?? null,
      reason: request.reason ?? null,
      argumentsHash: request.approvable === true ? (request.argumentsHash ?? null) : null,
    }));
  }

  /** Yields all events of the job until it ends. Returns normally on abort; rejects when the socket closes. */
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

  private async ask<T>(
    shape: z.ZodType<T>,
    { signal, ...body }: { readonly query: string; readonly variables?: object; readonly signal: AbortSignal },
  ): Promise<T> {
    const response = await fetch(`${this.url}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${this.apiKey}` },
      body: JSON.stringify(body),
      signal,
    });
    const reply = z.object({ data: shape.nullish(), errors: failures }).safeParse(await response.json());
    if (!reply.success) throw new Error(`The API responded with HTTP status ${response.status} in an unknown format.`);
    const { data, errors = [] } = reply.data;
    if (errors[0] !== undefined) throw new Error(errors[0].message);
    if (data == null) throw new Error(`The API responded with HTTP status ${response.status} without data.`);
    return data;
  }
}

/** graphql-ws rejects with close events and with lists of GraphQL errors. */
function toError(cause: unknown): Error {
  if (cause instanceof Error) return cause;
  const first: unknown = Array.isArray(cause) ? cause[0] : cause;
  if (first instanceof Error) return first;
  const known = z.object({ code: z.number(), reason: z.string() }).safeParse(first);
  const failure = z.object({ message: z.string() }).safeParse(first);
  if (failure.success && failure.data.message !== '') return new Error(failure.data.message, { cause });
  const why = known.success ? ` (${known.data.code} ${known.data.reason})` : '';
  return new Error(`The connection to the API was closed${why}.`, { cause });
}
