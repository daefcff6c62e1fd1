import { readFileSync, writeFileSync } from 'node:fs';

import { describe, expect, it } from '@jest/globals';

import { JobTelemetry } from '#jobs';
import { Config, createLogger, Metrics } from '#platform';

import { refusalsMiddleware } from '../../apps/api/src/errors/refusals.js';
import { refusalDelayCount } from '../../apps/api/src/refusals/refusals.module.js';
import { JobGauges } from '../../libs/jobs/src/jobs.module.js';
import { handledMessages } from '../../libs/platform/src/queue/queues.js';
import { registerDeadLetterGauge } from '../../libs/tools/src/hooks/action-hooks.js';
import { hookRuns, hookSeconds } from '../../libs/tools/src/hooks/hooks.js';
import { pluginDifferences } from '../../libs/tools/src/plugins/plugin-differences.js';
import { strayErrorCount } from '../../libs/tools/src/plugins/stray-errors.js';
import { ToolQueueTelemetry } from '../../libs/tools/src/remote/tool-queue.telemetry.js';
import { ToolCallTelemetry } from '../../libs/tools/src/tool-call.telemetry.js';
import { notificationSends } from '../../libs/triggers/src/outbound/notifications/channel-sender.js';

const file = new URL('../../docs/metrics.md', import.meta.url);

/** Everything the libraries measure, in the order of the names. Node's own metrics are left to prom-client. */
async function metricsTable(): Promise<string> {
  const metrics = new Metrics();
  const logger = createLogger({ level: 'silent' });
  handledMessages(metrics);
  new JobTelemetry(metrics, logger);
  refusalsMiddleware({ metrics, logger });
  refusalDelayCount(metrics);
  new ToolCallTelemetry(metrics, logger);
  new JobGauges(metrics, { countUnfinished: () => Promise.resolve([]) }, Config.from({}));
  pluginDifferences(metrics);
  strayErrorCount(metrics);
  hookRuns(metrics);
  hookSeconds(metrics);
  registerDeadLetterGauge(metrics, { count: () => Promise.resolve(0) });
  notificationSends(metrics);
  const depth = () => Promise.resolve({ waiting: 0, oldestMs: 0 });
  new ToolQueueTelemetry(metrics, logger, { depth }, { count: () => Promise.resolve(0) }, Config.from({}));
  const found = await metrics.registry.getMetricsAsJSON();
  const rows = found.map(({ name, type, help }) => `| \`${name}\` | ${String(type)} | ${help} |`);
  return ['| metric | type | meaning |', '| --- | --- | --- |', ...rows.sort()].join('\n');
}

describe('docs/metrics.md', () => {
  it('lists every metric as the code names it', async () => {
    const text = readFileSync(file, 'utf8');
    const table = await metricsTable();
    const generated = text.replace(
      /<!-- generated: metrics -->[^]*<!-- end -->/,
      () => `<!-- generated: metrics -->\n\n${table}\n\n<!-- end -->`,
    );
    if (process.env['UPDATE_DOCS'] === '1') writeFileSync(file, generated);
    else expect(text).toBe(generated);
  });
});
