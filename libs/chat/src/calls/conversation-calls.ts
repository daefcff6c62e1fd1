import { Injectable } from '@nestjs/common';

import { JobCloser } from '#approvals';
import type { LedgerCall } from '#tools';

import { ConversationHooks } from '../hooks/conversation-hooks.js';
import { CallRouter, type RouteContext } from './call-router.js';
import type { CallingRun } from './calling-run.js';
import { JobCalls } from './job-calls.js';
import { SentCalls } from './sent-calls.js';
import { ToolRunner } from './tool-runner.js';

/** Opens the calls of a conversation for one run. */
@Injectable()
export class ConversationCalls {
  constructor(
    private readonly router: CallRouter,
    private readonly tools: ToolRunner,
    private readonly sent: SentCalls,
    private readonly closer: JobCloser,
    private readonly hooks: ConversationHooks,
  ) {}

  /** `calls`: those that earlier runs have stored. */
  open(run: CallingRun, context: RouteContext, calls: readonly LedgerCall[]): JobCalls {
    const { router, tools, sent, closer, hooks } = this;
    return new JobCalls(run, { router, tools, sent, closer, hooks }, context, calls);
  }
}
