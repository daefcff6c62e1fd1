/** Why a started `once` call has no result when nobody saw its end. The message is what the model reads. */
export const unknownOutcome = {
  phase: 'execution',
  message: 'The tool was started but its outcome is unknown. It was not repeated.',
} as const;

/** Why a call has no result when its job was stopped before it could end. */
export const stoppedCall = { phase: 'execution', message: 'Tool execution cancelled' } as const;
