import type { ChatMessage } from '#models';

import type { Halt } from './engine.js';
import type { RunError, RunResult } from './run-command.js';
import type { Scope, ScopeEnd } from './scope.js';

/** How a run ended whose top scope did. */
export function resultOf(top: Scope, end: ScopeEnd): RunResult {
  if (end.type === 'failed') return unfinished(top, 'failed', toRunError(end));
  const { finalOutput } = top;
  return {
    ...summary(top),
    status: 'completed',
    success: true,
    output: finalOutput,
    finalOutput,
    sessionMessages: closed(top.memory.session, finalOutput),
    error: null,
  };
}

/** The result of a run that was halted. */
export function haltedResult(top: Scope, { status, code, message }: Halt): RunResult {
  return unfinished(top, status, { message, code, nodeId: null, nodeLabel: null, nodeType: null });
}

function unfinished(top: Scope, status: 'failed' | 'cancelled', error: RunError): RunResult {
  const sessionMessages = [...top.memory.session];
  return { ...summary(top), status, success: false, output: '', finalOutput: '', sessionMessages, error };
}

function summary(top: Scope): Pick<RunResult, 'nodeOutputs' | 'executionOrder' | 'finalNodeId' | 'lastActiveNodeId'> {
  const executionOrder = [...top.outputs.keys()];
  const last = executionOrder.at(-1) ?? null;
  return { nodeOutputs: Object.fromEntries(top.outputs), executionOrder, finalNodeId: last, lastActiveNodeId: last };
}

function toRunError({ failure, run }: Extract<ScopeEnd, { type: 'failed' }>): RunError {
  const { message, code, statusCode, retry } = failure.error;
  return {
    message,
    code,
    nodeId: run?.node.id ?? null,
    nodeLabel: run?.node.label ?? null,
    nodeType: run?.node.type ?? null,
    ...(statusCode === undefined ? {} : { statusCode }),
    ...(retry === undefined ? {} : { retry }),
  };
}

/** The conversation ends with what came out of it. */
function closed(session: readonly ChatMessage[], text: string): readonly ChatMessage[] {
  const last = session.at(-1);
  if (text === '' || (last?.role === 'assistant' && last.content === text)) return [...session];
  return [...session, { role: 'assistant', content: text }];
}
