import { clientToolProblem } from '#approvals';
import type { ToolDefinition } from '#models';
import { AppError } from '#platform';
import type { ClientToolOptions } from '#tools';

import type { StartChat } from '../../start-chat.js';
import type { ClientToolInput, StartChatInput } from './start-chat.input.js';

const shortestTimeoutMs = 1_000;
const longestTimeoutMs = 7 * 86_400_000;

type Tools = Pick<StartChat, 'tools' | 'toolRuntimes' | 'client'>;
type Given = Pick<StartChatInput, 'tools' | 'clientTools' | 'clientDeviceId'>;

/** The tools of `startChat`: those of the server by name, those of the client as declared. Throws `bad_request`. Pure. */
export function toTools({ tools, clientTools, clientDeviceId }: Given): Tools {
  const names = tools ?? [];
  const declared = clientTools ?? [];
  if (clientDeviceId === '' || (clientDeviceId?.length ?? 0) > 256)
    throw invalid('clientDeviceId', 'clientDeviceId must have 1 to 256 characters');
  if (declared.length === 0 && clientDeviceId == null) return { tools: names, toolRuntimes: {} };
  const definitions = declared.map(toDefinition);
  const problem = clientToolProblem(definitions);
  if (problem !== null) throw invalid('clientTools', problem);
  const twice = declared.find(({ name }) => names.includes(name));
  if (twice !== undefined) throw invalid('clientTools', `"${twice.name}" is among tools and clientTools; name it once`);
  return {
    tools: [...names, ...definitions],
    toolRuntimes: Object.fromEntries(declared.map(({ name }) => [name, 'client' as const])),
    client: {
      deviceId: clientDeviceId ?? null,
      tools: Object.fromEntries(declared.map((tool) => [tool.name, toTerms(tool)])),
    },
  };
}

function toDefinition({ name, description, parameters }: ClientToolInput): ToolDefinition {
  if (parameters != null && !isRecord(parameters)) throw invalid('clientTools', 'parameters must be a JSON Schema');
  return {
    type: 'function',
    function: {
      name,
      ...(description == null ? {} : { description }),
      ...(parameters == null ? {} : { parameters }),
    },
  };
}

function toTerms({ timeoutMs, onTimeout, effect }: ClientToolInput): ClientToolOptions {
  if (timeoutMs != null && (timeoutMs < shortestTimeoutMs || timeoutMs > longestTimeoutMs))
    throw invalid('clientTools', `timeoutMs must be from ${shortestTimeoutMs} to ${longestTimeoutMs}`);
  return {
    ...(timeoutMs == null ? {} : { timeoutMs }),
    ...(onTimeout == null ? {} : { onTimeout }),
    ...(effect == null ? {} : { effect }),
  };
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalid(field: string, message: string): AppError {
  return new AppError({ code: 'bad_request', message, field });
}
