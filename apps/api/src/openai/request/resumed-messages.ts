import type { AppliedRun } from '#chat';
import type { ChatMessage, MessageToolCall } from '#models';
import { canonicalJson, parseArguments } from '#tools';

import type { Continuation } from './continuation.js';

/**
 * The conversation of a request whose tool results an earlier run has already applied, completed by that run: it includes the rounds of
 * server tools, which clients do not see, so that the model does not call them again. `messages` are prepared.
 * Null: the conversation of the request differs from the run, for example because its history was edited. Pure.
 */
export function resumedMessages(
  messages: readonly ChatMessage[],
  { asked, done }: AppliedRun,
  { results, after }: Continuation,
): readonly ChatMessage[] | null {
  const keyOf = messageKeys();
  const run = [...asked, ...done];
  const common = commonLength(messages, run, keyOf);
  const rest = withoutLeadingSystem(run.slice(common.ofRun));
  const resultId = results[0]?.id;
  const isOfRun = run.some((message) => message.role === 'tool' && message.tool_call_id === resultId);
  if (!isOfRun || !startsWithCalls(rest) || !isViewOf(messages.slice(common.ofRequest), [...rest, ...after], keyOf))
    return null;
  const resumed = [...messages.slice(0, common.ofRequest), ...rest];
  const answered = resumed.findIndex((message) => message.role === 'tool' && message.tool_call_id === resultId);
  return [...resumed, ...newIn(after, resumed.slice(answered + 1), keyOf)];
}

/**
 * Whether the conversation of a request with results matches the run that waits for them, up to its open calls. A request with only
 * results matches any run. Pure.
 */
export function continuesRun(messages: readonly ChatMessage[], { asked, done }: AppliedRun): boolean {
  const open = messages.findLastIndex((message) => callsOf(message).length > 0);
  if (open === -1) return true;
  const before = messages.slice(0, open);
  const keyOf = messageKeys();
  const run = [...asked, ...done];
  const common = commonLength(before, run, keyOf);
  const rest = withoutLeadingSystem(run.slice(common.ofRun));
  return startsWithCalls(rest) && isViewOf(before.slice(common.ofRequest), rest, keyOf);
}

/** The length of the common prefix. System messages may differ, because clients put values such as the time into them. */
function commonLength(request: readonly ChatMessage[], run: readonly ChatMessage[], keyOf: MessageKeys) {
  let [ofRequest, ofRun] = [0, 0];
  for (let [i, j] = [0, 0]; ;) {
    const [ofClient, stored] = [request[i], run[j]];
    if (ofClient === undefined || stored === undefined) break;
    if (ofClient.role === 'system') i++;
    else if (stored.role === 'system') j++;
    else if (keyOf(ofClient) === keyOf(stored)) [ofRequest, ofRun] = [++i, ++j];
    else break;
  }
  while (request[ofRequest]?.role === 'system' && request[ofRequest + 1]?.role === 'assistant') ofRequest++;
  return { ofRequest, ofRun };
}

function withoutLeadingSystem(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const first = messages.findIndex(({ role }) => role !== 'system');
  return messages[first]?.role === 'assistant' ? messages.slice(first) : messages;
}

function startsWithCalls([first]: readonly ChatMessage[]): boolean {
  return first === undefined || callsOf(first).length > 0;
}

/** Whether the rest of a request is the client's view of `known`: its calls, and the user messages beside their results. */
function isViewOf(left: readonly ChatMessage[], known: readonly ChatMessage[], keyOf: MessageKeys): boolean {
  const calls = new Set(known.flatMap((message) => callsOf(message).map(identityOf)));
  const users = new Set(known.filter(({ role }) => role === 'user').map(keyOf));
  return left.every((message) => {
    if (message.role === 'assistant')
      return callsOf(message).length > 0 && callsOf(message).every((call) => calls.has(identityOf(call)));
    return message.role !== 'user' || users.has(keyOf(message));
  });
}

/** The part of `after` that the run has not read. */
function newIn(
  after: readonly ChatMessage[],
  known: readonly ChatMessage[],
  keyOf: MessageKeys,
): readonly ChatMessage[] {
  const keys = known.map(keyOf);
  let from = 0;
  const first = after.findIndex((message) => {
    const at = keys.indexOf(keyOf(message), from);
    from = at + 1;
    return at === -1;
  });
  return first === -1 ? [] : after.slice(first);
}

function callsOf(message: ChatMessage): readonly MessageToolCall[] {
  return message.role === 'assistant' ? (message.tool_calls ?? []) : [];
}

/** SDKs serialize arguments again, so they are compared by value. */
function identityOf({ id, function: { name, arguments: text } }: MessageToolCall): string {
  const parsed = parseArguments(text);
  return canonicalJson([id, name, parsed.ok ? parsed.value : text]);
}

/** Equal messages have equal keys. */
type MessageKeys = (message: ChatMessage) => string;

/** Serializes each message once: a comparison per pair would take quadratic time, and clients choose how many messages there are. */
function messageKeys(): MessageKeys {
  const keys = new Map<ChatMessage, string>();
  return (message) => {
    const known = keys.get(message);
    if (known !== undefined) return known;
    const key = canonicalJson(message);
    keys.set(message, key);
    return key;
  };
}
