/** Why a started `once` call has no result when nobody saw its end. The message is what the model reads. */
export const unknownOutcome = {
  phase: 'execution',
  message: 'The tool was started but its outcome is unknown. It was not repeated.',
} as const;

/** Why a call has no result when its job was stopped before it could end. */
export const stoppedCall = { phase: 'execution', message: 'Tool execution cancelled' } as const;

/**
 * SQL about a row `t` of tool_call: whether nobody can tell what it did if it ends now. A call in the isolated queue that no
 * process has taken yet surely did nothing.
 */
export const mayHaveRun = `(t.status = 'running' AND t.effect = 'once' AND (t.executor <> 'queue' OR t.exec_until IS NOT NULL))`;
