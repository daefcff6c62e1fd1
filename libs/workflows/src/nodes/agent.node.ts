import type { ChatMessage, ModelParameters, ToolChoice } from '#models';
import { defined } from '#platform';

import { isJsonObject, type JsonObject, memberOf } from '../definition/json.js';
import type { NodeData } from '../definition/node-types.js';
import type { Conversed, Conversing, EarlierOutput, NodeOutcome } from '../engine/node-executor.js';
import { userMessage } from './attachments.js';
import { type ContextOf, defineNode } from './define-node.js';
import { handOn } from './settlements.js';
import { refusal } from './to-node-error.js';
import { withPerson } from './with-person.js';

/** The options of an agent's model call besides its messages and tools. The node's own fields override `modelRequest`. */
function agentParameters(data: NodeData['agent']): ModelParameters {
  const { modelRequest, temperature, maxTokens, parallelToolCalls, structuredOutput } = data;
  return {
    ...modelRequest,
    ...defined({ temperature, max_tokens: maxTokens, parallel_tool_calls: parallelToolCalls }),
    ...(structuredOutput === undefined ? {} : { response_format: toResponseFormat(structuredOutput) }),
  };
}

const formats: ReadonlySet<unknown> = new Set(['text', 'json_object', 'json_schema']);

/** Returns a `response_format` unchanged, and wraps a schema, with or without a name, into one. */
function toResponseFormat(wanted: JsonObject): JsonObject {
  if (formats.has(memberOf(wanted, 'type'))) return wanted;
  const schema = memberOf(wanted, 'schema');
  const named = isJsonObject(schema) ? { name: 'output', ...wanted } : { name: 'output', schema: wanted };
  return { type: 'json_schema', json_schema: named };
}

/** A conversation of a model with its tools, given the outputs of the earlier nodes. */
export const agentNode = defineNode({
  type: 'agent',
  run: (context) =>
    withPerson(context, context.node.data.hitl, {
      work: (input, rejections) => new Agent(context, rejections).answer(input),
      onward: ['output'],
    }),
});

/** One attempt of an agent: the first, or one after a person rejected the last. */
class Agent {
  constructor(
    private readonly context: ContextOf<'agent'>,
    private readonly rejections: number,
  ) {}

  async answer(input: string): Promise<NodeOutcome> {
    const { ports, node } = this.context;
    const request = await this.request(input);
    const conversed = await ports.converse({ ...request, maxIterations: node.data.maxToolIterations });
    return conversed.type === 'limit' ? this.atLimit(request, conversed.text) : toOutcome(conversed);
  }

  private async request(input: string): Promise<Omit<Conversing, 'maxIterations'>> {
    const { node, graph, signal } = this.context;
    const { model, tools, toolChoice } = node.data;
    const choice = toToolChoice(toolChoice);
    return {
      ...(this.rejections === 0 ? {} : { branch: `review@${this.rejections}` }),
      isShown: true,
      ...defined({ agent: node.data.agent }),
      model: model === '' ? null : model,
      messages: await agentMessages(this.context, input),
      tools: tools.length === 0 ? graph.tools : tools,
      ...defined({ toolChoice: choice }),
      parameters: agentParameters(node.data),
      signal,
    };
  }

  /** The model requested tools in all permitted iterations; `last` is the text of the last one. */
  private async atLimit(request: Omit<Conversing, 'maxIterations'>, last: string): Promise<NodeOutcome> {
    const { onMaxToolIterations, maxToolIterations: limit } = this.context.node.data;
    switch (onMaxToolIterations) {
      case 'warning':
        return handOn(`Warning: Maximum tool iterations (${limit}) reached. Last content: ${last}`);
      case 'error':
        throw refusal(`Maximum tool iterations (${limit}) reached. Execution stopped.`);
      case 'hitl':
        return this.askForMore(request, last);
    }
  }

  private async askForMore(request: Omit<Conversing, 'maxIterations'>, last: string): Promise<NodeOutcome> {
    const { node, ports } = this.context;
    const limit = node.data.maxToolIterations;
    const answer = await ports.ask({
      key: this.rejections === 0 ? 'tool-limit' : `tool-limit@${this.rejections}`,
      requestId: `hitl-tool-limit-${node.id}-${ports.now()}`,
      mode: 'approval',
      title: node.label,
      prompt: `"${node.label}" has used its ${limit} tool iterations. May it continue for up to ${limit} more?`,
      options: [
        { id: 'continue', label: 'Continue', action: 'approve' },
        { id: 'stop', label: 'Stop', action: 'reject' },
      ],
      defaultAction: 'reject',
    });
    if (answer.type === 'waiting') return answer;
    if (answer.action !== 'approve') {
      return handOn(`Tool iteration stopped by user at ${limit} iterations. Last content: ${last}`);
    }
    // The same conversation continues: its committed rounds count.
    const conversed = await ports.converse({ ...request, maxIterations: 2 * limit });
    if (conversed.type !== 'limit') return toOutcome(conversed);
    const again = `Warning: Maximum tool iterations (${limit}) reached again after HITL approval.`;
    return handOn(`${again} Last content: ${conversed.text}`);
  }
}

function toOutcome(conversed: Exclude<Conversed, { type: 'limit' }>): NodeOutcome {
  return conversed.type === 'waiting' ? conversed : handOn(conversed.text);
}

function toToolChoice(choice: ContextOf<'agent'>['node']['data']['toolChoice']): ToolChoice | undefined {
  if (choice === undefined || typeof choice === 'string') return choice;
  const name = memberOf(memberOf(choice, 'function'), 'name');
  return typeof name === 'string' ? { type: 'function', function: { name } } : undefined;
}

/**
 * The messages an agent reads: its prompt with the outputs of earlier nodes, the session, and its input. The input is not repeated
 * when the session already ends with it.
 */
async function agentMessages(context: ContextOf<'agent'>, input: string): Promise<readonly ChatMessage[]> {
  const { node, graph, view } = context;
  const system: ChatMessage = { role: 'system', content: systemText(node, textsOf(view.earlier, graph.routerEcho)) };
  const last = view.session.at(-1);
  const isRepeated = last?.role === 'user' && last.content === input;
  const session = isRepeated ? view.session.slice(0, -1) : view.session;
  const user = await userMessage(context, input, node.data.model);
  return [system, ...session, ...(user === null ? [] : [user])];
}

function systemText({ label, data }: ContextOf<'agent'>['node'], blocks: readonly string[]): string {
  const prompt = data.prompt.trim() === '' ? `You are a helpful assistant named ${label}.` : data.prompt;
  return blocks.length === 0 ? prompt : `${prompt}\n\nContext from previous agents:\n${blocks.join('\n\n')}`;
}

/** Routers are left out unless they echo: a router's output only repeats its input. */
function textsOf(earlier: readonly EarlierOutput[], routerEcho: boolean): readonly string[] {
  return earlier
    .filter(({ type, output }) => output !== '' && (type !== 'router' || routerEcho))
    .map(({ label, output }) => `[${label}]: ${output}`);
}
