import { describe, expect, it } from '@jest/globals';

import { newId } from '#platform';

import { McpFixture, serverAt } from '../../../../test/harness/mcp-fixture.js';

const given = new McpFixture({ MCP_STDIO: 'false' });

describe('MCP servers over stdio without MCP_STDIO', () => {
  it('cannot be registered', async () => {
    const settings = { transport: 'stdio', command: 'touch' } as const;
    const attempt = given.mcp.servers.register(given.here.admin, serverAt('', { settings }));
    await expect(attempt).rejects.toMatchObject({ code: 'mcp_stdio_disabled' });
    expect(await given.sql('SELECT id FROM mcp_server')).toEqual([]);
  });

  it('do not start and offer no tools when they were registered before', async () => {
    const id = newId();
    await given.sql(
      `INSERT INTO mcp_server (workspace_id, id, name, transport, settings, created_by)
       VALUES ($1, $2, 'old', 'stdio', '{"command": "touch", "args": [], "env": {}, "effects": {}}', 'user:x')`,
      [given.workspaceId, id],
    );
    await given.sql(
      `INSERT INTO mcp_tool (workspace_id, server_id, name, definition, hash, accepted_definition, accepted_hash)
       VALUES ($1, $2, 'a', $3, 'h', $3, 'h')`,
      [given.workspaceId, id, { name: 'a', inputSchema: { type: 'object' } }],
    );
    expect(await given.mcp.offered(given.workspaceId)).toEqual([]);
    const refreshed = await given.mcp.servers.refresh(given.here.admin, id);
    expect(refreshed.problem).toContain('does not start processes of MCP servers');
  });
});
