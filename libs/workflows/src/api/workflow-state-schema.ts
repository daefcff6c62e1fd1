import { z } from 'zod';

import type { ToolCallItem } from '#jobs';
import { named } from '#platform/api';

import type {
  WorkflowBranchState,
  WorkflowNodeState,
  WorkflowRequest,
  WorkflowResult,
  WorkflowState,
} from '../state/workflow-state.js';

const instant = z.number().meta({ description: 'Ms since the epoch.' });
const requestInstant = z
  .union([z.number(), z.string()])
  .meta({ description: 'ISO 8601 for a question of a node, ms since the epoch for other requests.' });
const count = z.int().min(0);
const ids = z.array(z.string());
const texts = z.record(z.string(), z.string()).meta({ description: 'By node id.' });
const retryable = z
  .boolean()
  .exactOptional()
  .meta({ description: 'For an error: whether the same work may succeed later.' });
const nodeStatus = z.enum(['pending', 'active', 'waiting', 'completed', 'error', 'skipped']);

const toolCall: z.ZodType<ToolCallItem> = named(
  'WorkflowToolCall',
  z.object({
    id: z.string(),
    name: z.string(),
    status: z.enum(['pending', 'loading', 'complete', 'error', 'skipped']),
    args: z.string().meta({ description: 'JSON text: the arguments that the call runs with.' }),
    proposedArgs: z
      .string()
      .exactOptional()
      .meta({ description: 'The arguments that the model proposed, if a person edited them.' }),
    result: z.string().exactOptional(),
    output: z.string().exactOptional().meta({ description: 'Equals `result`.' }),
    error: z.string().exactOptional(),
    retryable,
  }),
);

const node: z.ZodType<WorkflowNodeState> = named(
  'WorkflowNodeState',
  z.object({
    status: nodeStatus,
    label: z.string(),
    type: z.string(),
    modelId: z.string().exactOptional(),
    output: z.string(),
    streamingText: z.string().exactOptional().meta({ description: 'The text so far, while the node is active.' }),
    error: z.string().exactOptional(),
    retryable,
    startedAt: instant.exactOptional(),
    finishedAt: instant.exactOptional(),
    tokenCount: count.exactOptional(),
    route: z.string().exactOptional(),
    toolCalls: z.array(toolCall).exactOptional(),
    iteration: z
      .array(z.int())
      .exactOptional()
      .meta({ description: 'Numbers of the loop iterations or map items around it, outermost first.' }),
  }),
);

const branch: z.ZodType<WorkflowBranchState> = named(
  'WorkflowBranchState',
  z.object({
    id: z.string(),
    label: z.string(),
    status: nodeStatus,
    output: z.string(),
    streamingText: z.string(),
    toolCalls: z.array(toolCall),
  }),
);

const request: z.ZodType<WorkflowRequest> = named(
  'WorkflowRequest',
  z.looseObject({
    id: z.string(),
    nodeId: z.string().exactOptional(),
    createdAt: requestInstant,
    expiresAt: requestInstant.exactOptional(),
    response: z
      .object({
        requestId: z.string(),
        action: z.string(),
        data: z.unknown().optional(),
        respondedBy: z.string().exactOptional(),
        respondedAt: instant.nullable(),
      })
      .exactOptional()
      .meta({ description: 'Absent while the request is open.' }),
  }),
);

const message = named(
  'WorkflowMessage',
  z.object({
    role: z.enum(['system', 'user', 'assistant', 'tool']),
    content: z
      .union([z.string(), z.array(z.looseObject({ type: z.string() }))])
      .nullable()
      .meta({ description: 'Text, or parts. Null: the message consists of tool calls.' }),
    name: z.string().exactOptional(),
    tool_call_id: z.string().exactOptional(),
    tool_calls: z
      .array(
        z.object({
          id: z.string(),
          type: z.literal('function'),
          function: z.object({ name: z.string(), arguments: z.string() }),
        }),
      )
      .exactOptional(),
  }),
);

const resumeState = named(
  'WorkflowResumeState',
  z.object({
    startNodeId: z.string(),
    nodeOutputs: texts,
    executionOrder: ids,
    lastActiveNodeId: z.string().nullable(),
    sessionMessages: z.array(message),
    resumeInput: z.string().nullable(),
    pendingNodes: ids,
  } satisfies Record<keyof NonNullable<WorkflowState['resumeState']>, z.ZodType>),
);

const result: z.ZodType<WorkflowResult> = named(
  'WorkflowResult',
  z.object({
    success: z.boolean(),
    duration: z.number().meta({ description: 'Ms.' }),
    totalTokens: count,
    usage: z.object({ promptTokens: count, completionTokens: count, totalTokens: count }),
    tokenUsageDetails: z.array(z.object({ nodeId: z.string(), totalTokens: count })),
    error: z
      .object({ code: z.string(), message: z.string(), retryable: z.boolean(), nodeId: z.string().exactOptional() })
      .nullable(),
  }),
);

const attachment = z.object({
  type: z.enum(['image', 'audio', 'video', 'file']),
  url: z.string().meta({ description: 'A file of the workspace is `file:<hash>`.' }),
  name: z.string().exactOptional(),
  mimeType: z.string().exactOptional(),
});

/** Documents `workflow_state` of the REST status; the members are those of `WorkflowState`. */
export const workflowStateSchema = named(
  'WorkflowState',
  z.object({
    type: z.literal('workflow-execution'),
    workflowId: z.string().nullable(),
    workflowName: z.string(),
    prompt: z.string(),
    attachments: z.array(attachment).exactOptional(),
    executionState: z.enum(['running', 'interrupted', 'completed', 'error', 'stopped']),
    nodeStates: z.record(z.string(), node).meta({ description: 'By node id.' }),
    executionOrder: ids,
    lastActiveNodeId: z.string().nullable(),
    currentNodeId: z.string().nullable(),
    finalNodeId: z.string().nullable(),
    branches: z.record(z.string(), branch).meta({ description: 'By `<node id>:<branch id>`.' }),
    hitlRequests: z.record(z.string(), request).meta({ description: 'By the id to which answers refer.' }),
    finalOutput: z.string(),
    failedNodeId: z.string().nullable(),
    nodeOutputs: texts,
    sessionMessages: z.array(message),
    resumeState: resumeState
      .nullable()
      .meta({ description: 'Where the run can continue. Null: it has not failed, or cannot continue.' }),
    version: count.meta({ description: 'Never decreases.' }),
    result: result.nullable().meta({ description: 'Null: the run has not ended.' }),
  } satisfies Record<keyof WorkflowState, z.ZodType>),
);
