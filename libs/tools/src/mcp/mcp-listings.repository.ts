import { Injectable } from '@nestjs/common';

import { Postgres } from '#platform';

import { canonicalJson } from '../canonical-json.js';
import type { McpListing } from './mcp-connection.js';
import type { McpDefinition } from './mcp-definition.js';
import type { McpSettings } from './mcp-server.js';
import type { McpToolStatus } from './mcp-server.js';
import { toSettings } from './mcp-servers.repository.js';
import { statusOf } from './to-mcp-server.js';

/** A server as those need it who talk to it. */
export interface McpReachable {
  readonly workspaceId: string;
  readonly serverId: string;
  readonly name: string;
  readonly settings: McpSettings;
  readonly enabled: boolean;
  /** The workspace's allow list of hosts. */
  readonly hosts: readonly string[];
}

/** A tool that was accepted, and how it stands now. */
export interface McpAcceptedTool {
  readonly serverId: string;
  readonly serverName: string;
  readonly settings: McpSettings;
  readonly enabled: boolean;
  readonly status: McpToolStatus;
  readonly definition: McpDefinition;
  readonly hash: string;
}

interface ServerRow {
  readonly id: string;
  readonly name: string;
  readonly transport: string;
  readonly settings: unknown;
  readonly enabled: boolean;
}

interface AcceptedRow extends ServerRow {
  readonly hash: string;
  readonly is_gone: boolean;
  readonly accepted_definition: McpDefinition;
  readonly accepted_hash: string;
}

const MOST_TOOLS = 2_000;

const REACHABLE = `SELECT s.id, s.name, s.transport, s.settings, s.enabled, w.outbound_hosts AS hosts
  FROM mcp_server s JOIN workspace w ON w.id = s.workspace_id
 WHERE s.workspace_id = $1 AND s.id = $2`;

const ACCEPTED = `SELECT s.id, s.name, s.transport, s.settings, s.enabled, t.hash, t.gone_at IS NOT NULL AS is_gone,
       t.accepted_definition, t.accepted_hash
  FROM mcp_tool t JOIN mcp_server s ON s.workspace_id = t.workspace_id AND s.id = t.server_id
 WHERE t.workspace_id = $1 AND t.accepted_hash IS NOT NULL
 ORDER BY s.name, t.name LIMIT ${MOST_TOOLS}`;

// The lock makes listings of one server one after the other, and keeps them apart from acceptance.
const LOCK = `SELECT transport, settings FROM mcp_server WHERE workspace_id = $1 AND id = $2 FOR NO KEY UPDATE`;

const STORE = `INSERT INTO mcp_tool AS t (workspace_id, server_id, name, definition, hash)
SELECT $1, $2, l.name, l.definition::jsonb, l.hash
  FROM unnest($3::text[], $4::text[], $5::text[]) AS l(name, definition, hash)
ON CONFLICT (workspace_id, server_id, name) DO UPDATE
   SET definition = EXCLUDED.definition, hash = EXCLUDED.hash, gone_at = NULL
 WHERE t.hash <> EXCLUDED.hash OR t.gone_at IS NOT NULL`;

const FORGET = `DELETE FROM mcp_tool
 WHERE workspace_id = $1 AND server_id = $2 AND accepted_hash IS NULL AND name <> ALL($3::text[])`;

const LOSE = `UPDATE mcp_tool SET gone_at = clock_timestamp()
 WHERE workspace_id = $1 AND server_id = $2 AND gone_at IS NULL AND name <> ALL($3::text[])`;

const LISTED = `UPDATE mcp_server SET listed_at = clock_timestamp(), last_error = $3 WHERE workspace_id = $1 AND id = $2`;

const FAILED = `UPDATE mcp_server SET last_error = $3
 WHERE workspace_id = $1 AND id = $2 AND last_error IS DISTINCT FROM $3`;

/** What servers say of their tools, for those who talk to them: tools at work, whose right to run was asked before. */
@Injectable()
export class McpListingsRepository {
  constructor(private readonly postgres: Postgres) {}

  /** Null: no such server in this workspace. */
  async reachable(workspaceId: string, serverId: string): Promise<McpReachable | null> {
    const [row] = await this.postgres.readInWorkspace<ServerRow & { hosts: string[] }>(workspaceId, {
      name: 'mcp-reachable',
      text: REACHABLE,
      values: [workspaceId, serverId],
    });
    if (row === undefined) return null;
    const { name, enabled, hosts } = row;
    return { workspaceId, serverId, name, settings: toSettings(row), enabled, hosts };
  }

  /** Every tool of the workspace that was accepted and not taken back, whatever became of it since. */
  async accepted(workspaceId: string): Promise<readonly McpAcceptedTool[]> {
    const rows = await this.postgres.readInWorkspace<AcceptedRow>(workspaceId, {
      name: 'mcp-accepted',
      text: ACCEPTED,
      values: [workspaceId],
    });
    return rows.map((row) => ({
      serverId: row.id,
      serverName: row.name,
      settings: toSettings(row),
      enabled: row.enabled,
      status: statusOf({ hash: row.hash, acceptedHash: row.accepted_hash, isGone: row.is_gone }),
      definition: row.accepted_definition,
      hash: row.accepted_hash,
    }));
  }

  /** Writes what a server lists. A server that has moved since it was asked is left alone. */
  async store({ workspaceId, serverId, settings }: McpReachable, { tools, problem }: McpListing): Promise<void> {
    const key = [workspaceId, serverId];
    const names = tools.map(({ definition }) => definition.name);
    const definitions = tools.map(({ definition }) => JSON.stringify(definition));
    await this.postgres.withWorkspaceSql(workspaceId, async (client) => {
      const { rows } = await client.query<Pick<ServerRow, 'transport' | 'settings'>>(LOCK, key);
      const [row] = rows;
      if (row === undefined || canonicalJson(toSettings(row)) !== canonicalJson(settings)) return;
      await client.query(STORE, [...key, names, definitions, tools.map(({ hash }) => hash)]);
      await client.query(FORGET, [...key, names]);
      await client.query(LOSE, [...key, names]);
      await client.query(LISTED, [...key, problem]);
    });
  }

  /** Writes why a server could not be listed; its tools stay as they are. */
  async storeProblem({ workspaceId, serverId }: McpReachable, problem: string): Promise<void> {
    await this.postgres.withWorkspaceSql(workspaceId, (client) =>
      client.query(FAILED, [workspaceId, serverId, problem]),
    );
  }
}
