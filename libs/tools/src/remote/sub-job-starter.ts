import { Injectable } from '@nestjs/common';

import { AppError, crashpoint } from '#platform';

import { ToolCatalog } from '../catalog/tool-catalog.js';
import { idempotencyKey } from '../ledger/tool-calls.part.js';
import { notRegistered, toolChanged } from '../model-text.js';
import type { Settlement, ToolErrorPhase } from '../tool-call.js';
import { executionError, validateArguments } from '../validate-arguments.js';
import type { SubJobCall } from './sub-job-calls.repository.js';

/** The result of a start: a job, or the reason why none was started. */
export type SubJobStart =
  | { readonly type: 'started'; readonly jobId: string }
  | { readonly type: 'refused'; readonly end: Exclude<Settlement, { status: 'completed' }> };

/** Runs the tool of a call, which starts the sub-job. Any process may do so, any number of times: one job starts. */
@Injectable()
export class SubJobStarter {
  constructor(private readonly catalog: ToolCatalog) {}

  /** Throws only errors that a retry may get past. */
  async start(call: SubJobCall): Promise<SubJobStart> {
    crashpoint('before-sub-job');
    const { workspaceId, name, toolVersion } = call;
    const tool = (await this.catalog.of(workspaceId)).find(name);
    if (tool?.enabled !== true) return refused('approval', tool?.withdrawn ?? notRegistered(name));
    const isChanged =
      tool.isolation !== 'job' || tool.handler === null || (toolVersion ?? tool.version) !== tool.version;
    if (isChanged) return refused('approval', toolChanged(name));
    const args = validateArguments(tool, call.arguments);
    if (!args.ok) return refused('validation', args.message);
    try {
      return { type: 'started', jobId: String(await tool.handler(args.value, contextOf(call))) };
    } catch (error) {
      if (!(error instanceof AppError) || isTransient(error)) throw error;
      return refused('execution', executionError(name, error.message));
    }
  }
}

/** Whether a retry may get past the error. The limit of jobs is excluded, because the model reads that error at once. */
function isTransient({ retryable, code }: AppError): boolean {
  return retryable && code !== 'job_limit_reached';
}

function contextOf(call: SubJobCall) {
  const { workspaceId, jobId, id: toolCallId, callId, threadId, principal, epoch, round, ordinal } = call;
  return {
    ...{ workspaceId, jobId, toolCallId, callId, threadId, principal, epoch },
    idempotencyKey: idempotencyKey(jobId, round, ordinal),
    signal: new AbortController().signal,
    now: () => Date.now(),
    progress: () => undefined,
  };
}

function refused(phase: ToolErrorPhase, message: string): SubJobStart {
  return { type: 'refused', end: { status: phase === 'approval' ? 'denied' : 'error', failure: { phase, message } } };
}
