import { FLAG_NAME, MAX_FLAG_NAME_LENGTH } from '#auth';
import type { ToolDefinition } from '#models';

import { compileSchema } from './compile-schema.js';
import { MAX_CONCURRENT, type Tool } from './tool.js';
import { invalidTool } from './tools.errors.js';

/** The allowed names of a tool. */
export const TOOL_NAME = /^[A-Za-z0-9_.-]{1,64}$/;
const MAX_TIMEOUT_MS = 24 * 3_600_000;

/** The tools of this process. They register while the process boots; an invalid tool prevents the start. */
export class ToolRegistry {
  private readonly tools = new Map<string, Tool>();

  /** Throws `invalid_tool`, naming the fault: name, schema, handler, timeout, or a name in use. */
  register(tool: Tool): void {
    const problem = problemOf(tool) ?? (this.tools.has(tool.name) ? 'its name is taken' : null);
    if (problem !== null) throw invalidTool(tool.name, problem);
    this.tools.set(tool.name, tool);
  }

  /** Removes a tool from every offer at once. An existing call ends as `error` with code `tool_unavailable`. */
  unregister(name: string): void {
    this.tools.delete(name);
  }

  /** Returns the tool with this name, even if it is disabled. */
  find(name: string): Tool | undefined {
    return this.tools.get(name);
  }

  /** Returns all tools, including disabled ones, in no particular order. */
  all(): Iterable<Tool> {
    return this.tools.values();
  }

  /** Returns all enabled tools by name. */
  list(): readonly Tool[] {
    return [...this.tools.values()].filter((tool) => tool.enabled).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** Returns the definition of an enabled tool for the model; undefined if no such tool exists. */
  definitionOf(name: string): ToolDefinition | undefined {
    const tool = this.tools.get(name);
    return tool?.enabled === true ? toDefinition(tool) : undefined;
  }
}

/** The definition of a tool in the format of requests. */
export function toDefinition(tool: Tool): ToolDefinition {
  const { name, description, parameters } = tool;
  return { type: 'function', function: { name, description, parameters } };
}

function problemOf(tool: Tool): string | null {
  if (!TOOL_NAME.test(tool.name)) return 'a name is 1 to 64 of letters, digits, "_", "-" and "."';
  if (tool.description.trim() === '') return 'it has no description';
  if (tool.handler === null && tool.runtime !== 'client') return 'it has no handler';
  if (tool.parameters['type'] !== 'object') return 'its input is not an object schema';
  const timeoutMs = tool.timeoutMs ?? 1;
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > MAX_TIMEOUT_MS) return 'its time limit is wrong';
  const { concurrency, flag, isolation } = tool;
  if (flag !== null && !(FLAG_NAME.test(flag) && flag.length <= MAX_FLAG_NAME_LENGTH))
    return 'its flag is no name of a feature flag, such as new-search';
  if (concurrency !== null && isolation !== 'queue') return 'concurrency requires isolation "queue"';
  if (concurrency !== null && !isConcurrency(concurrency)) return `concurrency is 1 to ${MAX_CONCURRENT}`;
  try {
    compileSchema(tool.parameters);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message.replace(/\.$/, '') : 'its schema does not compile';
  }
}

function isConcurrency(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= MAX_CONCURRENT;
}
