import { toJobEventModels } from '../../apps/api/src/jobs/job-events.resolver.js';
import type { FeedItem, JobEvent, JobSnapshot, NewJobEvent } from '../../libs/jobs/src/index.js';

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
    type: 'hook-applied',
    body: { hook: 'h', on: 'beforeToolCall', what: ['deny'], reason: '', round: 1, callId: 'c' },
  },
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
  { type: 'node-progress', body: { nodeRunId: 'j:1', nodeId: 'a', progress: 1, total: 2, message: 'half' } },
  { type: 'node-progress', body: { nodeRunId: 'j:1', nodeId: 'a' } },
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
    labels: {},
    roundCount: 1,
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
/** What subscribers of a job's events get: at least one event of every type, and a snapshot. */
export const eventModels: readonly object[] = items.flatMap(toJobEventModels);
