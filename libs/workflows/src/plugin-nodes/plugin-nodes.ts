import { Injectable } from '@nestjs/common';
import type { NodeDefinition } from '@nightshift/plugin';
import { z } from 'zod';

import { Config } from '#platform';
import { compileSchema, type JsonSchema, type LoadedPlugin, PluginRegistry, toJsonSchema } from '#tools';

import type { GraphNodeOf } from '../definition/graph.js';
import type { JsonObject } from '../definition/json.js';
import type { NodeData } from '../definition/node-types.js';
import type { PluginNodeTypes } from '../definition/validation/check-plugin-nodes.js';
import { NodeFailure } from '../engine/node-executor.js';

/** The limits of a node's attempts. */
export type AttemptLimits = Pick<NodeData['plugin'], 'errorHandling' | 'timeoutMs'>;

/** A node type of a plugin. */
export class PluginNode {
  readonly input: JsonSchema;
  readonly output: JsonSchema | null;

  constructor(
    readonly plugin: LoadedPlugin,
    readonly definition: NodeDefinition,
  ) {
    this.input = toJsonSchema(definition.input);
    this.output = definition.output === undefined ? null : toJsonSchema(definition.output);
  }

  get type(): string {
    return this.definition.type;
  }

  /** Whether it may run again after a crash without asking a person. */
  get effect(): 'pure' | 'idempotent' | 'once' {
    return this.definition.effect ?? 'once';
  }

  /** Returns one clause for each problem, a few at most. */
  problemsOf(given: JsonObject): readonly string[] {
    return compileSchema(this.input)(given);
  }

  /** The parsed data for the code of the plugin. Throws for data that does not match its schema. */
  async parse(given: JsonObject): Promise<JsonObject> {
    const problems = this.problemsOf(given);
    if (problems.length > 0) throw invalid(`The data is not valid for "${this.type}": ${problems.join('; ')}`);
    const { input } = this.definition;
    if (!(input instanceof z.ZodType)) return given;
    const parsed = await input.safeParseAsync(given);
    if (!parsed.success) throw invalid(`The data is not valid for "${this.type}": ${z.prettifyError(parsed.error)}`);
    return parsed.data as JsonObject; // its schema describes an object
  }

  /** Throws for an output that does not match its schema. */
  assertOutput(value: unknown): void {
    const problems = this.output === null ? [] : compileSchema(this.output)(value);
    if (problems.length > 0) throw invalid(`The output of "${this.type}" is not valid: ${problems.join('; ')}`);
  }
}

/** Another attempt has the same data. */
function invalid(message: string): NodeFailure {
  return new NodeFailure(message, 'VALIDATION', { isFinal: true });
}

/** The node types of the plugins of this process. */
@Injectable()
export class PluginNodes implements PluginNodeTypes {
  private readonly byType: ReadonlyMap<string, PluginNode>;

  constructor(
    plugins: PluginRegistry,
    private readonly config: Config,
  ) {
    const nodes = plugins.nodes.map(({ plugin, node }) => new PluginNode(plugin, node));
    this.byType = new Map(nodes.map((node) => [node.type, node]));
  }

  /** In the order in which they were loaded. */
  list(): readonly PluginNode[] {
    return [...this.byType.values()];
  }

  find(type: string): PluginNode | undefined {
    return this.byType.get(type);
  }

  problemsOf(type: string, given: JsonObject): readonly string[] | null {
    return this.find(type)?.problemsOf(given) ?? null;
  }

  /**
   * The retries and the timeout of the document, else of the plugin, else one attempt of TOOL_TIMEOUT_MS. A `once` node is not repeated
   * after a timeout: its effect may have happened.
   */
  limitsOf({ typeName, data }: GraphNodeOf<'plugin'>): AttemptLimits {
    const found = this.find(typeName);
    const { attempts = 1, delayMs = 1_000 } = found?.definition.retry ?? {};
    const { retry } = data.errorHandling;
    const own = data.hasRetry ? retry : { ...retry, maxRetries: attempts - 1, baseDelay: delayMs };
    const skipOn = found?.effect === 'once' ? [...own.skipOn, 'TIMEOUT'] : own.skipOn;
    return {
      errorHandling: { ...data.errorHandling, retry: { ...own, skipOn } },
      timeoutMs: data.timeoutMs ?? found?.definition.timeoutMs ?? this.config.values.TOOL_TIMEOUT_MS,
    };
  }
}
