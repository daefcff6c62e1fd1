import type { Response } from 'express';

import type { MemberPrincipal } from '#auth';

/** Who gets an answer, and how. */
export interface AnswerListener {
  readonly principal: MemberPrincipal;
  readonly response: Response;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /** Cancel the job when the client goes away. */
  readonly cancels: boolean;
  /** Aborts when this process can no longer send; the job keeps running. */
  readonly signal: AbortSignal;
}
