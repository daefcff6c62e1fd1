import { Prisma } from '#platform';

/** Why a started `once` call has no result when its worker was lost. The model reads this message. */
export const unknownOutcome = {
  phase: 'execution',
  message: 'The tool was started but its outcome is unknown. It was not repeated.',
} as const;

/** Why a call has no result when its job was cancelled before the call ended. */
export const stoppedCall = { phase: 'execution', message: 'Tool execution cancelled' } as const;

/**
 * SQL condition about a row `t` of tool_call: the call may have run, and its outcome is unknown if it ends now. A call in the isolated
 * queue that no tool worker has claimed did not run.
 */
export const mayHaveRun = Prisma.sql`(t.status = 'running' AND t.effect = 'once' AND (t.executor <> 'queue' OR t.exec_until IS NOT NULL))`;
