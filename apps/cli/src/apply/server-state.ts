import type { Nightshift } from '@nightshift/client';
import {
  AgentsDocument,
  ChatSchedulesDocument,
  McpServersDocument,
  SyntrixConnectionsDocument,
  TriggersDocument,
  WorkflowSchedulesDocument,
  WorkflowsDocument,
  WorkspaceToolsDocument,
} from '@nightshift/client/operations';

import type { JsonObject } from './resource.js';

interface PageOf<Item> {
  readonly nodes: readonly Item[];
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null };
}

/** The lists of a workspace, each read at most once, when it is first needed. */
export class ServerState {
  readonly tools = once(() =>
    all(async (after) => (await this.client.query(WorkspaceToolsDocument, { after })).workspaceTools),
  );
  readonly mcpServers = once(() =>
    all(async (after) => (await this.client.query(McpServersDocument, { after })).mcpServers),
  );
  readonly agents = once(() => all(async (after) => (await this.client.query(AgentsDocument, { after })).agents));
  readonly schedules = once(() =>
    all(async (after) => (await this.client.query(WorkflowSchedulesDocument, { after })).workflowSchedules),
  );
  readonly chatSchedules = once(() =>
    all(async (after) => (await this.client.query(ChatSchedulesDocument, { after })).chatSchedules),
  );
  readonly syntrixConnections = once(() =>
    all(async (after) => (await this.client.query(SyntrixConnectionsDocument, { after })).syntrixConnections),
  );
  readonly triggers = once(() => all(async (after) => (await this.client.query(TriggersDocument, { after })).triggers));
  private readonly workflows = once(() =>
    all(async (after) => (await this.client.query(WorkflowsDocument, { first: 100, after })).workflows),
  );

  constructor(readonly client: Nightshift) {}

  /** Returns the server id of a workflow named by its server id or `meta.id`. */
  async workflowRef(ref: string): Promise<string> {
    const found = (await this.workflows()).find(({ id, clientId }) => id === ref || clientId === ref);
    return found?.id ?? ref;
  }
}

async function all<Item>(read: (after: string | undefined) => Promise<PageOf<Item>>): Promise<readonly Item[]> {
  const items: Item[] = [];
  let after: string | undefined;
  do {
    const { nodes, pageInfo } = await read(after);
    items.push(...nodes);
    after = pageInfo.hasNextPage ? (pageInfo.endCursor ?? undefined) : undefined;
  } while (after !== undefined);
  return items;
}

function once<Value>(read: () => Promise<Value>): () => Promise<Value> {
  let value: Promise<Value> | undefined;
  return () => (value ??= read());
}

/** Without the members that are null: the API returns null for what was not set. */
export function withoutNulls(value: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null));
}
