import { Injectable } from '@nestjs/common';

import { JobUpdater, type LockedJob } from '#jobs';
import { defined, toStorableText } from '#platform';

import { type FilteredEnd, ResultHooks } from '../hooks/result-hooks.js';
import { toKeptResult } from '../to-kept-result.js';
import type { Settlement } from '../tool-call.js';
import { executionError } from '../validate-arguments.js';
import type { LockedCall } from './awaiting-calls.repository.js';
import { LateResponses } from './late-responses.js';
import type { ToolProgressMessage, ToolResponse } from './queue-message.js';
import { type CallFate, type QueueEnd, QueueSettler } from './queue-settler.js';
import { type QueueState, QueueStateRepository } from './queue-state.repository.js';
import { QueuedCallsRepository } from './queued-calls.repository.js';
import { SentFiles } from './sent-files.js';

/** A message, and how long this process has had it, in ms. */
export interface Arrived<Message> {
  readonly message: Message;
  readonly ageMs: number;
}

/** What happens to a result message: it is complete, or it is applied again after a delay. */
export type MessageFate = 'done' | { readonly againInMs: number };

/** The outcome of applying a message; `unknown`: the call does not exist. */
export type Applied = MessageFate | 'unknown';

const gapTimeoutMs = 5_000;
const gapLookMs = 250;
const betweenShownMs = 500;
const longestShown = 500;

/** Rolls back a transaction that needs a result whose files are not stored yet. */
class FilesNotStored extends Error {
  /** The principal of the job. */
  constructor(readonly principal: string) {
    super('the files of a response are not stored');
  }
}

/** Applies the messages of tool processes: each response once, progress in order. Late messages are ignored. */
@Injectable()
export class ResultApplier {
  constructor(
    private readonly updater: JobUpdater,
    private readonly states: QueueStateRepository,
    private readonly settler: QueueSettler,
    private readonly late: LateResponses,
    private readonly calls: QueuedCallsRepository,
    private readonly files: SentFiles,
    private readonly hooks: ResultHooks,
  ) {}

  async apply(arrived: Arrived<ToolProgressMessage | ToolResponse>): Promise<Applied> {
    const { message } = arrived;
    if (message.type === 'tool_progress') return this.update(arrived, () => null);
    if (message.result?.files !== undefined) return this.applyWithFiles(message);
    // Hooks may take long. Meanwhile the message is active, so that the sweeper does not treat the call as lost.
    const filtered = this.hooks.areSet ? await this.filtered(message) : null;
    return this.update(arrived, (_, call) => filtered ?? this.unhooked(call, message));
  }

  /** Stores the files only if the result counts, outside of the transaction. Then applies the response as if it had no files. */
  private async applyWithFiles(response: ToolResponse): Promise<Applied> {
    try {
      return await this.update({ message: response, ageMs: 0 }, ({ row }) => {
        throw new FilesNotStored(row.principal);
      });
    } catch (error) {
      if (!(error instanceof FilesNotStored)) throw error;
      return this.apply({ message: await this.files.store(response, error.principal), ageMs: 0 });
    }
  }

  /** `endOf` is called only if the result of a response counts. */
  private async update(
    { message, ageMs }: Arrived<ToolProgressMessage | ToolResponse>,
    endOf: (locked: LockedJob, call: LockedCall) => QueueEnd | null,
  ): Promise<Applied> {
    const { workspace_id: workspaceId, job_id: jobId, correlation_id: id } = message;
    const fate = await this.updater.update(workspaceId, jobId, async (locked): Promise<Applied> => {
      const call = await this.settler.find(locked, id);
      if (call === null) return 'unknown';
      const state = await this.states.find(locked, id);
      return message.type === 'tool_response'
        ? this.respond(locked, { call, state, response: message, end: () => endOf(locked, call) })
        : this.progress(locked, { call, state, arrived: { message, ageMs } });
    });
    return fate ?? 'unknown';
  }

  private async respond(
    locked: LockedJob,
    about: { call: LockedCall; state: QueueState | null; response: ToolResponse; end: () => QueueEnd | null },
  ): Promise<'done'> {
    const { call, state, response, end } = about;
    const stands = state === null ? 'none' : standingOf(state, response);
    // A job that is being cancelled closes its calls itself, so a concurrent result loses.
    if (stands === 'none') await this.late.take(locked, call, end);
    else if (locked.isOpen) {
      const settlement = stands === 'withdrawn' ? null : end();
      const goesBack = settlement !== null && response.needs_approval === true && !response.started;
      if (goesBack) await this.settler.giveBack(locked, call);
      else if (settlement === null) await this.settler.stopped(locked, call, response);
      else await this.settler.settle(locked, call, settlement);
    }
    return 'done';
  }

  private async filtered(response: ToolResponse): Promise<QueueEnd | null> {
    const { workspace_id: workspaceId, job_id: jobId, correlation_id: id } = response;
    const call = (await this.calls.calls(workspaceId, [id])).get(id);
    const end = call === undefined ? null : toSettlement(call, response);
    return end === null ? null : withFate(await this.hooks.filter({ workspaceId, jobId, id }, end), end);
  }

  private unhooked(call: LockedCall, response: ToolResponse): QueueEnd | null {
    const end = toSettlement(call, response);
    return end === null ? null : withFate(this.hooks.unhooked(end), end);
  }

  /** Progress is for display only: it is shown or dropped, and changes nothing else. */
  private async progress(
    locked: LockedJob,
    about: { call: LockedCall; state: QueueState | null; arrived: Arrived<ToolProgressMessage> },
  ): Promise<MessageFate> {
    const { call, state } = about;
    const { message, ageMs } = about.arrived;
    const isOver = state === null || state.cancelRequested || state.epoch !== message.exec_epoch || !locked.isOpen;
    if (isOver || message.seq <= state.progressSeq) return 'done';
    if (message.seq > state.progressSeq + 1 && ageMs < gapTimeoutMs) return { againInMs: gapLookMs };
    const restMs = state.shownMsAgo === null ? 0 : betweenShownMs - state.shownMsAgo;
    if (restMs > 0) return { againInMs: Math.ceil(restMs) };
    await this.states.shown(locked, call.id, message.seq);
    const seqInCall = state.progressShown + 1;
    locked.show({ type: 'tool-progress', body: { callId: call.callId, seqInCall, ...toShown(message.chunk) } });
    return 'done';
  }
}

function withFate(end: FilteredEnd, { started, approval }: CallFate): QueueEnd {
  return { ...end, started, ...defined({ approval }) };
}

/**
 * How far a response counts. `full`: it is from the current claim. `withdrawn`: the claim was asked to stop, so the end of the call counts
 * and its result does not. `none`: all others.
 */
function standingOf(state: QueueState, { exec_epoch: epoch }: ToolResponse): 'full' | 'withdrawn' | 'none' {
  if (state.cancelRequested) return state.epoch === epoch + 1 ? 'withdrawn' : 'none';
  return state.epoch === epoch ? 'full' : 'none';
}

function toShown(chunk: ToolProgressMessage['chunk']) {
  if (typeof chunk === 'string') return { message: toStorableText(chunk.slice(0, longestShown)) };
  const { progress, total, message } = chunk;
  return {
    ...defined({ progress, total }),
    ...(message === undefined ? {} : { message: toStorableText(message.slice(0, longestShown)) }),
  };
}

/** How a response ends its call; null: the call was cancelled, and its declared effect decides its status. Pure. */
export function toSettlement(
  { name, callId }: { readonly name: string; readonly callId: string },
  { status, result, error, started }: ToolResponse,
): (Settlement & CallFate) | null {
  const failure = error ?? { phase: 'execution' as const, message: executionError(name, 'it failed without a reason') };
  switch (status) {
    case 'success': {
      if (result?.success !== true)
        return { status: 'error', failure: resultFailure(name, result?.content) ?? failure, started };
      const { durable, whole, bytes } = toKeptResult(result.content, callId);
      const kept = whole === null ? {} : { whole, resultBytes: result.bytes ?? bytes };
      return { status: 'completed', result: durable, started, ...kept };
    }
    case 'error':
      // The requester lost a right while the call waited. The text for the model does not mention the reason.
      if (failure.phase === 'approval') return { status: 'denied', failure, started, approval: 'withdrawn' };
      return { status: 'error', failure, started };
    case 'timed_out':
      return { status: 'timed_out', failure, started };
    case 'cancelled':
      return null;
  }
}

const longestReason = 1_000;

function resultFailure(name: string, content: string | undefined) {
  if (content === undefined || content.trim() === '') return null;
  return { phase: 'execution' as const, message: executionError(name, content.slice(0, longestReason)) };
}
