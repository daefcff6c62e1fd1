import type { JobEventOf } from '@nightshift/client';

import { formatDuration } from '../format/duration.js';
import { showArguments } from '../format/show-arguments.js';
import { oneLine } from '../terminal/plain-text.js';
import type { EventTable } from './event-table.js';
import { sayEdit, type ToolCallState } from './show-tool-call.js';

const MAX_LENGTH = 400;

function words(...parts: readonly (string | null | undefined)[]): string {
  return parts
    .map((part) => oneLine(part ?? ''))
    .filter((part) => part !== '')
    .map((part) => (part.length > MAX_LENGTH ? `${part.slice(0, MAX_LENGTH)}…` : part))
    .join(' · ');
}

type StreamedCall = Pick<ToolCallState, 'name' | 'arguments' | 'proposedArguments' | 'status' | 'result'> &
  Partial<Pick<ToolCallState, 'error'>>;

/** A call on one line: its arguments, the proposed ones if they differ, its status, and its error or result. */
export function sayCall({ name, arguments: args, status, error, result, ...call }: StreamedCall): string {
  return words(`${name}(${showArguments(args)})`, sayEdit(call), status.toLowerCase(), error ?? result);
}

const sayCallEvent = ({ toolCall }: JobEventOf<'ToolCallEvent' | 'ToolCallUpdatedEvent'>) => sayCall(toolCall);

/** The details of an event besides its name, on one line. */
export const sayEvent: EventTable<string> = {
  JobQueuedEvent: ({ queuePosition }) => (queuePosition === null ? '' : `number ${queuePosition} in its thread`),
  JobStartedEvent: ({ epoch }) => (epoch === 1 ? '' : `claim ${epoch}`),
  AgentSelectedEvent: ({ name, version, reasoning }) => words(name, `version ${version}`, reasoning),
  JobRequeuedEvent: ({ reason }) => words(reason),
  JobCancelRequestedEvent: ({ reason, by }) => words(reason, `by ${by}`),
  JobFinishedEvent: ({ status, error, reason, durationMs }) =>
    words(status.toLowerCase(), error?.message ?? reason, formatDuration(durationMs)),
  JobSnapshotEvent: ({ status, reset }) =>
    words(status.toLowerCase(), reset ? 'replaces events that are no longer stored' : ''),
  JobWarningEvent: ({ code, text }) => words(code, text),
  RoundStartedEvent: ({ round, model, nodeId }) => words(`round ${round}`, model, nodeId),
  RoundFinishedEvent: ({ round, finishReason, usage }) =>
    words(`round ${round}`, finishReason, `${usage.totalTokens} tokens`),
  ModelRetryEvent: ({ reason, delayMs, failures }) =>
    words(reason, `next attempt in ${formatDuration(delayMs)}`, failures === 0 ? '' : `failed ${failures} times`),
  RoundRestartedEvent: ({ round, reason, contentLength }) =>
    words(`round ${round}`, reason, `keeps the first ${contentLength} characters of the text`),
  ToolCallEvent: sayCallEvent,
  ToolCallUpdatedEvent: sayCallEvent,
  ToolProgressEvent: ({ progressOf, progress, total, message }) =>
    words(progressOf, progress === null ? '' : `${progress} of ${total ?? '?'}`, message),
  HookAppliedEvent: ({ hook, on, what, reason }) => words(hook, on, what.join(', '), reason),
  InterruptOpenedEvent: ({ kind, title, interruptId }) => words(kind.toLowerCase(), title, interruptId),
  InterruptReminderEvent: ({ kind, title, interruptId }) => words(kind.toLowerCase(), title, interruptId),
  InterruptResolvedEvent: ({ outcome, decidedBy, interruptId }) =>
    words(outcome, decidedBy === null ? '' : `by ${decidedBy}`, interruptId),
  NodeStartedEvent: ({ label, type, iteration }) => words(label, type, iteration === null ? '' : `pass ${iteration}`),
  NodeProgressEvent: ({ nodeId, progress, total, message }) =>
    words(nodeId, progress === null ? '' : `${progress} of ${total ?? '?'}`, message),
  NodeFinishedEvent: ({ label, nodeStatus, error, output }) =>
    words(label, nodeStatus.toLowerCase(), error?.message ?? output),
  BranchStartedEvent: ({ label }) => words(label),
  BranchFinishedEvent: ({ label, nodeStatus, failure, output }) =>
    words(label, nodeStatus.toLowerCase(), failure ?? output),
  RouteSelectedEvent: ({ name, reasoning }) => words(name, reasoning),
  LoopIterationEvent: ({ iteration, maxIterations }) => `${iteration ?? '?'} of at most ${maxIterations}`,
};
