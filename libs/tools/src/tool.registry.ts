import { FLAG_NAME, LONGEST_FLAG_NAME } from '#auth';
import type { ToolDefinition } from '#models';

import { compileSchema } from './compile-schema.js';
import { MOST_CONCURRENT, type Tool } from './tool.js';
import { invalidTool } from './tools.errors.js';

/** What a tool may be called. */
export const TOOL_NAME = /^[A-Za-z0-9_.-]{1,64}$/;
const LONGEST_TIMEOUT_MS = 24 * 3_600_000;

/** The tools of this process. Filled while the process boots; every fault of a tool stops the start. */
export class ToolRegistry {
  private readonly tools = new Map<string, Tool>();

  /** Throws `invalid_tool` naming what is wrong: name, schema, handler, time limit, or a name that is taken. */
  register(tool: Tool): void {
    const problem = problemOf(tool) ?? (this.tools.has(tool.name) ? 'its name is taken' : null);
    if (problem !== null) throw invalidTool(tool.name, problem);
    this.tools.set(tool.name, tool);
  }

  /** Takes a tool out of every offer at once; a call that was created before ends as `error` with code `tool_unavailable`. */
  unregister(name: string): void {
    this.tools.delete(name);
  }

  /** The tool of that name, also a disabled one. */
  find(name: string): Tool | undefined {
    return this.tools.get(name);
  }

  /** All tools, also disabled ones, in no order. */
  all(): Iterable<Tool> {
    return this.tools.values();
  }

  /** All enabled tools by name. */
  list(): readonly Tool[] {
    return [...this.tools.values()].filter((tool) => tool.enabled).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  /** An enabled tool as a model is to be shown it; undefined when there is none. */
  definitionOf(name: string): ToolDefinition | undefined {
    const tool = this.tools.get(name);
    return tool?.enabled === true ? toDefinition(tool) : undefined;
  }
}

/** A tool in the shape in which requests advertise it. */
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
  if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs > LONGEST_TIMEOUT_MS) return 'its time limit is wrong';
  const { concurrency, flag, isolation } = tool;
  if (flag !== null && !(FLAG_NAME.test(flag) && flag.length <= LONGEST_FLAG_NAME))
    return 'its flag is no name of a feature flag, such as new-search';
  if (concurrency !== null && isolation !== 'queue') return 'concurrency requires isolation "queue"';
  if (concurrency !== null && !isConcurrency(concurrency)) return `concurrency is 1 to ${MOST_CONCURRENT}`;
  try {
    compileSchema(tool.parameters);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message.replace(/\.$/, '') : 'its schema does not compile';
  }
}

function isConcurrency(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= MOST_CONCURRENT;
}
