import { FeatureFlags } from '#auth';
import { createLogger, type GuardedFetch, Redactor, Secret, ToolSecretBox } from '#platform';
import { ToolCatalog, ToolRegistry } from '#tools';

import { FeatureFlagsRepository } from '../../libs/auth/src/flags/feature-flags.repository.js';
import { HttpToolExecutor } from '../../libs/integrations/src/http/http-tool.executor.js';
import { HttpToolTrials } from '../../libs/integrations/src/http/http-tool-trial.service.js';
import { HttpToolSource } from '../../libs/integrations/src/http/http-tools.module.js';
import { OutboundHostsRepository } from '../../libs/integrations/src/http/outbound-hosts.repository.js';
import { OutboundHosts } from '../../libs/integrations/src/http/outbound-hosts.service.js';
import { WorkspaceToolsRepository } from '../../libs/integrations/src/http/workspace-tools.repository.js';
import { WorkspaceToolsService } from '../../libs/integrations/src/http/workspace-tools.service.js';
import { WorkspaceSecretsRepository } from '../../libs/integrations/src/secrets/workspace-secrets.repository.js';
import { WorkspaceSecrets } from '../../libs/integrations/src/secrets/workspace-secrets.service.js';
import type { TestDatabase } from './database.js';

/** The workspace tools services of one process over a test database. */
export function openWorkspaceTools({ prisma }: TestDatabase, fetch: GuardedFetch) {
  const redactor = new Redactor();
  const box = new ToolSecretBox(new Secret('the secret of the tools tests, long enough'));
  const secrets = new WorkspaceSecrets(prisma, new WorkspaceSecretsRepository(prisma), box, redactor);
  const hostRows = new OutboundHostsRepository(prisma);
  const executor = new HttpToolExecutor(fetch, secrets, hostRows);
  const registry = new ToolRegistry();
  const catalog = new ToolCatalog(registry, new FeatureFlags(new FeatureFlagsRepository(prisma)));
  const rows = new WorkspaceToolsRepository(prisma);
  new HttpToolSource(rows, executor, createLogger({ level: 'silent' }), catalog);
  const tools = new WorkspaceToolsService(prisma, rows, registry, catalog);
  const hosts = new OutboundHosts(prisma, hostRows);
  return {
    catalog,
    hosts,
    hostRows,
    redactor,
    registry,
    secrets,
    tools,
    trials: new HttpToolTrials(prisma, tools, executor),
  };
}
