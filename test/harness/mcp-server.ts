import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, type McpServer, type RegisteredTool } from '@modelcontextprotocol/server';

import { createTestMcpServer, McpStage } from './mcp-test-tools.js';

export interface McpTestServerOptions {
  /** Which revision of the protocol it speaks: sessions of 2025, or single requests of 2026. Default 2025. */
  readonly era?: '2025' | '2026';
  /** Answers requests itself, by returning true. */
  readonly intercept?: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** Replaces the listing; pages as they are given. */
  readonly pages?: readonly (readonly object[])[];
}

/** A request as it came in. */
export interface McpSeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

interface Session {
  readonly server: McpServer;
  readonly registered: ReadonlyMap<string, RegisteredTool>;
  readonly transport: NodeStreamableHTTPServerTransport;
}

/** A real MCP server, the official SDK's, over streamable HTTP on a free port of this machine. */
export class McpTestServer {
  readonly stage = new McpStage();
  readonly requests: McpSeenRequest[] = [];
  private readonly sessions = new Map<string, Session>();
  private readonly modern = createMcpHandler(() => this.make().server, { legacy: 'reject' });
  private readonly http: Server;

  private constructor(private readonly options: McpTestServerOptions) {
    const serveModern = toNodeHandler(this.modern);
    this.http = createServer((request, response) => {
      const { method = '', url = '', headers } = request;
      this.requests.push({ method, url, headers });
      if (options.intercept?.(request, response) === true) return;
      // Node's own request, whose optional members may also be undefined.
      if (options.era === '2026') void serveModern(request as Parameters<typeof serveModern>[0], response);
      else void this.serveSession(request, response);
    });
    this.stage.die = () => {
      this.http.closeAllConnections();
    };
  }

  static async start(options: McpTestServerOptions = {}): Promise<McpTestServer> {
    const server = new McpTestServer(options);
    server.http.listen(0, '127.0.0.1');
    await once(server.http, 'listening');
    return server;
  }

  get port(): number {
    return (this.http.address() as AddressInfo).port; // it listens on TCP
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}/mcp`;
  }

  /** How many sessions of 2025 it knows. */
  get sessionCount(): number {
    return this.sessions.size;
  }

  /** Changes the description of a tool. `notifies`: whether the server sends `tools/list_changed`. */
  describe(tool: string, description: string, notifies = true): void {
    this.stage.descriptions.set(tool, description);
    if (this.options.era === '2026') {
      if (notifies) this.modern.notify.toolsChanged();
      return;
    }
    for (const { registered } of this.sessions.values()) {
      const known = registered.get(tool);
      if (notifies) known?.update({ description });
      else if (known !== undefined) known.description = description;
    }
  }

  /** Forgets all sessions, as after a restart. */
  forget(): void {
    this.sessions.clear();
  }

  async close(): Promise<void> {
    this.stage.release();
    await Promise.all([...this.sessions.values()].map(({ transport }) => transport.close()));
    await this.modern.close();
    this.http.close();
    this.http.closeAllConnections();
    await once(this.http, 'close');
  }

  private async serveSession(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const id = request.headers['mcp-session-id'];
    const known = typeof id === 'string' ? this.sessions.get(id) : undefined;
    if (known === undefined && id !== undefined) {
      response.writeHead(404).end();
      return;
    }
    const { transport } = known ?? (await this.open());
    await transport.handleRequest(request, response);
  }

  private async open(): Promise<Session> {
    const made = this.make();
    const transport: NodeStreamableHTTPServerTransport = new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        this.sessions.set(id, { ...made, transport });
      },
    });
    await made.server.connect(transport);
    return { ...made, transport };
  }

  private make() {
    const made = createTestMcpServer(this.stage);
    const { pages } = this.options;
    if (pages !== undefined) {
      made.server.server.setRequestHandler('tools/list', ({ params }) => {
        const page = Number(params?.cursor ?? 0);
        const nextCursor = page + 1 < pages.length ? { nextCursor: String(page + 1) } : {};
        return { tools: (pages[page] ?? []) as never, ...nextCursor }; // tests also list invalid tools
      });
    }
    return made;
  }
}
