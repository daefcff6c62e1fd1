import { OpenAiError } from '../../errors/openai-error.js';

/** `problem` names the field; absent: the body is not a JSON object at all. */
export const invalidExecuteBody = (problem?: string) => {
  const message = `Invalid request body${problem === undefined ? '' : `: ${problem}`}`;
  return new OpenAiError({ status: 400, message, param: 'arguments' });
};

export const invalidArguments = (problem: string) =>
  new OpenAiError({ status: 400, message: `Invalid arguments: ${problem}`, param: 'arguments' });

export const agentNotFound = (agent: string) =>
  new OpenAiError({ status: 404, message: `Agent '${agent}' not found`, param: 'agent', code: 'model_not_found' });

/** `available`: names of tools that the caller may use, sorted. */
export const toolNotFound = (tool: string, agent: string, available: readonly string[]) => {
  const names = available.length === 0 ? '(none)' : available.join(', ');
  const message = `Tool '${tool}' not found on agent '${agent}'. Available: ${names}`;
  return new OpenAiError({ status: 404, message, param: 'tool_name' });
};

export const approvalRequired = (tool: string) =>
  new OpenAiError({
    status: 403,
    message: `Tool '${tool}' needs approval and cannot be executed here`,
    param: 'tool_name',
    code: 'approval_required',
  });

/** The call is unknown, belongs to another user, or is not waiting. */
export const callNotFound = (id: string) =>
  new OpenAiError({ status: 404, message: `Tool call '${id}' not found`, param: 'tool_call_id' });

export const callDiffers = () =>
  new OpenAiError({ status: 400, message: 'Tool call does not match the pending call', param: 'tool_call_id' });

export const callExecuted = () =>
  new OpenAiError({ status: 409, message: 'Tool call was already executed', param: 'tool_call_id' });

export const executionFailed = (reason: string) =>
  new OpenAiError({ status: 500, message: `Tool execution failed: ${reason}` });

/** The job keeps running; the same `Idempotency-Key` gets its result later. */
export const stillRunning = () =>
  new OpenAiError({ status: 504, message: 'The job is still running in the background', code: 'still_running' });
