import { describe, expect, it } from '@jest/globals';

import { McpFixture, serverAt } from '../../../../test/harness/mcp-fixture.js';

const given = new McpFixture({ ALLOW_PRIVATE_TOOL_URLS: 'false' });

describe('an MCP server without ALLOW_PRIVATE_TOOL_URLS', () => {
  it.each([
    ['http://127.0.0.1/mcp', 'This address is not public.'],
    ['http://127.0.0.1:9/mcp', 'The port 9 is not allowed.'],
  ])('names the setting that would allow %s', async (url, why) => {
    const { problem } = await given.mcp.servers.register(given.here.admin, serverAt(url));
    expect(problem).toContain(why);
    expect(problem).toContain('ALLOW_PRIVATE_TOOL_URLS=true');
  });
});
