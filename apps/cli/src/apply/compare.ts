import {
  ApprovalPolicyDocument,
  CreateAgentDocument,
  type CreateAgentMutationVariables,
  type McpServersQuery,
  PublishWorkflowDocument,
  RegisterMcpServerDocument,
  type RegisterMcpServerMutationVariables,
  RegisterToolDocument,
  SaveApprovalPolicyDocument,
  SaveChatScheduleDocument,
  type SaveChatScheduleMutationVariables,
  SaveWorkflowDocument,
  SaveWorkflowScheduleDocument,
  type SaveWorkflowScheduleMutationVariables,
  ValidateApprovalPolicyDocument,
  ValidateToolDocument,
  WorkflowDraftDocument,
  WorkflowVersionDocument,
} from '@nightshift/client/operations';

import { compareSyntrixConnection, compareTrigger } from './compare-triggers.js';
import type { Comparison } from './comparison.js';
import { assertAccepted, mayNotRead } from './refusal.js';
import { isObject, type JsonObject, type Resource } from './resource.js';
import { type ServerState, withoutNulls } from './server-state.js';

/** Reads what the server has. Throws when the file has a fault that the server can name without saving it. */
export function compare(state: ServerState, resource: Resource): Promise<Comparison> {
  switch (resource.kind) {
    case 'policy':
      return comparePolicy(state, resource);
    case 'tool':
      return compareTool(state, resource);
    case 'mcp-server':
      return compareMcpServer(state, resource);
    case 'agent':
      return compareAgent(state, resource);
    case 'workflow':
      return compareWorkflow(state, resource);
    case 'schedule':
      return compareSchedule(state, resource);
    case 'chat-schedule':
      return compareChatSchedule(state, resource);
    case 'syntrix-connection':
      return compareSyntrixConnection(state, resource);
    case 'trigger':
      return compareTrigger(state, resource);
  }
}

async function comparePolicy(state: ServerState, resource: Resource): Promise<Comparison> {
  const { client } = state;
  const desired = await filledPolicy(state, resource, { policy: resource.value, path: [] });
  const { approvalPolicy } = await client.query(ApprovalPolicyDocument, {});
  if (approvalPolicy === null) throw mayNotRead(resource, 'the approval policy');
  const { version: expectedVersion, policy } = approvalPolicy;
  return {
    current: objectOf(policy),
    desired,
    save: async () => {
      const input = { policy: resource.value, expectedVersion };
      const { saveApprovalPolicy } = await client.mutate(SaveApprovalPolicyDocument, { input });
      assertAccepted(resource, saveApprovalPolicy);
    },
  };
}

async function compareTool({ client, tools }: ServerState, resource: Resource): Promise<Comparison> {
  const { validateTool } = await client.query(ValidateToolDocument, { definition: resource.value });
  assertAccepted(resource, validateTool);
  const found = (await tools()).find(({ name }) => name === resource.key);
  return {
    current: found === undefined ? null : objectOf(found.definition),
    desired: objectOf(validateTool.definition),
    save: async () => {
      const input = { definition: resource.value, upsert: true };
      assertAccepted(resource, (await client.mutate(RegisterToolDocument, { input })).registerTool);
    },
  };
}

/** Compares only fields that the file contains; the server keeps the others. */
async function compareAgent(state: ServerState, resource: Resource): Promise<Comparison> {
  const { value } = resource;
  const { toolApproval, limits } = value;
  const desired: JsonObject = {
    ...value,
    ...trimmed(value, ['name', 'description', 'model']),
    ...(isObject(limits) && { limits: withoutNulls(limits) }),
    ...(isObject(toolApproval) && {
      toolApproval: await filledPolicy(state, resource, { policy: toolApproval, path: ['toolApproval'] }),
    }),
  };
  const { slug } = value;
  const found = (await state.agents()).find((agent) =>
    slug === undefined ? agent.name === resource.key : agent.slug === slug,
  );
  const current = found && Object.entries({ ...found, limits: withoutNulls(found.limits) });
  return {
    current: current === undefined ? null : Object.fromEntries(current.filter(([field]) => field in desired)),
    desired,
    save: async () => {
      // The server checks each field.
      const input = { ...value, upsert: true } as unknown as CreateAgentMutationVariables['input'];
      assertAccepted(resource, (await state.client.mutate(CreateAgentDocument, { input })).createAgent);
    },
  };
}

async function compareSchedule(state: ServerState, resource: Resource): Promise<Comparison> {
  const { value, key } = resource;
  const desired = {
    ...{ timeZone: 'UTC', missed: 'ONCE', enabled: true },
    ...value,
    ...trimmed(value, ['name', 'cron']),
    workflowId: await state.workflowRef(String(value['workflowId'])),
  };
  const found = (await state.schedules()).find(({ name }) => name === key);
  return {
    current: found === undefined ? null : { ...found },
    desired,
    save: async () => {
      // The server checks each field.
      const input = value as unknown as SaveWorkflowScheduleMutationVariables['input'];
      const { saveWorkflowSchedule } = await state.client.mutate(SaveWorkflowScheduleDocument, { input });
      assertAccepted(resource, saveWorkflowSchedule);
    },
  };
}

async function compareChatSchedule(state: ServerState, resource: Resource): Promise<Comparison> {
  const { value, key } = resource;
  const { message, messages = [{ role: 'user', content: message }], agent, ...terms } = value;
  const desired = {
    ...{ timeZone: 'UTC', missed: 'ONCE', enabled: true, tools: [] },
    ...withoutNulls(terms),
    ...trimmed(value, ['name', 'cron']),
    messages,
    ...(isObject(agent) && { agent: withoutNulls(agent) }),
  };
  const found = (await state.chatSchedules()).find(({ name }) => name === key);
  const current = found && {
    ...withoutNulls({ ...found }),
    ...(found.agent !== null && { agent: withoutNulls({ ...found.agent }) }),
  };
  return {
    current: current ?? null,
    desired,
    save: async () => {
      // The server checks each field.
      const input = value as unknown as SaveChatScheduleMutationVariables['input'];
      const { saveChatSchedule } = await state.client.mutate(SaveChatScheduleDocument, { input });
      assertAccepted(resource, saveChatSchedule);
    },
  };
}

/** A policy with its defaults. `path` is where it is in the file. */
async function filledPolicy(
  { client }: ServerState,
  resource: Resource,
  { policy, path }: { readonly policy: JsonObject; readonly path: readonly string[] },
): Promise<JsonObject> {
  const { validateApprovalPolicy: reply } = await client.query(ValidateApprovalPolicyDocument, { policy });
  const inFile = (field: string | null) => [...path, ...(field === null ? [] : [field])].join('.');
  assertAccepted(resource, {
    userErrors: reply.userErrors.map((error) => ({ ...error, field: inFile(error.field) })),
  });
  return objectOf(reply.policy);
}

/** The server stores these without surrounding whitespace. */
function trimmed(value: JsonObject, fields: readonly string[]): JsonObject {
  const texts = fields.flatMap((field) => {
    const text = value[field];
    return typeof text === 'string' ? [[field, text.trim()] as const] : [];
  });
  return Object.fromEntries(texts);
}

function objectOf(value: unknown): JsonObject {
  if (isObject(value)) return value;
  throw new Error('the server returned no object');
}

/** A workflow is as the file asks when its draft equals the file and that draft is the published version. */
async function compareWorkflow({ client }: ServerState, resource: Resource): Promise<Comparison> {
  const { workflow } = await client.query(WorkflowDraftDocument, { id: resource.key });
  const number = workflow?.publishedVersion ?? null;
  const published =
    workflow === null || number === null
      ? null
      : (await client.query(WorkflowVersionDocument, { workflowId: workflow.id, number })).workflowVersion;
  const isPublished = published !== null && published.hash === workflow?.draftHash;
  const definition = isObject(workflow?.draft) ? workflow.draft : {};
  return {
    current: workflow === null ? null : { definition, published: isPublished },
    desired: { definition: resource.value, published: true },
    save: async () => {
      const target = workflow === null ? {} : { id: workflow.id, expectedVersion: workflow.draftVersion };
      const input = { ...target, definition: resource.value };
      const { saveWorkflow } = await client.mutate(SaveWorkflowDocument, { input });
      assertAccepted(resource, saveWorkflow);
      const saved = saveWorkflow.workflow;
      if (saved === null) throw new Error('the server returned no workflow and no error');
      const publishing = { input: { id: saved.id, expectedVersion: saved.draftVersion } };
      assertAccepted(resource, (await client.mutate(PublishWorkflowDocument, publishing)).publishWorkflow);
    },
  };
}

type Settings = NonNullable<McpServersQuery['mcpServers']['nodes'][number]['settings']>;

/** Fields that the file leaves out stay as they are: only those that it has are compared. No file accepts tools: a person reviews them. */
export async function compareMcpServer(state: ServerState, resource: Resource): Promise<Comparison> {
  const { value, key } = resource;
  const found = (await state.mcpServers()).find(({ name }) => name === key);
  if (found?.settings === null) throw mayNotRead(resource, 'the settings of MCP servers');
  const desired = byName({ ...value, name: key });
  return {
    current: found === undefined ? null : among(toFields(found, found.settings), desired),
    desired,
    save: async () => {
      // The server checks each field.
      const input = { ...value, name: key, upsert: true } as unknown as RegisterMcpServerMutationVariables['input'];
      assertAccepted(resource, (await state.client.mutate(RegisterMcpServerDocument, { input })).registerMcpServer);
    },
  };
}

/** As a file writes it. */
function toFields(
  { name, enabled }: { readonly name: string; readonly enabled: boolean },
  settings: Settings,
): JsonObject {
  const { url, headers, command, args, env, ...calls } = settings;
  const place = url === null ? { stdio: { command, args, env } } : { http: { url, headers } };
  return byName({ name, enabled, ...place, calls: { ...calls } });
}

/** With lists of headers, variables and effects as objects: the server does not keep their order. */
function byName(value: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(value).map(([field, member]) => [field, isObject(member) ? byName(member) : toObject(member)]),
  );
}

function toObject(member: unknown): unknown {
  if (!Array.isArray(member) || !member.every(isObject)) return member;
  return Object.fromEntries(
    member.map(({ name, value, tool, effect }) => [String(name ?? tool), value ?? effect] as const),
  );
}

/** The fields of `current` that are among those of `desired`. */
function among(current: JsonObject, desired: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(current).flatMap(([field, member]) => {
      const wanted = desired[field];
      if (wanted === undefined) return [];
      const isPart = ['http', 'stdio', 'calls'].includes(field) && isObject(member) && isObject(wanted);
      return [[field, isPart ? among(member, wanted) : member] as const];
    }),
  );
}
