import { Injectable, Module, type OnModuleDestroy } from '@nestjs/common';

import { Config, GuardedFetch } from '#platform';
import type { Tool } from '#tools';

import { HttpToolsModule } from '../http/http-tools.module.js';
import { OutboundHostsRepository } from '../http/outbound-hosts.repository.js';
import { SecretsModule } from '../secrets/secrets.module.js';
import { WorkspaceSecrets } from '../secrets/workspace-secrets.service.js';
import { coingeckoPriceTool } from './coingecko-price.tool.js';
import { fetchUrlTool } from './fetch-url.tool.js';
import { searchBackend } from './search-backends.js';
import { tavilySearchTool } from './tavily-search.tool.js';
import { webSearchTool } from './web-search.tool.js';

/** The HTTP client for services that the operator configured, which may run in the operator's own network. */
@Injectable()
class OperatorFetch implements OnModuleDestroy {
  readonly client = new GuardedFetch({ allowPrivate: true });

  onModuleDestroy(): Promise<void> {
    return this.client.close();
  }
}

/** Null if the tool is not configured: it is then not registered, and workspaces may use its name. */
type MaybeTool = Tool | null;

/**
 * The built-in tools that send requests, each only if it is configured; `tavily_search` needs a secret of the workspace. Requires a global
 * `PlatformModule`.
 */
@Module({
  imports: [HttpToolsModule, SecretsModule],
  providers: [
    OperatorFetch,
    {
      provide: 'fetch_url',
      inject: [Config, GuardedFetch, OutboundHostsRepository],
      useFactory: ({ values }: Config, fetch: GuardedFetch, hosts: OutboundHostsRepository): MaybeTool =>
        values.FEATURE_FETCH_URL ? fetchUrlTool(fetch, hosts) : null,
    },
    {
      provide: 'web_search',
      inject: [Config, OperatorFetch],
      useFactory: ({ values }: Config, { client }: OperatorFetch): MaybeTool => {
        const backend = searchBackend(values);
        return backend === null ? null : webSearchTool(client, backend);
      },
    },
    {
      provide: 'tavily_search',
      inject: [Config, OperatorFetch, WorkspaceSecrets],
      useFactory: ({ values }: Config, { client }: OperatorFetch, secrets: WorkspaceSecrets): Tool =>
        tavilySearchTool(client, secrets, values.TAVILY_URL),
    },
    {
      provide: 'coingecko_price',
      inject: [Config, OperatorFetch],
      useFactory: ({ values }: Config, { client }: OperatorFetch): MaybeTool =>
        values.FEATURE_COINGECKO_PRICE ? coingeckoPriceTool(client, values.COINGECKO_URL) : null,
    },
  ],
})
export class WebToolsModule {}
