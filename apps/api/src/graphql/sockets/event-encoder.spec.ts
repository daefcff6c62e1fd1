import { beforeAll, describe, expect, it } from '@jest/globals';
import { NestFactory } from '@nestjs/core';
import { GraphQLSchemaBuilderModule, GraphQLSchemaFactory } from '@nestjs/graphql';
import { execute, type GraphQLSchema, isObjectType, isUnionType, Kind } from 'graphql';

import { type FeedItem, type JobEvent, type JobSnapshot, type NewJobEvent } from '#jobs';

import { toJobEventModels } from '../../jobs/to-job-event-model.js';
import { DocumentCache } from '../documents/document-cache.js';
import { argsOf, type PreparedOperation } from '../documents/graphql-executor.js';
import { graphqlResolvers } from '../graphql.module.js';
import type { GraphqlContext } from '../graphql-context.js';
import { encoderOf } from './event-encoder.js';

const usage = { promptTokens: 1, completionTokens: 2, totalTokens: 3 };
const call = { id: 'call_1', name: 'calculate', status: 'complete', args: '{"a":"\\u2028\\""}', result: '42' } as const;
const nodeRun = { nodeRunId: 'j:1', nodeId: 'a', label: 'A', type: 'agent', path: [] };
const route = {
  selectedRoute: 'route-1',
  selectedNodeId: 'b',
  selectedName: 'B',
  reasoning: 'because',
  fallbackUsed: true,
};
const bodies: readonly NewJobEvent[] = [
  { type: 'job-queued', body: { kind: 'chat', threadId: 't', messageId: null, queuePosition: 2 } },
  { type: 'job-started', body: { epoch: 1 } },
  { type: 'job-queued', body: { kind: 'workflow', threadId: null, messageId: null, workflowId: 'w' } },
  {
    type: 'agent-selected',
    body: { agent: 'a', version: 2, name: 'Ada', slug: 'ada', reasoning: '', fallback: false },
  },
  { type: 'round-started', body: { round: 1, model: 'm' } },
  { type: 'round-started', body: { round: 1, model: 'm', nodeId: 'a' } },
  { type: 'text-delta', body: { round: 1, offset: 0, text: 'Grüße 🌍 "\n\u2028' } },
  { type: 'reasoning-delta', body: { round: 1, offset: 0, text: '' } },
  { type: 'text-delta', body: { round: 2, text: 'aside', nodeId: 'a', branchId: 'b' } },
  { type: 'reasoning-delta', body: { round: 2, offset: 3, text: 'why', nodeId: 'a' } },
  { type: 'round-restarted', body: { round: 1, reason: 'x', contentLength: 0, reasoningLength: 0 } },
  { type: 'round-finished', body: { round: 1, finishReason: 'stop', usage, toolCallIds: ['call_1'] } },
  { type: 'tool-call', body: { round: 1, internalStatus: 'pending', call: { ...call, status: 'pending' } } },
  { type: 'tool-call-updated', body: { round: 1, internalStatus: 'completed', call, nodeId: 'a' } },
  {
    type: 'tool-call-updated',
    body: { round: 1, internalStatus: 'error', call: { ...call, status: 'error', error: 'no' } },
  },
  { type: 'tool-progress', body: { callId: 'call_1', seqInCall: 1, progress: 0.5, total: 2, message: 'half' } },
  { type: 'tool-progress', body: { callId: 'call_1', seqInCall: 2 } },
  {
    type: 'interrupt-opened',
    body: {
      interruptId: 'i',
      kind: 'tool_approval',
      callId: 'call_1',
      title: 'Run it',
      expiresAt: 1_700_000_000_000,
      request: { tool: 'it', list: [1, null] },
    },
  },
  {
    type: 'interrupt-opened',
    body: { interruptId: 'i', kind: 'human_input', nodeId: 'n', title: 'Go?', expiresAt: null, request: {} },
  },
  { type: 'interrupt-reminder', body: { interruptId: 'i', kind: 'client_tool', title: 't', expiresAt: 5 } },
  {
    type: 'interrupt-resolved',
    body: { interruptId: 'i', outcome: 'approved', decidedBy: 'user:u', decidedAt: 1_700_000_000_000 },
  },
  { type: 'interrupt-resolved', body: { interruptId: 'i', outcome: 'expired', decidedAt: 5 } },
  { type: 'job-waiting', body: { interruptIds: ['i'] } },
  { type: 'job-requeued', body: { reason: 'x' } },
  { type: 'node-started', body: nodeRun },
  { type: 'node-started', body: { ...nodeRun, path: ['sf', 'loop'], iteration: 2 } },
  { type: 'node-finished', body: { ...nodeRun, status: 'completed', output: 'o', tokenCount: 3, route } },
  {
    type: 'node-finished',
    body: { ...nodeRun, status: 'error', output: '', error: { code: 'TIMEOUT', message: 'late' } },
  },
  { type: 'branch-started', body: { nodeId: 'p', branchId: 'b', label: 'B' } },
  { type: 'branch-finished', body: { nodeId: 'p', branchId: 'b', label: 'B', status: 'completed', output: 'o' } },
  {
    type: 'branch-finished',
    body: { nodeId: 'p', branchId: 'b', label: 'B', status: 'error', output: '', error: 'late' },
  },
  {
    type: 'route-selected',
    body: { nodeId: 'r', routeId: 'route-1', name: 'Sales', reasoning: 'money', fallbackUsed: false },
  },
  { type: 'loop-iteration', body: { nodeId: 'l', iteration: 1, maxIterations: 10 } },
  { type: 'warning', body: { code: 'c', text: 't' } },
  { type: 'warning', body: { code: 'c', text: 't', nodeId: 'a' } },
  { type: 'job-cancel-requested', body: { by: 'system', reason: 'x' } },
  {
    type: 'job-finished',
    body: {
      status: 'failed',
      reason: 'x',
      error: { code: 'c', message: 'm' },
      content_length: 1,
      usage,
      durationMs: 1,
      toolCalls: 1,
      rounds: 1,
    },
  },
];
const snapshot = {
  ...{
    jobId: 'j',
    kind: 'chat',
    status: 'running',
    seq: 7,
    ended: false,
    attempt: 0,
    threadId: null,
    messageId: null,
    model: 'm',
  },
  ...{
    startedAt: 0,
    completedAt: null,
    error: null,
    reason: null,
    content: 'c',
    reasoning: 'r',
    usage: { promptTokens: 1, completionTokens: 1, estimated: false },
  },
  rounds: [
    {
      ...{ number: 1, text: 'c', reasoning: '', finishReason: 'stop' },
      usage: { promptTokens: 1, completionTokens: 1, estimated: false },
    },
  ],
  calls: [
    {
      ...{ round: 1, ordinal: 1, callId: 'x', name: 'n', arguments: '{}', status: 'completed', result: 'ok' },
      ...{ error: null, byClient: false },
    },
  ],
  interrupts: [
    { id: 'i', kind: 'client_tool', callId: 'x', nodeId: null, title: 't', request: { a: [1] }, expiresAt: 5 },
  ],
} as const satisfies JobSnapshot;
const items: readonly FeedItem[] = [
  { type: 'snapshot', snapshot, reset: true },
  {
    type: 'events',
    events: bodies.map((body, i): JobEvent => ({
      ...body,
      seq: i + 1,
      jobId: 'j',
      at: 1_700_000_000_000 + i,
      attempt: 0,
    })),
  },
];
const models = items.flatMap(toJobEventModels);

let schema: GraphQLSchema;
let cache: DocumentCache;

beforeAll(async () => {
  const app = await NestFactory.createApplicationContext(GraphQLSchemaBuilderModule, { logger: false });
  schema = await app.get(GraphQLSchemaFactory).create([...graphqlResolvers]);
  cache = new DocumentCache(schema);
  await app.close();
});

function prepare(query: string, variables: Record<string, unknown>): PreparedOperation {
  const valid = cache.get(query);
  if (!('document' in valid)) throw new Error(valid[0]?.message);
  const [operation] = valid.document.definitions;
  if (operation?.kind !== Kind.OPERATION_DEFINITION) throw new Error('the operation comes first');
  return {
    schema,
    valid,
    document: valid.document,
    operation,
    request: { query, operationName: undefined, variables },
  };
}

/** Everything of every member of the union. */
function wholeSelection(): string {
  const union = schema.getType('JobEvent');
  if (!isUnionType(union)) throw new Error('JobEvent is a union');
  const parts = union.getTypes().map((type) => {
    const fields = Object.values(type.getFields()).map((field) => {
      const text = String(field.type).replaceAll(/[![\]]/g, '');
      const named = schema.getType(text);
      const inner = isObjectType(named) ? ` { ${Object.keys(named.getFields()).join(' ')} }` : '';
      return `${type.name}_${field.name}: ${field.name}${inner}`;
    });
    return `... on ${type.name} { ${fields.slice(0, 2).join(' ')} ${fields
      .slice(2)
      .join(' ')
      .replaceAll(/\w+_\w+: /g, '')} }`;
  });
  return parts.join(' ');
}

const documents = () => [
  'subscription($jobId: ID!) { jobEvents(jobId: $jobId) { __typename } }',
  'subscription($jobId: ID!) { e: jobEvents(jobId: $jobId) { ... on JobEventEntry { n: seq at ... on TextDeltaEvent { text } } } }',
  'subscription($jobId: ID!) { jobEvents(jobId: $jobId) { ...F ...F ... on TextDeltaEvent { text round } } } fragment F on JobEventEntry { seq attempt }',
  'subscription($jobId: ID!, $no: Boolean!, $yes: Boolean!) { jobEvents(jobId: $jobId) { ... @include(if: $no) { __typename } ... on TextDeltaEvent { text @skip(if: $no) offset @skip(if: $yes) } } }',
  'subscription($jobId: ID!) { jobEvents(jobId: $jobId) { ... on ToolCallEvent { toolCall { name } } ... on ToolCallUpdatedEvent { toolCall { status } toolCall { result error } } } }',
];

describe('a compiled selection', () => {
  it('writes what execution gives, for every event and selection', async () => {
    const variables = { jobId: 'j', no: false, yes: true };
    const limited = wholeSelection().replaceAll(/\w+_\w+: /g, '');
    for (const query of [
      ...documents(),
      ...limited
        .split(/(?=\.\.\. on )/)
        .map((part) => `subscription($jobId: ID!) { jobEvents(jobId: $jobId) { __typename ${part} } }`),
    ]) {
      const prepared = prepare(query, variables);
      const encoder = encoderOf(prepared);
      for (const model of models) {
        const executed = await execute({ ...argsOf(prepared, {} as GraphqlContext), rootValue: { jobEvents: model } }); // plain data needs no context
        expect(executed.errors).toBeUndefined();
        expect(encoder?.encode(model)).toBe(JSON.stringify(executed));
      }
    }
  });

  it('is shared by viewers whose variables only choose the job', () => {
    const [query = ''] = documents();
    expect(encoderOf(prepare(query, { jobId: 'a' }))).toBe(encoderOf(prepare(query, { jobId: 'b' })));
  });

  it('is not shared when variables choose what is shown', () => {
    const query = documents()[3] ?? '';
    const one = encoderOf(prepare(query, { jobId: 'j', no: true, yes: true }));
    const other = encoderOf(prepare(query, { jobId: 'j', no: false, yes: false }));
    expect(one?.encode(models[4] ?? {})).not.toBe(other?.encode(models[4] ?? {}));
  });

  it('gives the same text for the same event, written once', () => {
    const encoder = encoderOf(prepare(documents()[1] ?? '', { jobId: 'j' }));
    const [, model = {}] = models;
    const text = encoder?.encode(model);
    expect(encoder?.encode(model)).toBe(text);
  });

  it('leaves to execution what does not fit its type', () => {
    const encoder = encoderOf(prepare(documents()[1] ?? '', { jobId: 'j' }));
    expect(encoder?.encode({ __typename: 'TextDeltaEvent', seq: null })).toBeNull();
    expect(encoder?.encode({ __typename: 'Unheard' })).toBeNull();
  });
});
