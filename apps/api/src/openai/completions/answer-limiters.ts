import { Injectable } from '@nestjs/common';

import { StartLimiter, WorkflowStartLimiter } from '#jobs/api';

import type { ModelTarget } from '../models/model-directory.js';

/** The limits that a request counts against: the same as on the other APIs. */
@Injectable()
export class AnswerLimiters {
  constructor(
    readonly chats: StartLimiter,
    private readonly workflows: WorkflowStartLimiter,
  ) {}

  of(target: ModelTarget): StartLimiter {
    return target.type === 'workflow' ? this.workflows : this.chats;
  }
}
