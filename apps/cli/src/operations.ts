import type { JobState, TypedDocument } from '@nightshift/client';

const trigger = 'id origin enabled definition savedBy fired failed lastFiredAt lastError lastErrorAt createdAt savedAt';
const schedule = 'id name cron timeZone missed enabled stoppedBecause savedBy createdAt nextSlots';
const slots = 'slots { slotAt status jobId error { code message } }';
const chat = 'messages model threadId tools agent { id auto }';
const changedSchedule = `schedule { ${schedule} } userErrors { code message }`;

/** What the client has no document for. A test checks them against the schema. */
export const documents = {
  jobList: `query CliJobs($filter: JobFilterInput, $first: Int, $after: String) {
    jobs(filter: $filter, first: $first, after: $after) {
      nodes {
        id kind status reason model threadId workflowId createdAt startedAt finishedAt lastSeq
        error { code message } usage { totalTokens promptTokens completionTokens }
        thread { title }
      }
      pageInfo { hasNextPage endCursor }
    }
  }`,
  agents: `query CliAgents { agents(first: 100) { nodes { id slug name version model tools description isDefault maxRunningJobs toolEventFormat } } }`,
  plugins: `query CliPlugins { plugins { name version hash tools hooks nodes } }`,
  workspaceTools: `query CliWorkspaceTools($after: String) {
    workspaceTools(first: 100, after: $after) { nodes { id name } pageInfo { hasNextPage endCursor } }
  }`,
  workflow: `query CliWorkflow($id: ID!) { workflow(id: $id) { id clientId name publishedVersion } }`,
  asker: `query CliAsker($id: ID!) { job(id: $id) { parent { toolCalls { name subJob { id } } } } }`,
  modelProviders: `query CliModelProviders { workspace { name modelProviders { name baseUrl defaultModel isDefault keyHint } } }`,
  webhookEndpoints: `query CliWebhookEndpoints { webhookEndpoints { id url events enabled disabledBecause } }`,
  webhookDeliveries: `query CliWebhookDeliveries($filter: WebhookDeliveryFilter, $first: Int, $after: String) {
    webhookDeliveries(filter: $filter, first: $first, after: $after) {
      nodes { id type status attempts reason createdAt attemptLog { status durationMs } } pageInfo { hasNextPage endCursor }
    }
  }`,
  testWebhookEndpoint: `mutation CliTestWebhook($id: ID!) {
    testWebhookEndpoint(input: { id: $id }) { delivery { id } userErrors { code message } }
  }`,
  redeliverWebhook: `mutation CliRedeliverWebhook($id: ID!) {
    redeliverWebhook(input: { id: $id }) { count userErrors { code message } }
  }`,
  redeliverDeadWebhooks: `mutation CliRedeliverDeadWebhooks($input: RedeliverDeadWebhooksInput!) {
    redeliverDeadWebhooks(input: $input) { count userErrors { code message } }
  }`,
  triggers: `query CliTriggers($database: String, $first: Int, $after: String) {
    triggers(database: $database, first: $first, after: $after) {
      nodes { ${trigger} } pageInfo { hasNextPage endCursor }
    }
  }`,
  trigger: `query CliTrigger($id: ID!) {
    trigger(id: $id) { ${trigger} runs { id status jobId tryAt createdAt error { code message } } }
  }`,
  testTrigger: `query CliTestTrigger($input: TestTriggerInput!) {
    testTrigger(input: $input) {
      trigger { id } fires problem delivery input { prompt thread attachments { hash mime name } }
    }
  }`,
  setTriggerEnabled: `mutation CliSetTriggerEnabled($input: SetTriggerEnabledInput!) {
    setTriggerEnabled(input: $input) { trigger { ${trigger} } userErrors { code message } }
  }`,
  deleteTrigger: `mutation CliDeleteTrigger($id: ID!) {
    deleteTrigger(input: { id: $id }) { trigger { ${trigger} } userErrors { code message } }
  }`,
  workflowSchedules: `query CliWorkflowSchedules($first: Int, $after: String) {
    page: workflowSchedules(first: $first, after: $after) {
      nodes { ${schedule} workflowId prompt } pageInfo { hasNextPage endCursor }
    }
  }`,
  chatSchedules: `query CliChatSchedules($first: Int, $after: String) {
    page: chatSchedules(first: $first, after: $after) {
      nodes { ${schedule} ${chat} } pageInfo { hasNextPage endCursor }
    }
  }`,
  oneSchedule: `query CliSchedule($id: ID!) {
    workflow: workflowSchedule(id: $id) { ${schedule} workflowId prompt ${slots} }
    chat: chatSchedule(id: $id) { ${schedule} ${chat} ${slots} }
  }`,
  setWorkflowScheduleEnabled: `mutation CliSetWorkflowSchedule($input: SetWorkflowScheduleEnabledInput!) {
    payload: setWorkflowScheduleEnabled(input: $input) { ${changedSchedule} }
  }`,
  setChatScheduleEnabled: `mutation CliSetChatSchedule($input: SetChatScheduleEnabledInput!) {
    payload: setChatScheduleEnabled(input: $input) { ${changedSchedule} }
  }`,
  removeWorkflowSchedule: `mutation CliRemoveWorkflowSchedule($input: RemoveWorkflowScheduleInput!) {
    payload: removeWorkflowSchedule(input: $input) { ${changedSchedule} }
  }`,
  removeChatSchedule: `mutation CliRemoveChatSchedule($input: RemoveChatScheduleInput!) {
    payload: removeChatSchedule(input: $input) { ${changedSchedule} }
  }`,
} as const;

/** A job in a list. */
export type ListedJob = Pick<
  JobState,
  | 'id'
  | 'kind'
  | 'status'
  | 'reason'
  | 'model'
  | 'threadId'
  | 'workflowId'
  | 'createdAt'
  | 'startedAt'
  | 'finishedAt'
  | 'lastSeq'
  | 'error'
  | 'usage'
> & { readonly thread: { readonly title: string } | null };

interface ListVariables {
  readonly filter: object;
  readonly first: number;
  readonly after: string | undefined;
}

export const jobListDocument: TypedDocument<
  {
    readonly jobs: {
      readonly nodes: readonly ListedJob[];
      readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
    };
  },
  ListVariables
> = documents.jobList;

/** An agent in a list. */
interface ListedAgent {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly version: number;
  readonly model: string | null;
  readonly tools: readonly string[];
  readonly description: string;
  readonly isDefault: boolean;
  readonly maxRunningJobs: number | null;
  /** `INLINE`, `OPEN_WEBUI`, `NONE`; null: the default of `/v1`. */
  readonly toolEventFormat: string | null;
}

/** A plugin of the server. */
export interface ListedPlugin {
  readonly name: string;
  readonly version: string;
  readonly hash: string;
  readonly tools: readonly string[];
  readonly hooks: readonly string[];
  readonly nodes: readonly string[];
}

export const pluginsDocument: TypedDocument<
  { readonly plugins: readonly ListedPlugin[] },
  Record<string, never>
> = documents.plugins;

export const agentsDocument: TypedDocument<
  { readonly agents: { readonly nodes: readonly ListedAgent[] } },
  Record<string, never>
> = documents.agents;

export const workspaceToolsDocument: TypedDocument<
  {
    readonly workspaceTools: {
      readonly nodes: readonly { readonly id: string; readonly name: string }[];
      readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
    };
  },
  { readonly after: string | undefined }
> = documents.workspaceTools;

/** A workflow as it is found. */
export interface FoundWorkflow {
  readonly id: string;
  readonly clientId: string | null;
  readonly name: string;
  readonly publishedVersion: number | null;
}

export const workflowDocument: TypedDocument<{ readonly workflow: FoundWorkflow | null }, { readonly id: string }> =
  documents.workflow;

/** The job whose call another one is, and its calls. */
export const askerDocument: TypedDocument<
  {
    readonly job: {
      readonly parent: {
        readonly toolCalls: readonly { readonly name: string; readonly subJob: { readonly id: string } | null }[];
      } | null;
    } | null;
  },
  { readonly id: string }
> = documents.asker;

/** A provider that the workspace has set. */
export interface ListedProvider {
  readonly name: string;
  readonly baseUrl: string;
  readonly defaultModel: string;
  readonly isDefault: boolean;
  readonly keyHint: string | null;
}

export const modelProvidersDocument: TypedDocument<
  { readonly workspace: { readonly name: string; readonly modelProviders: readonly ListedProvider[] } | null },
  Record<string, never>
> = documents.modelProviders;
