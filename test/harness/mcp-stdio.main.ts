/**
 * An MCP server over stdio, the official SDK's, as a process of its own. Node runs this file as it is, types and all, so it
 * imports nothing of the tree. Its tools: `environment` gives a variable, `exit` ends the process in the middle of a call.
 */
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

function createServer(): McpServer {
  const server = new McpServer({ name: 'stdio', version: '1.0.0' });
  server.registerTool(
    'environment',
    { description: 'Gives a variable of the environment.', inputSchema: z.object({ name: z.string() }) },

    ({ name }) => ({ content: [{ type: 'text', text: process.env[name] ?? 'nothing' }] }),
  );
  server.registerTool('pid', { description: 'Gives the id of the process.', inputSchema: z.object({}) }, () => ({
    content: [{ type: 'text', text: String(process.pid) }],
  }));
  server.registerTool('exit', { description: 'Ends the process.', inputSchema: z.object({}) }, () => process.exit(1));
  return server;
}

serveStdio(createServer);
