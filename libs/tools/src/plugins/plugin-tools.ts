import type { Progress, ToolContext as PluginToolContext, ToolDefinition, ToolOptions } from '@nightshift/plugin';
import { z } from 'zod';

import { defineTool } from '../define-tool.js';
import { subJobPrefix } from '../sub-job-names.js';
import type { Tool, ToolContext } from '../tool.js';
import { ToolRegistry } from '../tool.registry.js';
import { invalidTool } from '../tools.errors.js';
import { toJsonSchema } from './check-plugin.js';
import type { LoadedPlugin } from './load-plugin.js';
import type { PluginContexts } from './plugin-contexts.js';
import { pluginRefused } from './plugins.errors.js';
import { storeArtifacts } from './store-artifacts.js';

/**
 * The names of the tools of all libs, including tools that a process does not load or that settings disable. A test fails if the list is
 * incomplete.
 */
const SERVER_TOOLS: ReadonlySet<string> = new Set([
  ...['add_numbers', 'ask_person', 'calculate', 'coingecko_price', 'fetch_url', 'get_current_time'],
  ...['get_jobs', 'job_result', 'read_tool_output', 'start_job', 'tavily_search', 'web_search'],
]);

/** Why a plugin cannot use this tool name, as a clause; null: it can. */
export function problemOfToolName(name: string): string | null {
  if (SERVER_TOOLS.has(name)) return 'its name is taken by a tool of the server';
  return name.startsWith(subJobPrefix) ? `names that begin with "${subJobPrefix}" belong to workflows` : null;
}

/** Default of MAX_TOOL_TIMEOUT_MS. */
const MAX_TIMEOUT_MS = 86_400_000;

type Contexts = Pick<PluginContexts, 'servicesFor' | 'userIdOf'>;

/** The dependencies of a registration. */
export interface ToolHost {
  readonly registry: ToolRegistry;
  readonly contexts: Contexts;
  /** Ms; no tool may set a longer timeout. */
  readonly longestTimeoutMs: number;
}

/** Registers all tools of a plugin. Throws `plugin_refused` for the first one that cannot be registered. */
export function registerTools(plugin: LoadedPlugin, { registry, contexts, longestTimeoutMs }: ToolHost): void {
  for (const definition of plugin.tools) {
    const { name, timeoutMs = 0 } = definition;
    try {
      if (timeoutMs > longestTimeoutMs)
        throw new Error(
          `tool "${name}": its timeout of ${timeoutMs} ms is above the limit of ${longestTimeoutMs} ms (MAX_TOOL_TIMEOUT_MS)`,
        );
      const problem = problemOfToolName(name);
      if (problem !== null) throw invalidTool(name, problem);
      registry.register(toTool(plugin, definition, contexts));
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      const reason = text.includes(`"${name}"`) ? text : `tool "${name}": ${text}`;
      throw pluginRefused(plugin.source.entry, reason.replace(/\.$/, ''), error);
    }
  }
}

/** Throws `plugin_refused` for a node with a timeout above the limit. */
export function assertNodes(plugin: LoadedPlugin, longestTimeoutMs: number): void {
  for (const { type, timeoutMs = 0 } of plugin.nodes)
    if (timeoutMs > longestTimeoutMs)
      throw pluginRefused(
        plugin.source.entry,
        `node "${type}": its timeout of ${timeoutMs} ms is above the limit of ${longestTimeoutMs} ms (MAX_TOOL_TIMEOUT_MS)`,
      );
}

/** Throws `plugin_refused` for a tool or node that a server with default settings would reject. Runs no tool. */
export function assertTools(plugins: readonly LoadedPlugin[]): void {
  const registry = new ToolRegistry();
  const unused = () => {
    throw new TypeError('no call runs here');
  };
  const contexts = { servicesFor: unused, userIdOf: unused };
  for (const plugin of plugins) {
    registerTools(plugin, { registry, contexts, longestTimeoutMs: MAX_TIMEOUT_MS });
    assertNodes(plugin, MAX_TIMEOUT_MS);
  }
}

function toTool(plugin: LoadedPlugin, definition: ToolDefinition, contexts: Contexts): Tool {
  const { input } = definition;
  const toContext = (context: ToolContext) => completeContext(plugin, context, contexts);
  const handler = definition.execute?.bind(definition) ?? definition.server?.bind(definition);
  const verify = definition.verify?.bind(definition);
  const isOnClient = handler === undefined && definition.client !== undefined;
  const runtime = definition.runtime ?? (isOnClient ? 'client' : 'hybrid');
  const execute =
    handler &&
    (async (args: Readonly<Record<string, unknown>>, { outbox, ...given }: ToolContext) => {
      const context = await toContext(given);
      const result = await resultOf(await handler(args, context), context);
      return storeArtifacts(result, outbox ?? context.files, context.signal);
    });
  const check = verify && (async (key: string, context: ToolContext) => verify(key, await toContext(context)));
  const spec = { ...optionsOf(definition), runtime, ...(execute && { execute }), ...(check && { verify: check }) };
  return input instanceof z.ZodType
    ? defineTool({ ...spec, input })
    : defineTool({ ...spec, input: toJsonSchema(input) });
}

const HANDLERS: ReadonlySet<string> = new Set(['execute', 'server', 'client', 'verify']);

function optionsOf(definition: ToolDefinition) {
  const options = Object.entries(definition).filter(([name]) => !HANDLERS.has(name));
  return Object.fromEntries(options) as unknown as Omit<ToolOptions<ToolContext>, 'verify'>; // the options without the functions
}

async function completeContext(
  plugin: LoadedPlugin,
  context: ToolContext,
  contexts: Contexts,
): Promise<PluginToolContext> {
  const { workspaceId, jobId, threadId, callId, principal } = context;
  const userId = await contexts.userIdOf(workspaceId, principal);
  const services = contexts.servicesFor(plugin, { workspaceId, userId }, { jobId, threadId, callId });
  return { attempt: 1, ...context, userId, ...services };
}

/** Reports each yielded value of an async iterable as progress. The result is the return value. */
async function resultOf(returned: unknown, { signal, progress }: ToolContext): Promise<unknown> {
  if (typeof returned !== 'object' || returned === null || !(Symbol.asyncIterator in returned)) return returned;
  const iterator = (returned as AsyncIterable<unknown>)[Symbol.asyncIterator]();
  for (;;) {
    const step = await iterator.next();
    if (step.done === true) return step.value;
    if (signal.aborted) await iterator.return?.();
    signal.throwIfAborted();
    progress(toProgress(step.value));
  }
}

function toProgress(value: unknown): Progress {
  if (typeof value === 'object' && value !== null) return value;
  return { message: String(value) };
}
