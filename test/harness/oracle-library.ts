import {
  createSubflowDefinition,
  DefaultSubflowRegistry,
  type ExecutionCallbacks,
  type ExecutionOptions,
  type HITLRequest,
  type LLMProvider,
  OpenRouterExecutionAdapter,
  type ToolDefinition,
  type WorkflowData,
} from 'or3-workflow-core';

import {
  DEFAULT_MODEL,
  type ModelCall,
  type Played,
  PROMPT,
  toCall,
  toText,
  withoutRepeats,
  type World,
} from './oracle-world.js';

/** Runs a definition by the library that the format comes from. */
export async function runThere(document: object, world: World, more: ExecutionOptions = {}): Promise<Played> {
  const calls: ModelCall[] = [];
  const begun: string[] = [];
  const asked: HITLRequest[] = [];
  const adapter = new OpenRouterExecutionAdapter(providerOf(world, calls), {
    defaultModel: DEFAULT_MODEL,
    maxRetries: 0,
    sessionId: 'session-1',
    tools: toolsOf(world),
    subflowRegistry: subflowsOf(world),
    customEvaluators: { twice: (_, { iteration }) => iteration < 2 },
    ...hitlOf(world, asked),
    ...more,
  });
  const workflow = document as WorkflowData; // both read the same format
  const result = await adapter.execute(workflow, { text: world.input ?? PROMPT }, listener(begun, world));
  const error = result.error as { message: string; code?: string; nodeId?: string } | undefined;
  return {
    success: result.success,
    order: result.executionOrder,
    outputs: result.nodeOutputs,
    finalOutput: result.finalOutput,
    session: (result.sessionMessages ?? []).map(toText),
    error: error === undefined ? null : `${error.code ?? ''} at ${error.nodeId ?? ''}: ${toMessage(error.message)}`,
    begun: withoutRepeats(begun.map(toReported)),
    calls,
    asked: asked.map(({ nodeId, context: { input, workflowName } }) => ({ nodeId, input, workflowName })),
  };
}

function providerOf(world: World, calls: ModelCall[]): LLMProvider {
  return {
    getModelCapabilities: () => Promise.resolve(null),
    chat: async (model, messages, { temperature, maxTokens, tools = [], onToken } = {}) => {
      const limits = { temperature: temperature ?? null, maxTokens: maxTokens ?? null };
      const raw = { model, messages: [...messages], tools, ...limits };
      const call = toCall(raw);
      calls.push(call);
      const { text, calls: asked = [], fail } = await world.reply(call, raw);
      if (fail !== undefined) throw Object.assign(new Error(fail.message), { status: fail.status });
      onToken?.(text);
      return {
        content: text,
        toolCalls: asked.map((one, index) => ({ id: `call_${index}`, type: 'function', function: one })),
      };
    },
  };
}

function toolsOf({ tools = {} }: World): ToolDefinition[] {
  return Object.entries(tools).map(([name, run]) => ({
    type: 'function',
    function: { name, parameters: { type: 'object' } },
    handler: (args: unknown) => Promise.resolve(run(args)),
  }));
}

function subflowsOf({ subflows = {} }: World): DefaultSubflowRegistry {
  const registry = new DefaultSubflowRegistry();
  for (const [id, document] of Object.entries(subflows)) {
    const workflow = document as WorkflowData & { meta: { subflow?: Parameters<typeof createSubflowDefinition>[3] } };
    registry.register(createSubflowDefinition(id, workflow.meta.name, workflow, workflow.meta.subflow));
  }
  return registry;
}

function hitlOf({ person }: World, asked: HITLRequest[]): ExecutionOptions {
  if (person === undefined) return {};
  return {
    onHITLRequest: (request) => {
      asked.push(request);
      const { action, data } = person(request.nodeId, request.context.output);
      const respondedAt = new Date(0).toISOString();
      return Promise.resolve({ requestId: request.id, action, respondedAt, ...(data === undefined ? {} : { data }) });
    },
  };
}

function listener(begun: string[], { heard }: World): ExecutionCallbacks {
  return {
    onNodeStart: (nodeId) => begun.push(nodeId),
    onNodeFinish: () => undefined,
    onNodeError: () => undefined,
    onToken: () => undefined,
    onWorkflowToken: (token) => heard?.(token),
  };
}

/** In the library each subflow repeats the names of all its parents: `sf:a|sf:a|sf:b|c`. */
function toReported(nodeId: string): string {
  const path = nodeId.split('|');
  const depth = Math.floor(Math.sqrt(2 * path.length - 1.75) - 0.5);
  return path.slice(path.length - 1 - depth).join('|');
}

/** The library appends this to a router's prompt after the format instructions. */
function toMessage(text: string): string {
  return text.replace(/(?<=failed to select a valid route\.) .*$/, '');
}
