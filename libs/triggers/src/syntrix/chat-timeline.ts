import type { ChatMessage } from '#models';

import type { ChatDocuments, SyntrixDocument } from './syntrix-client.js';
import { instantOf, isSeconds, sha256 } from './syntrix-delivery.js';

/** The tool calls of one model round, in order. */
interface CallGroup {
  readonly type: 'calls';
  readonly calls: readonly SyntrixDocument[];
}

type Entry = { readonly type: 'message'; readonly message: SyntrixDocument } | CallGroup;

/** A chat in the order in which a model reads it, oldest first. */
export interface ChatTimeline {
  readonly entries: readonly Entry[];
  /** `createdAt` of the newest document, as it is stored. */
  readonly newest: unknown;
}

/** What is to be answered now. `skip`: nothing, for this reason. */
export type ChatTurn =
  { readonly type: 'answer'; readonly key: string } | { readonly type: 'skip'; readonly why: string };

export type CallScope = 'history' | 'turn';

/** What a model is asked. */
export interface ChatPrompt {
  readonly messages: readonly ChatMessage[];
  /** False: the limit of tool calls is reached. */
  readonly withTools: boolean;
}

/** Merges the documents of a chat by time, and groups the calls of one turn where its first call is. */
export function timelineOf({ messages, toolCalls }: ChatDocuments): ChatTimeline {
  const sorted = [
    ...messages.map((document) => ({ document, isCall: false })),
    ...toolCalls.map((document) => ({ document, isCall: true })),
  ].sort(byTime);
  const groups = Map.groupBy(
    sorted.filter(({ isCall }) => isCall).map(({ document }) => document),
    turnIdOf,
  );
  const entries = sorted.flatMap(({ document, isCall }): Entry[] => {
    if (!isCall) return [{ type: 'message', message: document }];
    const calls = groups.get(turnIdOf(document)) ?? [];
    return calls[0] === document ? [{ type: 'calls', calls }] : [];
  });
  return { entries, newest: sorted.at(-1)?.document['createdAt'] };
}

/**
 * The turn that is to be answered. `messageId`: the message that triggers the answer; null: a tool call does. System messages are not part of
 * a turn.
 */
export function turnOf(
  { entries }: ChatTimeline,
  { chatPath, messageId }: { readonly chatPath: string; readonly messageId: string | null },
): ChatTurn {
  const visible = entries.filter((entry) => entry.type === 'calls' || roleOf(entry.message) !== 'system');
  const last = visible.at(-1);
  const lastMessage = visible.findLast((entry) => entry.type === 'message')?.message;
  if (last === undefined) return skip('the chat has no messages');
  if (messageId !== null && lastMessage?.id !== messageId) return skip('the message is not the last one');
  if (last.type === 'message') {
    if (roleOf(last.message) !== 'user') return skip('the turn is answered');
    return unlessAnswered(entries, turnKey(chatPath, [last.message.id]));
  }
  const { calls } = last;
  if (calls.some(({ status }) => status !== 'success' && status !== 'failed')) return skip('a tool call is pending');
  const size = Math.max(...calls.map(({ turnSize }) => (typeof turnSize === 'number' ? turnSize : 1)));
  if (calls.length < size) return skip('tool calls of the turn are missing');
  const ids = calls.map(({ id }) => id).sort();
  return unlessAnswered(entries, turnKey(chatPath, ids));
}

/** The id of the message that answers a turn. */
export function replyId(key: string): string {
  return `msg_${sha256(key).slice(0, 32)}`;
}

/** The messages for the model. After more calls than allowed, they include a note about the limit, and the model gets no tools. */
export function promptOf(
  { entries }: ChatTimeline,
  options: {
    readonly systemPrompt: string | null;
    readonly maxToolCalls: number;
    readonly scope: CallScope;
  },
): ChatPrompt {
  const { systemPrompt, maxToolCalls, scope } = options;
  const lastUser = entries.findLastIndex((entry) => entry.type === 'message' && roleOf(entry.message) === 'user');
  const counted = scope === 'turn' ? entries.slice(lastUser + 1) : entries;
  const calls = counted.reduce((sum, entry) => sum + (entry.type === 'calls' ? entry.calls.length : 0), 0);
  const withTools = calls <= maxToolCalls;
  const messages: ChatMessage[] = [
    ...(systemPrompt === null ? [] : [{ role: 'system', content: systemPrompt } as const]),
    ...entries.flatMap(toMessages),
    ...(withTools ? [] : [{ role: 'system', content: 'Tool limit reached' } as const]),
  ];
  return { messages, withTools };
}

/**
 * `createdAt` for a document written after the newest one, in its unit: the answer comes before what was written while the model worked.
 * `now`: ms since the epoch, for a chat without times.
 */
export function nextCreatedAt(newest: unknown, index: number, now: number): number | string {
  if (isSeconds(newest)) return newest + (index + 1) / 1_000;
  const instant = instantOf(newest);
  if (instant === 0) return now + index;
  return typeof newest === 'string' ? new Date(instant + index + 1).toISOString() : instant + index + 1;
}

function unlessAnswered(entries: readonly Entry[], key: string): ChatTurn {
  const id = replyId(key);
  const isAnswered = entries.some((entry) => entry.type === 'message' && entry.message.id === id);
  return isAnswered ? skip('the turn is answered') : { type: 'answer', key };
}

function skip(why: string): ChatTurn {
  return { type: 'skip', why };
}

function turnKey(chatPath: string, ids: readonly string[]): string {
  return [chatPath, ...ids].join(' ');
}

function turnIdOf({ id, turnId }: SyntrixDocument): string {
  return typeof turnId === 'string' ? `turn ${turnId}` : `call ${id}`;
}

interface Placed {
  readonly document: SyntrixDocument;
  readonly isCall: boolean;
}

function byTime(a: Placed, b: Placed): number {
  const [at, bt] = [instantOf(a.document['createdAt']), instantOf(b.document['createdAt'])];
  if (at !== bt) return at - bt;
  const { index: ai } = a.document;
  const { index: bi } = b.document;
  if (typeof ai === 'number' && typeof bi === 'number' && ai !== bi) return ai - bi;
  if (a.isCall !== b.isCall) return a.isCall ? 1 : -1;
  return a.document.id < b.document.id ? -1 : 1;
}

function roleOf({ role }: SyntrixDocument): 'user' | 'assistant' | 'system' | null {
  return role === 'user' || role === 'assistant' || role === 'system' ? role : null;
}

function toMessages(entry: Entry): ChatMessage[] {
  if (entry.type === 'message') {
    const role = roleOf(entry.message);
    return role === null ? [] : [{ role, content: toText(entry.message['content']) }];
  }
  const calls = entry.calls.map(({ id, toolName, args }) => ({
    id,
    type: 'function' as const,
    function: { name: toText(toolName), arguments: typeof args === 'string' ? args : JSON.stringify(args ?? {}) },
  }));
  const results = entry.calls.map((call) => ({
    role: 'tool' as const,
    tool_call_id: call.id,
    content: resultOf(call),
  }));
  return [{ role: 'assistant', content: null, tool_calls: calls }, ...results];
}

/** A pending call here is older than the latest turn. */
function resultOf({ status, result, error }: SyntrixDocument): string {
  if (status === 'success') return toText(result);
  return status === 'failed' ? `Error: ${toText(error)}` : 'Error: tool did not finish';
}

function toText(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
