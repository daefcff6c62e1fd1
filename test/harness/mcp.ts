import { McpServersService } from '#integrations';
import {
  type Clock,
  Config,
  createLogger,
  newId,
  openPlatform,
  PlatformModule,
  Redactor,
  systemClock,
} from '#platform';
import { executeToolCall, type Tool, ToolCatalog, type ToolOutcome, type ToolProgress } from '#tools';

import { McpModule } from '../../libs/integrations/src/mcp/mcp.module.js';
import { WorkspaceSecrets } from '../../libs/integrations/src/secrets/workspace-secrets.service.js';
import { ToolRegistryModule } from '../../libs/tools/src/tool-registry.module.js';
import { TEST_SECRET, type TestDatabase } from './database.js';
import { openTestingModule } from './testing-module.js';

/** A call as a test makes it. */
export interface TestCall {
  readonly args?: Readonly<Record<string, unknown>>;
  readonly signal?: AbortSignal;
  readonly progress?: (progress: ToolProgress) => void;
  /** For tools that name no limit of their own, ms. */
  readonly timeoutMs?: number;
  /** Measures that limit; the system's, if left out. */
  readonly clock?: Clock;
}

/** The MCP servers of workspaces over a test database: everything but jobs and the API. */
export interface TestMcp {
  readonly servers: McpServersService;
  readonly secrets: WorkspaceSecrets;
  readonly catalog: ToolCatalog;
  /** Names of the tools that a workspace is offered besides the built-in ones. */
  offered(workspaceId: string): Promise<readonly string[]>;
  /** Runs a tool as a worker would, whether it is offered or not. */
  call(workspaceId: string, name: string, call?: TestCall): Promise<ToolOutcome>;
  close(): Promise<void>;
}

/** Loopback is allowed, as are servers that are processes, unless `env` changes that. */
export async function openTestMcp(
  database: TestDatabase,
  env: Readonly<Record<string, string>> = {},
): Promise<TestMcp> {
  const allowed = { ALLOW_PRIVATE_TOOL_URLS: 'true', MCP_STDIO: 'true' };
  const config = Config.from({ NODE_ENV: 'test', LOG_LEVEL: 'silent', ...allowed, ...env });
  const logger = createLogger({ level: config.values.LOG_LEVEL });
  const redactor = new Redactor();
  const platform = await openPlatform({ config, logger, redactor, urls: database.urls, secret: TEST_SECRET });
  const app = await openTestingModule({ imports: [PlatformModule.with(platform), McpModule, ToolRegistryModule] });
  const catalog = app.get(ToolCatalog);
  const find = async (workspaceId: string, name: string): Promise<Tool> => {
    const tool = (await catalog.of(workspaceId)).find(name);
    if (tool === undefined) throw new Error(`tool ${name} does not exist`);
    return tool;
  };
  return {
    servers: app.get(McpServersService),
    secrets: app.get(WorkspaceSecrets),
    catalog,
    offered: async (workspaceId) => {
      catalog.forget(workspaceId);
      const tools = (await catalog.of(workspaceId)).list();
      return tools.filter(({ sort }) => sort === 'mcp').map(({ name }) => name);
    },
    call: async (workspaceId, name, { args = {}, timeoutMs = 100_000, ...given } = {}) => {
      const { signal = new AbortController().signal, progress = () => undefined, clock = systemClock } = given;
      const ids = { workspaceId, jobId: newId(), threadId: null, principal: 'system', callId: 'call_1', epoch: 1 };
      const context = { ...ids, idempotencyKey: newId(), signal, now: () => Date.now(), progress };
      const tool = await find(workspaceId, name);
      return executeToolCall({
        tool,
        arguments: JSON.stringify(args),
        context,
        defaultTimeoutMs: timeoutMs,
        clock,
      });
    },
    close: async () => {
      await app.close();
      await platform.close();
    },
  };
}
