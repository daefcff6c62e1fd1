import { AppError } from '#platform';
import type { ToolCallStatus } from '#tools';

/** Each rejection of a claim or a result includes the state of the call. */
const refused = (code: string, message: string, callStatus: ToolCallStatus) =>
  new AppError({ code, message, details: { callStatus } });

/** The call is settled, its job has ended or is being cancelled, or the call was never offered to a client. */
export const notPending = (callStatus: ToolCallStatus) =>
  refused('not_pending', 'Tool call is no longer pending', callStatus);

/** The request bound its client tools to a device. */
export const otherDevice = (callStatus: ToolCallStatus) =>
  refused('other_device', 'Tool call belongs to another browser device', callStatus);

export const alreadyClaimed = (callStatus: ToolCallStatus) =>
  refused('already_claimed', 'Tool call already claimed', callStatus);

/** The claim has expired or belongs to another client, or the call has changed since the claim: the client must not run it. */
export const claimChanged = (callStatus: ToolCallStatus) =>
  refused('claim_changed', 'Tool approval expired or its reviewed payload changed', callStatus);

/** The claim has expired or belongs to another client: the server does not accept the result. */
export const claimLost = (callStatus: ToolCallStatus) =>
  refused('claim_lost', 'Tool claim expired or was replaced', callStatus);

/** The body has neither a result nor an error, or has both. */
export const invalidToolResult = () => new AppError({ code: 'bad_request', message: 'Invalid tool result' });

export const toolResultTooLarge = (limitBytes: number) =>
  new AppError({ code: 'too_large', message: `Tool result exceeds ${limitBytes} bytes` });

/** The caller may read the job but is not its requester. */
export const notTheirs = () => new AppError({ code: 'forbidden', message: 'Forbidden' });
