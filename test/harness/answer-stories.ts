import { isTerminal, type JobEvent, type JobSnapshot, type NewJobEvent, statusAfter, type ToolCallItem } from '#jobs';

/** A call of a story: the statuses it passes through, and its result or error. */
export interface StoryCall {
  readonly id: string;
  readonly name: string;
  readonly args: string;
  readonly statuses: readonly string[];
  readonly result?: string;
  readonly error?: string;
}

/** A round of a story: its text, in pieces; each attempt but the last is withdrawn. */
export interface StoryRound {
  readonly attempts: readonly (readonly string[])[];
  readonly calls: readonly StoryCall[];
  readonly finishReason?: string;
}

const usage = { promptTokens: 10, completionTokens: 5, totalTokens: 15 };
const wire: Readonly<Record<string, ToolCallItem['status']>> = {
  running: 'loading',
  completed: 'complete',
  error: 'error',
  timed_out: 'error',
  interrupted: 'error',
  denied: 'skipped',
  skipped: 'skipped',
  cancelled: 'skipped',
};

function itemOf({ id, name, args, result, error }: StoryCall, status: string): ToolCallItem {
  const isSettled = !['pending', 'awaiting_approval', 'awaiting_client', 'running'].includes(status);
  return {
    id,
    name,
    args,
    status: wire[status] ?? 'pending',
    ...(status === 'completed' && result !== undefined ? { result } : {}),
    ...(isSettled && status !== 'completed' && error !== undefined ? { error } : {}),
  };
}

/** The events that a chat job with these rounds writes; the calls of a round run one after another. */
export function buildStory(rounds: readonly StoryRound[]): readonly NewJobEvent[] {
  let offset = 0;
  const events = rounds.flatMap(({ attempts, calls, finishReason }, index): readonly NewJobEvent[] => {
    const round = index + 1;
    const from = offset;
    const texts = attempts.flatMap((pieces, attempt): readonly NewJobEvent[] => {
      offset = from;
      const deltas = pieces.map((text): NewJobEvent => {
        offset += text.length;
        return { type: 'text-delta', body: { round, offset: offset - text.length, text } };
      });
      const body = { round, reason: 'provider_error', contentLength: from, reasoningLength: 0 };
      return attempt === 0 ? deltas : [{ type: 'round-restarted', body }, ...deltas];
    });
    const toolCallIds = calls.map(({ id }) => id);
    const reason = finishReason ?? (calls.length > 0 ? 'tool_calls' : 'stop');
    const steps = calls.flatMap((call) =>
      call.statuses.slice(1).map((status): NewJobEvent => {
        return { type: 'tool-call-updated', body: { round, internalStatus: status, call: itemOf(call, status) } };
      }),
    );
    const asked = calls.map((call): NewJobEvent => {
      const status = call.statuses[0] ?? 'pending';
      return { type: 'tool-call', body: { round, internalStatus: status, call: itemOf(call, status) } };
    });
    const finished: NewJobEvent = { type: 'round-finished', body: { round, finishReason: reason, usage, toolCallIds } };
    return [...texts, finished, ...asked, ...steps];
  });
  return [{ type: 'job-started', body: { epoch: 1 } }, ...events];
}

export const completed: NewJobEvent = finishedAs('completed', 'stop');

export function finishedAs(status: 'completed' | 'failed' | 'cancelled', reason: string): NewJobEvent {
  const body = { status, reason, content_length: 0, usage, durationMs: 1, toolCalls: 0, rounds: 1 };
  return { type: 'job-finished', body };
}

/** Numbers them as a log does. */
export function asLog(events: readonly NewJobEvent[], after = 0): readonly JobEvent[] {
  return events.map((event, i) => ({ ...event, seq: after + i + 1, jobId: 'j', at: 0, attempt: 0 }));
}

/** The snapshot of a chat job after these events of its log. */
export function snapshotAfter(events: readonly JobEvent[]): JobSnapshot {
  const { rounds, open } = roundsOf(events);
  const interrupts = interruptsOf(events);
  const clients = new Set(
    events.flatMap((event) =>
      event.type === 'interrupt-opened' && event.body.kind === 'client_tool' ? [event.body.callId] : [],
    ),
  );
  const end = events.find((event) => event.type === 'job-finished');
  const status = events.reduce<JobSnapshot['status']>((before, event) => statusAfter(event) ?? before, 'queued');
  return {
    ...{ jobId: 'j', kind: 'chat', status, seq: events.at(-1)?.seq ?? 0, attempt: 0, threadId: null, messageId: null },
    ...{ model: 'm', startedAt: 0, completedAt: null, error: null, reasoning: '', rounds, interrupts },
    reason: end?.body.reason ?? null,
    ended: isTerminal(status),
    usage: usageAfter(events),
    labels: {},
    roundCount: rounds.length,
    content: rounds.map(({ text }) => text).join('') + open,
    calls: callsOf(events).map((call) => ({ ...call, byClient: clients.has(call.callId) })),
  };
}

/** The usage of the rounds and of the choice of an agent. */
function usageAfter(events: readonly JobEvent[]): JobSnapshot['usage'] {
  const bodies = events.flatMap((event) =>
    event.type === 'round-finished' || event.type === 'agent-selected' ? [event.body] : [],
  );
  const total = (member: 'promptTokens' | 'completionTokens') =>
    bodies.reduce((sum, { usage: cost }) => sum + (cost?.[member] ?? 0), 0);
  return {
    promptTokens: total('promptTokens'),
    completionTokens: total('completionTokens'),
    estimated: bodies.some(({ usageEstimated }) => usageEstimated === true),
  };
}

/** The rounds that are complete, and the text of the open one. */
function roundsOf(events: readonly JobEvent[]) {
  const rounds: JobSnapshot['rounds'][number][] = [];
  let open = '';
  for (const event of events) {
    if (event.type === 'text-delta') open += event.body.text;
    if (event.type === 'round-restarted') open = '';
    if (event.type !== 'round-finished') continue;
    const { round: number, finishReason, usage: cost, usageEstimated: estimated = false } = event.body;
    const { promptTokens, completionTokens } = cost;
    const closed = { number, text: open, reasoning: '', finishReason };
    rounds.push({ ...closed, usage: { promptTokens, completionTokens, estimated } });
    open = '';
  }
  return { rounds, open };
}

function callsOf(events: readonly JobEvent[]): readonly Omit<JobSnapshot['calls'][number], 'byClient'>[] {
  const calls = new Map<string, Omit<JobSnapshot['calls'][number], 'byClient'>>();
  for (const { type, body } of events) {
    if (type !== 'tool-call' && type !== 'tool-call-updated') continue;
    const { round, call, internalStatus: status } = body;
    const { id: callId, name, args, result = null } = call;
    const key = `${round}:${callId}`;
    const ordinal = calls.get(key)?.ordinal ?? calls.size + 1;
    const error = call.error === undefined ? null : { message: call.error };
    calls.set(key, { round, ordinal, callId, name, arguments: args, status, result, error });
  }
  return [...calls.values()];
}

function interruptsOf(events: readonly JobEvent[]): JobSnapshot['interrupts'] {
  const open = new Map<string, JobSnapshot['interrupts'][number]>();
  for (const { type, body } of events) {
    if (type === 'interrupt-resolved') open.delete(body.interruptId);
    if (type !== 'interrupt-opened') continue;
    const { interruptId: id, kind, callId = null, title, request, expiresAt } = body;
    open.set(id, { id, kind, callId, nodeId: null, title, request, expiresAt });
  }
  return [...open.values()];
}
